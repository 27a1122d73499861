"""Trees on tables of their own features are the trees on the table of all."""

import numpy as np
import pytest
from scipy import sparse

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Native
from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.bundling import Bundling
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import grower, sampled_table
from sumwise.tree.sampled_table import SampledTable, sampling_pays

ARRAYS = ("start", "feature", "threshold", "missing_left", "left", "value", "set_categories")


def make_numbers(rng, n_rows=600, n_features=60):
    """Columns of many values, of few (which share bytes), with missing values, and constant."""
    X = rng.normal(size=(n_rows, n_features))
    X[:, ::3] = rng.integers(0, 3, (n_rows, X[:, ::3].shape[1]))
    X[:, 7::10] = np.nan
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 9] = 1.0
    return X, np.nan_to_num(X)[:, :30].sum(axis=1) + rng.normal(size=n_rows)


def make_one_hot(rng, n_rows=3000, n_groups=12, n_values=20):
    """Columns that can be bundled, and as many rare ones that meet at random."""
    values = rng.integers(0, n_values, (n_rows, n_groups))
    places = (values + n_values * np.arange(n_groups)).ravel()
    start = n_groups * np.arange(n_rows + 1)
    one_hot = sparse.csr_matrix((np.ones(places.size), places, start))
    rare = sparse.random(n_rows, 200, 0.02, "csr", random_state=rng)
    dense = sparse.csr_matrix(rng.normal(size=(n_rows, 5)))
    score = values[:, 0] % 3 + values[:, 1] % 2 + 5 * np.asarray(rare[:, :20].sum(axis=1)).ravel()
    return sparse.hstack([one_hot, rare, dense], "csr"), score + rng.normal(size=n_rows)


def fit_both(monkeypatch, make, X, y, **fitted):
    """The ensembles with and without tables of their own."""
    found = []
    for prepare in (-np.inf, np.inf):
        monkeypatch.setattr(sampled_table, "_PREPARE", prepare)
        found.append(make().fit(X, y, **fitted).ensemble_)
    return found


def assert_same(one, other):
    assert one.n_trees > 1
    assert np.count_nonzero(one.feature >= 0) > one.n_trees
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize(("by_tree", "n_jobs"), [(0.1, 1), (0.3, 2), (0.7, 3)])
def test_dense_trees_are_the_same(monkeypatch, growth, by_tree, n_jobs):
    X, y = make_numbers(np.random.default_rng(0))

    def make():
        columns = Columns(by_tree=by_tree, by_level=0.8, by_node=0.9)
        own = {"growth": growth, "max_depth": 4, "n_jobs": n_jobs, "random_state": 1}
        return GradientBoostingRegressor(n_estimators=6, columns=columns, **own)

    assert_same(*fit_both(monkeypatch, make, X, y))


@pytest.mark.parametrize("bundling", ["auto", None])
@pytest.mark.parametrize(("growth", "n_jobs"), [("leaf", 1), ("leaf", 2), ("symmetric", 3)])
def test_sparse_trees_are_the_same(monkeypatch, bundling, growth, n_jobs):
    X, y = make_one_hot(np.random.default_rng(1))

    def make():
        own = {"growth": growth, "max_depth": 5, "n_jobs": n_jobs, "random_state": 1}
        own |= {"bundling": bundling, "min_samples_leaf": 3, "early_stopping": True}
        return GradientBoostingRegressor(n_estimators=6, columns=Columns(by_tree=0.2), **own)

    assert_same(*fit_both(monkeypatch, make, X, y))


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_trees_with_categories_are_the_same(monkeypatch, growth):
    rng = np.random.default_rng(2)
    X, y = make_numbers(rng, 2000)
    X[:, 10:13] = rng.integers(0, 600, (2000, 3))  # wide
    X[:, 20:24] = rng.integers(0, 9, (2000, 4))
    y += X[:, 10] % 2 + X[:, 20] % 3

    def make():
        own = {"growth": growth, "max_depth": 4, "random_state": 1, "n_jobs": 2}
        own |= {"categorical_features": [10, 11, 12, 20, 21, 22, 23]}
        own |= {"categorical_encoding": "native", "columns": Columns(by_tree=0.3)}
        return GradientBoostingRegressor(n_estimators=8, **own)

    assert_same(*fit_both(monkeypatch, make, X, y))


def test_permuted_tables_take_turns(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = make_numbers(rng, 800)
    X[:, :4] = rng.integers(0, 30, (800, 4))
    y += X[:, 0] % 2

    def make():
        own = {"categorical_features": [0, 1, 2, 3], "categorical_encoding": "ordered"}
        own |= {"booster": "ordered", "random_state": 1, "columns": Columns(by_tree=0.3)}
        return GradientBoostingRegressor(n_estimators=6, **own)

    assert_same(*fit_both(monkeypatch, make, X, y))


def test_many_rows_of_some_blocks_and_classes(monkeypatch):
    """Packed words are spread, rows are drawn, validation rows are in no tile."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(70_000, 40)).astype(np.float32)
    X[:, ::2] = rng.integers(0, 2, (70_000, 20))
    y = (X[:, 0] + X[:, 1] > 0.5).astype(int) + (X[:, 3] > 1)

    def make():
        own = {"sampler": "subsample", "random_state": 1, "n_jobs": 2, "max_leaves": 7}
        return GradientBoostingClassifier(n_estimators=2, columns=Columns(by_tree=0.25), **own)

    validation = {"X_val": X[:500], "y_val": y[:500]}
    assert_same(*fit_both(monkeypatch, make, X, y, **validation))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_only_the_lanes_of_the_features_are_left(n_threads):
    rng = np.random.default_rng(5)
    X = SparseMatrix(make_one_hot(rng)[0], 0.0)
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X, team=team)
        data = mapper.transform(X, team, bundling=Bundling())
        assert data.table.bundles.coding.size
        chosen = (rng.random(data.n_features) < 0.1).astype(np.uint8) & data.usable
        table = SampledTable(data, team).take(chosen, 0, data.n_rows).table
    stored = table.bundles.members
    members = np.concatenate([table.lanes.members, stored])
    assert sorted(members) == np.flatnonzero(chosen).tolist()
    assert stored.size
    row_start = table.bundles.row_start
    n_entries = np.diff(data.table.bundles.start)[stored].sum()
    assert row_start[-1] - row_start[0] == n_entries
    n_bins = np.diff(table.bin_start)
    assert np.array_equal(n_bins, np.where(chosen, table.n_value_bins + 1, 0))


def test_small_tables_are_left_alone():
    with Team(1) as team:
        codes = np.random.default_rng(0).integers(1, 200, (40, 1000)).astype(np.uint8)
        few = BinnedData.from_columns(codes[:, :100].copy(), np.full(40, 199), team)
        many = BinnedData.from_columns(np.repeat(codes, 10, axis=1), np.full(40, 199), team)
    assert not sampling_pays(few, 0.1, 100)
    assert sampling_pays(many, 0.1, 10_000)
    assert not sampling_pays(many, 1.0, 10_000)
    assert not sampling_pays(many, 0.97, 10_000)


def test_features_too_rare_to_be_split_are_not_drawn():
    """Dense and sparse tables draw the same features, none of them in vain."""
    rng = np.random.default_rng(6)
    X = (rng.random((400, 50)) < 0.02).astype(float)  # about 8 ones
    X[:, 40:] = rng.random((400, 10)) < 0.3
    y = X[:, 40:].sum(axis=1) + rng.normal(size=400)
    own = {"n_estimators": 10, "columns": Columns(by_tree=0.2), "random_state": 1}
    dense = GradientBoostingRegressor(**own).fit(X, y).ensemble_
    assert_same(dense, GradientBoostingRegressor(**own).fit(sparse.csr_matrix(X), y).ensemble_)
    assert (dense.feature[dense.start[:-1]] >= 40).all()


def test_a_first_tree_without_tiles_changes_no_other(monkeypatch):
    """Wide categorical features lie in no tile; trees that draw a narrow one need tiles."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, n, 3000) for n in (300, 300, 12)])
    y = rng.normal(size=300)[codes[:, 0]] + rng.normal(size=12)[codes[:, 2]]
    model = GradientBoostingRegressor(n_estimators=6, columns=Columns(by_tree=0.34), n_jobs=1)
    model.set_params(categorical_features=[0, 1, 2], categorical_encoding=Native(smoothing=1.0))
    for seed in range(4):
        model.set_params(random_state=seed)
        predictions = []
        for pays in (False, True):
            monkeypatch.setattr(grower, "sampling_pays", lambda *_, pays=pays: pays)
            predictions.append(model.fit(codes.astype(float), y).predict(codes[:300].astype(float)))
        assert predictions[0].tolist() == predictions[1].tolist()
