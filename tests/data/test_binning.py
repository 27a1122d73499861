"""Bins of features: one per value for few values, quantiles for many."""

import numpy as np
import pytest

from sumwise.data import matrix, thresholds
from sumwise.data.binning import BinMapper
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from tests.naive import binning as naive
from tests.naive import random as naive_random

NAN, INF = np.nan, np.inf
LARGEST = np.finfo(np.float64).max
INTEGERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8"]
DTYPES = [*INTEGERS, "f2", "f4", "f8", "g", ">f4", ">f8"]


def codes_of(X, mapper=None, **fit):
    with Team(1) as team:
        mapper = BinMapper.fit(X, **fit) if mapper is None else mapper
        return mapper.transform(X, team).table.columns, mapper

        # Few values: one bin per value


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_equals_twin(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 60, (200, 3)), order=order).astype(dtype)
    columns, mapper = codes_of(X)
    for f in range(3):
        expected = naive.find_thresholds(X[:, f].astype(float))
        assert mapper.thresholds[f].tolist() == expected.tolist()
        assert np.array_equal(columns[f], naive.map_to_bins(X[:, f].astype(float), expected))


def test_missing_infinite_and_constant_columns():
    X = np.array(
        [
            [NAN, 5.0, INF, -INF, NAN, 1.0],
            [NAN, 5.0, 1.0, INF, INF, NAN],
            [NAN, 5.0, -INF, NAN, INF, 1.0],
            [NAN, 5.0, NAN, -INF, INF, 1.0],
        ]
    )
    columns, mapper = codes_of(X)
    assert [t.tolist() for t in mapper.thresholds] == [[], [], [-INF, LARGEST], [LARGEST], [], []]
    assert columns.tolist() == [
        [0, 0, 0, 0],
        [1, 1, 1, 1],
        [3, 2, 1, 0],
        [1, 2, 0, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ]


@pytest.mark.parametrize("shape", ["read-only", "strided", "mapped", "unaligned"])
def test_how_the_matrix_lies_in_memory_does_not_matter(shape, tmp_path):
    X = np.random.default_rng(0).integers(0, 500, (600, 3)).astype(np.float64)
    expected, mapper = codes_of(X.copy())
    if shape == "read-only":
        X.flags.writeable = False
    elif shape == "strided":
        X = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
        assert not X.flags.forc
    elif shape == "mapped":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
        raw[1:] = X.ravel().view(np.uint8)
        X = raw[1:].view(np.float64).reshape(X.shape)
    columns, other = codes_of(X)
    assert np.array_equal(columns, expected)
    for mine, theirs in zip(other.thresholds, mapper.thresholds, strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize(("n_distinct", "is_exact"), [(254, True), (255, True), (256, False)])
@pytest.mark.parametrize("missing", [False, True])
def test_up_to_255_values_have_a_bin_each(n_distinct, is_exact, missing):
    rng = np.random.default_rng(0)
    values = rng.permutation(np.tile(np.arange(n_distinct) * 1.5, 20))
    if missing:
        values[::7] = NAN
        values[-n_distinct:] = np.arange(n_distinct) * 1.5
    columns, mapper = codes_of(values.reshape(-1, 1))
    present = ~np.isnan(values)
    assert np.all((columns[0] > 0) == present)
    n_used = np.unique(columns[0][present]).size
    if is_exact:
        assert n_used == n_distinct
        expected = naive.find_thresholds(values)
        assert mapper.thresholds[0].tolist() == expected.tolist()
    else:
        # uneven counts: bins of about equal weight may be fewer than max_bins
        assert 240 <= mapper.thresholds[0].size <= 254
        assert n_used == mapper.thresholds[0].size + 1


def test_the_255th_value_may_come_late():
    """All rows decide whether there are few values, not only the first."""
    values = np.concatenate([np.tile(np.arange(200.0), 50), np.arange(1000.0)])
    _, mapper = codes_of(values.reshape(-1, 1))
    assert mapper.thresholds[0].size == 254


@pytest.mark.parametrize("max_bins", [2, 3, 16, 100])
def test_max_bins(max_bins):
    X = np.column_stack([np.arange(1000.0), np.arange(1000.0) % max_bins])
    columns, mapper = codes_of(X, max_bins=max_bins)
    assert [t.size for t in mapper.thresholds] == [max_bins - 1] * 2
    counts = np.bincount(columns[0])[1:]
    assert counts.max() - counts.min() <= 1


def test_zeros_of_both_signs_are_one_value():
    columns, mapper = codes_of(np.array([[0.0], [-0.0], [1.0]]))
    assert columns.tolist() == [[1, 1, 2]]
    assert mapper.thresholds[0].tolist() == [0.5]


def test_large_integers_are_separated_as_far_as_float64_can():
    X = np.array([[2**60], [2**60 + 2**9], [2**60 + 1], [0]], dtype=np.int64)
    columns, _ = codes_of(X)
    assert columns.tolist() == [[2, 3, 2, 1]]


# Values go to the same side in training and prediction


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_training_bin_and_prediction_agree(dtype):
    rng = np.random.default_rng(0)
    fine = np.float64(1) + np.arange(300) * np.finfo(dtype).eps
    X = np.column_stack(
        [
            rng.normal(size=3000),
            rng.choice(fine, 3000),
            rng.choice([NAN, -INF, INF, 0.0, 1.0], 3000),
            rng.exponential(size=3000) ** 5,
        ]
    ).astype(dtype)
    columns, mapper = codes_of(X)
    flat, start = mapper.flatten()
    for f in range(4):
        n_bins = mapper.thresholds[f].size + 1
        assert np.all(np.diff(mapper.thresholds[f]) > 0)
        present = ~np.isnan(X[:, f])
        for split_bin in range(1, n_bins + 1):
            threshold = mapper.threshold(f, split_bin)
            assert flat[start[f] + split_bin] == threshold
            in_training = columns[f][present] <= split_bin
            in_prediction = X[present, f].astype(np.float64) <= threshold
            assert np.array_equal(in_training, in_prediction)
    assert mapper.threshold(1, mapper.thresholds[1].size + 1) == INF


def test_thresholds_between_float32_numbers_are_met_exactly():
    """Values of one type and thresholds of another compare as in double precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    mapper = BinMapper.fit(X, max_bins=100)
    narrow = X.astype(np.float32)
    narrow[:99, 0] = mapper.thresholds[0]
    narrow[99:198, 0] = np.nextafter(narrow[:99, 0], np.float32(INF))
    columns, _ = codes_of(narrow, mapper)
    for f in range(2):
        assert np.array_equal(columns[f], naive.map_to_bins(narrow[:, f], mapper.thresholds[f]))


# Many values: quantiles


def make_columns(n_rows, dtype):
    """Columns of all kinds: few and many values, missing and infinite values, ties."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(0, 3, n_rows),
            rng.choice([NAN, -INF, INF, 0.0, 1.0], n_rows),
            np.where(rng.random(n_rows) < 0.5, NAN, rng.exponential(size=n_rows) ** 3),
            np.where(rng.random(n_rows) < 0.5, -0.0, rng.integers(-400, 400, n_rows)),
            np.full(n_rows, NAN),
            np.arange(n_rows) % 255,
        ]
    ).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [7, 255, np.uint8(255)])
def test_quantiles_equal_twin(dtype, weighted, max_bins):
    X = make_columns(3000, dtype)
    weight = np.random.default_rng(1).exponential(size=3000) if weighted else None
    columns, mapper = codes_of(X, max_bins=max_bins, sample_weight=weight)
    mass = np.ones(3000) if weight is None else weight
    for f, found in enumerate(mapper.thresholds):
        expected = naive.cut_quantiles(X[:, f].tolist(), mass.tolist(), int(max_bins))
        assert found.tolist() == expected.tolist()
        assert np.array_equal(columns[f], naive.map_to_bins(X[:, f], expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_threads_and_parts_do_not_matter(monkeypatch, dtype, order, n_threads):
    """Threads, groups of features and chunks of rows do not change thresholds."""
    X = make_columns(2000, np.float64)
    X = np.asarray(np.nan_to_num(X, posinf=7, neginf=-7) * 100 if dtype == np.int64 else X)
    X = np.asarray(X, dtype=dtype, order=order)
    rows = np.flatnonzero(np.random.default_rng(2).random(2000) < 0.7).astype(np.uint32)
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 1000)
    expected = BinMapper.fit(X, 63, rows=rows)
    monkeypatch.setattr(thresholds, "_FEATURES", 5)
    monkeypatch.setattr(thresholds, "_KEYS", 2500)
    monkeypatch.setattr(matrix, "_CHUNK", 300)
    with Team(n_threads) as team:
        found = BinMapper.fit(X, 63, rows=rows, team=team)
    for mine, theirs in zip(found.thresholds, expected.thresholds, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_the_sample_is_drawn_by_the_seed(monkeypatch):
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 500)
    X = np.random.default_rng(0).normal(size=(3000, 2))
    rows = np.arange(0, 3000, 2, dtype=np.uint32)
    key = int(random.make_key(7, random.BINNING, 0))
    sample = naive_random.draw_lowest(key, rows.tolist(), 500)
    mapper = BinMapper.fit(X, 100, rows=rows, seed=7)
    for f in range(2):
        expected = naive.cut_quantiles(X[sample, f].tolist(), [1.0] * 500, 100)
        assert mapper.thresholds[f].tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_hold_about_as_many_rows(dtype):
    X = np.random.default_rng(0).normal(size=(20_000, 1)).astype(dtype)
    columns, mapper = codes_of(X)
    counts = np.bincount(columns[0])[1:]
    assert counts.size == 255
    assert counts.max() <= 1.1 * 20_000 / 255
    assert counts.min() >= 0.9 * 20_000 / 255
    # a threshold lies halfway between two neighbors
    ordered = np.unique(X[:, 0])
    place = np.searchsorted(ordered, mapper.thresholds[0])
    halfway = (ordered[place - 1].astype(np.float64) + ordered[place]) / 2
    assert mapper.thresholds[0].tolist() == halfway.tolist()


def test_a_frequent_value_has_a_bin_of_its_own():
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000)
    values[rng.random(10_000) < 0.6] = 0.0
    columns, _ = codes_of(values.reshape(-1, 1))
    code = columns[0][values == 0][0]
    assert np.all(values[columns[0] == code] == 0)
    others = np.bincount(columns[0])[1:]
    others = np.delete(others, code - 1)
    assert others.size >= 250
    assert others.max() < 40  # 4,000 rows for 254 bins


def test_weights_move_the_bins():
    values = np.arange(3000.0)
    weight = np.where(values < 1000, 8.0, 1.0)
    columns, _ = codes_of(values.reshape(-1, 1), sample_weight=weight, max_bins=100)
    mass = np.bincount(columns[0], weights=weight)[1:]
    assert mass.size == 100
    assert mass.max() <= 1.2 * weight.sum() / 100
    assert np.unique(columns[0][:1000]).size >= 75  # four fifths of the weight


def test_equal_weights_are_as_none():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    plain, weighted = BinMapper.fit(X), BinMapper.fit(X, sample_weight=np.full(2000, 0.5))
    for mine, theirs in zip(plain.thresholds, weighted.thresholds, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_rows_without_weight_do_not_count():
    X = np.arange(500.0).reshape(-1, 1)
    weight = (X[:, 0] < 5).astype(float)
    assert BinMapper.fit(X, sample_weight=weight).thresholds[0].tolist() == [0.5, 1.5, 2.5, 3.5]
    assert BinMapper.fit(X, sample_weight=np.zeros(500)).thresholds[0].tolist() == []


def test_only_the_given_rows_count():
    X = np.arange(500.0).reshape(-1, 1)
    rows = np.array([3, 10, 499], dtype=np.uint32)
    columns, mapper = codes_of(X, rows=rows)
    assert mapper.thresholds[0].tolist() == [6.5, 254.5]
    assert columns.shape == (1, 500)


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(3000, 1)), rng.integers(1, 9, 3000).astype(float)
    order = rng.permutation(3000)
    one, other = BinMapper.fit(X), BinMapper.fit(X[order])
    assert one.thresholds[0].tolist() == other.thresholds[0].tolist()
    one = BinMapper.fit(X, sample_weight=weight)
    other = BinMapper.fit(X[order], sample_weight=weight[order])
    assert one.thresholds[0].tolist() == other.thresholds[0].tolist()


# Large data: a sample


def test_large_data_is_sampled_but_few_values_stay_exact():
    n_rows = thresholds.SAMPLE_ROWS + 1000
    rng = np.random.default_rng(0)
    rare = np.zeros(n_rows, dtype=np.float32)
    rare[[5, n_rows // 2, n_rows - 1]] = [3.0, 7.0, NAN]  # unlikely to be all in the sample
    X = np.column_stack([rare, rng.normal(size=n_rows).astype(np.float32)])
    mapper = BinMapper.fit(X)
    assert mapper.thresholds[0].tolist() == [1.5, 5.0]
    assert mapper.thresholds[1].size == 254
    again, other = BinMapper.fit(X), BinMapper.fit(X, seed=1)
    assert mapper.thresholds[1].tolist() == again.thresholds[1].tolist()
    assert mapper.thresholds[1].tolist() != other.thresholds[1].tolist()
    codes, _ = codes_of(X, mapper)
    counts = np.bincount(codes[1])[1:]
    assert counts.max() < 1.3 * n_rows / 255


def test_a_sample_may_miss_all_values_of_a_column(monkeypatch):
    """Many distinct values in few of many rows: the sample may have none of them."""
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 5)
    X = np.full((5000, 1), NAN)
    X[::16, 0] = np.arange(313)
    columns, mapper = codes_of(X)
    assert np.all((columns[0] > 0) == ~np.isnan(X[:, 0]))
    assert mapper.thresholds[0].size <= 254


def test_a_sample_may_hold_few_values(monkeypatch):
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 50)
    _, mapper = codes_of(np.arange(5000.0).reshape(-1, 1))
    assert mapper.thresholds[0].size == 49
    weight = np.ones(5000)
    _, weighted = codes_of(np.arange(5000.0).reshape(-1, 1), sample_weight=weight)
    assert weighted.thresholds[0].tolist() == mapper.thresholds[0].tolist()


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (1, 1)])
def test_empty_and_tiny_matrices(shape):
    columns, mapper = codes_of(np.ones(shape))
    assert columns.shape == shape[::-1]
    assert len(mapper.thresholds) == shape[1]


@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_do_not_matter(n_threads):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    expected, mapper = codes_of(X)
    with Team(n_threads) as team:
        assert np.array_equal(mapper.transform(X, team).table.columns, expected)


def test_rows_held_out_make_no_second_matrix():
    """The thresholds come from the given rows, read a column at a time."""

    class Watched(np.ndarray):
        largest = 0

        def __getitem__(self, key):
            part = super().__getitem__(key)
            if getattr(part, "ndim", 0) == 2 and not np.shares_memory(part, self):
                Watched.largest = max(Watched.largest, part.size)
            return part

    X = np.random.default_rng(0).normal(size=(1000, 4))
    rows = np.arange(0, 1000, 2, dtype=np.uint32)
    mapper = BinMapper.fit(X.view(Watched), rows=rows)
    assert Watched.largest == 0
    for found, expected in zip(mapper.thresholds, BinMapper.fit(X[rows]).thresholds, strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_validation_rows_come_after_the_others(dtype, n_threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[:, 3] = 1.0
    X_val = np.asfortranarray((3 * rng.normal(size=(70, 4))).astype(dtype))
    mapper = BinMapper.fit(X, 20)
    with Team(n_threads) as team:
        both = mapper.transform(X, team, X_val)
        alone, valid = mapper.transform(X, team), mapper.transform(X_val, team)
    columns = np.concatenate([alone.table.columns, valid.table.columns], axis=1)
    assert np.array_equal(both.table.columns, columns)
    assert np.array_equal(both.usable, alone.usable)


def test_validation_rows_make_no_feature_usable():
    X, X_val = np.ones((5, 2)), np.array([[np.nan, 2.0]])
    with Team(1) as team:
        data = BinMapper.fit(X).transform(X, team, X_val)
    assert data.usable.tolist() == [0, 0]
    assert data.table.columns[:, -1].tolist() == [0, 1]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_many_bins_equal_twin(kind, n_threads):
    """Up to max_bins distinct values have one bin each; more share bins of equal weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4)).astype(kind)
    X[:, 1] = rng.integers(0, 600, 2_000)
    X[rng.random(2_000) < 0.2, 2] = np.nan
    X[rng.random(2_000) < 0.4, 3] = 0.0
    weight = rng.exponential(size=2_000)
    with Team(n_threads) as team:
        for own in (None, weight):
            mapper = BinMapper.fit(X, np.array([300, 700, 1_000, 256]), own, team=team)
            mass = np.ones(2_000) if own is None else own
            for ends, column, most in zip(
                mapper.thresholds, X.T, (300, 700, 1_000, 256), strict=True
            ):
                assert ends.tolist() == naive.cut_quantiles(column, mass, most).tolist()
            assert mapper.has_many_bins
