"""Blocks of 256 rows, and the steps that are done to all rows of a block at once.

A step works on LLVM vectors of 64 bytes or more, which the compiler splits into registers of the
CPU's width. A loop depends on how LLVM vectorizes it: from that of :func:`keep_lowest` it makes
conditional stores, which without AVX-512 are done byte by byte and take ten times as long.
"""

from collections.abc import Sequence
from typing import Any

from sumwise.kernels.runtime.jit import cgutils, intrinsic, ir, types

BLOCK = 256
# Bytes of a part of a block: part by part, a step needs few registers at a time.
_PART = 64


class _Arguments:
    """The arguments of an intrinsic, whose arrays are read and written by vectors."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> None:
        self.context, self.builder = context, builder
        self.kinds, self.args = signature.args, args
        self.part = ir.VectorType(ir.IntType(8), _PART)
        self.places = [ir.IntType(64)(first) for first in range(0, BLOCK, _PART)]

    def point_to(self, argument: int, *indices: Any) -> Any:
        kind = self.kinds[argument]
        array = self.context.make_array(kind)(self.context, self.builder, self.args[argument])
        return cgutils.get_item_pointer(self.context, self.builder, kind, array, indices)

    def load(self, argument: int, *indices: Any) -> Any:
        return self.builder.load(self.point_to(argument, *indices))

    def load_vector(self, vector: Any, argument: int, *indices: Any) -> Any:
        pointer = self.builder.bitcast(self.point_to(argument, *indices), vector.as_pointer())
        return self.builder.load(pointer, align=1)

    def store_vector(self, value: Any, argument: int, *indices: Any) -> None:
        pointer = self.point_to(argument, *indices)
        pointer = self.builder.bitcast(pointer, value.type.as_pointer())
        self.builder.store(value, pointer, align=1)

    def repeat(self, item: Any, count: int = _PART) -> Any:
        """Return a vector of equal items."""
        undefined = ir.Constant(ir.VectorType(item.type, count), ir.Undefined)
        places = ir.Constant(ir.VectorType(ir.IntType(32), count), None)
        single = self.builder.insert_element(undefined, item, ir.IntType(64)(0))
        return self.builder.shuffle_vector(single, undefined, places)


@intrinsic
def count_below(typing_context, values, thresholds, n_thresholds, codes):
    """Count the thresholds below each value of a block, and one more unless it is missing.

    Equivalent to this::

        for i in range(BLOCK):
            codes[i] = 0 if np.isnan(values[i]) else 1
            for k in range(n_thresholds):
                codes[i] += thresholds[k] < values[i]
    """
    n_bits = values.dtype.bitwidth
    n_items = 2048 // n_bits  # eight registers of AVX2

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = _Arguments(context, builder, signature, args)
        floats = ir.VectorType(context.get_value_type(values.dtype), n_items)
        counts = ir.VectorType(ir.IntType(n_bits), n_items)  # as wide: no registers to convert
        state = cgutils.alloca_once(builder, counts)
        bounds = (ir.IntType(64)(number) for number in (0, BLOCK, n_items))
        with cgutils.for_range_slice(builder, *bounds) as (first, _):
            value = of.load_vector(floats, 0, first)
            builder.store(builder.zext(builder.fcmp_ordered("ord", value, value), counts), state)
            with cgutils.for_range(builder, args[2]) as loop:
                threshold = of.repeat(of.load(1, loop.index), n_items)
                is_below = builder.fcmp_ordered("<", threshold, value)
                counted = builder.sub(builder.load(state), builder.sext(is_below, counts))
                builder.store(counted, state)
            codes_type = ir.VectorType(ir.IntType(8), n_items)
            of.store_vector(builder.trunc(builder.load(state), codes_type), 3, first)
        return context.get_dummy_value()

    return types.none(values, thresholds, types.int64, codes), generate


@intrinsic
def clear_bits(typing_context, codes, column, shift, limit, mask, first, last, bits):
    """Apply tests [first, last) to a block: set all bits of a row, then keep those of the masks.

    Equivalent to this::

        for i in range(BLOCK):
            bits[i] = 255
            for test in range(first, last):
                if np.int8(codes[column[test], i] + shift[test]) >= np.int8(limit[test]):
                    bits[i] &= mask[test]
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = _Arguments(context, builder, signature, args)
        all_set = ir.Constant(of.part, [255] * _PART)
        states = [cgutils.alloca_once_value(builder, all_set) for _ in of.places]
        with cgutils.for_range_slice(builder, args[5], args[6], ir.IntType(64)(1)) as (test, _):
            row = of.load(1, test)
            shift, limit, mask = (of.repeat(of.load(k, test)) for k in (2, 3, 4))
            for place, state in zip(of.places, states, strict=True):
                code = builder.add(of.load_vector(of.part, 0, row, place), shift)
                is_within = builder.icmp_signed("<", code, limit)
                kept = builder.select(is_within, all_set, mask)
                builder.store(builder.and_(builder.load(state), kept), state)
        for place, state in zip(of.places, states, strict=True):
            of.store_vector(builder.load(state), 7, place)
        return context.get_dummy_value()

    integers = (types.int64, types.int64)
    return types.none(codes, column, shift, limit, mask, *integers, bits), generate


@intrinsic
def keep_lowest(typing_context, bits, byte, lowest, byte_of_lowest):
    """A byte with a bit still set replaces higher ones, which came before.

    Equivalent to this::

        for i in range(BLOCK):
            if bits[i]:
                lowest[i] = bits[i]
                byte_of_lowest[i] = byte
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = _Arguments(context, builder, signature, args)
        number = of.repeat(args[1])
        for place in of.places:
            new = of.load_vector(of.part, 0, place)
            is_empty = builder.icmp_unsigned("==", new, ir.Constant(of.part, None))
            for argument, value in ((2, new), (3, number)):
                old = of.load_vector(of.part, argument, place)
                of.store_vector(builder.select(is_empty, old, value), argument, place)
        return context.get_dummy_value()

    return types.none(bits, types.uint8, lowest, byte_of_lowest), generate
