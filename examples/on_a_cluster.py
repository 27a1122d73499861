"""Many fits on a cluster: bagging, stacking, selection and cross-validation through joblib.

Within ``joblib.parallel_config("dask")``, jobs that would run on threads or processes of this
machine are tasks of a Dask cluster. Here it has two processes; ``Client("tcp://...:8786")``
connects to a real one. The models are the same. For a single model on data that lies on the
cluster, see ``sumwise.dask``.
"""

import logging
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import NamedTuple

import joblib
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from sumwise import (
    BaggingClassifier,
    DecisionTreeClassifier,
    EnsembleSelectionClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    StackingClassifier,
)


class Row(NamedTuple):
    """What a fit has given, in this process and on the cluster, and the seconds of both."""

    here: np.ndarray
    there: np.ndarray
    seconds_here: float
    seconds_there: float


def list_fits(X: np.ndarray, y: np.ndarray) -> Mapping[str, Callable[[], np.ndarray]]:
    """Return functions that fit, and return probabilities or scores."""
    boosting = GradientBoostingClassifier(n_estimators=30, random_state=0)
    members = [
        ("boosting", boosting),
        ("slow boosting", GradientBoostingClassifier(learning_rate=0.05, random_state=0)),
        ("extra trees", ExtraTreesClassifier(50, random_state=0)),
    ]
    trees = [
        (f"depth {d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in range(1, 9)
    ]
    ensembles = {
        "bagging": BaggingClassifier(n_estimators=50, random_state=0),
        "stacking": StackingClassifier(members, cv=3),
        "greedy selection": EnsembleSelectionClassifier(trees, method="greedy", cv=3),
    }
    fits = {name: lambda own=own: own.fit(X, y).predict_proba(X) for name, own in ensembles.items()}
    return {**fits, "cross-validation": lambda: cross_val_score(boosting, X, y, cv=4)}


def compare(fit: Callable[[], np.ndarray]) -> Row:
    """Fit in this process, and on the cluster of the default client."""
    start = perf_counter()
    here = fit()
    middle = perf_counter()
    with joblib.parallel_config("dask"):
        there = fit()
    return Row(here, there, middle - start, perf_counter() - middle)


def main(n_rows: int = 569) -> dict[str, Row]:
    """Print how long each fit takes here and there, and whether the results are equal."""
    X, y = (own[:n_rows] for own in load_breast_cancer(return_X_y=True))
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.ERROR}
    with LocalCluster(n_workers=2, processes=True, **options) as cluster, Client(cluster):
        rows = {name: compare(fit) for name, fit in list_fits(X, y).items()}
    print(f"{'':16}   here  cluster  equal")
    for name, row in rows.items():
        is_equal = "yes" if np.array_equal(row.here, row.there) else "no"
        print(f"{name:16} {row.seconds_here:4.1f} s  {row.seconds_there:5.1f} s  {is_equal}")
    return rows


if __name__ == "__main__":
    main()
