"""Contender and Comparison: what a comparison of models found, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sumwise.errors import DataError, ParameterError

Task = Literal["classification", "regression"]
_TASKS = ("classification", "regression")


@dataclass(frozen=True, eq=False)
class Contender:
    """One of the models that were compared.

    Parameters
    ----------
    name : str
        Its name, which no other contender has.
    fold_scores : array-like of shape (n_folds,)
        Score on each fold, in the same order for all contenders; NaN for folds that it did not
        finish.
    fit_seconds, predict_seconds : float
        Seconds of training and of prediction, over all folds.
    n_members : int or None
        Number of members or rounds; None for a model without members.
    out_of_fold : array-like or None, default=None
        What it predicts for each row of the data if it is not trained on that row: numbers of
        shape (n_rows,) for regression; for classification, probabilities of shape (n_rows,
        n_classes) in the sorted order of the classes, or labels of shape (n_rows,).
    group : str or None, default=None
        Its family, such as "boosting"; contenders of a family have the same color.

    Examples
    --------
    >>> from sumwise.report import Contender
    >>> Contender("forest", [0.9, 0.8], 1.2, 0.1, n_members=100).fold_scores
    array([0.9, 0.8])
    """

    name: str
    fold_scores: Any
    fit_seconds: float
    predict_seconds: float
    n_members: int | None
    out_of_fold: Any = None
    group: str | None = None

    def __post_init__(self) -> None:
        scores = np.asarray(self.fold_scores, dtype=np.float64)
        if scores.ndim != 1 or scores.size == 0:
            raise DataError(
                f"contender {self.name!r}: fold_scores has shape {scores.shape}; expected one "
                "score per fold"
            )
        object.__setattr__(self, "fold_scores", scores)
        if self.out_of_fold is not None:
            object.__setattr__(self, "out_of_fold", np.asarray(self.out_of_fold))


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison of models on one data set found.

    Parameters
    ----------
    data_name : str
        Name of the data.
    task : {"classification", "regression"}
        What the models predict.
    metric_name : str
        Name of the scores.
    greater_is_better : bool
        Whether higher scores are better.
    X : array-like, sparse matrix or frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Their targets.
    feature_names : sequence of str or None
        Names of the features; None to read them from X.
    contenders : sequence of Contender
        The models, in any order.
    best_name : str
        Name of the contender that is recommended.
    best_model : estimator or None, default=None
        It, fitted to all rows; None if it is not kept.
    settings : mapping, default={}
        How the comparison was made, such as the number of folds, by name.
    command : str or None, default=None
        The command that makes it again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise.report import Comparison, Contender, report_comparison
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Contender("forest", [0.94, 0.96, 0.95], 1.2, 0.1, n_members=100)
    >>> tree = Contender("tree", [0.92, 0.90, 0.94], 0.1, 0.1, n_members=None)
    >>> found = Comparison(
    ...     "iris", "classification", "accuracy", True, X, y, None, [forest, tree], "forest"
    ... )
    >>> report_comparison(found).to_dict()["title"]
    'iris: 2 models compared'
    """

    data_name: str
    task: Task
    metric_name: str
    greater_is_better: bool
    X: Any
    y: Any
    feature_names: Sequence[str] | None
    contenders: Sequence[Contender]
    best_name: str
    best_model: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    def __post_init__(self) -> None:
        if self.task not in _TASKS:
            raise ParameterError(f"task={self.task!r}: must be 'classification' or 'regression'")
        names = [contender.name for contender in self.contenders]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"contenders have the same name: {', '.join(map(repr, twice))}")
        if self.best_name not in names:
            raise DataError(f"best_name={self.best_name!r} is no contender; there are {names}")
        y = np.asarray(self.y)
        if y.ndim != 1:
            raise DataError(f"y has shape {y.shape}; a report describes one target per row")
        n_folds = {contender.fold_scores.size for contender in self.contenders}
        if len(n_folds) > 1:
            raise DataError(
                f"contenders have different numbers of folds: {sorted(n_folds)}; give NaN for "
                "folds that were not finished"
            )
        for contender in self.contenders:
            known = contender.out_of_fold
            if known is not None and known.shape[:1] != y.shape:
                raise DataError(
                    f"contender {contender.name!r}: out_of_fold has shape {known.shape}, and there "
                    f"are {y.size} rows"
                )

    @property
    def best(self) -> Contender:
        """The recommended contender."""
        return next(c for c in self.contenders if c.name == self.best_name)
