"""Replace the stored values of sparse rows by codes, as coding.py does for dense rows.

Every column of codes is filled with the code of absent values; then the others are written. So no
dense matrix is made, and each stored value is read once.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.coding import CodeColumns, round_down
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import claim_next
from sumwise.kernels.table.binning import find_bin


class SparseCoder(NamedTuple):
    """CodeColumns of codes for values of one type."""

    first: Any  # int64 (n_features + 1,): the columns of a feature are ``column[first[f]:...]``
    column: Any  # int64 (n_columns,)
    start: Any  # int64 (n_columns + 1,): where the thresholds of a column begin
    threshold: Any  # float of the values' type
    absent: Any  # uint8 (n_columns,): the code of absent values


def make_sparse_coder(
    columns: CodeColumns, dtype: np.dtype, n_features: int, absent: float
) -> SparseCoder:
    """Make the tables for values of a type; ``absent`` is the value of what is not stored."""
    order = np.argsort(columns.feature, kind="stable")
    first = np.searchsorted(columns.feature[order], np.arange(n_features + 1))
    n_columns = columns.feature.size
    column = np.repeat(np.arange(n_columns), np.diff(columns.start))
    below = np.bincount(column[columns.threshold < 0], minlength=n_columns)
    code = np.zeros(n_columns) if np.isnan(absent) else 1 + below
    return SparseCoder(
        first=first.astype(np.int64),
        column=order.astype(np.int64),
        start=columns.start.astype(np.int64),
        threshold=round_down(columns.threshold, dtype),
        absent=code.astype(np.uint8),
    )


@kernel
def code_sparse_rows(thread, n_threads, sync, start, index, values, first, last, coder, codes):
    """Write the codes of rows [first, last) of a sparse matrix to the first blocks of ``codes``.

    The code of a value is its bin among the thresholds of a column.
    """
    n_blocks, block = (last - first + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        begin = first + block * BLOCK
        own = codes[block]
        for c in range(coder.absent.size):
            own[c, :] = coder.absent[c]
        for i in range(min(BLOCK, last - begin)):
            row = begin + i
            for e in range(start[row], start[row + 1]):
                f, value = index[e], values[e]
                for k in range(coder.first[f], coder.first[f + 1]):
                    c = coder.column[k]
                    low, high = coder.start[c], coder.start[c + 1]
                    own[c, i] = find_bin(value, coder.threshold, low, high)
        block = claim_next(sync, n_threads, block)
