"""New bins for every tree, compared with the naive twin and the guarantee of the paper."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sumwise.data import quantiles
from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.quantiles import make_quantile_tables
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import BLOCK_BITS
from tests.naive.binning import cut_by_weight, map_to_bins
from tests.naive.quantiles import find_candidates

NAN, INF = np.nan, np.inf


def make_columns(n_rows=400, seed=0):
    """Many values, some missing or infinite; few values; ties; one frequent value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[rng.random(n_rows) < 0.2, 0] = NAN
    X[:, 1] = rng.integers(0, 4, n_rows)
    X[:, 2] = X[:, 2].round(1)
    X[rng.random(n_rows) < 0.6, 3] = 0.0
    X[:3, 3] = -INF, INF, -0.0
    return X


def make(X, rows, team, max_bins, X_val=None, others=(), n_categories=None):
    if n_categories is None:
        n_categories = np.zeros(X.shape[1], dtype=np.int64)
    own = (X_val, n_categories, Native(), max_bins)
    return make_quantile_tables([X, *others], rows.astype(np.uint32), team, *own)


def list_thresholds(data, mapper):
    """Return the thresholds of every feature, as the grower reads them."""
    found = []
    for f, n_bins in enumerate(data.table.n_value_bins):
        split_bin = np.arange(1, n_bins + 1, dtype=np.uint8)
        own = np.append(mapper.thresholds[f], np.full(300, NAN))[:n_bins]
        data.write_thresholds(np.full(n_bins, f, dtype=np.int32), split_bin, own)
        if f in data.bins.features:
            assert own[-1] == INF
        found.append(own[:-1])
    return found


def unpack_lanes(data):
    """Return the codes of every lane, read from the tiles."""
    table, found = data.table, []
    for tile, words in enumerate(table.tile_words):
        start = table.tile_start[tile]
        own = table.tiles[start : start + words * data.n_rows].reshape(data.n_rows, words)
        n_lanes = table.tile_first[tile + 1] - table.tile_first[tile]
        found += [(own[:, i >> 3] >> np.uint64(8 * (i & 7))) & 255 for i in range(n_lanes)]
    return found


def check_table(data):
    """Check that columns, tiles, crowds and positions of bins agree."""
    table = data.table
    lanes = unpack_lanes(data)
    for f, lane in zip(data.bins.features, data.lanes, strict=True):
        assert lanes[lane].tolist() == table.columns[f].tolist()
        assert table.lanes.n_codes[lane] == table.n_value_bins[f] + 1
        assert table.columns[f].max() <= table.n_value_bins[f]
    for lane, codes in enumerate(lanes):
        for block, most in enumerate(table.crowds[lane]):
            part = codes[block << BLOCK_BITS : (block + 1) << BLOCK_BITS]
            assert most == np.bincount(part.astype(np.int64)).max()
    assert table.bin_start.tolist() == [0, *(table.n_value_bins + 1).cumsum()]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("max_bins", [2, 7, 30, 255])
def test_equals_twin(max_bins, n_threads):
    X, X_val = make_columns(), make_columns(50, seed=1)
    everything = np.concatenate([X, X_val])
    rng = np.random.default_rng(2)
    train = np.flatnonzero(rng.random(400) < 0.9)
    with Team(n_threads) as team:
        mapper, (data,) = make(X, train, team, max_bins, X_val)
        n_distinct = [np.unique(own[train][~np.isnan(own[train])]).size for own in X.T]
        assert (
            data.bins.features.tolist() == np.flatnonzero(np.array(n_distinct) > max_bins).tolist()
        )
        for share in (1.0, 0.5, 0.05):
            rows = train[rng.random(train.size) < share].astype(np.uint32)
            hessian = rng.exponential(size=everything.shape[0])
            hessian[rng.random(hessian.size) < 0.1] = 0.0
            data.refresh(rows, hessian, team)
            found = list_thresholds(data, mapper)
            for f in data.bins.features:
                expected = find_candidates(X[:, f], train, rows, hessian, max_bins)
                assert found[f].tolist() == expected
                codes = map_to_bins(everything[:, f], expected)
                assert data.table.columns[f].tolist() == codes.tolist()
            check_table(data)


def test_features_with_few_values_keep_their_bins():
    X = make_columns()
    rows = np.arange(400, dtype=np.uint32)
    with Team(1) as team:
        plain = BinMapper.fit(X, 60)
        mapper, (data,) = make(X, rows, team, 60)
        data.refresh(rows, np.random.default_rng(0).random(400), team)
        assert data.bins.features.tolist() == [0, 3, 4]
        for f in (1, 2):
            np.testing.assert_array_equal(mapper.thresholds[f], plain.thresholds[f])
            own = plain.transform(X, team).table.columns[f]
            np.testing.assert_array_equal(data.table.columns[f], own)
        assert make(X[:, [1, 2]], rows, team, 60) is None


@pytest.mark.parametrize("max_bins", [5, 100])
def test_equal_hessians_give_the_bins_of_a_histogram(max_bins):
    X = make_columns(2_000)
    rows = np.arange(2_000, dtype=np.uint32)
    for weight in (np.ones(2_000), np.random.default_rng(1).exponential(size=2_000)):
        plain = BinMapper.fit(X, max_bins, weight)
        with Team(2) as team:
            mapper, (data,) = make(X, rows, team, max_bins)
            data.refresh(rows, weight, team)
        for own, other in zip(list_thresholds(data, mapper), plain.thresholds, strict=True):
            assert own.tolist() == other.tolist()


def test_leaves_have_no_thresholds():
    X, rows = make_columns(), np.arange(400, dtype=np.uint32)
    with Team(1) as team:
        _, (data,) = make(X, rows, team, 20)
        data.refresh(rows, np.ones(400), team)
    threshold = np.zeros(2)
    data.write_thresholds(np.array([-1, 1]), np.zeros(2, dtype=np.uint8), threshold)
    assert threshold.tolist() == [0.0, 0.0]


def test_nothing_is_made_twice(monkeypatch):
    X, rows = make_columns(), np.arange(400, dtype=np.uint32)
    runs = []
    with Team(1) as team:
        _, (data,) = make(X, rows, team, 20)
        run = team.run
        monkeypatch.setattr(team, "run", lambda kernel, *a: (runs.append(kernel), run(kernel, *a)))
        hessian = np.ones(400)
        data.refresh(rows, hessian, team)
        n_first = len(runs)
        data.refresh(rows.copy(), hessian.copy(), team)
        assert len(runs) == n_first > 0
        hessian[0] = 2.0  # the array may change in place
        data.refresh(rows, hessian, team)
        data.refresh(rows[1:], hessian, team)
        assert len(runs) == 3 * n_first


def test_tables_of_a_fit_share_bins():
    X, other = make_columns(), make_columns(seed=3)
    rows, hessian = np.arange(0, 400, 2, dtype=np.uint32), np.random.default_rng(0).random(440)
    with Team(2) as team:
        mapper, tables = make(X, rows, team, 20, X[:40], [other])
        for chosen in (1, 0):
            tables[chosen].refresh(rows, hessian, team)
            tables[1 - chosen].catch_up(team)
            thresholds = list_thresholds(tables[0], mapper)
            for own, data in zip((X, other), tables, strict=True):
                check_table(data)
                for f in data.bins.features:
                    both = np.concatenate([own[:, f], X[:40, f]])
                    expected = map_to_bins(both, thresholds[f])
                    assert data.table.columns[f].tolist() == expected.tolist()


def test_categories_keep_their_bins():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 400, 900), rng.normal(size=900), rng.integers(0, 5, 900)])
    n_categories = np.array([400, 0, 5])
    rows = np.arange(900, dtype=np.uint32)
    with Team(1) as team:
        plain = BinMapper.fit(X, 20, n_categories=n_categories).transform(X, team).table
        _, (data,) = make(X, rows, team, 20, n_categories=n_categories)
        data.refresh(rows, rng.random(900), team)
    assert data.bins.features.tolist() == [1]
    np.testing.assert_array_equal(data.table.columns[2], plain.columns[2])
    np.testing.assert_array_equal(data.table.categories.wide, plain.categories.wide)


def test_sparse_matrices_equal_arrays():
    X = make_columns()
    X[np.random.default_rng(1).random(X.shape) < 0.4] = 0.0
    rows, hessian = np.arange(400, dtype=np.uint32), np.random.default_rng(0).random(450)
    with Team(2) as team:
        tables = []
        for own in (X, SparseMatrix.from_scipy(csr_matrix(X))):
            mapper, (data,) = make(own, rows, team, 30, X[:50])
            data.refresh(rows, hessian, team)
            tables.append((list_thresholds(data, mapper), data.table.columns))
    for own, other in zip(tables[0][0], tables[1][0], strict=True):
        assert own.tolist() == other.tolist()
    np.testing.assert_array_equal(tables[0][1], tables[1][1])


def test_more_values_than_ranks(monkeypatch):
    monkeypatch.setattr(quantiles, "MOST_RANKS", 50)
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=1_000), rng.integers(0, 45, 1_000), rng.normal(size=1_000)]
    )
    X[:300, 2] = 0.5
    rows, hessian = np.arange(1_000, dtype=np.uint32), rng.random(1_000)
    with Team(1) as team:
        mapper, (data,) = make(X, rows, team, 10)
        assert data.ranks.max(axis=1).tolist()[:2] == [50, 45]
        for k in (0, 2):  # ranks ascend with the values and hold about equal numbers of rows
            order = np.argsort(X[:, k], kind="stable")
            assert (np.diff(data.ranks[k, order].astype(int)) >= 0).all()
            counts = np.bincount(data.ranks[k])[1:]
            assert np.sort(counts)[:-1].max() <= 1_000 // 50 + 1
        data.refresh(rows, hessian, team)
        thresholds = list_thresholds(data, mapper)
        check_table(data)
    for f in range(3):
        codes = map_to_bins(X[:, f], thresholds[f])
        assert data.table.columns[f].tolist() == codes.tolist()
        weight = np.bincount(codes, hessian)
        heaviest = np.bincount(data.ranks[f], hessian).max()
        assert weight.max() <= hessian.sum() / 10 + heaviest + 1e-9


@pytest.mark.parametrize("bad", [0.0, NAN, INF, -1.0])
def test_hessians_that_the_grower_will_refuse_do_no_harm(bad):
    X, rows = make_columns(), np.arange(400, dtype=np.uint32)
    with Team(1) as team:
        _, (data,) = make(X, rows, team, 20)
        data.refresh(rows, np.full(400, bad), team)
        check_table(data)
        data.refresh(rows, np.where(rows % 3 == 0, bad, 1.0), team)
        check_table(data)


WEIGHTS = st.lists(st.floats(0.001, 1.0) | st.sampled_from([0.5, 20.0]), min_size=1, max_size=60)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(WEIGHTS, st.integers(2, 20))
def test_bins_have_the_weight_that_the_paper_allows(weights, max_bins):
    """Each rank of the paper lies within eps = 1 / max_bins of a candidate's.

    Where a value has more weight than a bin should, it ends its bin; without such values no bin
    weighs more than an equal share and its last value.
    """
    values = np.arange(len(weights), dtype=np.float64)[:, None]
    hessian, rows = np.array(weights), np.arange(len(weights), dtype=np.uint32)
    if len(weights) <= max_bins:
        return
    with Team(1) as team:
        mapper, (data,) = make(values, rows, team, max_bins)
        data.refresh(rows, hessian, team)
    (thresholds,) = list_thresholds(data, mapper)
    ends = np.floor(thresholds).astype(int).tolist()
    assert ends == cut_by_weight(weights, max_bins)
    assert len(ends) < max_bins
    share = sum(weights) / max_bins
    heavy = [i for i, weight in enumerate(weights[:-1]) if weight >= share]
    if len(ends) < max_bins - 1:
        assert set(heavy) <= set(ends)
    if max(weights) < share:
        borders = [-1, *ends, len(weights) - 1]
        for first, last in itertools.pairwise(borders):
            own = weights[first + 1 : last + 1]
            assert sum(own[:-1]) < share * (1 + 1e-9)
