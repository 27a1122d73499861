"""Trees of few levels as estimators. scikit-learn's checks: test_adaboost_checks.py."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.resampled.shallow_trees import (
    ShallowTreeClassifier,
    ShallowTreeRegressor,
    normalize_weights,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = np.digitize(X[:, 1] + X[:, 2] + RNG.normal(scale=0.3, size=200), (-0.5, 0.7))
WEIGHT = RNG.random(200) * (RNG.random(200) < 0.8)


def test_classes_are_those_of_scikit_learn():
    ours = ShallowTreeClassifier(max_depth=4).fit(X, Y, WEIGHT)
    theirs = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, Y, WEIGHT)
    used = WEIGHT > 0
    np.testing.assert_allclose(ours.predict_proba(X[used]), theirs.predict_proba(X[used]))
    np.testing.assert_array_equal(ours.predict(X[used]), theirs.predict(X[used]))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)


def test_numbers_are_those_of_scikit_learn():
    y = X[:, 0] ** 2 + X[:, 3]
    ours = ShallowTreeRegressor(max_depth=3).fit(X, y, WEIGHT)
    theirs = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y, WEIGHT)
    used = WEIGHT > 0
    np.testing.assert_allclose(ours.predict(X[used]), theirs.predict(X[used]), rtol=1e-9)


def test_labels_and_leaves():
    labels = np.array(["low", "middle", "top"])[Y]
    model = ShallowTreeClassifier(max_depth=2).fit(X, labels)
    assert set(model.predict(X)) <= set(labels)
    leaves = model.apply(X)
    assert (model.tree_.feature[leaves] < 0).all()


def test_frames_are_read_by_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ShallowTreeClassifier().fit(frame, Y)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(
        model.predict(frame), ShallowTreeClassifier().fit(X, Y).predict(X)
    )
    with pytest.raises(DataError, match=r"column 'e' holds strings .* encode it"):
        ShallowTreeClassifier().fit(frame.assign(e="x"), Y)


@pytest.mark.parametrize("depth", [0, 9, 1.5])
def test_depths_have_limits(depth):
    with pytest.raises(ParameterError, match="max_depth"):
        ShallowTreeRegressor(max_depth=depth).fit(X, Y)


def test_weights_are_normalized_without_overflow():
    np.testing.assert_array_equal(normalize_weights(None, 4), np.full(4, 0.25))
    weight = normalize_weights(np.array([1e308, 1e308, 0.0]), 3)
    np.testing.assert_array_equal(weight, [0.5, 0.5, 0.0])
