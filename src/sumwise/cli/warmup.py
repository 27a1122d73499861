"""`sumwise warmup`: compile every kernel now, so that no later fit waits for the compiler."""

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample


def warm_up() -> float:
    """Compile all kernels by tiny fits; return the seconds it took."""
    start = perf_counter()
    rng = np.random.default_rng(0)
    X = rng.random((120, 4))
    X[::7, 0] = np.nan
    weight = np.ones(len(X))
    total = X[:, 1] + X[:, 2]
    for growth in ("leaf", "depth", "symmetric"):
        for n_jobs in (1, 2):
            tiny: dict[str, Any] = {
                "growth": growth,
                "n_estimators": 2,
                "min_samples_leaf": 2,
                "n_jobs": n_jobs,
            }
            drawn = tiny | {"sampler": Subsample(), "columns": Columns()}
            for model, y in (
                (GradientBoostingRegressor(**tiny), total),
                (GradientBoostingRegressor(**drawn, early_stopping=True), total),
                (GradientBoostingClassifier(**tiny), total > 1),
                (GradientBoostingClassifier(**tiny, loss="exponential"), total > 1),
                (GradientBoostingClassifier(**drawn), np.digitize(total, (0.7, 1.3))),
            ):
                model.fit(X, y, sample_weight=weight)
                model.predict(X)
                model.apply(X)
                for _ in model.staged_predict(X):
                    pass
    return perf_counter() - start


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise warmup`: none."""


def run(args: argparse.Namespace) -> None:
    """Compile, and say how long it took."""
    print(f"Kernels ready in {warm_up():.1f} s")
