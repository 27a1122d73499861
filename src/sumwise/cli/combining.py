"""Different learners and their combinations: the second half of `sumwise compare`.

To add a combination, add a line to `COMBINATIONS`.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import sumwise
from sumwise import diversity
from sumwise.cli.datasets import Dataset
from sumwise.cli.tables import format_table

# Every combination fits its members on folds within folds: for small numeric tables only.
_MOST_ROWS = 2_000
_MOST_ROUNDS = 30

_PAIRWISE = {
    "disagreement": diversity.disagreement,
    "correlation": diversity.correlation,
    "Q": diversity.q_statistic,
    "kappa": diversity.kappa,
    "double fault": diversity.double_fault,
}
_OF_ALL = {
    "Kohavi-Wolpert variance": diversity.kohavi_wolpert_variance,
    "interrater kappa": diversity.interrater_kappa,
    "entropy": diversity.entropy,
    "difficulty": diversity.difficulty,
}


def make_members(data: Dataset, n_rounds: int) -> dict[str, Any]:
    """Make four learners of different kinds, unfitted, by name."""
    n_rounds = min(n_rounds, _MOST_ROUNDS)
    if data.task == "classification":
        return {
            "linear": make_pipeline(StandardScaler(), LogisticRegression()),
            "naive Bayes": GaussianNB(),
            "neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier()),
            "boosted trees": sumwise.GradientBoostingClassifier(
                n_estimators=n_rounds, random_state=0
            ),
        }
    return {
        "linear": RidgeCV(),
        "tree": DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
        "neighbors": make_pipeline(StandardScaler(), KNeighborsRegressor()),
        "boosted trees": sumwise.GradientBoostingRegressor(n_estimators=n_rounds, random_state=0),
    }


class Combination(NamedTuple):
    """A line of the comparison: a combination of all members, or (None) a single member."""

    name: str
    make: Callable[[list[tuple[str, Any]]], Any] | None

    def build(self, data: Dataset, n_rounds: int, n_jobs: int | None) -> Any:
        """Make an unfitted estimator; `n_jobs=None` is all CPUs."""
        members = make_members(data, n_rounds)
        members["boosted trees"].set_params(n_jobs=n_jobs or -1)
        if self.make is None:
            return members[self.name]
        model = self.make(list(members.items()))
        has_seed = "random_state" in model.get_params(deep=False)
        return model.set_params(random_state=0) if has_seed else model

    def count_rounds(self, model: Any) -> int:
        """Return the number of members of a fitted estimator; 1 for a single learner."""
        return 1 if self.make is None else len(model.estimators_)


# The error of the first combination of each task is decomposed.
COMBINATIONS = {
    "classification": (
        Combination("vote, plurality", sumwise.VotingClassifier),
        Combination(
            "vote, learned weights",
            lambda members: sumwise.VotingClassifier(members, rule="weighted", weights="learned"),
        ),
        Combination(
            "vote, calibrated",
            lambda members: sumwise.VotingClassifier(members, calibrate="sigmoid"),
        ),
        Combination("Bayesian average", sumwise.BayesianAveragingClassifier),
        Combination("greedy selection", sumwise.EnsembleSelectionClassifier),
        Combination("stacking", sumwise.StackingClassifier),
    ),
    "regression": (
        Combination("average", sumwise.AveragingRegressor),
        Combination(
            "average, learned weights",
            lambda members: sumwise.AveragingRegressor(members, weights="least_squares"),
        ),
        Combination("Bayesian average", sumwise.BayesianAveragingRegressor),
        Combination("greedy selection", sumwise.EnsembleSelectionRegressor),
        Combination("stacking", sumwise.StackingRegressor),
    ),
}


def can_combine(data: Dataset) -> bool:
    """Whether all members can read the data set, and dozens of fits take little time."""
    return data.X.dtype != object and data.X.shape[0] <= _MOST_ROWS


def list_combinations(data: Dataset) -> list[Combination]:
    """Return the single members and the combinations."""
    members = [Combination(name, None) for name in make_members(data, 1)]
    return [*members, *COMBINATIONS[data.task]]


def describe_diversity(
    data: Dataset, tests: Sequence[np.ndarray], models: Sequence[Any]
) -> list[str]:
    """Decompose the error of an ensemble on test rows; return paragraphs and tables.

    ``models`` are the first of `COMBINATIONS`, each fitted on the rows outside one of ``tests``.
    """
    names = [name for name, _ in models[0].estimators]
    y = np.concatenate([data.y[rows] for rows in tests])
    pairs = zip(models, tests, strict=True)
    predictions = np.concatenate([m.predict_members(data.X[rows]).T for m, rows in pairs])
    if data.task == "regression":
        return _describe_averages(names, predictions, y)
    pairs = zip(models, tests, strict=True)
    vote = np.concatenate([model.predict(data.X[rows]) for model, rows in pairs])
    return _describe_votes(names, predictions, y, vote)


def _describe_averages(names: Sequence[str], predictions: np.ndarray, y: np.ndarray) -> list[str]:
    error, mean_error, ambiguity = diversity.ambiguity_decomposition(predictions, y)
    correlations = np.corrcoef(predictions - y[:, None], rowvar=False)
    rows = [(f"{names[i]}, {names[j]}", f"{correlations[i, j]:.3f}") for i, j in _list_pairs(names)]
    return [
        "Squared error of the average, on test rows = mean error of its members - their ambiguity:",
        f"    {error:.5g} = {mean_error:.5g} - {ambiguity:.5g}",
        format_table(("pair of members", "correlation of errors"), rows),
    ]


def _describe_votes(
    names: Sequence[str], predictions: np.ndarray, y: np.ndarray, vote: np.ndarray
) -> list[str]:
    parts = diversity.vote_decomposition(predictions, y, vote=vote)
    rows = [
        (
            f"{names[i]}, {names[j]}",
            *(f"{f(predictions[:, i], predictions[:, j], y):.3f}" for f in _PAIRWISE.values()),
        )
        for i, j in _list_pairs(names)
    ]
    of_all = ", ".join(f"{name} {f(predictions, y):.3f}" for name, f in _OF_ALL.items())
    return [
        "Error of the plurality vote, on test rows = mean error of its members - good diversity + "
        "bad diversity:",
        f"    {parts.ensemble_error:.4f} = {parts.mean_error:.4f} - {parts.good:.4f} + "
        f"{parts.bad:.4f}",
        format_table(("pair of members (right or wrong)", *_PAIRWISE), rows),
        f"All members together: {of_all}",
    ]


def _list_pairs(names: Sequence[str]) -> list[tuple[int, int]]:
    return list(combinations(range(len(names)), 2))
