"""DeviceTable: the binned table of a fit in the memory of a device.

The table is kept twice, as on the CPU: by column, for partition and walks, and in tiles, for
histograms. A tile has 32 lanes of one byte each, so that a row of a tile is one sector of memory.
Every usable feature has a lane of its own, in ascending order; trees do not depend on which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.table import LANES, N_BINS, N_THREADS, TABLE, count_grid
from sumwise.data.device_categories import DeviceCategories
from sumwise.kernels.table.layout import Categories

# Rows that are counted first: most features have enough rows on both sides of a split among them.
_FIRST_ROWS = 1 << 14
# Blocks that count the bins of a feature: each adds up to 256 sums.
_COUNTING_BLOCKS = 256


class TableSizes(NamedTuple):
    """How large a table on a device is; attributes are those of :class:`DeviceTable`."""

    n_rows: int
    n_features: int
    n_categorical: int
    host_tile_bins: np.ndarray

    @property
    def n_tiles(self) -> int:
        return self.host_tile_bins.size

    @property
    def n_bytes(self) -> int:
        """Bytes of columns and tiles; all else is small."""
        return self.n_rows * (self.n_features + LANES * self.n_tiles)


@dataclass(frozen=True)
class DeviceTable:
    """The bins of all values on a device.

    Attributes
    ----------
    device : Device
    columns : DeviceArray of uint8, shape (n_features, n_rows)
        Bins by feature, 0 for missing.
    tiles : DeviceArray of uint8, shape (n_tiles, n_rows, 32)
        Bins of usable features by tile and row. Lanes without a feature are 0.
    lane_feature : DeviceArray of int32, shape (n_tiles * 32,)
        The feature of each lane, -1 for none.
    feature_lane : DeviceArray of int32, shape (n_features,)
        The lane of each feature, -1 for features that are not usable.
    n_value_bins : DeviceArray of int64, shape (n_features,)
        Number of bins of each feature, without bin 0.
    tile_bins : DeviceArray of int64, shape (n_tiles,)
        1 + the largest ``n_value_bins`` of a tile.
    usable : ndarray of uint8, shape (n_features,)
        Which features have a lane, on the host.
    host_tile_bins : ndarray of int64, shape (n_tiles,)
        ``tile_bins`` on the host.
    categories : DeviceCategories or None
        The features that are split by sets of categories; None if there are none.
    """

    device: Device
    columns: DeviceArray
    tiles: DeviceArray
    lane_feature: DeviceArray
    feature_lane: DeviceArray
    n_value_bins: DeviceArray
    tile_bins: DeviceArray
    usable: np.ndarray
    host_tile_bins: np.ndarray
    categories: DeviceCategories | None = None

    @property
    def n_features(self) -> int:
        return self.columns.shape[0]

    @property
    def n_rows(self) -> int:
        return self.columns.shape[1]

    @property
    def n_tiles(self) -> int:
        return self.tiles.shape[0]

    @property
    def n_categorical(self) -> int:
        return 0 if self.categories is None else self.categories.n_categorical

    @classmethod
    def from_binned(
        cls,
        device: Device,
        columns: np.ndarray,
        n_value_bins: np.ndarray,
        usable: np.ndarray,
        categories: Categories | None = None,
    ) -> "DeviceTable":
        """Upload bins by column, uint8 (n_features, n_rows) with 0 for missing."""
        return cls.from_columns(device, device.upload(columns), n_value_bins, usable, categories)

    @classmethod
    def from_columns(
        cls,
        device: Device,
        columns: DeviceArray,
        n_value_bins: np.ndarray,
        usable: np.ndarray,
        categories: Categories | None = None,
    ) -> "DeviceTable":
        """Build the tiles of columns that are on the device."""
        n_features, n_rows = columns.shape
        features = np.flatnonzero(usable)
        n_tiles = -(-features.size // LANES)
        lane_feature = np.full(n_tiles * LANES, -1, dtype=np.int32)
        lane_feature[: features.size] = features
        feature_lane = np.full(n_features, -1, dtype=np.int32)
        feature_lane[features] = np.arange(features.size)
        tile_bins = count_tile_bins(n_value_bins, usable)
        table = cls(
            device,
            columns,
            device.allocate((n_tiles, n_rows, LANES), np.uint8),
            device.upload(lane_feature),
            device.upload(feature_lane),
            device.upload(np.ascontiguousarray(n_value_bins, dtype=np.int64)),
            device.upload(tile_bins),
            np.asarray(usable, dtype=np.uint8),
            tile_bins,
            None
            if categories is None
            else DeviceCategories.upload(device, categories, feature_lane),
        )
        table._fill_tiles()
        return table

    def _fill_tiles(self) -> None:
        if self.tiles.size:
            blocks = count_grid(self.n_rows, self.n_tiles)
            arguments = (self.columns, self.n_rows, self.lane_feature, self.n_tiles, self.tiles)
            kernel = self.device.load(TABLE)["fill_tiles"]
            self.device.launch(kernel, blocks, N_THREADS, arguments)


def count_tile_bins(n_value_bins: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Return the bins of each tile, int64: those of its widest feature, and one for missing."""
    n_bins = 1 + n_value_bins[np.flatnonzero(usable)]
    n_tiles = -(-n_bins.size // LANES)
    padded = np.pad(n_bins, (0, n_tiles * LANES - n_bins.size))
    return padded.reshape(n_tiles, LANES).max(axis=1, initial=0).astype(np.int64)


def screen_columns(
    parts: Sequence[tuple[Device, DeviceArray, int]],
    n_value_bins: np.ndarray,
    rows: np.ndarray,
    min_rows: np.ndarray,
) -> np.ndarray:
    """Return which columns can be split, leaving ``min_rows[f]`` of the ``rows`` on both sides.

    Each part of the table is a device, its columns, and its first row. ``rows`` ascend.
    """
    usable = np.zeros(n_value_bins.size, dtype=np.uint8)
    listed = np.arange(n_value_bins.size, dtype=np.int32)
    for n_counted in sorted({min(_FIRST_ROWS, rows.size), rows.size}):
        if not listed.size:
            break
        counts = np.zeros((listed.size, N_BINS), dtype=np.int64)
        for device, columns, first in parts:
            bounds = np.array([first, first + columns.shape[1]], dtype=np.int64)
            begin, end = np.searchsorted(rows[:n_counted], bounds)
            counts += _count_bins(device, columns, listed, rows[begin:end], first)
        usable[listed] = can_split(counts, n_value_bins[listed] + 1, min_rows[listed])
        listed = listed[usable[listed] == 0]
    return usable


def _count_bins(
    device: Device, columns: DeviceArray, listed: np.ndarray, rows: np.ndarray, first_row: int
) -> np.ndarray:
    """Return how many rows are in each bin of the listed columns, (n_listed, 256)."""
    if not rows.size:
        return np.zeros((listed.size, N_BINS), dtype=np.int64)
    first, last = int(rows[0]) - first_row, int(rows[-1]) + 1 - first_row
    numbers: DeviceArray | int = 0
    if last - first != rows.size:  # rows that do not follow one another
        numbers = device.upload((rows - rows.dtype.type(first_row)).astype(np.uint32, copy=False))
        first, last = 0, rows.size
    counts = device.zeros((listed.size, N_BINS), np.uint64)
    own = device.upload(listed)
    arguments = (columns, columns.shape[1], own, listed.size, numbers, first, last, counts)
    n_blocks, n_features = count_grid(last - first, listed.size)
    kernel = device.load(TABLE)["count_bins"]
    device.launch(kernel, (min(n_blocks, _COUNTING_BLOCKS), n_features), N_THREADS, arguments)
    return counts.to_host().astype(np.int64)


def can_split(counts: np.ndarray, n_bins: np.ndarray, min_rows: np.ndarray) -> np.ndarray:
    """Return whether a split leaves enough rows on both sides; bin 0 of ``counts`` is missing.

    The rule of ``kernels.table.screening``, for all features at once.
    """
    counts = np.where(np.arange(counts.shape[1]) < n_bins[:, None], counts, 0)
    total, missing = counts.sum(axis=1)[:, None], counts[:, :1]
    left = counts[:, 1:].cumsum(axis=1)
    fewest = min_rows[:, None]
    without = (left >= fewest) & (total - left >= fewest)
    with_missing = (left + missing >= fewest) & (total - missing - left >= fewest)
    is_bin = np.arange(1, counts.shape[1]) < n_bins[:, None]
    return ((without | with_missing) & is_bin).any(axis=1)
