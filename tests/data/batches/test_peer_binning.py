"""Bins and pages among peers are those of one process that has all rows."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sumwise.data.thresholds
from sumwise.data.batches.binning import find_bins, open_pages, write_pages
from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.memory import MemoryPlan
from sumwise.data.batches.parts import PartsSource
from sumwise.data.batches.sources import open_source
from sumwise.data.batches.storage import PlainStorage
from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.errors import DataError, DiskSpaceError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE, Shards
from tests.data.batches.test_binning import (
    assert_same_mapper,
    assert_same_pages,
    make_table,
    read_whole,
)
from tests.threaded_peers import deal, run_together

NATIVE = Native(smoothing=1)
PLAN = MemoryPlan(100, 30_000, 90_000, keeps_pages=True, keeps_sample=True)


class Dealt(NamedTuple):
    """Partitions of some rows, and which of them each peer has."""

    bounds: list[tuple[int, int]]
    owned: list[list[int]]

    @property
    def n_peers(self) -> int:
        return len(self.owned)

    def list_rows(self, rank: int) -> np.ndarray:
        """The rows of a peer, by their numbers in the whole data."""
        own = (np.arange(*self.bounds[k]) for k in self.owned[rank])
        return np.concatenate([np.empty(0, dtype=np.int64), *own])

    def learn(self, peers: Any, X: Any, batch_rows: int = 1 << 16, known: Any = None) -> Any:
        """Return the rows of a process as a table, and its shards."""
        own = [(k, take(X, *self.bounds[k])) for k in self.owned[peers.rank]]
        source = PartsSource.open(own, peers)
        table = BatchedTable.open(source, Roles(), batch_rows=batch_rows)
        shards = Shards.of_sizes(peers, source.numbers, source.sizes)
        return learn_table(table, known=known, peers=peers), shards

    @classmethod
    def in_order(cls, n_rows: int, ends: list[int], owners: list[int], n_peers: int) -> "Dealt":
        bounds = list(pairwise([0, *sorted(end % (n_rows + 1) for end in ends), n_rows]))
        owned = deal(len(bounds), [owner % n_peers for owner in owners[: len(bounds)]], n_peers)
        return cls(bounds, owned)


def take(X: Any, first: int, last: int) -> Any:
    return X.slice(first, last - first) if isinstance(X, pa.Table) else X[first:last]


@st.composite
def deals(draw, n_rows):
    """Partitions, some of them empty, of peers of which some have none."""
    ends = draw(st.lists(st.integers(0, 10_000), max_size=5))
    owners = draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    return Dealt.in_order(n_rows, ends, owners, draw(st.integers(1, 4)))


def write_all(learned, plan, shards, **options):
    """Return the pages of a process; those in memory stay after their context."""
    with Team(1) as team, open_pages(learned, plan, team, shards=shards, **options) as found:
        return found


def assert_same_part(pages, binned, rows, page_rows):
    """Whether pages are those of some rows of a table in memory."""
    assert pages.n_rows == rows.size
    assert all(page.n_rows == page_rows for page in pages.pages[:-1])
    columns = [page.data.table.columns for page in pages.pages]
    joined = np.concatenate([binned.table.columns[:, :0], *columns], axis=1)
    np.testing.assert_array_equal(joined, binned.table.columns[:, rows])
    for own in (pages, *(page.data for page in pages.pages)):
        np.testing.assert_array_equal(own.usable, binned.usable)
    np.testing.assert_array_equal(pages.n_value_bins, binned.table.n_value_bins)
    np.testing.assert_array_equal(pages.head.table.bin_start, binned.table.bin_start)
    np.testing.assert_array_equal(pages.storage, binned.table.storage)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 400),
    max_bins=st.sampled_from([2, 5, 255]),
    batch_rows=st.integers(20, 500),
    page_rows=st.integers(30, 500),
    weighted=st.booleans(),
    n_sampled=st.sampled_from([50, 200_000]),
    data=st.data(),
)
def test_bins_and_pages_are_those_of_one_process(
    seed, n_rows, max_bins, batch_rows, page_rows, weighted, n_sampled, data
):
    rng = np.random.default_rng(seed)
    table = make_table(rng, n_rows)
    X, schema = read_whole(table)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0, 0.1], n_rows) if weighted else None
    is_train = rng.random(n_rows) < 0.8
    train, n_valid = np.flatnonzero(is_train).astype(np.uint32), -(-n_rows // 2)
    dealt = data.draw(deals(n_rows))
    valid_ends = data.draw(st.lists(st.integers(0, 10_000), max_size=2))
    dealt_valid = Dealt.in_order(n_valid, valid_ends, [2, 0, 1], dealt.n_peers)

    def work(peers):
        learned, shards = dealt.learn(peers, table, batch_rows)
        assert learned.schema.to_json() == schema.to_json()
        more, _ = dealt_valid.learn(peers, table.slice(0, n_valid), batch_rows, learned.schema)
        numbers = dealt.list_rows(peers.rank)
        own_weight = None if weight is None else weight[numbers]
        rows = np.flatnonzero(is_train[numbers]).astype(np.uint32)
        with Team(1 + peers.rank % 2) as team:
            options = (max_bins, own_weight, rows, seed, team, NATIVE)
            found = find_bins(learned, *options, shards=shards)
            pages = write_pages(
                learned,
                found.mapper,
                PlainStorage(),
                page_rows,
                team,
                rows,
                min_rows=3,
                more=[more],
                shards=shards,
            )
        return found, pages, peers.n_messages

    with pytest.MonkeyPatch.context() as patch, Team(1) as team:
        patch.setattr(sumwise.data.thresholds, "SAMPLE_ROWS", n_sampled)
        options = (max_bins, weight, train, seed, team)
        expected = BinMapper.fit(X, *options, schema.n_categories, NATIVE)
        binned = expected.transform(X, team, X[:n_valid], rows=train, min_rows=3)
        whole = Dealt([(0, n_rows)], [[0]])
        learned, _ = whole.learn(ALONE, table, batch_rows)
        alone = find_bins(learned, *options, NATIVE)
        results = run_together(dealt.n_peers, work)
    assert_same_mapper(alone.mapper, expected)
    for rank, (found, pages, _) in enumerate(results):
        assert_same_mapper(found.mapper, expected)
        assert found.rounded == alone.rounded
        rows = [dealt.list_rows(rank), n_rows + dealt_valid.list_rows(rank)]
        assert_same_part(pages, binned, np.concatenate(rows), page_rows)
    assert len({n_messages for _, _, n_messages in results}) == 1


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 300),
    dtype=st.sampled_from(["f4", "f8", "i8"]),
    n_sampled=st.sampled_from([30, 200_000]),
    data=st.data(),
)
def test_arrays_with_weights_of_some_peers(seed, n_rows, dtype, n_sampled, data):
    """Values that are hard for bins, runs of features with different bins, and weights of some."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 40)).round(rng.integers(0, 5))
    hard = rng.choice([np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, np.nan], X.shape)
    X = np.where(rng.random(X.shape) < rng.random(40) ** 3, hard, X) if dtype != "i8" else X
    X = X.astype(dtype)
    max_bins = rng.choice([2, 7, 20], 40).astype(np.uint8)
    dealt = data.draw(deals(n_rows))
    is_weighted = data.draw(st.lists(st.booleans(), min_size=dealt.n_peers, max_size=dealt.n_peers))
    weight = np.ones(n_rows)
    for rank in np.flatnonzero(is_weighted):
        rows = dealt.list_rows(rank)
        weight[rows] = rng.choice([0.1, 0.7, 1e9, 1e-9], rows.size)

    def work(peers):
        learned, shards = dealt.learn(peers, X, 64)
        own = weight[dealt.list_rows(peers.rank)] if is_weighted[peers.rank] else None
        with Team(1) as team:
            return find_bins(learned, max_bins, own, None, seed, team, shards=shards)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sumwise.data.thresholds, "SAMPLE_ROWS", n_sampled)
        whole = weight if any(is_weighted) else None
        expected = BinMapper.fit(X, max_bins, whole, None, seed, Team(1))
        results = run_together(dealt.n_peers, work)
    for found in results:
        assert_same_mapper(found.mapper, expected)


def test_peers_without_rows_know_everything():
    """One peer has a partition without rows, and one has no partition."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "word": ["b", "a", None, "zebra"]})
    dealt = Dealt([(0, 0), (0, 4)], [[1], [0], []])

    def work(peers):
        learned, shards = dealt.learn(peers, frame)
        return write_all(learned, PLAN, shards, native=NATIVE)

    results = run_together(3, work)
    X, schema = read_whole(frame)
    expected = BinMapper.fit(X, n_categories=schema.n_categories, native=NATIVE)
    for (pages, mapper, rounded), n_rows in zip(results, [4, 0, 0], strict=True):
        assert_same_mapper(mapper, expected)
        assert pages.n_rows == n_rows
        assert len(pages.pages) == (n_rows > 0)
        assert rounded == []
        assert pages.usable.tolist() == [1, 1]
        assert pages.categories.place.tolist() == results[0].data.categories.place.tolist()
        head, known = pages.head.table, results[0].data.head.table
        assert head.bin_start.tolist() == known.bin_start.tolist()
        assert head.n_value_bins.tolist() == [3, 3]
    assert_same_pages(results[0].data, expected.transform(X, Team(1)))


def test_what_is_in_one_partition_only():
    parts = [
        pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 0.5], "word": ["b", None]}),
        pd.DataFrame({"x": [3.0, np.nan], "y": [0.5, 0.5], "word": ["a", "zebra"]}),
        pd.DataFrame({"x": [np.inf, 4.0], "y": [0.5, 9.0], "word": [None, None]}),
    ]
    whole = pd.concat(parts, ignore_index=True)
    dealt = Dealt([(0, 2), (2, 4), (4, 6)], [[2], [0], [1]])

    def work(peers):
        learned, shards = dealt.learn(peers, whole)
        return write_all(learned, PLAN, shards, native=NATIVE)

    X, schema = read_whole(whole)
    expected = BinMapper.fit(X, n_categories=schema.n_categories, native=NATIVE)
    binned = expected.transform(X, Team(1))
    assert binned.usable.all()
    for rank, own in enumerate(run_together(3, work)):
        assert_same_mapper(own.mapper, expected)
        assert_same_part(own.data, binned, dealt.list_rows(rank), 100)


def test_values_and_bins_of_all_peers_count_together():
    """No peer has more values than bins, or enough rows on both sides of a split."""
    X = np.column_stack([np.arange(40), np.arange(40) // 10, np.ones(40), np.arange(40) == 7])
    dealt = Dealt([(k, k + 5) for k in range(0, 40, 5)], [[0, 3, 6], [1, 4], [2, 5, 7]])

    def work(peers):
        learned, shards = dealt.learn(peers, X)
        return write_all(learned, PLAN, shards, max_bins=16, min_rows=10)

    expected = BinMapper.fit(X, 16)
    binned = expected.transform(X, Team(1), min_rows=10)
    assert binned.usable.tolist() == [1, 1, 0, 0]
    assert expected.thresholds[0].size == 15
    for rank, own in enumerate(run_together(3, work)):
        assert_same_mapper(own.mapper, expected)
        assert_same_part(own.data, binned, dealt.list_rows(rank), 100)


@pytest.mark.parametrize("owned", [[[0], [1]], [[1], [0]], [[0, 1], []]])
def test_rounded_integers_of_all_peers_are_reported_in_the_order_of_features(owned):
    frame = pd.DataFrame({"a": [1, -(2**60)], "b": [1, 2], "c": [2**53 + 1, 1]})

    def work(peers):
        learned, shards = Dealt([(0, 1), (1, 2)], owned).learn(peers, frame)
        return find_bins(learned, shards=shards).rounded

    assert run_together(2, work) == [["column 'a'", "column 'c'"]] * 2


def test_messages_do_not_grow_with_rows(monkeypatch):
    """Distinct values of 32 features at a time, and the sample of features with many: 16."""
    monkeypatch.setattr(sumwise.data.thresholds, "SAMPLE_ROWS", 100)

    def work(peers):
        rng, n_rows = np.random.default_rng(peers.rank), 1000 * (1 + peers.rank)
        X = np.where(np.arange(50) % 4, rng.normal(size=(n_rows, 50)), rng.integers(0, 9, 50))
        learned, shards = Dealt([(0, n_rows)] * 2, [[0], [1]]).learn(peers, X)
        sizes, gather = [], peers.gather
        monkeypatch.setattr(peers, "gather", lambda own: sizes.append(own.nbytes) or gather(own))
        find_bins(learned, 31, shards=shards)
        return sizes

    for sizes in run_together(2, work):
        n_drawn = sizes[-1] // (13 * 8)
        assert 20 < n_drawn < 80
        n_values = [32 * 32, 16 * n_drawn, 8 * n_drawn, 18 * 32, 13 * n_drawn]
        assert sizes[-5:] == [8 * n for n in n_values]
        assert max(sizes[:-5]) < 1000


class FailingSource(PartsSource):
    """Partitions that cannot be read as often as needed."""

    n_passes = 2

    def read(self, columns, batch_rows):
        self.n_passes -= 1
        yield from super().read(columns, batch_rows)
        if self.n_passes < 0:
            raise DataError("partition 1 is gone")


@pytest.mark.parametrize("n_passes", [1, 2])
def test_an_error_while_reading_reaches_all_peers(n_passes):
    X = np.random.default_rng(0).normal(size=(20, 3))

    def work(peers):
        own = FailingSource if peers.rank == 1 else PartsSource
        source = own.open([(peers.rank, X)], peers)
        source.n_passes = n_passes
        learned = learn_table(BatchedTable.open(source, Roles()), peers=peers)
        shards = Shards.of_sizes(peers, source.numbers, source.sizes)
        with pytest.raises(DataError, match="partition 1 is gone"):
            write_all(learned, PLAN, shards)
        return peers.n_messages

    assert len(set(run_together(3, work))) == 1


def test_a_missing_folder_of_one_peer_is_an_error_of_all(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))

    def work(peers):
        learned, shards = Dealt([(0, 20)], [[0], []]).learn(peers, X)
        own = MemoryPlan(100, 1000, 1000, keeps_pages=False, keeps_sample=True)
        folder = tmp_path if peers.rank == 0 else tmp_path / "missing"
        with pytest.raises(ParameterError, match=r"missing.* is not a folder"):
            write_all(learned, own, shards, cache_dir=folder)

    run_together(2, work)


class FullStorage(PlainStorage):
    """Has no room for arrays of a type."""

    def __init__(self, dtype):
        self.dtype = dtype

    def allocate(self, shape, dtype):
        if np.dtype(dtype) == self.dtype:
            raise DiskSpaceError("the disk is full")
        return super().allocate(shape, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.uint64])
def test_a_full_disk_of_one_peer_is_an_error_of_all(dtype):
    X = np.random.default_rng(0).normal(size=(20, 3))

    def work(peers):
        learned, shards = Dealt([(0, 10), (10, 20)], [[1], [0]]).learn(peers, X)
        storage = FullStorage(dtype) if peers.rank == 0 else PlainStorage()

        def bin_rows():
            found = find_bins(learned, storage=storage, shards=shards)
            write_pages(learned, found.mapper, storage, 7, Team(1), shards=shards)

        with pytest.raises(DiskSpaceError, match="the disk is full"):
            bin_rows()
        return peers.n_messages

    assert len(set(run_together(2, work))) == 1


def test_any_source_may_have_the_rows_of_a_peer():
    X = np.random.default_rng(5).normal(size=(300, 3))
    frames = [pd.DataFrame(part, columns=list("abc")) for part in (X[:120], X[120:])]

    def work(peers):
        table = BatchedTable.open(open_source(lambda: [frames[peers.rank]]), Roles())
        learned = learn_table(table, peers=peers)
        shards = Shards.of_sizes(peers, [peers.rank], [learned.n_rows])
        return find_bins(learned, 50, shards=shards).mapper

    for mapper in run_together(2, work):
        assert_same_mapper(mapper, BinMapper.fit(X, 50))
