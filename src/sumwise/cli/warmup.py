"""`sumwise warmup`: compile every kernel now, so that no later fit waits for the compiler."""

import argparse
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Subsample,
)
from sumwise.kernels.threads import Team
from sumwise.losses import REGRESSION_LOSSES


def warm_up() -> float:
    """Compile all kernels by tiny fits; return the seconds it took."""
    start = perf_counter()
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    X[:, 0] = X[:, 0].round(1)  # few distinct values; the other columns need quantiles
    total = X.sum(axis=1)
    classes = np.digitize(total, (1.2, 1.8))
    drawn: dict[str, Any] = {"sampler": Subsample(), "early_stopping": True, "n_estimators": 2}
    # Threads and column sampling are choices at run time; types, losses and growth are not.
    for kind in (np.float32, np.float64):
        for model, y in (
            (GradientBoostingRegressor(**drawn), total),
            (GradientBoostingClassifier(**drawn), classes > 0),
            (GradientBoostingClassifier(**drawn, loss="exponential"), classes > 0),
            (GradientBoostingClassifier(**drawn), classes),
        ):
            model.fit(X.astype(kind), y)
            model.apply(X.astype(kind))
            for rows in (X, X[:1]):  # many rows and few go different ways
                getattr(model, "predict_proba", model.predict)(rows.astype(kind))
        # Columns that need quantiles get new ones for each tree.
        own = GradientBoostingClassifier(**drawn, splits="approx", booster="dart")
        own.fit(X.astype(kind), classes > 0)
        codes = np.floor(9 * X).astype(kind)
        by_category = GradientBoostingRegressor(**drawn, categorical_features=[0, 1])
        by_category.fit(codes, total)
        for n_rows in (len(codes), 1):
            by_category.predict(codes[:n_rows])
        gaps = csr_matrix(np.where(X < 0.3, X, 0).astype(kind))
        for growth in ("leaf", "symmetric"):
            model = GradientBoostingRegressor(**drawn, growth=growth).fit(gaps, total)
            model.predict(gaps)
        for other in (
            GradientBoostingRegressor(n_estimators=2, booster="linear"),
            RandomForestRegressor(2),
            AdaBoostRegressor(n_estimators=2),
        ):
            other.fit(gaps, total).predict(gaps)
    for loss in REGRESSION_LOSSES:
        y = np.minimum(total / 3.0, 1.0)
        for weight in (None, total):
            GradientBoostingRegressor(**drawn, loss=loss).fit(X, y, weight).predict(X)
    # Growth, categories and constraints are choices of type, each with each.
    for growth, features, directions in product(
        ("leaf", "symmetric"), (None, [0]), (None, [0, 1, -1])
    ):
        model = GradientBoostingRegressor(growth=growth, n_estimators=2, loss="absolute_error")
        model.set_params(categorical_features=features, monotonic_cst=directions)
        model.fit(np.floor(9 * X), total)
    for booster, y in ((AdaBoostRegressor(), total), (AdaBoostClassifier(), classes)):
        booster.set_params(n_estimators=2, method="resample").fit(X, y).predict(X)
    for growth in ("leaf", "symmetric"):
        GradientBoostingRegressor(**drawn, growth=growth, splits="exact").fit(X, total)
    # Kernels of boosters and samplers.
    for sampler in ("goss", "mvs", "bayesianbootstrap"):
        GradientBoostingRegressor(n_estimators=2, sampler=sampler).fit(X, total)
    for name in ("dart", "forest", "linear", "ordered"):
        for kind in (np.float32, np.float64):
            model = GradientBoostingRegressor(n_estimators=2, booster=name)
            model.fit(X.astype(kind), total).predict(X.astype(kind))
    encoded: dict[str, Any] = {"categorical_features": [0, 1], "categorical_encoding": "ordered"}
    for growth in ("leaf", "symmetric"):
        model = GradientBoostingRegressor(n_estimators=2, growth=growth, **encoded)
        model.fit(np.floor(99 * X), total).predict(np.floor(99 * X))
    _warm_up_forests(X, total, classes)
    with Team(2) as team:  # such small fits have one thread, which meets nobody
        team.run(lambda *_: None)
    return perf_counter() - start


def _warm_up_forests(X: np.ndarray, total: np.ndarray, classes: np.ndarray) -> None:
    """Compile for each type of target: classes, a number, and several."""
    for forest, y in (
        (RandomForestClassifier(2), classes),
        (RandomForestRegressor(2), total),
        (RandomForestRegressor(2), np.column_stack([total, total])),
    ):
        forest.set_params(prune="oob", leaf_posterior="oob", ccp_alpha=1e-4, random_state=0)
        forest.fit(X, y)
        for kind in ("permutation", "unbiased"):
            forest.oob_importances(X, y, kind=kind)
        forest.predict(X), forest.apply(X), forest[0].tree_
    BaggingRegressor(n_estimators=2, sampling="bayesian", max_features=2).fit(X, total)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise warmup`: none."""


def run(args: argparse.Namespace) -> None:
    """Compile, and say how long it took."""
    print(f"Kernels ready in {warm_up():.1f} s")
