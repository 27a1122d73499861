"""Ask the system to read mapped memory from disk before it is needed."""

import sys

import numpy as np

from sumwise.kernels.runtime.jit import cgutils, intrinsic, ir, routine, types
from sumwise.kernels.runtime.library import name_architecture

_WILL_NEED = 3
# Linux reads at most about a megabyte per call.
_CHUNK = 1 << 19


@intrinsic
def _advise(typing_context, address, n_bytes):
    """Ask for the pages of memory that begin at an address."""

    def generate(context, builder, signature, args):
        if sys.platform != "win32":
            word, number = ir.IntType(64), ir.IntType(32)
            function_type = ir.FunctionType(number, [word, word, number])
            function = cgutils.get_or_insert_function(builder.module, function_type, "madvise")
            # The largest pages of memory that the architecture has.
            page = 4096 if name_architecture() == "x86_64" else 65536
            offset = builder.and_(args[0], word(page - 1))
            start, length = builder.sub(args[0], offset), builder.add(args[1], offset)
            builder.call(function, [start, length, number(_WILL_NEED)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@routine
def fetch_soon(array):
    """Ask for the items of a contiguous array."""
    address, n_bytes = np.int64(array.ctypes.data), array.size * array.itemsize
    for start in range(0, n_bytes, _CHUNK):
        _advise(address + start, min(_CHUNK, n_bytes - start))
