"""Small data, clocks and terms of fits that the tests of automatic ensembles share."""

import numpy as np
import pandas as pd

from sumwise.estimators.auto.budget import Budget
from sumwise.estimators.auto.checkpoint import Checkpoint
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.fold_fits import FitTerms
from sumwise.estimators.auto.folds import make_folds
from sumwise.estimators.auto.metrics import choose_loss, resolve_metric
from sumwise.estimators.auto.search import Search


class FakeClock:
    """Seconds that pass by as many at every look."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def make_frame(n_rows=120, seed=0):
    """Return numbers with missing values, a category and a column without values; and y."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.normal(size=n_rows),
            "c": pd.Categorical(rng.choice(list("xyz"), n_rows)),
            "nothing": np.nan,
        }
    )
    y = frame["a"] + frame["b"].abs() + (frame["c"] == "x") + 0.5 * rng.normal(size=n_rows)
    frame.loc[::7, "b"] = np.nan
    frame.loc[::11, "c"] = None
    return frame, y.to_numpy(copy=True)


def make_classes(n_rows=120, seed=0):
    """Return the frame, and labels of two classes."""
    frame, y = make_frame(n_rows, seed)
    return frame, np.where(y > np.median(y), "yes", "no")


def read(X, y, *, is_class=False, sample_weight=None, groups=None, categorical_features="auto"):
    """Return the data as an ensemble reads it."""
    return TrainingData.read(is_class, X, y, sample_weight, groups, categorical_features, 1)


def make_terms(data, n_folds=3, clock=None, seed=0, n_jobs=1):
    """Return the terms of fits."""
    folds = make_folds(data, n_folds, 1, False, None, seed)
    return FitTerms(data, folds, "auto", seed, clock or FakeClock(), n_jobs)


def make_search(data, n_folds=3, limit=None, clock=None, **options):
    """Return a search without progress."""
    metric = resolve_metric(options.pop("metric", None), None, data.classes)
    return Search(
        **{
            "data": data,
            "folds": make_folds(data, n_folds, 1, False, None, 0),
            "metric": metric,
            "budget": Budget(limit, clock or FakeClock()),
            "checkpoint": Checkpoint(None),
            "report": lambda state: None,
            "loss": choose_loss(metric, data.classes is not None),
            "seed": 0,
            "n_jobs": 1,
            "memory": 1 << 40,
            **options,
        }
    )
