"""From recipes to estimators."""

import numpy as np
import pytest

from sumwise import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sumwise.estimators.auto.members import (
    count_patience,
    count_rounds,
    is_shared,
    make_member,
    make_seed,
)
from sumwise.estimators.auto.numeric_models import NumericClassifier, NumericRegressor
from sumwise.estimators.auto.portfolio import BY_NAME, PORTFOLIO
from tests.estimators.auto.samples import make_classes, make_frame, read


def make(name, is_class, n_train=100):
    X, y = make_classes() if is_class else make_frame()
    data = read(X, y, is_class=is_class)
    return make_member(BY_NAME[name], data, n_train, "auto", 1, 7)


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("recipe", PORTFOLIO, ids=lambda recipe: recipe.name)
def test_every_recipe_makes_an_estimator(recipe, is_class):
    model = make(recipe.name, is_class)
    assert hasattr(model, "predict_proba") or not is_class


def test_kinds_of_estimators():
    assert isinstance(make("leaf_quick", True), GradientBoostingClassifier)
    assert isinstance(make("leaf_quick", False), GradientBoostingRegressor)
    assert isinstance(make("forest", True), RandomForestClassifier)
    assert isinstance(make("extra_trees", False), ExtraTreesRegressor)
    assert isinstance(make("neighbors", True), NumericClassifier)
    assert isinstance(make("network", False), NumericRegressor)


def test_boosting_knows_the_categories_and_the_loss():
    frame, y = make_frame()
    own = make_member(BY_NAME["depth"], read(frame, y), 100, "absolute_error", 1, 7)
    assert own.categorical_features == [2]
    assert own.loss == "absolute_error"
    assert own.random_state == 7
    assert make("huber", False).loss == "huber"


def test_forests_of_regressors_have_smaller_leaves():
    assert make("extra_trees", False).min_samples_leaf == 1
    assert make("forest", False).min_samples_leaf == 2
    assert make("forest", True).min_samples_leaf == 4


def test_leaves_shrink_with_few_rows():
    assert make("leaf_quick", False, n_train=10_000).min_samples_leaf == 20
    assert make("leaf_quick", False, n_train=100).min_samples_leaf == 5
    assert make("leaf_quick", False, n_train=3).min_samples_leaf == 1
    assert make("neighbors", False, n_train=2).model.n_neighbors == 1


def test_slower_steps_get_more_rounds_and_patience():
    quick, slow = BY_NAME["leaf_quick"], BY_NAME["leaf_slow"]
    assert count_rounds(quick, is_watched=True) == 1000
    assert count_rounds(slow, is_watched=True) > count_rounds(quick, is_watched=True)
    assert count_rounds(quick, is_watched=False) == 60
    assert count_patience(quick) < count_patience(slow)


def test_only_boosting_with_native_categories_shares_a_table():
    assert is_shared(BY_NAME["leaf_quick"])
    assert not is_shared(BY_NAME["symmetric_ordered"])
    assert not is_shared(BY_NAME["forest"])


def test_seeds_differ_by_member_and_fold():
    seeds = {make_seed(0, name, fold) for name in ("a", "b") for fold in range(3)}
    assert len(seeds) == 6
    assert make_seed(0, "a", 1) == make_seed(0, "a", 1) != make_seed(1, "a", 1)
    assert all(0 <= seed < np.iinfo(np.int32).max for seed in seeds)
