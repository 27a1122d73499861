"""Comparisons and models to describe, with texts that would break a careless page."""

import numpy as np
import pandas as pd
import pytest

from sumwise import GradientBoostingClassifier, RandomForestRegressor
from sumwise.report import Comparison, Contender, report_comparison, report_model

RNG = np.random.default_rng(0)
N_ROWS = 160
EVIL = '<script>alert("x")</script>'
CLASSES = np.array(["<no>", "yes & more"])


def make_frame(n_rows=N_ROWS, seed=0):
    """Numbers, categories with markup in them, missing values, and a name that is markup."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_rows)
    size[::9] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            EVIL: rng.choice(["a", "<b>", 'c"d'], n_rows),
            "count": rng.integers(0, 5, n_rows),
        }
    )


def make_target(X, seed=0):
    rng = np.random.default_rng(seed)
    return X["size"].fillna(0.0).to_numpy() + X["count"].to_numpy() + rng.normal(size=len(X))


@pytest.fixture(scope="session")
def classification():
    X = make_frame()
    y = CLASSES[(make_target(X) > 2).astype(int)]
    truth = (y == CLASSES[1]).astype(float)
    contenders = []
    for k, name in enumerate(["forest", "<i>boosting</i>", "a far outlier"]):
        share = np.clip(0.15 + 0.7 * truth + RNG.normal(0, 0.2 + 0.1 * k, N_ROWS), 0.01, 0.99)
        scores = np.array([0.3, 0.32, 0.35, 0.31]) + [0.0, 0.05, 9.0][k]
        shares = np.column_stack([1 - share, share])
        contenders.append(Contender(name, scores, 0.5 + k, 0.01, 10, shares, "family"[: 3 + k]))
    model = GradientBoostingClassifier(n_estimators=8, random_state=0, track_training_loss=True)
    return Comparison(
        "rows & columns",
        "classification",
        "log loss",
        False,
        X,
        y,
        None,
        contenders,
        "forest",
        model.fit(X, y),
        {"folds": 4, EVIL: EVIL},
        'sumwise compare "rows & columns.csv"',
    )


@pytest.fixture(scope="session")
def regression():
    X = make_frame(seed=1)
    y = make_target(X)
    contenders = [
        Contender(
            name, 1.0 + 0.1 * RNG.random(3) + 0.2 * k, 1.0, 0.1, None, y + RNG.normal(size=N_ROWS)
        )
        for k, name in enumerate(["tree", "forest", "boosting"])
    ]
    return Comparison(
        "houses", "regression", "RMSE", False, X, y, None, contenders, "tree", None, {"folds": 3}
    )


@pytest.fixture(scope="session")
def forest():
    """A fitted forest with training and test rows."""
    X, X_test = make_frame(seed=2), make_frame(100, seed=3)
    model = RandomForestRegressor(12, random_state=0).fit(X, make_target(X, 2))
    return model, X_test, make_target(X_test, 3), X, make_target(X, 2)


@pytest.fixture(scope="session")
def reports(classification, regression, forest):
    model, X, y, X_train, y_train = forest
    return {
        "classification": report_comparison(classification),
        "regression": report_comparison(regression),
        "model": report_model(model, X, y, X_train=X_train, y_train=y_train),
    }
