"""Different learners, and their combinations.

To add a combination, add a line to `COMBINATIONS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import sumwise
from sumwise.cli.comparing.datasets import Dataset

# Combinations fit their members on folds within folds.
_MOST_ROUNDS = 50
# Rarer categories share a column.
_MOST_CATEGORIES = 30


class Combination(NamedTuple):
    """A way to combine members: what makes the estimator from a list of (name, estimator).

    The first one of a list that needs predictions for unseen rows pays for those of all.
    """

    name: str
    make: Callable[[list[tuple[str, Any]]], Any]
    cost: float
    averages: bool = False


COMBINATIONS = {
    "classification": (
        Combination("voting", lambda members: sumwise.VotingClassifier(members), 3.0, True),
        Combination(
            "voting, learned weights",
            lambda members: sumwise.VotingClassifier(members, rule="weighted", weights="learned"),
            12.0,
        ),
        Combination("stacking", lambda members: sumwise.StackingClassifier(members), 1.0),
        Combination(
            "Bayesian averaging", lambda members: sumwise.BayesianAveragingClassifier(members), 1.0
        ),
        Combination(
            "greedy selection", lambda members: sumwise.EnsembleSelectionClassifier(members), 1.0
        ),
    ),
    "regression": (
        Combination("averaging", lambda members: sumwise.AveragingRegressor(members), 3.0, True),
        Combination(
            "averaging, learned weights",
            lambda members: sumwise.AveragingRegressor(members, weights="least_squares"),
            12.0,
        ),
        Combination("stacking", lambda members: sumwise.StackingRegressor(members), 1.0),
        Combination(
            "Bayesian averaging", lambda members: sumwise.BayesianAveragingRegressor(members), 1.0
        ),
        Combination(
            "greedy selection", lambda members: sumwise.EnsembleSelectionRegressor(members), 1.0
        ),
    ),
}


def make_members(data: Dataset, n_rounds: int, n_jobs: int | None = None) -> dict[str, Any]:
    """Make four learners of different kinds, unfitted, by name; each reads any table."""
    common = {"n_estimators": min(n_rounds, _MOST_ROUNDS), "n_jobs": n_jobs, "random_state": 0}
    if data.task == "classification":
        linear, neighbors = LogisticRegression(max_iter=500), KNeighborsClassifier(15)
        return {
            "linear": make_pipeline(_make_numbers(data), linear),
            "neighbors": make_pipeline(_make_numbers(data), neighbors),
            "boosted trees": sumwise.GradientBoostingClassifier(**common),
            "extra trees": sumwise.ExtraTreesClassifier(**common),
        }
    return {
        "linear": make_pipeline(_make_numbers(data), RidgeCV()),
        "neighbors": make_pipeline(_make_numbers(data), KNeighborsRegressor(15)),
        "boosted trees": sumwise.GradientBoostingRegressor(**common),
        "extra trees": sumwise.ExtraTreesRegressor(**common),
    }


def _make_numbers(data: Dataset) -> Pipeline:
    """Return what fills gaps, scales numbers and gives each frequent category a column."""
    categories = data.find_categories()
    numbers = [f for f in range(data.X.shape[1]) if f not in categories]
    scale = make_pipeline(
        FunctionTransformer(_to_floats),
        SimpleImputer(strategy="median", keep_empty_features=True),
        StandardScaler(),
    )
    encode = OneHotEncoder(
        max_categories=_MOST_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    steps = [("numbers", scale, numbers)] if numbers else []
    steps += [("categories", encode, categories)] if categories else []
    return make_pipeline(ColumnTransformer(steps))


def _to_floats(values: Any) -> Any:
    """Return floats, NaN in place of what is not finite."""
    numbers = values.astype(float)
    return np.where(np.isfinite(numbers), numbers, np.nan)
