"""Leaves refitted to the residuals of their rows, against the twin and for any team."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels.losses.influence import FAIR, TANH
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location
from sumwise.sampling import Columns
from sumwise.tree import (
    GrowthSettings,
    LeafRefitter,
    TreeConstraints,
    TreeEnsemble,
    TreeGrower,
)
from tests.naive import location as naive

KEY = random.make_key(0, random.TREES, 0)
LOCATIONS = [
    Location(0.5),
    Location(0.9),
    Location(0.5, 0.8),
    Location(0.5, 0.8, FAIR),
    Location(0.5, 1.0, TANH),
]


def make_table(n_rows=700):
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = X[:, 1].round()
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    y = (X[:, 0] * 3 + X[:, 1] + rng.standard_t(2, n_rows)).round(1)
    return X, y, rng.choice([0.5, 1.0, 2.5], n_rows), rng.normal(size=n_rows).round(1)


def grow(location, n_threads=1, growth="leaf", weighted=False, every=1, **settings):
    """Return a tree before and after its leaves are refitted, its rows, and the scores."""
    X, y, weight, start = make_table()
    weight = weight if weighted else np.empty(0)
    rows = np.arange(0, len(y), every, dtype=np.uint32)
    settings = GrowthSettings(growth=growth, learning_rate=0.3, min_samples_leaf=5, **settings)
    scores = start.copy()
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X, 255, None, rows, 0, team)
        data = mapper.transform(X, team)
        grower = TreeGrower(data, mapper, settings, Columns(), rows.size, team)
        gradient = np.sign(scores - y) * (weight if weighted else 1.0)
        hessian = weight if weighted else np.ones(len(y))
        grown = grower.grow_on_gradients(gradient, hessian, rows, KEY, np.empty(0))
        refitter = LeafRefitter(grower, y, weight, rows, team)
        leaf, anchor = grower.get_leaves(grown)
        leaf = leaf.astype(np.int64)
        tree = refitter.refit(grown, rows, scores, location)
    return grown, tree, leaf, anchor, rows, scores


def inside(tree, node):
    """The leaves below a node."""
    if tree.left[node] < 0:
        return [node]
    left = tree.left[node]
    return inside(tree, left) + inside(tree, left + 1)


def expect_values(tree, leaf, anchor, rows, location, weighted):
    _, y, weight, start = make_table()
    units = np.zeros(len(y), dtype=object)
    units[rows] = naive.weigh_in_units(weight[rows])
    values = {}
    for node in np.flatnonzero(tree.left < 0):
        own = rows[np.isin(leaf[rows], inside(tree, anchor[node]))]
        own_units = units[own].tolist() if weighted else None
        residual = y[own] - start[own]
        values[node] = 0.3 * naive.robust_location(residual, own_units, *location)
    return values


@pytest.mark.parametrize("location", LOCATIONS, ids=str)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("every", [1, 3])
def test_leaves_equal_twin(location, growth, weighted, every):
    grown, tree, leaf, anchor, rows, scores = grow(
        location, growth=growth, weighted=weighted, every=every
    )
    assert tree.n_leaves > 10
    expected = expect_values(tree, leaf, anchor, rows, location, weighted)
    # exp of the twin may differ in the last bit
    is_exact = location.influence != TANH
    for node, value in expected.items():
        assert tree.value[node, 0] == (value if is_exact else pytest.approx(value, rel=1e-13))
    for name in ("feature", "threshold", "left", "gain", "n_rows", "weight"):
        assert np.array_equal(getattr(tree, name), getattr(grown, name))
    start = make_table()[3]
    assert np.array_equal(scores[rows], start[rows] + tree.value[leaf[rows], 0])
    others = np.setdiff1d(np.arange(len(start)), rows)
    assert np.array_equal(scores[others], start[others])


def test_leaves_that_keep_the_value_of_a_node_above():
    # A deep symmetric tree splits small nodes, too; their children keep their value.
    result = grow(LOCATIONS[0], growth="symmetric", max_depth=8)
    _, tree, leaf, anchor, rows, _ = result
    kept = np.flatnonzero((tree.left < 0) & (anchor != np.arange(anchor.size)))
    assert kept.size > 10
    assert (tree.n_rows[kept] == 0).any()
    expected = expect_values(tree, leaf, anchor, rows, LOCATIONS[0], weighted=False)
    for node in kept:
        assert tree.value[node, 0] == expected[node]


@pytest.mark.parametrize("location", LOCATIONS[:3], ids=str)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_leaf_without_rows_takes_the_nearest_node_above_that_has_some(
    location, growth, n_threads
):
    X, y, _, start = make_table()
    rows = np.arange(len(y), dtype=np.uint32)
    settings = GrowthSettings(growth=growth, min_samples_leaf=5, learning_rate=1.0)
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X, 255, None, rows, 0, team)
        grower = TreeGrower(mapper.transform(X, team), mapper, settings, Columns(), len(y), team)
        tree = grower.grow_on_gradients(start - y, np.ones(len(y)), rows, KEY, np.empty(0))
        leaf, anchor = grower.get_leaves(tree)
        leaf = leaf.astype(np.int64)
        inner = int(np.flatnonzero((tree.left >= 0) & (tree.n_rows > 0))[-1])
        gone = [*inside(tree, inner), int(leaf[0]), int(leaf[-1])]
        seen = rows[~np.isin(leaf, gone)]
        refitter = LeafRefitter(grower, y, np.empty(0), rows, team)
        value = refitter.find_values(tree, seen, start, location).value[:, 0]
    parent = {child: node for node in range(tree.n_nodes) for child in (tree.left[node],)}
    for node in gone:
        above = anchor[node]
        while not np.isin(leaf[seen], inside(tree, above)).any():
            above = parent.get(above, parent.get(above - 1))
        own = seen[np.isin(leaf[seen], inside(tree, above))]
        assert value[node] == naive.robust_location(y[own] - start[own], None, *location)


@pytest.mark.parametrize("location", LOCATIONS, ids=str)
@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_matter(location, growth, weighted):
    results = [grow(location, n, growth, weighted) for n in (1, 2, 4)]
    for result in results[1:]:
        assert result[1].value.tobytes() == results[0][1].value.tobytes()
        assert result[-1].tobytes() == results[0][-1].tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_an_inner_node_is_the_mean_of_its_leaves(weighted):
    _, tree, *_ = grow(LOCATIONS[0], weighted=weighted)
    for node in np.flatnonzero(tree.left >= 0):
        leaves = inside(tree, node)
        mean = np.average(tree.value[leaves, 0], weights=tree.weight[leaves])
        assert tree.value[node, 0] == pytest.approx(mean, rel=1e-10, abs=1e-12)


def test_steps_are_limited_before_the_learning_rate():
    _, tree, leaf, anchor, rows, _ = grow(LOCATIONS[0], max_delta_step=0.5)
    expected = expect_values(tree, leaf, anchor, rows, LOCATIONS[0], weighted=False)
    assert max(expected.values()) > 0.3 * 0.5
    for node, value in expected.items():
        assert tree.value[node, 0] == min(max(value, -0.15), 0.15)


def test_penalties_do_not_shrink_refitted_leaves():
    _, tree, leaf, anchor, rows, _ = grow(LOCATIONS[0], l2=50.0, l1=3.0)
    expected = expect_values(tree, leaf, anchor, rows, LOCATIONS[0], weighted=False)
    assert all(tree.value[node, 0] == value for node, value in expected.items())


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_refitted_leaves_obey_monotone_constraints(growth):
    falling = TreeConstraints(directions=np.array([-1, 0, 0, 0], dtype=np.int8))
    _, tree, leaf, _, rows, scores = grow(LOCATIONS[0], growth=growth, constraints=falling)
    # All of y rises with the feature: what is left of it are leaves that may not rise.
    ensemble = TreeEnsemble.from_trees([tree], np.zeros(1), "identity", 4)
    X, _, _, start = make_table()
    X = np.repeat(X[:50], 40, axis=0)
    X[:, 0] = np.tile(np.linspace(-4, 4, 40), 50)
    with Team(1) as team:
        predicted = ensemble.predict_raw(X, team).reshape(50, 40)
    assert (np.diff(predicted, axis=1) <= 0).all()
    assert np.array_equal(scores[rows], start[rows] + tree.value[leaf[rows], 0])


def test_residuals_without_bound_are_an_error():
    X, y, _, start = make_table()
    y, start = np.where(np.arange(y.size) % 2, 1e308, y), np.full(y.size, -1e308)
    rows = np.arange(y.size, dtype=np.uint32)
    with Team(1) as team:
        mapper = BinMapper.fit(X, 255, None, rows, 0, team)
        settings = GrowthSettings()
        data = mapper.transform(X, team)
        grower = TreeGrower(data, mapper, settings, Columns(), rows.size, team)
        tree = grower.grow_on_gradients(y / 1e308, np.ones(y.size), rows, KEY, np.empty(0))
        refitter = LeafRefitter(grower, y, np.empty(0), rows, team)
        with pytest.raises(TrainingError, match="too large"):
            refitter.refit(tree, rows, start, Location(0.9))
