"""Tables with new bins for every tree: quantiles weighted by its hessians.

This is the approximate algorithm of XGBoost (Chen and Guestrin, 2016, section 3.3 and appendix A).
Rows with small hessians change little wherever they are split, so candidates are as dense as the
hessians. The rank function of the paper is exact here: hessians are summed by the rank of each
value, and the ranks are cut into bins of about equal weight, as values are for histograms.

Ranks take two bytes per value. The columns, tiles and crowds of a table are rewritten in place for
each tree. ``n_value_bins``, ``bin_start`` and ``n_codes`` change with it, within the room for
``max_bins`` bins. Features with at most ``max_bins`` values keep their bins, and only they share
lanes.

A cut lies between two ranks. Thresholds lie between neighboring values of the training rows, so
validation rows are coded by their ranks, too. If the rows of a tree lack some values, the cut
lies in the middle of those.

The bins of a tree are lost when the next tree is grown. Code that needs older trees, as ``Dart``
does, goes by thresholds: see ``Session.add_old_tree``. Tables of other permutations are coded when
their leaves are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sumwise.data.binned import BinnedData, place_bins
from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.matrix import Matrix
from sumwise.data.ranks import RankedColumns
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.quantiles import (
    code_columns,
    find_cuts,
    merge_ranks,
    refill_tiles,
    replace_ranks,
)

# The most ranks of a feature, so that they fit in two bytes.
MOST_RANKS = (1 << 16) - 1


@dataclass(frozen=True)
class FineRanks:
    """Ranks that fit in two bytes.

    If a feature has more than ``MOST_RANKS`` values, neighbors share a rank, so that every rank has
    about the same number of rows.

    Attributes
    ----------
    start : ndarray of int64
        The start of each feature in ``merged``.
    merged : ndarray of uint16
        The new rank for each old rank, feature after feature, 0 for missing values.
    thresholds : list of ndarray
        The thresholds between the new ranks.
    """

    start: np.ndarray
    merged: np.ndarray
    thresholds: list[np.ndarray]

    @classmethod
    def fit(cls, ranked: RankedColumns, rows: np.ndarray, team: Team) -> "FineRanks":
        """Merge the ranks of ``rows``."""
        start = np.cumsum([0, *(ranked.n_values + 1)])
        merged = np.empty(start[-1], dtype=np.uint16)
        counts = np.empty((team.n_threads, int(np.diff(start).max())), dtype=np.int64)
        team.run(merge_ranks, ranked.ranks, rows, start, MOST_RANKS, counts, merged)
        thresholds = []
        for k, f in enumerate(ranked.features):
            own = merged[start[k] + 1 : start[k + 1]]
            thresholds.append(ranked.mapper.thresholds[f][own[1:] > own[:-1]])
        return cls(start, merged, thresholds)

    def transform(self, ranks: np.ndarray, team: Team) -> np.ndarray:
        """Return the new ranks."""
        fine = np.empty(ranks.shape, dtype=np.uint16)
        team.run(replace_ranks, ranks, self.start, self.merged, fine)
        return fine


@dataclass
class QuantileBins:
    """The current bins of a fit, which all its tables share.

    Attributes
    ----------
    features : ndarray of int64
        The features whose bins change.
    start : ndarray of int64
        The start of each feature's ranks, including rank 0 for missing values.
    thresholds : ndarray
        The largest value of each rank, feature after feature.
    codes : ndarray of uint8
        The bin of each rank.
    cuts : ndarray of int64, shape (n_features, max_bins - 1)
        The last rank of every bin except the last bin.
    n_cuts : ndarray of int64
    made_of : tuple of ndarray
        The ranks, rows and hessians of these bins. If the next tree has the same, as with the
        squared loss, it needs no new bins.
    coded : set of int
        The numbers of the tables whose rows have been put into these bins.
    """

    features: np.ndarray
    start: np.ndarray
    thresholds: np.ndarray
    codes: np.ndarray
    cuts: np.ndarray
    n_cuts: np.ndarray
    made_of: tuple[np.ndarray, ...] = ()
    coded: set[int] = field(default_factory=set)

    @classmethod
    def allocate(
        cls, features: np.ndarray, thresholds: Sequence[np.ndarray], max_bins: int
    ) -> "QuantileBins":
        """Allocate the bins of features with these thresholds between ranks."""
        ends = [np.concatenate([[np.nan], own, [np.inf]]) for own in thresholds]
        start = np.cumsum([0, *(own.size for own in ends)])
        cuts = np.zeros((features.size, max_bins - 1), dtype=np.int64)
        n_cuts = np.zeros(features.size, dtype=np.int64)
        codes = np.zeros(start[-1], dtype=np.uint8)
        return cls(features, start, np.concatenate(ends), codes, cuts, n_cuts)

    @property
    def max_bins(self) -> int:
        return self.cuts.shape[1] + 1

    def make(self, ranks: np.ndarray, rows: np.ndarray, hessian: np.ndarray, team: Team) -> None:
        """Find the bins for a tree grown on ``rows``, from their ranks and hessians."""
        if self._is_made_of(ranks, rows, hessian):
            return
        shape = (team.n_threads, int(np.diff(self.start).max()))
        team.run(
            find_cuts,
            ranks,
            self.start,
            rows,
            hessian,
            self.max_bins,
            np.empty(shape),
            np.empty(shape, dtype=np.uint16),
            np.empty((team.n_threads, self.max_bins), dtype=np.int64),
            self.cuts,
            self.n_cuts,
            self.codes,
        )
        self.made_of = (ranks, rows, hessian.copy())
        self.coded.clear()

    def _is_made_of(self, ranks: np.ndarray, rows: np.ndarray, hessian: np.ndarray) -> bool:
        if not self.made_of or ranks is not self.made_of[0]:
            return False
        _, old_rows, old = self.made_of
        some = slice(0, 1 << 10)  # usually a few values already differ
        return (
            (rows is old_rows or np.array_equal(rows, old_rows))
            and np.array_equal(hessian[some], old[some])
            and np.array_equal(hessian, old)
        )

    def find_thresholds(self, places: np.ndarray, split_bins: np.ndarray) -> np.ndarray:
        """Return the largest values of bins; ``places`` are positions in ``features``."""
        cuts = self.cuts[places, np.minimum(split_bins, self.max_bins - 1) - 1]
        found = self.thresholds[self.start[places] + cuts]
        return np.where(split_bins <= self.n_cuts[places], found, np.inf)


@dataclass(frozen=True)
class QuantileData(BinnedData):
    """A binned table with features whose bins change for every tree.

    Attributes
    ----------
    number : int
        The number of the table within the fit.
    ranks : ndarray of uint16, shape (n_changing, n_rows)
    bins : QuantileBins
        Shared by all tables of the fit.
    lanes : ndarray of int64
        The lane of each changing feature, which shares it with no other.
    """

    number: int
    ranks: np.ndarray
    bins: QuantileBins
    lanes: np.ndarray

    @classmethod
    def from_binned(
        cls, data: BinnedData, number: int, ranks: np.ndarray, bins: QuantileBins
    ) -> "QuantileData":
        """Extend a table in which every changing feature has ``max_bins`` bins and its own lane."""
        lanes = data.find_lanes()[bins.features]
        return cls(data.table, data.usable, number, ranks, bins, lanes)

    def refresh(self, rows: np.ndarray, hessian: np.ndarray, team: Team) -> None:
        """Make the bins for a tree grown on ``rows``, and put all rows into them."""
        self.bins.make(self.ranks, rows, hessian, team)
        self.catch_up(team)

    def catch_up(self, team: Team) -> None:
        """Put all rows into the bins of the last tree, unless this has been done."""
        bins, table = self.bins, self.table
        if self.number in bins.coded:
            return
        places = (bins.features, self.lanes)
        counts = np.empty((team.n_threads, 256), dtype=np.int64)
        own = (self.ranks, bins.start, bins.codes)
        team.run(code_columns, *own, *places, counts, table.columns, table.crowds)
        parts = (table.tiles, table.tile_start, table.tile_words, table.tile_first)
        team.run(refill_tiles, table.columns, *places, *parts)
        # Histograms use only part of the memory allocated for ``max_bins``.
        table.n_value_bins[bins.features] = bins.n_cuts + 1
        table.lanes.n_codes[self.lanes] = bins.n_cuts + 2
        table.bin_start[:] = place_bins(table.n_value_bins + 1, self.usable)
        bins.coded.add(self.number)

    def write_thresholds(
        self, feature: np.ndarray, split_bin: np.ndarray, threshold: np.ndarray
    ) -> None:
        """Write the thresholds of splits on changing features; leaves have none."""
        place = np.full(self.n_features + 1, -1, dtype=np.int64)
        place[self.bins.features] = np.arange(self.bins.features.size)
        own = place[feature]  # -1 for leaves as well
        is_changing = own >= 0
        found = self.bins.find_thresholds(own[is_changing], split_bin[is_changing])
        threshold[is_changing] = found


def make_quantile_tables(
    matrices: Sequence[Matrix],
    rows: np.ndarray,
    team: Team,
    X_val: Matrix | None,
    n_categories: np.ndarray,
    native: Native,
    max_bins: int,
) -> tuple[BinMapper, list[QuantileData]] | None:
    """Return the mapper of fixed bins, and one table per matrix.

    The values come from ``rows`` of the first matrix. Features with at most ``max_bins`` distinct
    values keep one bin per value, and categorical features keep their bins. Returns None if that
    applies to all features.
    """
    X, few, features = matrices[0], None, np.flatnonzero(n_categories == 0)
    if isinstance(X, SparseMatrix):  # ranks need memory for every row
        few = BinMapper.fit(X, max_bins, None, rows, 0, team)
        features = features[np.diff(X.read_columns(team).start) >= max_bins]
        X.forget_columns()
    ranked = RankedColumns.fit(X, rows, team, X_val, n_categories, native, max_bins, features)
    if not ranked.features.size:
        return None
    fine = FineRanks.fit(ranked, rows, team)
    bins = QuantileBins.allocate(ranked.features, fine.thresholds, max_bins)
    thresholds = list((ranked.mapper if few is None else few).thresholds)
    for f in ranked.features:  # these only limit the number of bins
        thresholds[f] = ranked.mapper.thresholds[f][: max_bins - 1]
    mapper = replace(ranked.mapper, thresholds=thresholds)
    tables = []
    for number, own in enumerate(matrices):
        both = [own] if X_val is None else [own, X_val]
        ranks = ranked.find_ranks(both, team) if number else ranked.ranks
        ranks = fine.transform(ranks, team)
        data = mapper.transform(own, team, X_val, alone=ranked.features)
        tables.append(QuantileData.from_binned(data, number, ranks, bins))
    return mapper, tables
