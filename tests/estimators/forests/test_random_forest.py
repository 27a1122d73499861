"""Random forests: as good as scikit-learn's, and another forest with another seed."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import cross_val_score

from sumwise import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.estimators.forests.forest_cases import CLASSIFIERS, FORESTS, IRIS, fit, predict

# --- the same for any number of threads ---


def test_another_seed_is_another_forest():
    a, b = (predict(fit(RandomForestClassifier, random_state=seed), IRIS[0]) for seed in (0, 1))
    assert not np.array_equal(a, b)


def test_a_generator_gives_another_forest_each_time():
    model = RandomForestClassifier(5, random_state=np.random.RandomState(0))
    assert not np.array_equal(*(predict(clone(model).fit(*IRIS), IRIS[0]) for _ in range(2))) or (
        not np.array_equal(*(predict(model.fit(*IRIS), IRIS[0]) for _ in range(2)))
    )


# --- as good as scikit-learn's ---


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("params", [{}, {"max_depth": 4}, {"min_samples_leaf": 5}], ids=str)
def test_scores_are_those_of_sklearn_but_for_noise(forest, params):
    if forest in CLASSIFIERS:
        X, y = make_classification(600, 10, n_informative=5, n_classes=3, random_state=0)
    else:
        X, y = make_regression(600, 10, n_informative=6, noise=20, random_state=0)
    other = getattr(sklearn.ensemble, forest.__name__)
    ours, theirs = (
        cross_val_score(kind(60, random_state=0, **params), X, y, cv=3).mean()
        for kind in (forest, other)
    )
    assert ours > theirs - 0.03


def test_importances_are_those_of_sklearn_but_for_noise():
    X, y = make_classification(600, 6, n_informative=3, n_redundant=0, random_state=0)
    ours, theirs = (
        kind(200, random_state=0).fit(X, y).feature_importances_
        for kind in (RandomForestClassifier, sklearn.ensemble.RandomForestClassifier)
    )
    assert ours.sum() == pytest.approx(1)
    np.testing.assert_allclose(ours, theirs, atol=0.03)


def test_importances_are_means_of_those_of_trees():
    model = fit(RandomForestRegressor)
    of_trees = [tree.feature_importances_ for tree in model.estimators_]
    np.testing.assert_allclose(model.feature_importances_, np.mean(of_trees, axis=0))
