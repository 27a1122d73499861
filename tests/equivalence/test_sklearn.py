"""Predictions are those of scikit-learn's HistGradientBoosting where the settings are equal."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Quantile
from tests.equivalence.trees import make_table

# max_iter and n_estimators, max_leaf_nodes and max_leaves, l2_regularization and l2
SETTINGS = [
    {"leaves": 5, "l2": 0.0, "min_samples_leaf": 1},
    {"leaves": 31, "l2": 0.0, "min_samples_leaf": 5},
    {"leaves": 8, "l2": 2.0, "min_samples_leaf": 3},
]


@pytest.fixture(autouse=True)
def one_thread():
    """On little data the rival's threads cost more than they bring."""
    with threadpool_limits(1):
        yield


def fit_pair(kinds, X, y, weight, settings, n_rounds, losses=None, **params):
    ours, theirs = kinds
    our_loss, their_loss = ({"loss": loss} for loss in losses) if losses else ({}, {})
    common = {"learning_rate": 0.5, "min_samples_leaf": settings["min_samples_leaf"]}
    model = ours(
        n_estimators=n_rounds,
        max_leaves=settings["leaves"],
        l2=settings["l2"],
        **{**common, **our_loss, **params},
    )
    rival = theirs(
        max_iter=n_rounds,
        max_leaf_nodes=settings["leaves"],
        l2_regularization=settings["l2"],
        early_stopping=False,
        **{**common, **their_loss},
    )
    return model.fit(X, y, weight), rival.fit(X, y, weight)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression(weighted, settings, with_missing, seed):
    X, y, weight, _ = make_table(seed, with_missing)
    weight = weight if weighted else None
    kinds = GradientBoostingRegressor, HistGradientBoostingRegressor
    model, rival = fit_pair(kinds, X, y, weight, settings, n_rounds=1)
    expected = rival.predict(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_positive_means(weighted, settings, loss, seed):
    X, y, weight, _ = make_table(seed, with_missing=True)
    y = np.exp(y / np.abs(y).max())
    weight = weight if weighted else None
    kinds = GradientBoostingRegressor, HistGradientBoostingRegressor
    model, rival = fit_pair(kinds, X, y, weight, settings, n_rounds=1, losses=(loss, loss))
    np.testing.assert_allclose(model.predict(X), rival.predict(X), rtol=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.2, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
def test_refitted_leaves(weighted, level):
    # There is one split, for signs make ties that the two break differently; and many rows, for
    # scikit-learn interpolates quantiles where there are no weights.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3001, 1))
    y = X[:, 0] + rng.normal(size=3001)
    weight = rng.random(3001) if weighted else None
    rival = HistGradientBoostingRegressor(
        loss="absolute_error" if level == 0.5 else "quantile",
        quantile=level,
        max_iter=5,
        learning_rate=0.5,
        early_stopping=False,
    )
    model = GradientBoostingRegressor(
        loss="absolute_error" if level == 0.5 else Quantile(level=level),
        n_estimators=5,
        learning_rate=0.5,
    )
    expected = rival.fit(X, y, weight).predict([[0], [1]])
    found = model.fit(X, y, weight).predict([[0], [1]])
    np.testing.assert_allclose(found, expected, atol=1e-6 if level == 0.5 else 5e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_two_classes(settings, with_missing, seed):
    X, _, weight, labels = make_table(seed, with_missing)
    kinds = GradientBoostingClassifier, HistGradientBoostingClassifier
    model, rival = fit_pair(kinds, X, labels, weight, settings, n_rounds=1)
    np.testing.assert_allclose(
        model.decision_function(X), rival.decision_function(X), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(model.predict_proba(X), rival.predict_proba(X), atol=1e-5)


def test_three_classes():
    # Our hessian is 3/2 times theirs, so that steps are as long at 3/2 the learning rate.
    X, y, weight, _ = make_table(1, with_missing=False)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    kinds = GradientBoostingClassifier, HistGradientBoostingClassifier
    settings = SETTINGS[0]
    model, rival = fit_pair(kinds, X, labels, weight, settings, n_rounds=1, learning_rate=0.75)
    np.testing.assert_allclose(model.predict_proba(X), rival.predict_proba(X), atol=1e-5)


def test_many_rounds():
    # Rounding to float32 adds up, so this is less strict than the single trees above.
    X, y, weight, _ = make_table(2, with_missing=True)
    kinds = GradientBoostingRegressor, HistGradientBoostingRegressor
    model, rival = fit_pair(kinds, X, y, weight, SETTINGS[1], n_rounds=10)
    np.testing.assert_allclose(model.predict(X), rival.predict(X), rtol=1e-3, atol=1.0)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_monotone_models_are_as_good(growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = X[:, 0] + np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 3] - X[:, 2] + rng.normal(size=4000)
    directions = [1, 0, -1, 0]
    rival = HistGradientBoostingRegressor(monotonic_cst=directions).fit(X[:2000], y[:2000])
    model = GradientBoostingRegressor(growth=growth, monotonic_cst=directions)
    model.fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > rival.score(X[2000:], y[2000:]) - 0.01
