"""Small tables on which models of other libraries and of sumwise are compared."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split


def split(name):
    """Return X, X_val, y, y_val of a table."""
    load = {"binary": load_breast_cancer, "several": load_wine, "regression": load_diabetes}[name]
    X, y = load(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0)


def positive():
    """Return X, X_val, y, y_val with a target above 0, for all losses of regression."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.exp(0.5 * X[:, 0] + 0.2 * rng.normal(size=600))
    return X[:400], X[400:], y[:400], y[400:]
