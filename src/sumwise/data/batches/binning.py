"""The second and third pass over a source: find the bins, then write binned pages.

Bins and pages are the same as if all rows were in memory. The sample that quantiles come from is
drawn by the numbers of rows, and distinct values, counts of categories and counts of bins are
added up.

Among peers, each process reads its own rows and writes pages of them, and all find the bins of all
rows. What they exchange does not grow with the number of rows:

- the draw of the sample: about 80 kB in all (:mod:`~sumwise.kernels.sampling.peer_lowest`);
- errors, and columns with rounded integers: a few bytes;
- distinct values: 2 kB per feature from each peer, 32 features in a message;
- the sample: 1.6 MB per feature with many values in all (:mod:`~sumwise.data.batches.peer_sample`);
- counts of categories: 8 bytes each;
- counts of bins: 2 kB for each feature that no peer could split by its own rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from typing import NamedTuple

import numpy as np

from sumwise.data.batches.agreement import agree, do_alike
from sumwise.data.batches.learning import LearnedTable
from sumwise.data.batches.memory import MemoryPlan
from sumwise.data.batches.peer_sample import PeerSample
from sumwise.data.batches.storage import PlainStorage, open_storage
from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper, CategoryCounts
from sumwise.data.categories.bins import check_number, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.frames.columns import NUMBER
from sumwise.data.matrix import Matrix, StreamedMatrix
from sumwise.data.paged import Page, PagedData
from sumwise.data.thresholds import (
    MAX_BINS,
    DistinctValues,
    Neighbors,
    ThresholdRows,
    cut_quantiles,
    find_runs,
)
from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import Categories
from sumwise.peers import ALONE, Peers, Shards

_CODES = 256
# Features whose distinct values are collected together: once all have many, no more are needed.
_FEATURES = 32


class BinnedPages(NamedTuple):
    """A table in binned pages, and how it was binned."""

    data: PagedData
    mapper: BinMapper
    rounded: list[str]


@contextmanager
def open_pages(
    learned: LearnedTable,
    plan: MemoryPlan,
    team: Team,
    *,
    cache_dir: str | PathLike[str] | None = None,
    max_bins: int | np.ndarray = MAX_BINS,
    sample_weight: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    seed: int = 0,
    native: Native | None = None,
    only_bytes: bool = False,
    min_rows: int = 1,
    more: Sequence[Matrix | StreamedMatrix | LearnedTable] = (),
    unknown_code: float = np.nan,
    shards: Shards | None = None,
) -> Iterator[BinnedPages]:
    """Find the bins of a table and write its pages, which are deleted at the end of the context.

    ``rounded`` lists the columns whose integers are rounded to float64. The other arguments are
    those of :func:`find_bins` and :func:`write_pages`; ``cache_dir`` is the folder of files, None
    for the system's folder of temporary files.
    """
    peers = ALONE if shards is None else shards.peers

    def open_own(keeps: bool, n_bytes: int) -> PlainStorage:
        return do_alike(peers, lambda: open_storage(keeps, n_bytes, cache_dir))

    of_bins = (max_bins, sample_weight, rows, seed, team, native, only_bytes)
    with open_own(plan.keeps_sample, plan.sample_bytes) as storage:
        found = find_bins(learned, *of_bins, storage, unknown_code, shards)
    with open_own(plan.keeps_pages, plan.binned_bytes) as storage:
        layout = (storage, plan.page_rows, team, rows, min_rows, more, unknown_code, shards)
        yield BinnedPages(write_pages(learned, found.mapper, *layout), *found)


class FoundBins(NamedTuple):
    """The bins of a table, and the features whose integers are rounded to float64."""

    mapper: BinMapper
    rounded: list[str]


def find_bins(
    learned: LearnedTable,
    max_bins: int | np.ndarray = MAX_BINS,
    sample_weight: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    seed: int = 0,
    team: Team | None = None,
    native: Native | None = None,
    only_bytes: bool = False,
    storage: PlainStorage | None = None,
    unknown_code: float = np.nan,
    shards: Shards | None = None,
) -> FoundBins:
    """Find the bins that :meth:`BinMapper.fit` would find, given all rows in memory.

    ``storage`` holds the sample that quantiles come from: up to 200,000 rows. ``shards`` tells
    where the rows are among those of other processes, which make the same call; None if there are
    none.
    """
    team, native = team or Team(1), native or Native()
    storage = storage or PlainStorage()
    n_features = learned.schema.n_features
    n_categories = learned.schema.n_categories
    check_number(n_categories)
    most = np.broadcast_to(np.asarray(max_bins, dtype=np.int64), n_features)
    most = np.where(n_categories > 0, 0, most)
    if most.max(initial=0) > MAX_BINS:
        raise ParameterError(
            f"max_bins={most.max()}: a table that is read in batches has at most {MAX_BINS} bins "
            "per feature"
        )
    rows = np.arange(learned.n_rows, dtype=np.uint32) if rows is None else rows
    shards = None if shards is None or shards.peers.size == 1 else shards
    found_from = ThresholdRows.draw(rows, sample_weight, seed, team, shards)
    counts = CategoryCounts.allocate(n_categories)
    survey = _Survey(learned, found_from, most, counts, storage, team)
    peers = ALONE if shards is None else shards.peers
    every = agree(peers, lambda: survey.read(unknown_code))
    rounded = {f: label for own in every for f, label in own.items()}
    if shards is not None:  # no matter in which batch they were found
        rounded = dict(sorted(rounded.items()))
    thresholds = survey.place_thresholds(shards)
    counts.unite(peers)
    categories = counts.make_bins(native, only_bytes)
    return FoundBins(BinMapper(thresholds, categories, native), list(rounded.values()))


class _Survey:
    """What one pass collects: distinct values, a sample of rows, and counts of categories."""

    def __init__(
        self,
        learned: LearnedTable,
        found_from: ThresholdRows,
        max_bins: np.ndarray,
        categories: CategoryCounts,
        storage: PlainStorage,
        team: Team,
    ) -> None:
        self._learned, self._from, self._team = learned, found_from, team
        self._max_bins, self._categories, self._storage = max_bins, categories, storage
        self._runs: list[_Run] = []

    def read(self, unknown_code: float) -> dict[int, str]:
        """Read all batches; return the features whose integers are rounded, and their columns."""
        # Runs of features with the same number of bins; those without bins are categories.
        memory = (self._learned.dtype, self._from, self._storage, self._team)
        self._runs = [
            _Run(first, last, int(self._max_bins[first]), *memory)
            for first, last in find_runs(self._max_bins, _FEATURES)
            if self._max_bins[first]
        ]
        kinds, rounded = self._learned.schema.kinds, {}
        for first, X, columns in self._learned.read_matrices("missing", unknown_code):
            for f, (column, kind) in enumerate(zip(columns.columns, kinds, strict=True)):
                if kind == NUMBER and f not in rounded and column.rounds_integers():
                    rounded[f] = column.label
            rows, _ = _take_range(self._from.rows, first, first + X.shape[0])
            self._categories.add(X, rows, self._team)
            for run in self._runs:
                run.add(X, rows, first, self._team)
        return rounded

    def place_thresholds(self, shards: Shards | None) -> list[np.ndarray]:
        """Return the thresholds of all features, empty for categories."""
        thresholds = [np.empty(0)] * self._learned.schema.n_features
        sample = None
        if shards is not None and self._runs:
            sample = PeerSample.open(self._from, shards)
        for run in self._runs:
            thresholds[run.first : run.last] = run.place_thresholds(sample, self._team)
        return thresholds


class _Run:
    """Neighboring features with the same number of bins: their distinct values, and the sample."""

    def __init__(
        self,
        first: int,
        last: int,
        max_bins: int,
        dtype: np.dtype,
        found_from: ThresholdRows,
        storage: PlainStorage,
        team: Team,
    ) -> None:
        self.first, self.last = first, last
        self._max_bins, self._from = max_bins, found_from
        self._distinct = DistinctValues.allocate(last - first, max_bins, dtype, team)
        # By column: quantiles are found one column after the other.
        self._sample = storage.allocate((last - first, found_from.sample.size), dtype)

    def add(self, X: np.ndarray, rows: np.ndarray, first_row: int, team: Team) -> None:
        """Add a batch; ``rows`` are counted from its first row."""
        X = X[:, self.first : self.last]
        if not self._distinct.is_full:
            self._distinct.add(X, rows, team)
            if self._distinct.is_full:  # the hash tables are large, and not needed any more
                self._distinct = self._distinct.drop_tables()
        sampled, begin = _take_range(self._from.sample, first_row, first_row + X.shape[0])
        self._sample[:, begin : begin + sampled.size] = X[sampled].T

    def place_thresholds(self, sample: PeerSample | None, team: Team) -> list[np.ndarray]:
        """Return the thresholds of these features, from the rows of all peers if there are any."""
        if sample is None:
            return self._distinct.place_thresholds(partial(self._cut, team))
        united = self._distinct.unite(sample.peers)
        return united.place_thresholds(partial(self._cut_among, sample, team))

    def _cut(self, team: Team, many: np.ndarray) -> Neighbors:
        numbers = np.arange(self._sample.shape[1], dtype=np.uint32)
        of_rows = (numbers, self._from.weight)
        return cut_quantiles(self._sample.T, many, *of_rows, self._max_bins, team)

    def _cut_among(self, sample: PeerSample, team: Team, many: np.ndarray) -> Neighbors:
        numbers = np.arange(sample.n_rows, dtype=np.uint32)
        low, high, sizes = zip(
            *(
                cut_quantiles(X.T, np.arange(len(X)), numbers, sample.weight, self._max_bins, team)
                for X in sample.gather(self._sample, many)
            ),
            strict=True,
        )
        return np.concatenate(low), np.concatenate(high), np.concatenate(sizes)


def _take_range(rows: np.ndarray, first: int, last: int) -> tuple[np.ndarray, int]:
    """Return the numbers within [first, last), counted from ``first``, and where they begin."""
    # Bounds of another type would have all rows converted.
    begin, end = np.searchsorted(rows, np.array([first, last], dtype=rows.dtype)).tolist()
    return rows[begin:end] - rows.dtype.type(first), begin


def write_pages(
    learned: LearnedTable,
    mapper: BinMapper,
    storage: PlainStorage,
    page_rows: int,
    team: Team,
    rows: np.ndarray | None = None,
    min_rows: int = 1,
    more: Sequence[Matrix | StreamedMatrix | LearnedTable] = (),
    unknown_code: float = np.nan,
    shards: Shards | None = None,
) -> PagedData:
    """Map all rows to bins and return them in pages, followed by the rows of ``more``.

    Parameters
    ----------
    learned : LearnedTable
    mapper : BinMapper
        Its features must have bins of one byte.
    storage : PlainStorage
        Holds columns and tiles.
    page_rows : int
        The rows of a page; the last one may have fewer.
    team : Team
    rows : ndarray of uint32 or None
        The training rows, ascending; None for all rows of the source.
    min_rows : int
        Features that cannot leave as many training rows on both sides of a split are unusable.
    more : sequence of Matrix or LearnedTable
        Rows that are only scored, such as validation sets. A table must have the same schema.
    unknown_code : float
        The code of categories that the schema does not know.
    shards : Shards or None
        Where the training rows are among those of other processes, which make the same call. Each
        gets pages of its own rows, none if it has no rows. None if there are no other processes.
    """
    refuse_wide(learned, mapper)
    n_features, n_value_bins = learned.schema.n_features, mapper.count_bins()
    rows = np.arange(learned.n_rows, dtype=np.uint32) if rows is None else rows
    fewest = np.full(n_features, min_rows, dtype=np.int64)
    fewest[list(mapper.categories)] = 1
    screen = _Screen(n_value_bins + 1, fewest)
    tables = (learned, *more)
    n_rows = sum(own.n_rows if isinstance(own, LearnedTable) else own.shape[0] for own in tables)
    peers = ALONE if shards is None else shards.peers

    def read() -> list[np.ndarray]:
        columns = []
        parts = _cut(_read_parts(tables, unknown_code), page_rows)
        for first in range(0, n_rows, page_rows):
            own = storage.allocate((n_features, min(page_rows, n_rows - first)), np.uint8)
            none = np.empty((0, own.shape[1]), dtype=np.uint32)
            begin = 0
            while begin < own.shape[1]:
                part = next(parts)
                mapper.write_bins(part, own, none, begin, team)
                begin += part.shape[0]
            screen.add(own, _take_range(rows, first, first + begin)[0])
            columns.append(own)
        for _ in parts:  # ends the pass, which compares the number of rows
            pass
        return columns

    columns = do_alike(peers, read)
    screen.unite(peers)
    categories = _collect(mapper, n_features)

    def lay_out() -> list[Page]:
        pages, first = [], 0
        for own in columns:
            data = _lay_out(own, n_value_bins, screen.usable, categories, storage, team)
            pages.append(Page(first, data))
            first += own.shape[1]
        return pages

    return PagedData(do_alike(peers, lay_out), n_value_bins, screen.usable, categories)


def refuse_wide(learned: LearnedTable, mapper: BinMapper) -> None:
    """Raise DataError if a categorical feature has more bins than one byte can number."""
    for f, bins in mapper.categories.items():
        if bins.is_wide:
            raise DataError(
                f"column {learned.table.names[f]!r} has {bins.n_value_bins} categories with enough "
                f"rows, and a table that is read in batches has at most {MAX_BINS}; merge rare "
                "ones, raise min_samples_category or leave the column out"
            )


def _read_parts(
    tables: Sequence[Matrix | StreamedMatrix | LearnedTable], unknown_code: float
) -> Iterator[Matrix]:
    """Yield all rows in order."""
    for own in tables:
        if isinstance(own, LearnedTable):
            yield from (X for _, X, _ in own.read_matrices("missing", unknown_code))
        elif isinstance(own, StreamedMatrix):
            yield from (X for _, X in own.read())
        else:
            yield own


def _cut(parts: Iterator[Matrix], page_rows: int) -> Iterator[np.ndarray]:
    """Cut matrices where pages end."""
    room = page_rows
    for X in parts:
        first = 0
        while first < X.shape[0]:
            last = min(first + room, X.shape[0])
            yield X[first:last] if isinstance(X, np.ndarray) else X.convert(first, last)
            room = room - (last - first) or page_rows
            first = last


class _Screen:
    """Finds the features that can be split, as pages are read; see ``kernels/table/screening``."""

    def __init__(self, n_bins: np.ndarray, fewest: np.ndarray) -> None:
        self._n_bins, self._fewest = np.minimum(n_bins, _CODES), fewest
        self._counts = np.zeros((n_bins.size, _CODES), dtype=np.int64)
        self.usable = np.zeros(n_bins.size, dtype=np.uint8)

    def add(self, columns: np.ndarray, rows: np.ndarray) -> None:
        """Count the bins of some rows; features that are known to be usable need no counts."""
        for f in np.flatnonzero(self.usable == 0).tolist():
            self._counts[f] += np.bincount(columns[f][rows], minlength=_CODES)
            self.usable[f] = self._can_split(f)

    def unite(self, peers: Peers) -> None:
        """Find the features that the rows of all peers can split together."""
        if peers.size == 1:
            return
        n_usable = self.usable.astype(np.int64)
        peers.add(n_usable)
        self.usable[n_usable > 0] = 1
        open_features = np.flatnonzero(n_usable == 0)  # whose bins have all been counted
        if open_features.size:
            counts = self._counts[open_features]
            peers.add(counts)
            self._counts[open_features] = counts
            self.usable[open_features] = [self._can_split(f) for f in open_features.tolist()]

    def _can_split(self, f: int) -> bool:
        counts, fewest = self._counts[f, : self._n_bins[f]], self._fewest[f]
        left, missing = counts[1:].cumsum(), counts[0]
        right = counts.sum() - left
        either = np.minimum(left, right) >= fewest
        return bool((either | (np.minimum(left + missing, right - missing) >= fewest)).any())


def _collect(mapper: BinMapper, n_features: int) -> Categories | None:
    if not mapper.categories:
        return None
    none = np.empty((0, 0), dtype=np.uint32)
    return collect_categories(mapper.categories, none, n_features, mapper.native)


def _lay_out(
    columns: np.ndarray,
    n_value_bins: np.ndarray,
    usable: np.ndarray,
    categories: Categories | None,
    storage: PlainStorage,
    team: Team,
) -> BinnedData:
    """Return a page whose tiles are in the storage, too."""
    made = BinnedData.from_columns(
        columns, n_value_bins, team, categories=categories, usable=usable.copy()
    )
    tiles = storage.allocate(made.table.tiles.shape, np.uint64)
    tiles[:] = made.table.tiles
    return BinnedData(made.table._replace(tiles=tiles), made.usable)
