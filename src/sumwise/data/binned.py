"""BinnedData: the table every tree method shares, one byte a value."""

from dataclasses import dataclass

import numpy as np

from sumwise.data.bundling import Bundling, bundle_columns
from sumwise.data.lanes import plan_lanes, plan_tiles
from sumwise.data.sparse_binning import SparseBins
from sumwise.kernels.bundles import Bundles, NoBundles
from sumwise.kernels.categories import Categories, NoCategories
from sumwise.kernels.layout import BLOCK_BITS, Lanes, Table
from sumwise.kernels.presorted import BEYOND, NotSorted, Presorted
from sumwise.kernels.threads import Team
from sumwise.kernels.tiles import count_crowds, fill_tiles

_WORD = 8
_RANK = np.uint64(32)


@dataclass(frozen=True)
class BinnedData:
    """Bins of every value, by column and in tiles (see ``kernels.layout``).

    Attributes
    ----------
    table : Table
        The arrays as kernels take them.
    usable : ndarray of uint8
        Features whose training rows do not all lie in one bin.
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
        n_train: int | None = None,
        categories: Categories | None = None,
        alone: np.ndarray | None = None,
        presorted: Presorted | None = None,
    ) -> "BinnedData":
        """Build from bins by column: uint8 of shape (n_features, n_rows), 0 for missing.

        The first ``n_train`` rows (all, if None) decide which features are usable. Of a wide
        categorical feature the bins are in ``categories``, and its column is not read. It has no
        histograms if its ``n_value_bins`` is 0. Features that are to be ``alone`` share no byte.
        The column of a feature that has ranks in ``presorted`` is not read, either.
        """
        n_features = columns.shape[0]
        train = columns[:, :n_train]
        usable = train.min(axis=1, initial=255) < train.max(axis=1, initial=0)
        is_wide = np.zeros(n_features, dtype=np.bool_)
        if categories is not None:
            is_wide[categories.place >= 0] = categories.wide_place >= 0
            wide = categories.wide[:, :n_train]
            usable[is_wide] = [column.min() < column.max() for column in wide]
        n_bins = n_value_bins + 1
        if presorted is not None:
            ranked = presorted.is_ranked != 0
            ends = presorted.order[:, [0, -1]] >> _RANK
            usable[ranked] = ends[ranked, 0] < ends[ranked, 1]
            n_value_bins, n_bins = np.where(ranked, BEYOND, n_value_bins), n_bins * ~ranked
            is_wide |= ranked
        plan = plan_lanes(columns, n_bins, team, is_wide, alone=alone)
        sides = (categories or NoCategories(), NoBundles(), presorted or NotSorted())
        return cls._fill(columns, n_value_bins, n_bins, *plan, usable, sides, team)

    @classmethod
    def from_sparse(
        cls,
        bins: SparseBins,
        n_value_bins: np.ndarray,
        team: Team,
        bundling: Bundling | None = None,
    ) -> "BinnedData":
        """Build from the bins of a sparse table; no table of all features and rows is made.

        Without a ``bundling`` every feature has a column of bytes.
        """
        bundled = bundle_columns(bins, n_value_bins, bundling, team)
        columns = bundled.columns
        plan = plan_lanes(columns, bundled.n_codes, team, contents=bundled.contents)
        sides = (NoCategories(), bundled.bundles, NotSorted())
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
        sides: tuple[Categories | NoCategories, Bundles | NoBundles, Presorted | NotSorted],
        team: Team,
    ) -> "BinnedData":
        """Make the tiles of columns whose lanes are planned; histograms have ``n_bins``."""
        n_rows = columns.shape[1]
        tile_first = plan_tiles(lanes.first.size - 1, team.n_threads)
        tile_words = np.where(np.diff(tile_first) > _WORD, 2, 1).astype(np.int64)
        ends = np.cumsum(tile_words * n_rows)
        tile_start = (ends - tile_words * n_rows).astype(np.int64)
        tiles = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.uint64)
        parts = (tiles, tile_start, tile_words, tile_first)
        shared = np.array(codes, dtype=np.uint8).reshape(len(codes), n_rows)
        team.run(fill_tiles, columns, shared, source, *parts)
        n_blocks = -(-n_rows >> BLOCK_BITS)
        crowds = np.empty((source.size, n_blocks), dtype=np.int64)
        counts = np.empty((team.n_threads, 256), dtype=np.int64)
        team.run(count_crowds, *parts, counts, crowds)
        bin_start = np.zeros(n_value_bins.size + 1, dtype=np.int64)
        np.cumsum(n_bins, out=bin_start[1:])
        places = (n_value_bins, bin_start)
        table = Table(columns, *parts, lanes, crowds, *places, *sides)
        return cls(table, usable.astype(np.uint8))

    def find_tiles(self) -> np.ndarray:
        """The tile of each feature, -1 for one that is in none."""
        lanes = self.table.lanes
        lane = np.full(self.n_features, -1, dtype=np.int64)
        lane[lanes.members] = np.repeat(np.arange(lanes.first.size - 1), np.diff(lanes.first))
        return np.searchsorted(self.table.tile_first, lane, side="right") - 1
