"""How members are made from the base learner."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sumwise.errors import DataWarning
from sumwise.estimators.resampled.recipe import (
    NoiseRecipe,
    Recipe,
    find_member_seed,
    seed_member,
    takes_weights,
    warn_of_constants,
)

X = np.arange(8.0)[:, np.newaxis]
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def test_seeds_depend_on_seed_purpose_and_number():
    seeds = {find_member_seed(*key) for key in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]}
    assert len(seeds) == 4
    assert all(0 <= seed < np.iinfo(np.int32).max for seed in seeds)


def test_nested_estimators_get_seeds_of_their_own():
    member = seed_member(
        make_pipeline(DecisionTreeClassifier(), LinearSVC()), np.random.RandomState(0)
    )
    seeds = [step.random_state for _, step in member.steps]
    assert seeds == np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=2).tolist()


def test_members_of_the_same_number_are_equal():
    recipe = Recipe(DecisionTreeClassifier(), 3, {}, True, {"max_depth": [1, 2, 3, 4]})
    members = [recipe.make_member(number).get_params() for number in (0, 1, 2, 1)]
    assert members[1] == members[3]
    assert len({tuple(sorted(own.items(), key=str)) for own in members}) == 3
    assert members[0]["max_depth"] == recipe.draw_parameters(0)["max_depth"]


def test_a_learner_that_refuses_one_class_becomes_a_constant():
    recipe = Recipe(LogisticRegression(), 0, {}, takes_weights(LogisticRegression()))
    rows = np.arange(3)
    member = recipe.fit_or_stay_constant(0, recipe.make_member(0), X, Y, rows, None)
    assert isinstance(member, DummyClassifier)
    with pytest.warns(DataWarning, match="1 of 1 members have one class only"):
        warn_of_constants("Bagging", LogisticRegression(), [member])
    with pytest.raises(ValueError, match="class"):  # no other rows would help
        recipe.fit_or_stay_constant(0, recipe.make_member(0), X, Y * 0, rows, None)


def test_noise_depends_on_the_number_of_the_member():
    recipe = NoiseRecipe(None, 0, {}, True, deviation=np.array(1.0))
    first, second = recipe.disturb(0, np.zeros(5)), recipe.disturb(1, np.zeros(5))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, recipe.disturb(0, np.zeros(5)))
    flips = NoiseRecipe(None, 0, {}, True, flips=np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert flips.disturb(0, Y).tolist() == [1] * 8
