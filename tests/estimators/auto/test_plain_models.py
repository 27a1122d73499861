"""Plain models predict what the models of scikit-learn predict that they come from."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from sumwise.estimators.auto.plain_models import NeighborsRecipe, find_probabilities, learn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = X[:, 0] + RNG.normal(size=90)
CLASSES = {2: (Y > 0).astype(int), 3: np.digitize(Y, [-0.5, 0.5])}
SMALL = {"hidden_layer_sizes": (5, 4), "max_iter": 5, "random_state": 0}


def tolerance(model):
    return 1e-5 if hasattr(model, "hidden_layer_sizes") else 1e-13  # networks learn in float32


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("model", [LogisticRegression(C=0.3), MLPClassifier(**SMALL)])
def test_classifiers(model, n_classes):
    y = CLASSES[n_classes]
    found = find_probabilities(learn(model, X, y, {}), X)
    np.testing.assert_allclose(found, model.fit(X, y).predict_proba(X), atol=tolerance(model))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [Ridge(), MLPRegressor(**SMALL)])
def test_regressors(model):
    found = learn(model, X, Y, {}).compute(X)[:, 0]
    np.testing.assert_allclose(found, model.fit(X, Y).predict(X), atol=tolerance(model))


def test_neighbors():
    rows = np.vstack([X[:5] + 0.01, X[:5]])  # the last ones have distance 0
    learned = learn(NeighborsRecipe(4, by_distance=True), X, Y, {})
    expected = KNeighborsRegressor(4, weights="distance").fit(X, Y).predict(rows)
    np.testing.assert_allclose(learned.compute(rows)[:, 0], expected, atol=1e-13)
    learned = learn(NeighborsRecipe(4, by_distance=False), X, CLASSES[3], {})
    expected = KNeighborsClassifier(4).fit(X, CLASSES[3]).predict_proba(rows)
    np.testing.assert_allclose(find_probabilities(learned, rows), expected, atol=1e-14)


def test_the_model_itself_is_not_fitted():
    model = Ridge()
    learn(model, X, Y, {})
    assert not hasattr(model, "coef_")


def test_scores_of_any_size_are_probabilities():
    model = learn(Ridge(), X, Y, {})
    model.coefficient[:] = 1e300
    found = find_probabilities(model, np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]))
    assert found.tolist() == [[0.0, 1.0], [1.0, 0.0]]
