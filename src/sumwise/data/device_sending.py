"""Rows of the host on their way to a device, as they are.

The threads of the host copy values into memory that the device reads by itself, while it works on
the rows before. That is quicker than to code or bin values on the host and to send bytes, unless
the host has very many threads: a thread codes a value in the time in which tens of values travel.
"""

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.data.device_matrix import DenseValues
from sumwise.data.dtypes import find_float_type
from sumwise.data.matrix import FlatMatrix, Matrix
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.copying import copy_items

# Bytes that travel while one thread codes one value: 25 to a nanosecond, and a search takes eight.
_BYTES_PER_SEARCH = 200
# Bytes that are copied at a time, and bytes that a device works on at a time: for fewer rows, its
# processors would not all have work to the end.
_PIECE_BYTES, _BATCH_BYTES = 1 << 24, 1 << 26


def is_better_sent(X: Matrix, n_codes: int, team: Team) -> bool:
    """Whether a device gets the codes of rows sooner from their values than from the host.

    ``n_codes`` is the number of codes of a row. Of many features that no code depends on, the host
    would send nothing.
    """
    if isinstance(X, SparseMatrix):
        return False
    row_bytes = X.shape[1] * np.dtype(find_float_type(X.dtype)).itemsize
    return row_bytes * team.n_threads <= _BYTES_PER_SEARCH * n_codes


def count_rows_sent(n_features: int, dtype: np.dtype) -> int:
    """Return how many rows are sent at a time, at most."""
    return max(1, _BATCH_BYTES // max(1, n_features * dtype.itemsize))


def send_rows(
    device: Device, part: FlatMatrix, n_features: int, team: Team
) -> Iterator[tuple[slice, DenseValues]]:
    """Yield (rows, their values on the device), some rows at a time.

    The memory of the values is used again: work on them must be queued before the next are asked
    for.
    """
    dtype = part.values.dtype
    n_together = max(1, min(part.n_rows, count_rows_sent(n_features, dtype)))
    buffer = device.allocate(n_together * n_features, dtype)
    n_items = max(1, min(buffer.size, _PIECE_BYTES // dtype.itemsize))
    by_row = part.column_stride <= part.row_stride
    with device.lend_slots(n_items * dtype.itemsize) as slots:
        turns = cycle(slots)
        for first in range(0, part.n_rows, n_together):
            rows = slice(first, min(first + n_together, part.n_rows))
            own = part.take(rows.start, rows.stop)
            lines = _list_lines(own, n_features, by_row)
            target = buffer[: own.n_rows * n_features]
            for begin in range(0, target.size, n_items):
                some, slot = target[begin : begin + n_items], next(turns)
                slot.wait()
                on_host = slot.memory[: some.nbytes].view(dtype)
                team.run(copy_items, own.values, *lines, begin, begin + some.size, on_host)
                device.write_from(slot, on_host, some)
            yield rows, _view_values(target, own.n_rows, n_features, by_row)


def _list_lines(part: FlatMatrix, n_features: int, by_row: bool) -> tuple[int, int, int]:
    """Return the strides of lines and of their items, and the length: rows, or columns."""
    if not by_row:
        return part.column_stride, part.row_stride, part.n_rows
    if part.column_stride == 1 and part.row_stride == n_features:
        return 0, 1, part.n_rows * n_features  # no gaps: all are one line
    return part.row_stride, part.column_stride, n_features


def _view_values(sent: DeviceArray, n_rows: int, n_features: int, by_row: bool) -> DenseValues:
    strides = (n_features, 1) if by_row else (1, n_rows)
    return DenseValues(sent.address, *strides, sent.dtype, sent)
