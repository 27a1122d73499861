"""Thresholds of matrices on a device: the same as those of the CPU.

Features with few distinct values are found on the device, from all rows. Quantiles of the others
are cut on the host, from the sample of rows: only these rows travel.
"""

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.table import BINNING, N_THREADS, count_grid
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.thresholds import (
    MAX_BINS,
    Neighbors,
    ThresholdRows,
    cut_quantiles,
    find_runs,
    place_thresholds,
)
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.binning import HASH_SIZE

# Features at a time, which bounds the memory.
_FEATURES = 128
# Rows that are looked at first: a feature of many values shows itself among them.
_FIRST_ROWS = 1 << 12
# Blocks that share the rows of a feature: each has a hash table of its own.
_BLOCKS = 256
_FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint64(1 << 63)


def find_device_thresholds(
    X: DeviceMatrix, rows: ThresholdRows, max_bins: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Return the thresholds of each column."""
    if max_bins.max(initial=0) > MAX_BINS:
        raise DataError(
            f"X is in the memory of a GPU, whose tables have at most {MAX_BINS} bins per feature: "
            f"set max_bins={MAX_BINS}, or use device='cpu' and X in the memory of the host"
        )
    thresholds: list[np.ndarray] = []
    for first, last in find_runs(max_bins, _FEATURES):
        most = int(max_bins[first])
        n_distinct, distinct = _find_distinct(X, np.arange(first, last), rows.rows, most)

        def cut(many: np.ndarray, first: int = first, most: int = most) -> Neighbors:
            sample = X.gather(first + many, rows.sample)
            own = np.arange(rows.sample.size, dtype=np.uint32)
            return cut_quantiles(sample, np.arange(many.size), own, rows.weight, most, team)

        thresholds += place_thresholds(distinct, n_distinct, most, cut)
    return thresholds


def _find_distinct(
    X: DeviceMatrix, features: np.ndarray, rows: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of distinct values, or more than ``limit``, and up to so many of them."""
    counts = np.zeros(features.size, dtype=np.int64)
    values = np.full((features.size, limit + 1), np.nan)
    if not rows.size:
        return counts, values
    numbers, first = None, int(rows[0])
    if int(rows[-1]) - first != rows.size - 1:  # rows that do not follow one another
        numbers, first = X.device.upload(rows.astype(np.uint32, copy=False)), 0
    places = np.arange(features.size)
    for n_seen in sorted({min(_FIRST_ROWS, rows.size), rows.size}):
        if places.size:
            seen = (numbers, first, first + n_seen)
            tables, counts[places] = _collect_distinct(X, features[places], *seen, limit)
            is_few = counts[places] <= limit
            places, tables = places[is_few], tables[is_few]
    for place, table in zip(places, tables, strict=True):
        values[place, : counts[place]] = _values_of_keys(table[table != _FREE])
    return counts, values


def _collect_distinct(
    X: DeviceMatrix,
    features: np.ndarray,
    numbers: DeviceArray | None,
    first: int,
    last: int,
    limit: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return tables of keys, and how many each has, or more than ``limit``."""
    device, values, n_features = X.device, X.values, features.size
    tables = device.allocate((n_features, HASH_SIZE), np.uint64)
    counts = device.zeros(n_features, np.uint64)
    kernels = device.load(BINNING)
    clear = (tables, tables.size)
    device.launch(kernels["clear_tables"], count_grid(tables.size, 1), N_THREADS, clear)
    listed = device.upload(features.astype(np.int32))
    rows = (0 if numbers is None else numbers, first, last)
    n_blocks, height = count_grid(last - first, n_features)
    arguments = (*values.strides, listed, n_features, *rows, limit, tables, counts)
    kernel = kernels[f"find_distinct_{values.dtype}"]
    device.launch(kernel, (min(n_blocks, _BLOCKS), height), N_THREADS, arguments)
    return tables.to_host(), counts.to_host().astype(np.int64)


def _values_of_keys(keys: np.ndarray) -> np.ndarray:
    """Return the float64 values that sort keys stand for."""
    bits = np.where(keys & _TOP, keys ^ _TOP, ~keys)
    return bits.view(np.float64)
