"""BinnedData: the binned table of all tree methods, one byte per value."""

from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.bundling import Bundling, bundle_columns
from sumwise.data.lanes import plan_lanes, plan_tiles
from sumwise.data.sparse.binning import SparseBins
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import (
    BEYOND,
    BLOCK_BITS,
    BUNDLED,
    CATEGORICAL,
    DENSE,
    NO_BUNDLES,
    NO_CATEGORIES,
    NOT_SORTED,
    PRESORTED,
    Bundles,
    Categories,
    Lanes,
    Presorted,
    Table,
)
from sumwise.kernels.table.screening import screen_columns, screen_entries
from sumwise.kernels.table.tiles import count_crowds, fill_tiles

_WORD = 8
_RANK = np.uint64(32)


def lay_out_tiles(
    n_lanes: int, n_rows: int, n_threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the first word, the words per row and the first lane of each tile; and all words."""
    tile_first = plan_tiles(n_lanes, n_threads)
    tile_words = np.where(np.diff(tile_first) > _WORD, 2, 1).astype(np.int64)
    ends = np.cumsum(tile_words * n_rows)
    tile_start = (ends - tile_words * n_rows).astype(np.int64)
    return tile_start, tile_words, tile_first, int(ends[-1]) if ends.size else 0


def place_bins(n_bins: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return the start of each feature's histogram, and the end; unused features take no space."""
    bin_start = np.zeros(n_bins.size + 1, dtype=np.int64)
    np.cumsum(np.where(used != 0, n_bins, 0), out=bin_start[1:])
    return bin_start


@dataclass(frozen=True)
class BinnedData:
    """The bins of all values, by column and in tiles (see ``kernels/table/layout.py``).

    Attributes
    ----------
    table : Table
        The arrays as kernels read them.
    usable : ndarray of uint8
        Features that can split the training rows with enough rows on both sides. Other features
        have no lane, no sparse entries and no histogram. In a dense table their columns remain,
        but are never read.
    """

    table: Table
    usable: np.ndarray

    @property
    def n_features(self) -> int:
        return int(self.table.n_value_bins.size)

    @property
    def n_rows(self) -> int:
        return int(self.table.columns.shape[1])

    @classmethod
    def from_columns(
        cls,
        columns: np.ndarray,
        n_value_bins: np.ndarray,
        team: Team,
        rows: np.ndarray | None = None,
        categories: Categories | None = None,
        min_rows: int = 1,
        alone: np.ndarray | None = None,
        presorted: Presorted | None = None,
        usable: np.ndarray | None = None,
    ) -> "BinnedData":
        """Build from bins by column: uint8 of shape (n_features, n_rows), 0 for missing.

        A numeric feature is usable if a split can leave ``min_rows`` of the training ``rows`` (None
        for all) on both sides, a categorical feature if it has more than one bin. Features listed
        in ``alone`` share no byte and are always usable. Where the rows are one page of a larger
        table, ``usable`` says which features all rows can be split on.

        The bins of wide categorical features are in ``categories``, the ranks of presorted features
        in ``presorted``; their columns are not read. A feature whose ``n_value_bins`` is 0 has no
        histograms.
        """
        n_features = columns.shape[0]
        rows = np.arange(columns.shape[1], dtype=np.uint32) if rows is None else rows
        fewest = np.full(n_features, min_rows, dtype=np.int64)
        is_wide = np.zeros(n_features, dtype=np.bool_)
        if categories is not None:
            is_wide[categories.place >= 0] = categories.wide_place >= 0
            fewest[categories.place >= 0] = 1
        is_known, n_bins = usable is not None, n_value_bins + 1
        if usable is None:
            usable = np.empty(n_features, dtype=np.uint8)
            counts = np.empty((team.n_threads, 256), dtype=np.int64)
            team.run(screen_columns, columns, n_bins, rows, fewest, counts, usable)
        if alone is not None:
            usable[alone] = 1
        if categories is not None and not is_known:
            wide = (column[rows] for column in categories.wide)
            usable[is_wide] = [own.size > 0 and own.min() < own.max() for own in wide]
        if presorted is not None:
            ranked = presorted.is_ranked != 0
            ends = presorted.order[:, [0, -1]] >> _RANK
            usable[ranked] = ends[ranked, 0] < ends[ranked, 1]
            n_value_bins, n_bins = np.where(ranked, BEYOND, n_value_bins), n_bins * ~ranked
            is_wide |= ranked
        plan = plan_lanes(columns, n_bins, team, is_wide | (usable == 0), alone=alone)
        storage = np.full(n_features, DENSE, dtype=np.uint8)
        if categories is not None:
            storage[categories.place >= 0] = CATEGORICAL
        if presorted is not None:
            storage[ranked] = PRESORTED
        sides = (storage, categories or NO_CATEGORIES, NO_BUNDLES, presorted or NOT_SORTED)
        return cls._fill(columns, n_value_bins, n_bins, *plan, usable, sides, team)

    @classmethod
    def from_sparse(
        cls,
        bins: SparseBins,
        n_value_bins: np.ndarray,
        team: Team,
        bundling: Bundling | None = None,
        rows: np.ndarray | None = None,
        min_rows: int = 1,
    ) -> "BinnedData":
        """Build from the bins of a sparse table, without a dense table of all values.

        Without ``bundling`` every feature has a column of bytes. ``rows`` and ``min_rows`` have the
        same meaning as for dense tables; without ``rows``, ``bins`` has the usable features.
        """
        if rows is not None:
            bins = screen_entries_of(bins, n_value_bins, rows, min_rows, team)
        bundled = bundle_columns(bins, n_value_bins, bundling, team)
        columns = bundled.columns
        plan = plan_lanes(columns, bundled.n_codes, team, contents=bundled.contents)
        storage = np.full(n_value_bins.size, BUNDLED, dtype=np.uint8)
        sides = (storage, NO_CATEGORIES, bundled.bundles, NOT_SORTED)
        return cls._fill(columns, n_value_bins, n_value_bins + 1, *plan, bins.usable, sides, team)

    @classmethod
    def _fill(
        cls,
        columns: np.ndarray,
        n_value_bins: np.ndarray,
        n_bins: np.ndarray,
        lanes: Lanes,
        source: np.ndarray,
        codes: list[np.ndarray],
        usable: np.ndarray,
        sides: tuple[np.ndarray, Categories, Bundles, Presorted],
        team: Team,
    ) -> "BinnedData":
        """Fill the tiles of columns with planned lanes; histograms have ``n_bins``."""
        n_rows = columns.shape[1]
        *places, n_words = lay_out_tiles(lanes.first.size - 1, n_rows, team.n_threads)
        parts = (np.empty(n_words, dtype=np.uint64), *places)
        shared = np.array(codes, dtype=np.uint8).reshape(len(codes), n_rows)
        team.run(fill_tiles, columns, shared, source, *parts)
        n_blocks = -(-n_rows >> BLOCK_BITS)
        crowds = np.empty((source.size, n_blocks), dtype=np.int64)
        counts = np.empty((team.n_threads, 256), dtype=np.int64)
        team.run(count_crowds, *parts, counts, crowds)
        bins = (n_value_bins, place_bins(n_bins, usable))
        table = Table(columns, *parts, lanes, crowds, *bins, *sides)
        return cls(table, usable.astype(np.uint8))

    def find_lanes(self) -> np.ndarray:
        """Return the lane of each feature, -1 for features without one."""
        lanes = self.table.lanes
        lane = np.full(self.n_features, -1, dtype=np.int64)
        lane[lanes.members] = np.repeat(np.arange(lanes.first.size - 1), np.diff(lanes.first))
        return lane

    def find_tiles(self) -> np.ndarray:
        """Return the tile of each feature, -1 for features without one."""
        return np.searchsorted(self.table.tile_first, self.find_lanes(), side="right") - 1


def screen_entries_of(
    bins: SparseBins, n_value_bins: np.ndarray, rows: np.ndarray, min_rows: int, team: Team
) -> SparseBins:
    """Find the usable features of a sparse table."""
    trains = np.zeros(bins.n_rows, dtype=np.uint8)
    trains[rows] = 1
    usable = np.empty(bins.n_features, dtype=np.uint8)
    counts = np.empty((team.n_threads, 256), dtype=np.int64)
    entries = (bins.start, bins.rows, bins.bins, bins.default_bin)
    team.run(screen_entries, *entries, n_value_bins + 1, trains, min_rows, counts, usable)
    return replace(bins, usable=usable != 0)
