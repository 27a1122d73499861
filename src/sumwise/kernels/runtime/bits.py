"""Bits of words."""

from typing import Any

from sumwise.kernels.runtime.jit import intrinsic, ir, types


@intrinsic
def find_lowest_bit(typing_context, word):
    """The place of the lowest bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate
