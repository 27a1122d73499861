"""Bins and pages of batches are those of the whole table in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sumwise.data.thresholds
from sumwise.data.batches.binning import find_bins, open_pages, write_pages
from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.memory import MemoryPlan
from sumwise.data.batches.sources import open_source
from sumwise.data.batches.storage import MappedStorage, PlainStorage
from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.frames.columns import CATEGORY
from sumwise.data.frames.reading import ColumnFrame, read_input
from sumwise.data.schema import FeatureSchema, learn_schema
from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, PagedGrower, TreeGrower

TEAM = Team(2)
NATIVE = Native(smoothing=1)


def make_table(rng, n_rows):
    """Return a table of features of all kinds, with values that are hard for bins."""
    numbers = rng.normal(size=n_rows)
    numbers[rng.random(n_rows) < 0.1] = np.nan
    extremes = rng.choice([np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, np.nan], n_rows)
    words = rng.choice(["a", "b", "rare", None], n_rows, p=[0.5, 0.3, 0.05, 0.15])
    return pa.table(
        {
            "numbers": numbers,
            "extremes": extremes,
            "few": rng.integers(0, 4, n_rows),
            "single": rng.normal(size=n_rows).astype(np.float32),
            "words": pa.array(words.tolist(), pa.string()),
            "coded": pa.array(words.tolist(), pa.string()).dictionary_encode(),
            "flag": pa.array(rng.random(n_rows) < 0.3),
            "day": pa.array(rng.integers(0, 20_000, n_rows).astype(np.int32), pa.date32()),
            "maybe": pa.array([None if i % 3 else i % 5 for i in range(n_rows)], pa.int64()),
            "when": pa.array(rng.integers(0, 1 << 40, n_rows), pa.timestamp("us", "UTC")),
            "took": pa.array(rng.integers(0, 1 << 40, n_rows), pa.duration("ns")),
            "price": pa.array(rng.integers(0, 999, n_rows)).cast(pa.decimal128(20, 1)),
            "nothing": pa.nulls(n_rows),
            "constant": np.ones(n_rows),
            "almost": (np.arange(n_rows) == n_rows - 1).astype(float),
        }
    )


def read_whole(table) -> tuple[np.ndarray, FeatureSchema]:
    frame = read_input(table)
    assert isinstance(frame, ColumnFrame)
    schema = learn_schema(frame.columns, [c.kind == CATEGORY for c in frame.columns])
    return schema.convert(frame, "missing"), schema


def cut_table(table, ends):
    """Return a function that yields parts of a table, some of them empty."""
    bounds = [0, *sorted(end % (table.num_rows + 1) for end in ends), table.num_rows]
    return lambda: (table.slice(a, b - a) for a, b in pairwise(bounds))


def learn(X, batch_rows=1 << 16, is_category=None, **roles):
    table = BatchedTable.open(open_source(X), Roles(**roles), batch_rows=batch_rows)
    return learn_table(table, is_category)


def assert_same_mapper(found, expected):
    for own, other in zip(found.thresholds, expected.thresholds, strict=True):
        assert own.tobytes() == other.tobytes()
    assert found.categories.keys() == expected.categories.keys()
    for f, bins in expected.categories.items():
        np.testing.assert_array_equal(found.categories[f].bin_of_code, bins.bin_of_code)
        np.testing.assert_array_equal(found.categories[f].code_of_bin, bins.code_of_bin)
        assert found.categories[f].one_hot == bins.one_hot


def assert_same_pages(pages, binned):
    assert pages.n_rows == binned.n_rows
    joined = np.concatenate([page.data.table.columns for page in pages.pages], axis=1)
    np.testing.assert_array_equal(joined, binned.table.columns)
    np.testing.assert_array_equal(pages.usable, binned.usable)
    np.testing.assert_array_equal(pages.n_value_bins, binned.table.n_value_bins)
    np.testing.assert_array_equal(pages.head.table.bin_start, binned.table.bin_start)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 400),
    ends=st.lists(st.integers(0, 10_000), max_size=5),
    max_bins=st.sampled_from([2, 5, 255]),
    batch_rows=st.integers(20, 500),
    page_rows=st.integers(30, 500),
    weighted=st.booleans(),
    n_sampled=st.sampled_from([50, 200_000]),
)
def test_bins_and_pages_are_those_of_the_whole_table(
    seed, n_rows, ends, max_bins, batch_rows, page_rows, weighted, n_sampled
):
    rng = np.random.default_rng(seed)
    table = make_table(rng, n_rows)
    X, schema = read_whole(table)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n_rows) if weighted else None
    rows = np.flatnonzero(rng.random(n_rows) < 0.8).astype(np.uint32)
    learned = learn(cut_table(table, ends), batch_rows)
    assert repr(learned.schema) == repr(schema)
    assert learned.schema.to_json() == schema.to_json()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sumwise.data.thresholds, "SAMPLE_ROWS", n_sampled)
        options = (max_bins, weight, rows, seed, TEAM)
        expected = BinMapper.fit(X, *options, schema.n_categories, NATIVE)
        found = find_bins(learned, *options, NATIVE)
    assert_same_mapper(found.mapper, expected)
    more = [X[: n_rows // 2]]
    binned = expected.transform(X, TEAM, more[0], rows=rows, min_rows=3)
    pages = write_pages(
        learned, found.mapper, PlainStorage(), page_rows, TEAM, rows, min_rows=3, more=more
    )
    assert all(page.n_rows == page_rows for page in pages.pages[:-1])
    assert_same_pages(pages, binned)


def test_parquet_gives_the_bins_of_the_table(tmp_path):
    table = make_table(np.random.default_rng(0), 1000)
    table = table.append_column("y", pa.array(np.arange(1000)))
    for number in range(3):
        part = table.slice(400 * number, 400)
        pq.write_table(part, tmp_path / f"part-{number}.parquet", row_group_size=150)
    X, schema = read_whole(table.drop_columns(["y"]))
    expected = BinMapper.fit(X, 20, None, None, 7, TEAM, schema.n_categories, NATIVE)
    learned = learn(tmp_path, 128, target="y")
    np.testing.assert_array_equal(learned.target, np.arange(1000))
    found = find_bins(learned, 20, None, None, 7, TEAM, NATIVE)
    assert_same_mapper(found.mapper, expected)
    with MappedStorage(tmp_path, 1 << 20) as storage:
        pages = write_pages(learned, found.mapper, storage, 256, TEAM)
        assert_same_pages(pages, expected.transform(X, TEAM))
        assert [page.first for page in pages.pages] == [0, 256, 512, 768]
        last = pages.pages[-1]  # all features can be split within it
        alone = expected.transform(X[last.first :], TEAM)
        np.testing.assert_array_equal(last.data.table.tiles, alone.table.tiles)


@pytest.mark.parametrize("keeps", [True, False])
def test_pages_are_made_as_planned(tmp_path, keeps):
    table = make_table(np.random.default_rng(3), 700)
    X, schema = read_whole(table)
    learned = learn(lambda: [table])
    valid = learn_table(BatchedTable.open(open_source(lambda: [table[:90]]), Roles()), known=schema)
    plan = MemoryPlan(256, 30_000, 90_000, keeps, keeps)
    options = {"max_bins": 9, "seed": 1, "native": NATIVE, "min_rows": 2}
    with open_pages(learned, plan, TEAM, cache_dir=tmp_path, more=[valid], **options) as binned:
        expected = BinMapper.fit(X, 9, None, None, 1, TEAM, schema.n_categories, NATIVE)
        assert_same_mapper(binned.mapper, expected)
        assert_same_pages(binned.data, expected.transform(X, TEAM, X[:90], min_rows=2))
        assert binned.rounded == []
    assert list(tmp_path.iterdir()) == []


def test_trees_on_pages_of_a_file_have_the_same_bytes(tmp_path):
    rng, n_rows = np.random.default_rng(4), 900
    table = make_table(rng, n_rows)
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=333)
    X, schema = read_whole(table)
    mapper = BinMapper.fit(X, 30, None, None, 0, TEAM, schema.n_categories, NATIVE)
    growth = GrowthSettings(max_leaves=15, min_samples_leaf=5)
    rows, gradient = np.arange(n_rows, dtype=np.uint32), rng.normal(size=n_rows) + X[:, 2]
    rest = (growth, Columns(), n_rows, TEAM, 0)
    plan = MemoryPlan(256, 40_000, 150_000, keeps_pages=False, keeps_sample=False)
    options = {"max_bins": 30, "native": NATIVE, "min_rows": 5}
    with open_pages(learn(tmp_path, 100), plan, TEAM, cache_dir=tmp_path, **options) as pages:
        assert pages.data.is_mapped
        growers = (
            TreeGrower(mapper.transform(X, TEAM, min_rows=5), mapper, *rest),
            PagedGrower(pages.data, pages.mapper, *rest),
        )
        scores = np.zeros((2, n_rows))
        for grower, own in zip(growers, scores, strict=True):
            grower.grow_on_gradients(gradient, np.ones(n_rows), rows, np.uint64(1), own)
    assert np.unique(scores[0]).size > 5
    assert scores[0].tobytes() == scores[1].tobytes()


def test_categories_in_one_batch_only_are_known():
    parts = [
        pd.DataFrame({"x": [1.0, 2.0], "word": ["b", None]}),
        pd.DataFrame({"x": [3.0, np.nan], "word": ["a", "zebra"]}),
        pd.DataFrame({"x": [4, 5], "word": [None, None]}),
    ]
    learned = learn(lambda: iter(parts))
    assert learned.schema.dictionaries[1].values.tolist() == ["a", "b", "zebra"]
    found = find_bins(learned, native=NATIVE)
    X, schema = read_whole(pd.concat(parts))
    assert_same_mapper(
        found.mapper, BinMapper.fit(X, n_categories=schema.n_categories, native=NATIVE)
    )


def test_categories_of_all_libraries_are_united():
    words = [["b", "a", None], ["c", "c", "a"]]
    for parts in (
        [pd.DataFrame({"x": pd.Categorical(own)}) for own in words],
        [pl.DataFrame({"x": pl.Series(own, dtype=pl.Categorical)}) for own in words],
        [pl.DataFrame({"x": pl.Series(own, dtype=pl.Enum(["c", "b", "a"]))}) for own in words],
        [pa.table({"x": pa.array(own).dictionary_encode()}) for own in words],
        [pl.DataFrame({"x": words[0]}), pd.DataFrame({"x": pd.Categorical(words[1])})],
    ):
        learned = learn(lambda parts=parts: parts, batch_rows=2)
        assert learned.schema.dictionaries[0].values.tolist() == ["a", "b", "c"]
        codes = np.concatenate([X[:, 0] for _, X, _ in learned.read_matrices()])
        np.testing.assert_array_equal(codes, [1.0, 0.0, np.nan, 2.0, 2.0, 0.0])


def test_single_precision_is_kept_and_does_not_change_bins():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2000, 2)).astype(np.float32)
    single = pl.DataFrame(values, schema=["a", "b"])
    mixed = [single[:1500], single[1500:].cast(pl.Float64)]
    expected = BinMapper.fit(values, 16)
    for parts, dtype in (([single], np.float32), (mixed, np.float64)):
        learned = learn(lambda parts=parts: parts, 300)
        assert learned.dtype == dtype
        assert_same_mapper(find_bins(learned, 16).mapper, expected)


def test_max_bins_may_differ_by_feature():
    values = np.random.default_rng(2).normal(size=(500, 4))
    values[:, 1] = values[:, 1].round()
    max_bins = np.array([4, 4, 9, 4])
    learned = learn(lambda: [pd.DataFrame(values, columns=list("abcd"))], 99)
    found = find_bins(learned, max_bins)
    assert_same_mapper(found.mapper, BinMapper.fit(values, max_bins))


def test_integers_that_are_rounded_are_reported():
    parts = [pd.DataFrame({"id": [1, 2], "n": [1, 2]}), pd.DataFrame({"id": [2**53 + 1], "n": [3]})]
    found = find_bins(learn(lambda: parts))
    assert found.rounded == ["column 'id'"]


def test_more_bins_than_a_byte_holds_are_refused():
    learned = learn(lambda: [pd.DataFrame({"x": [1.0, 2.0]})])
    with pytest.raises(ParameterError, match="at most 255 bins"):
        find_bins(learned, 256)


def test_more_categories_than_a_byte_holds_are_refused_or_merged():
    words = [f"w{i}" for i in range(300)]
    learned = learn(lambda: [pd.DataFrame({"word": words * 2})])
    mapper = find_bins(learned, native=NATIVE).mapper
    with pytest.raises(DataError, match="column 'word' has 300 categories"):
        write_pages(learned, mapper, PlainStorage(), 100, TEAM)
    mapper = find_bins(learned, native=NATIVE, only_bytes=True).mapper
    assert write_pages(learned, mapper, PlainStorage(), 100, TEAM).n_rows == 600
