"""Importances of forests against twins, scikit-learn, and what is known of noise."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sumwise.data.binning import BinMapper
from sumwise.errors import DataError
from sumwise.inspection.forest_importance import (
    OutOfBag,
    impurity_importance,
    permutation_importance,
    unbiased_importance,
)
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Bootstrap
from sumwise.training.forest import ForestPlan, grow_forest
from sumwise.tree.forest import BinnedForest
from sumwise.tree.forest_grower import ForestSettings
from sumwise.tree.forest_table import RowTable
from tests import forests
from tests.naive import forest_nodes as naive
from tests.naive.random import extend

WEIGHTS = [None, np.random.default_rng(4).choice([0.0, 0.5, 2.0], 120)]


def ask(grown, weight=None):
    return OutOfBag(grown.table.bins, grown.target, grown.is_class, grown.in_bag, weight)


def expect(grown, weight, measure):
    """Importances by a twin: the rows of each tree, then the mean over trees."""
    by_tree = []
    weight = np.ones(len(grown.X)) if weight is None else weight
    for number, tree in enumerate(grown.trees):
        rows = np.array([row for row in grown.unseen(number) if weight[row] > 0])
        case = naive.read_case(tree, [forests.CATEGORICAL])
        given = case, grown.table.bins[rows], grown.y[rows], weight[rows], grown.is_class
        by_tree.append(measure(number, *given))
    return np.mean(by_tree, axis=0), np.std(by_tree, axis=0)


# --- by impurity ---


def test_impurity_by_hand():
    grown = forests.grow(n_trees=4)
    trees = list(grown.trees)
    by_tree = []
    for tree in trees:
        sums = np.zeros(5)
        for f, gain in zip(tree.feature, tree.gain, strict=True):
            sums[f] += gain if f >= 0 else 0.0
        by_tree.append(sums / sums.sum())
    found = impurity_importance(grown.forest)
    assert found.mean == pytest.approx(np.mean(by_tree, axis=0), rel=1e-6)
    assert found.std == pytest.approx(np.std(by_tree, axis=0), rel=1e-5)
    assert found.mean.sum() == pytest.approx(1.0)


def test_impurity_equals_scikit_learn():
    X = forests.draw_table(100)[:, [0, 1, 4]]
    y = X[:, 0] + X[:, 1] ** 2 + np.random.default_rng(0).normal(size=100)
    with Team(1) as team:
        table = RowTable.from_matrix(X, BinMapper.fit(X, team=team), team)
        plan = ForestPlan(ForestSettings(max_depth=3, min_samples_leaf=5), 0, 0, 1)
        forest = grow_forest(table, Numbers(y), 1, plan, None, None, team).forest
    theirs = DecisionTreeRegressor(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y)
    expected = theirs.feature_importances_
    assert impurity_importance(forest).mean == pytest.approx(expected, rel=1e-5)


def test_trees_without_a_split_do_not_count():
    grown = forests.grow()
    stump = forests.grow(max_depth=0)
    both = grown.forest.append(stump.forest)
    for ours, expected in zip(
        impurity_importance(both), impurity_importance(grown.forest), strict=True
    ):
        assert ours.tolist() == expected.tolist()
    assert impurity_importance(stump.forest).mean.tolist() == [0.0] * 5


# --- by unseen rows ---


@pytest.mark.parametrize("weight", WEIGHTS, ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", forests.KINDS)
def test_unbiased_equals_twin(kind, weight):
    grown = forests.grow(kind)

    def measure(_, *given):
        return naive.unbiased(*given, 5)

    mean, std = expect(grown, weight, measure)
    with Team(1) as team:
        found = unbiased_importance(grown.forest, ask(grown, weight), team)
    assert found.mean == pytest.approx(mean, rel=1e-8, abs=1e-10)
    assert found.std == pytest.approx(std, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("weight", WEIGHTS, ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", forests.KINDS)
def test_permutation_equals_twin(kind, weight):
    grown = forests.grow(kind)
    key = int(random.make_key(11, random.PERMUTED_ROWS, 0))

    def measure(tree, *given):
        return naive.permutation(*given, extend(key, tree))

    mean, std = expect(grown, weight, measure)
    with Team(1) as team:
        found = permutation_importance(grown.forest, ask(grown, weight), team, seed=11)
        other = permutation_importance(grown.forest, ask(grown, weight), team, seed=12)
    assert found.mean == pytest.approx(mean, rel=1e-10, abs=1e-12)
    assert found.std == pytest.approx(std, rel=1e-10, abs=1e-12)
    assert found.mean[0] != other.mean[0]


@pytest.mark.parametrize("kind", forests.KINDS)
def test_threads_do_not_matter(kind):
    grown = forests.grow(kind, n_trees=7)
    rows = ask(grown, WEIGHTS[1])
    results = []
    for n_threads in (1, 2, 5, 9):
        with Team(n_threads) as team:
            unbiased = unbiased_importance(grown.forest, rows, team)
            permuted = permutation_importance(grown.forest, rows, team, seed=0)
        results.append([a.tobytes() for a in (*unbiased, *permuted)])
    assert all(result == results[0] for result in results)


def test_gains_on_the_rows_of_growth_are_the_gains():
    """With every row in, and none of them a correction, it is the plain decrease of impurity."""
    grown = forests.grow("two", n_trees=1)
    (tree,) = grown.trees
    # Each row of the bag a thousand times, so that there is nothing to make up for.
    copies = 1000
    rows = np.repeat(np.arange(120), grown.weights[0].astype(int) * copies)
    seen = OutOfBag(
        grown.table.bins[rows],
        Numbers(grown.y[rows]),
        True,
        np.zeros((1, -(-rows.size // 8)), dtype=np.uint8),
    )
    with Team(1) as team:
        found = unbiased_importance(grown.forest, seen, team).mean
    gains = np.bincount(np.maximum(tree.feature, 0), tree.gain, 5) * 2 / 120
    assert found == pytest.approx(gains, rel=2 / copies)


def test_trees_without_unseen_rows_do_not_count():
    grown = forests.grow(n_trees=2)
    full = np.full_like(grown.in_bag[:1], 255)
    both = BinnedForest.from_trees([grown.trees[0]] * 2, grown.table.mapper)
    one = BinnedForest.from_trees([grown.trees[0]], grown.table.mapper)
    rows = ask(grown)
    with Team(1) as team:
        twice = unbiased_importance(
            both, rows._replace(in_bag=np.concatenate([grown.in_bag[:1], full])), team
        )
        once = unbiased_importance(one, rows._replace(in_bag=grown.in_bag[:1]), team)
        assert twice.mean.tolist() == once.mean.tolist()
        with pytest.raises(DataError, match="no out-of-bag row"):
            unbiased_importance(one, rows._replace(in_bag=full), team)
        with pytest.raises(DataError, match="bags of 2 trees are known, the forest has 1"):
            permutation_importance(one, rows, team, seed=0)


def test_noise_with_many_values():
    """Two classes, a signal of two values, noise of two values and noise of many."""
    rng = np.random.default_rng(0)
    n_rows, n_repeats = 200, 20
    plain, unbiased, permuted = [], [], []
    for repeat in range(n_repeats):
        signal = rng.integers(0, 2, n_rows)
        y = (rng.random(n_rows) < 0.25 + 0.5 * signal).astype(float)
        X = np.column_stack([signal, rng.integers(0, 2, n_rows), rng.random(n_rows)]).astype(float)
        with Team(1) as team:
            table = RowTable.from_matrix(X, BinMapper.fit(X, team=team), team)
            plan = ForestPlan(ForestSettings(n_drawn=1), repeat, 0, 40, Bootstrap(), None, True)
            grown = grow_forest(table, Numbers(y), 1, plan, None, None, team)
            rows = OutOfBag(table.bins, Numbers(y), True, grown.in_bag)
            plain.append(impurity_importance(grown.forest).mean)
            unbiased.append(unbiased_importance(grown.forest, rows, team).mean)
            permuted.append(permutation_importance(grown.forest, rows, team, 0).mean)
    # By impurity, noise of many values is as important as the signal, and more than other noise.
    plain = np.mean(plain, axis=0)
    assert plain[2] > 10 * plain[1]
    assert plain[2] > plain[0]
    for found in (unbiased, permuted):
        mean = np.mean(found, axis=0)
        error = np.std(found, axis=0) / np.sqrt(n_repeats)
        assert (np.abs(mean[1:]) < 4 * error[1:]).all()
        assert (np.abs(mean[1:]) < 0.12 * mean[0]).all()
    # 2 * 0.5 * 0.5 before the split, 2 * 0.25 * 0.75 after it
    assert np.mean(unbiased, axis=0)[0] == pytest.approx(0.125, abs=0.03)
