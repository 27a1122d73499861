"""Tables of entries: their trees are those of the same table with one byte per value."""

import numpy as np
import pytest
from scipy import sparse

from sumwise.data.binning import BinMapper
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.forest.layout import LOGARITHMIC, QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import forest_grower, forest_table
from sumwise.tree.forest_grower import ForestGrower, ForestSettings, prepare_table
from sumwise.tree.forest_table import EntryTable, RowTable, bin_table

KINDS = ["two", "many", "outputs"]
OPTIONS = {
    "plain": {},
    "few draws": {"n_drawn": 2},
    "all features": {"n_drawn": None},
    "random cuts": {"random_cuts": True},
    "entropy": {"criterion": LOGARITHMIC},
    "limits": {"min_samples_leaf": 3, "min_weight_leaf": 5.0, "max_depth": 6},
    "best first": {"max_leaves": 9},
    "random cuts, best first": {"max_leaves": 9, "random_cuts": True},
}


def draw_rows(rng, n_rows, n_features=30, missing=0.0, share=0.1):
    """Values of both signs, most of them zero; an empty column, and one without zeros."""
    X = rng.normal(size=(n_rows, n_features)).round(1)
    X[rng.random(X.shape) > share] = 0.0
    X[:, 3] = 0.0
    X[:, 4] = rng.integers(1, 4, n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def draw_target(rng, X, kind):
    score = np.nan_to_num(X[:, :8]).sum(axis=1) + rng.normal(size=len(X))
    label = np.digitize(score, [-1.0, 0.0, 1.0])
    if kind == "two":
        return Numbers((label > 1).astype(float)), 1
    if kind == "many":
        return Labels(label), 4
    first = np.array([0, 4])
    return MultiLabels(np.column_stack([label, score > 0.3]) + first, first), 6


def make_tables(X, weight=None, absent=0.0):
    matrix = SparseMatrix.from_dense(X, absent)
    with Team(1) as team:
        mapper = BinMapper.fit(matrix, 50, weight, team=team)
        return [kind.from_matrix(matrix, mapper, team, weight) for kind in (RowTable, EntryTable)]


def grow_all(tables, target, n_columns, settings, weight, features=None):
    trees = []
    for table in tables:
        grower = ForestGrower(table, target, n_columns, settings)
        if features is not None:
            grower.use_features(features)
        for number in range(3):
            grower.weight[:] = weight
            trees.append(grower.grow(random.make_key(0, random.TREES, number)))
    return trees[:3], trees[3:]


def assert_equal(trees, others):
    for tree, other in zip(trees, others, strict=True):
        for name, value in vars(tree).items():
            assert np.array_equal(value, getattr(other, name)), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("n_chained", [0, 60, 1 << 20])
def test_trees_are_those_of_bytes(kind, options, n_chained, monkeypatch):
    monkeypatch.setattr(forest_grower, "_FEW_ENTRIES", n_chained)
    monkeypatch.setattr(forest_grower, "_ENTRIES_PER_DRAW", 0.0)
    if kind == "two" and options.get("criterion") == LOGARITHMIC:
        options = {"criterion": TWO_CLASS_LOG}
    settings = ForestSettings(**{"is_class": True, "n_drawn": 6, **options})
    for seed, missing in ((0, 0.0), (1, 0.05)):
        rng = np.random.default_rng(seed)
        X = draw_rows(rng, 150, missing=missing)
        own = (*draw_target(rng, X, kind), settings, rng.integers(0, 3, len(X)))
        assert_equal(*grow_all(make_tables(X), *own))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("random_cuts", [False, True])
def test_large_nodes(kind, random_cuts):
    rng = np.random.default_rng(0)
    X = draw_rows(rng, 5000)
    settings = ForestSettings(is_class=True, n_drawn=6, random_cuts=random_cuts)
    own = (*draw_target(rng, X, kind), settings, rng.integers(0, 3, len(X)))
    rows, entries = grow_all(make_tables(X), *own)
    assert rows[0].n_rows[0] > 2048
    assert_equal(rows, entries)


def test_absent_values_are_missing():
    rng = np.random.default_rng(0)
    X = draw_rows(rng, 200)
    X[X == 0.0] = np.nan
    own = (*draw_target(rng, X, "many"), ForestSettings(is_class=True, n_drawn=6), np.ones(len(X)))
    assert_equal(*grow_all(make_tables(X, absent=np.nan), *own))


def test_some_features_and_rows():
    rng = np.random.default_rng(0)
    X = draw_rows(rng, 200)
    weight = rng.integers(0, 2, len(X)).astype(float)
    X[weight == 0, 7] = 5.0
    X[weight > 0, 7] = 0.0  # constant in the rows that have weight
    rows, entries = make_tables(X, weight)
    assert np.array_equal(rows.usable, entries.usable)
    assert 7 not in entries.usable
    own = (*draw_target(rng, X, "many"), ForestSettings(is_class=True, n_drawn=6), weight)
    assert_equal(*grow_all((rows, entries), *own, features=np.arange(0, 30, 2)))


def test_monotone_constraints():
    rng = np.random.default_rng(0)
    X = draw_rows(rng, 300)
    directions = rng.integers(-1, 2, X.shape[1])
    settings = ForestSettings(is_class=True, n_drawn=9, directions=directions)
    own = (*draw_target(rng, X, "two"), settings, np.ones(len(X)))
    assert_equal(*grow_all(make_tables(X), *own))


def test_sums_that_are_not_exact_need_bytes():
    rng = np.random.default_rng(0)
    X = draw_rows(rng, 100)
    tables = make_tables(X)
    weight = rng.random(len(X))
    target, n_columns = draw_target(rng, X, "two")
    settings = ForestSettings(is_class=True, n_drawn=6)
    assert_equal(*grow_all(tables, target, n_columns, settings, weight))
    assert prepare_table(tables[1], settings, weight) is tables[1].as_rows
    assert prepare_table(tables[1], settings, np.ones(len(X))) is tables[1]
    numbers = ForestSettings(QUADRATIC, n_drawn=6)
    assert prepare_table(tables[1], numbers, np.ones(len(X))) is tables[1].as_rows


def test_what_a_table_of_entries_knows():
    X = draw_rows(np.random.default_rng(0), 100, missing=0.02)
    rows, entries = make_tables(X)
    assert (rows.n_rows, rows.n_features) == (entries.n_rows, entries.n_features)
    for name in ("bins", "n_bins", "usable", "low", "high", "has_missing", "centers"):
        assert np.array_equal(getattr(rows, name), getattr(entries, name), equal_nan=True), name


def test_matrices_with_few_values_become_entries(monkeypatch):
    X = draw_rows(np.random.default_rng(0), 100)
    matrix = SparseMatrix.from_scipy(sparse.csr_matrix(X))
    with Team(1) as team:
        mapper = BinMapper.fit(X, team=team)
        assert isinstance(bin_table(X, mapper, team), RowTable)
        assert isinstance(bin_table(matrix, mapper, team), RowTable)
        monkeypatch.setattr(forest_table, "_MOST_STORED", 0.5)
        assert isinstance(bin_table(matrix, mapper, team), EntryTable)
        assert isinstance(bin_table(matrix, mapper, team, is_exact=False), RowTable)
