"""Data and kinds of models for tests of the boosting estimators."""

import numpy as np

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.losses import Exponential, Logistic, Multinomial, Poisson, Quantile, Squared

GROWTHS = ["leaf", "depth", "symmetric"]
PREDICT = ["predict", "predict_proba", "decision_function"]
SMALL = {"n_estimators": 6, "min_samples_leaf": 2, "learning_rate": 0.3}
# One tree's leaf is exactly the mean of its rows.
PLAIN = {"learning_rate": 1.0, "l2": 0.0, "min_samples_leaf": 1, "min_child_weight": 0.0}


def make_table(n_rows=150, seed=0):
    """Return X with few and many distinct values, missing ones and infinities, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = rng.integers(0, 5, n_rows)
    X[rng.random(n_rows) < 0.2, 2] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.inf
    X[rng.random(n_rows) < 0.1, 3] = -np.inf
    y = X[:, 0] + 0.5 * X[:, 1] + np.isnan(X[:, 2]) + (X[:, 3] > 1) + rng.normal(size=n_rows)
    return X, y


X, Y = make_table()
BINARY = (np.median(Y) < Y).astype(int)
FOUR = np.digitize(Y, np.quantile(Y, [0.25, 0.5, 0.75]))
FITS = {
    "regression": (GradientBoostingRegressor, {}, Y, Squared()),
    "quantile": (GradientBoostingRegressor, {"loss": Quantile(level=0.7)}, Y, Quantile(level=0.7)),
    "poisson": (GradientBoostingRegressor, {"loss": "poisson"}, FOUR, Poisson()),
    "two classes": (GradientBoostingClassifier, {}, BINARY, Logistic()),
    "exponential": (GradientBoostingClassifier, {"loss": "exponential"}, BINARY, Exponential()),
    "four classes": (GradientBoostingClassifier, {}, FOUR, Multinomial(4)),
}


def raw_of(model, X):
    """Raw scores of shape (n_outputs, n_rows)."""
    score = getattr(model, "decision_function", model._predict_raw)
    return np.ascontiguousarray(score(X).reshape(len(X), -1).T)
