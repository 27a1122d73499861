"""Bins of categories, compared with the naive twin; and invalid codes."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import MAX_CATEGORIES, CategoryBins
from sumwise.data.categories.set_splits import Native
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from tests.naive.categories import assign_bins


@pytest.mark.parametrize("seed", range(20))
def test_bins_equal_naive_twin(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 30, size=rng.choice([1, 3, 5, 40, 400]))
    native = Native(smoothing=rng.choice([0.0, 0.5, 10.0]), onehot_limit=int(rng.choice([0, 4])))
    bins = CategoryBins.from_counts(counts, native)
    expected = assign_bins(counts.tolist(), native.smoothing, native.onehot_limit)
    assert bins.bin_of_code.tolist() == expected
    assert bins.n_value_bins == max(expected)
    assert bins.one_hot == (np.count_nonzero(counts) <= native.onehot_limit)
    for b, code in enumerate(bins.code_of_bin):
        if code >= 0:
            assert expected[code] == b
            assert b < bins.n_choices


def make_table(dtype=np.float64, order="C"):
    """Numeric, narrow, numeric, wide, one-hot columns."""
    rng = np.random.default_rng(0)
    n = 4000
    X = np.empty((n, 5), dtype=dtype, order=order)
    X[:, 0], X[:, 2] = rng.normal(size=(2, n))
    X[:, 1], X[:, 4] = rng.integers(0, 30, n), rng.integers(0, 3, n)
    X[:, 3] = rng.integers(0, 300, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.array([0, 30, 0, 300, 3])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_are_mapped_to_bins(dtype, order):
    X, n_categories = make_table(dtype, order)
    rows = np.arange(0, 4000, 2, dtype=np.uint32)  # other rows may have other categories
    native = Native(smoothing=2.0)
    for n_threads in (1, 3):
        with Team(n_threads) as team:
            mapper = BinMapper.fit(
                X, rows=rows, team=team, n_categories=n_categories, native=native
            )
            plain = BinMapper.fit(X, rows=rows, team=team)
            table = mapper.transform(X, team).table
        assert sorted(mapper.categories) == [1, 3, 4]
        for f in (0, 2):
            assert mapper.thresholds[f].tolist() == plain.thresholds[f].tolist()
        assert table.categories.place.tolist() == [-1, 0, -1, 1, 2]
        assert table.categories.wide_place.tolist() == [-1, 0, -1]
        assert table.categories.one_hot.tolist() == [0, 0, 1]
        assert 3 not in table.lanes.members
        for f in (1, 3, 4):
            counts = np.bincount(X[rows, f][~np.isnan(X[rows, f])].astype(int), minlength=300)
            bins = assign_bins(counts[: n_categories[f]].tolist(), 2.0, 4)
            expected = [0 if np.isnan(v) else bins[int(v)] for v in X[:, f].astype(float)]
            column = table.categories.wide[0] if f == 3 else table.columns[f]
            assert column.tolist() == expected


def test_numbers_that_are_no_codes_are_missing():
    X = np.array([[0.0], [1.0], [2.0], [-1.0], [0.5], [np.inf], [-np.inf], [1e300], [np.nan]])
    with Team(1) as team:
        mapper = BinMapper.fit(X, n_categories=np.array([2]), team=team)
        table = mapper.transform(X, team).table
    assert table.columns[0].tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0]


def test_too_many_categories():
    with pytest.raises(DataError, match="16777217 categories in total"):
        BinMapper.fit(np.zeros((1, 2)), n_categories=np.array([MAX_CATEGORIES, 1]))
