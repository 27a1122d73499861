"""Replace values by one-byte codes that say between which thresholds of a model they lie.

A column of codes belongs to one feature and up to 254 of its thresholds. The code of a value is
1 + the number of these thresholds below it; the code of a missing value is 0. Then
``value <= threshold`` is ``code <= 1 + the threshold's place``, and a tree can be followed on bytes
alone. A feature with more thresholds has several columns; one that no tree splits on has none.

Codes lie in blocks of 256 rows, ``codes[block, column, row]``; scoring.py reads them.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK, count_below
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import claim_next, prefetch_far

MAX_THRESHOLDS = 254
# Up to here comparing with all thresholds is faster than a search: an instruction serves many rows.
_FEW = 32
# A search begins in one of this many buckets of equal width.
_N_BUCKETS = 1024
# Bytes of a cache line.
_LINE = 64
_ONE, _TWO = np.uint64(1), np.uint64(2)


class CodeColumns(NamedTuple):
    """The feature and the thresholds of each column of codes."""

    feature: Any  # int64 (n_columns,)
    threshold: Any  # float64: ascending within a column, column after column
    start: Any  # int64 (n_columns + 1,): where the thresholds of a column begin
    memberships: Any = None  # further columns, for sets of categories: see category_sets.py


class Coder(NamedTuple):
    """Columns, and tables to search in, for values of one type."""

    feature: Any  # int64 (n_columns,)
    n_thresholds: Any  # int64 (n_columns,)
    threshold: Any  # float of the values' type (n_columns, width), padded with inf
    lowest: Any  # the same type (n_columns,): where the buckets begin
    scale: Any  # the same type (n_columns,): 1 / the width of a bucket
    n_below: Any  # uint8 (n_columns, _N_BUCKETS): thresholds in the buckets before
    n_steps: Any  # int64 (n_columns,): steps of a binary search in the fullest bucket


def make_coder(columns: CodeColumns, dtype: np.dtype) -> Coder:
    """Make the tables for values of a type, float32 or float64."""
    n_thresholds = np.diff(columns.start)
    n_columns = n_thresholds.size
    column = np.repeat(np.arange(n_columns), n_thresholds)
    place = np.arange(columns.threshold.size) - columns.start[column]
    own = round_down(columns.threshold, dtype)

    inf = dtype.type(np.inf)
    is_finite = np.isfinite(own)
    lowest, highest = np.full(n_columns, inf), np.full(n_columns, -inf)
    np.minimum.at(lowest, column[is_finite], own[is_finite])
    np.maximum.at(highest, column[is_finite], own[is_finite])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = np.where(highest > lowest, _N_BUCKETS / (highest - lowest), 0).astype(dtype)
        lowest = np.where(highest > lowest, lowest, 0).astype(dtype)
        bucket = (own - lowest[column]) * scale[column]
    # As in _search. No value may have a lower bucket than a smaller value.
    bucket = np.where(bucket > 0, bucket, 0)
    bucket = np.where(bucket < _N_BUCKETS, bucket, _N_BUCKETS - 1).astype(np.int64)
    n_inside = np.bincount(_N_BUCKETS * column + bucket, minlength=_N_BUCKETS * n_columns)
    n_inside = n_inside.reshape(n_columns, _N_BUCKETS)
    n_steps = np.ceil(np.log2(n_inside.max(axis=1, initial=0) + 1)).astype(np.int64)

    # A search may look as far beyond the last threshold as its first step, which is at least 2.
    width = n_thresholds.max(initial=0) + (2 << n_steps.max(initial=0))
    threshold = np.full((n_columns, width), inf)
    threshold[column, place] = own
    return Coder(
        feature=columns.feature,
        n_thresholds=n_thresholds,
        threshold=threshold,
        lowest=lowest,
        scale=scale,
        n_below=(n_inside.cumsum(axis=1) - n_inside).astype(np.uint8),
        n_steps=n_steps,
    )


def round_down(thresholds: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round thresholds to a type so that its values compare with them as with the exact ones."""
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(dtype)
        below = np.nextafter(rounded, dtype.type(-np.inf))
    return np.where(rounded > thresholds, below, rounded)


@inlined
def _search(values, thresholds, lowest, scale, before, n_steps, place, codes):
    """Count the thresholds below each value: those before its bucket, then search the bucket."""
    zero, end = values.dtype.type(0), values.dtype.type(_N_BUCKETS - 1)
    for i in range(np.uint64(BLOCK)):
        bucket = (values[i] - lowest) * scale
        bucket = bucket if bucket > zero else zero  # NaN too
        place[i] = np.int32(bucket if bucket < end else end)
    shift = np.uint64(n_steps) - _ONE
    ahead = thresholds[(_ONE << shift) - _ONE :]
    for i in range(np.uint64(BLOCK)):
        n_below = np.uint64(before[np.uint64(place[i])])
        place[i] = n_below + (np.uint64(ahead[n_below] < values[i]) << shift)
    while shift > 0:
        shift -= _ONE
        ahead = thresholds[(_ONE << shift) - _ONE :]
        for i in range(np.uint64(BLOCK)):
            n_below = np.uint64(place[i])
            place[i] = n_below + (np.uint64(ahead[n_below] < values[i]) << shift)
    count_below(values, thresholds, 0, codes)  # only whether a value is missing
    for i in range(np.uint64(BLOCK)):
        codes[i] += np.uint8(place[i])


@inlined
def _prefetch_column(values, row_stride, start):
    """Fetch the cache lines of a block's column, which begins at ``start``."""
    for i in range(0, BLOCK, max(1, _LINE // values.itemsize // max(1, row_stride))):
        prefetch_far(values, start + np.uint64(i * row_stride))


@inlined
def _code_column(values, coder, column, place, codes):
    """Write the codes of a block's column."""
    thresholds, n_thresholds = coder.threshold[column], coder.n_thresholds[column]
    if n_thresholds <= _FEW:
        count_below(values, thresholds, n_thresholds, codes)
        return
    lowest, scale = coder.lowest[column], coder.scale[column]
    n_below, n_steps = coder.n_below[column], coder.n_steps[column]
    _search(values, thresholds, lowest, scale, n_below, n_steps, place, codes)


@kernel
def code_rows(
    thread,
    n_threads,
    sync,
    values,
    row_stride,
    column_stride,
    first,
    last,
    coder,
    column_values,
    place,
    codes,
):
    """Write the codes of rows [first, last) of a matrix to the first blocks of ``codes``.

    ``column_values`` (of the values' type) and ``place`` (int32) have room for a block per thread.
    Codes of rows beyond the last are undefined.
    """
    n_columns, line = coder.feature.size, _LINE // values.itemsize
    own_values, own_place = column_values[thread], place[thread]
    n_blocks, block = (last - first + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        begin = first + block * BLOCK
        n_rows = np.uint64(min(BLOCK, last - begin))
        has_next = begin + 2 * BLOCK <= last
        fetched = np.int64(-line)
        for column in range(n_columns):
            offset = coder.feature[column] * column_stride
            start = np.uint64(begin * row_stride + offset)
            for i in range(n_rows):
                own_values[i] = values[start + i * np.uint64(row_stride)]
            if has_next and offset >= fetched + line:  # else it came with a column before
                fetched = offset
                _prefetch_column(values, row_stride, start + np.uint64(BLOCK * row_stride))
            _code_column(own_values, coder, column, own_place, codes[block, column])
        block = claim_next(sync, n_threads, block)
