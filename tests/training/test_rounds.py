"""Rounds: old and new trees in one ensemble, and the scores of old ones."""

from itertools import pairwise

import numpy as np
import pytest

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.kernels.runtime.threads import Team
from sumwise.training.rounds import Rounds, replay_rounds
from sumwise.tree import Tree
from sumwise.tree.pending_tree import PendingTree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0]) + RNG.normal(size=300)


def fit(n_classes):
    params = {"n_estimators": 5, "max_leaves": 5}
    if n_classes == 1:
        return GradientBoostingRegressor(**params).fit(X, Y).ensemble_
    y = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    return GradientBoostingClassifier(**params).fit(X, y).ensemble_


def take_trees(ensemble):
    """The trees of an ensemble, one by one."""
    for start, end in pairwise(ensemble.start):
        nodes = slice(start, end)
        names = ("feature", "threshold", "missing_left", "left", "gain", "n_rows", "weight")
        yield Tree(
            **{name: getattr(ensemble, name)[nodes] for name in names},
            split_bin=np.zeros(end - start, np.uint8),
            value=ensemble.value[nodes, None],
        )


def assert_same(first, second):
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray):
            other = getattr(second, name)
            assert value.dtype == other.dtype
            assert np.array_equal(value, other), name


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("n_past", [0, 1, 4, 5])
def test_old_and_new_trees_make_one_ensemble(n_classes, n_past):
    whole = fit(n_classes)
    past = whole.truncate(n_past) if n_past else None
    rounds = Rounds(whole.base_score, whole.link, whole.n_features, past)
    assert rounds.n_rounds == n_past
    for tree in list(take_trees(whole))[n_past * whole.n_outputs :]:
        rounds.add(tree)
    assert rounds.n_trees == whole.n_trees
    for n_rounds in range(1, 6):
        assert_same(rounds.make_ensemble(n_rounds), whole.truncate(n_rounds))


def test_what_was_measured():
    rounds = Rounds(np.zeros(1), "identity", 2)
    for value in (3.0, 2.0, 1.0):
        rounds.record({"training_loss": value, "validation_loss": -value})
    assert rounds.scores("validation_loss") == [-3.0, -2.0, -1.0]
    assert rounds.make_history()["training_loss"].tolist() == [3.0, 2.0, 1.0]
    assert rounds.make_history(2)["training_loss"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_old_rounds_are_added_one_by_one(n_classes, n_threads):
    ensemble = fit(n_classes)
    matrices = [X[:250], np.asfortranarray(X[250:].astype(np.float32)).astype(np.float64)]
    start = RNG.normal(size=(ensemble.n_outputs, 300))
    raw = start.copy()
    with Team(n_threads) as team:
        numbers = []
        for number in replay_rounds(ensemble, matrices, raw, team):
            numbers.append(number)
            expected = start.copy()
            for output in range(ensemble.n_outputs):
                for k in range(number):
                    tree = k * ensemble.n_outputs + output
                    nodes = ensemble.start[tree] + np.concatenate(
                        [ensemble.apply(part, team)[:, tree] for part in matrices]
                    )
                    expected[output] += ensemble.value[nodes]
            assert np.array_equal(raw, expected)
    assert numbers == [1, 2, 3, 4, 5]


def test_rescaled_trees_are_remembered_as_they_were():
    whole = fit(1)
    trees = list(take_trees(whole))
    rounds = Rounds(whole.base_score, whole.link, whole.n_features, stages="rescaled")
    for k, tree in enumerate(trees):
        rounds.add(tree)
        if k in (2, 4):
            rounds.rescale(0, 0.5)
    rounds.rescale(4, 3.0)
    factors = {1: [1], 2: [1, 1], 3: [0.5, 1, 1], 4: [0.5, 1, 1, 1], 5: [0.25, 1, 1, 1, 3]}
    for n_rounds, expected in factors.items():
        made = rounds.make_ensemble(n_rounds)
        assert made.stages == "rescaled"
        for k, factor in enumerate(expected):
            own = made.value[made.start[k] : made.start[k + 1]]
            assert np.array_equal(own, factor * trees[k].value[:, 0])
    assert np.array_equal(rounds.get_tree(0).value, 0.25 * trees[0].value)


def test_means_have_a_share_of_each_tree():
    whole = fit(3)
    rounds = Rounds(whole.base_score, whole.link, whole.n_features, None, 1, "mean")
    for tree in take_trees(whole):
        rounds.add(tree)
    for n_rounds in (1, 4):
        first = whole.truncate(n_rounds)
        assert np.allclose(rounds.make_ensemble(n_rounds).value, first.value / n_rounds)


class LateCopy:
    """A copy from a device that counts how often it is waited for."""

    n_waited = 0

    def get(self):
        LateCopy.n_waited += 1
        return np.empty(0)


def test_trees_on_a_device_are_waited_for_when_they_are_needed():
    whole = fit(1)
    rounds, own = Rounds(whole.base_score, whole.link, 4), Rounds(whole.base_score, whole.link, 4)
    LateCopy.n_waited = 0
    for tree in take_trees(whole):
        rounds.add(tree)
        own.add(PendingTree(LateCopy(), lambda copied, tree=tree: tree))
    assert (own.n_rounds, LateCopy.n_waited) == (5, 0)
    assert_same(own.get_tree(1), rounds.get_tree(1))
    assert LateCopy.n_waited == 1
    for record in (rounds, own):
        record.rescale(2, 0.5)
    assert_same(own.make_ensemble(4), rounds.make_ensemble(4))
    assert LateCopy.n_waited == 4
