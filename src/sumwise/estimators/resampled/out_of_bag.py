"""Permutation importance on out-of-bag rows, of any ensemble that tells what its members saw."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sumwise.data.frames.reading import collect_lazy
from sumwise.data.frames.selection import shuffle_feature, take_features, take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, read_target


def oob_permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Bunch:
    """Measure how much worse members predict their out-of-bag rows if a feature is shuffled.

    Breiman's permutation importance (2001): the decrease in accuracy of each member, or the
    increase of its mean squared error, averaged over the members. It needs no rows besides those
    of training.

    Parameters
    ----------
    model : fitted ensemble
        Bagging or a forest of sumwise or scikit-learn, with ``estimators_`` and
        ``estimators_samples_``.
    X, y : array-like
        The rows that it was fitted on, in the same order.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows in the accuracy or error.
    n_repeats : int, default=1
        Number of times that each feature is shuffled for each member.
    n_jobs : int or None, default=None
        Number of members that joblib processes at the same time.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.

    Returns
    -------
    Bunch
        ``importances_mean`` and ``importances_std`` over the members, of shape (n_features,), and
        ``importances`` of shape (n_features, n_members). Members without out-of-bag rows are
        omitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import BaggingClassifier, oob_permutation_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> result = oob_permutation_importance(model, X, y, random_state=0)
    >>> sorted(int(f) for f in result.importances_mean.argsort()[-2:])  # the petals
    [2, 3]
    """
    check_is_fitted(model)
    kind = type(model).__name__
    if not hasattr(model, "estimators_samples_"):
        raise DataError(f"{kind} does not tell which rows its members saw (estimators_samples_)")
    if _shares_encoder(model):
        raise ParameterError(
            f"{kind}: the trees share statistics of all rows in place of categories: predictions "
            "of out-of-bag rows would contain their targets. Use "
            "sumwise.inspection.permutation_importance on rows that were not trained on, or "
            "categorical_encoding='native'"
        )
    if not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ParameterError(f"n_repeats={n_repeats!r}: must be at least 1")
    X = collect_lazy(X)
    y = read_target(y, is_number=not is_classifier(model))
    if is_classifier(model):
        class_idx = encode_labels("y", y, model.classes_)
        # Most members predict class indices; the trees of our forests predict labels.
        first = np.asarray(getattr(model.estimators_[0], "classes_", ()))
        y = y if np.array_equal(first, model.classes_) else class_idx
    weight = check_sample_weight(sample_weight, len(y))
    samples = model.estimators_samples_
    n_features = int(model.n_features_in_)
    features = getattr(model, "estimators_features_", None) or [None] * len(samples)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(samples))
    tasks = [
        (member, chosen, _find_out_of_bag(rows, len(y)), int(seed))
        for member, chosen, rows, seed in zip(
            model.estimators_, features, samples, seeds, strict=True
        )
    ]
    tasks = [task for task in tasks if task[2].size]
    if not tasks:
        raise DataError(f"no member of {kind} has out-of-bag rows; draw fewer rows for each")
    columns = Parallel(n_jobs=n_jobs)(
        delayed(_measure_drops)(
            member,
            chosen,
            take_rows(X, rows),
            y[rows],
            _take(weight, rows),
            n_features,
            n_repeats,
            seed,
        )
        for member, chosen, rows, seed in tasks
    )
    importances = np.column_stack(columns)
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _shares_encoder(model: Any) -> bool:
    """Whether the members of a forest or bagging have one encoder of categories."""
    trees = vars(model).get("_trees")
    return getattr(model if trees is None else trees.model, "_encoder", None) is not None


def _take(weight: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if weight is None or not weight[rows].any() else weight[rows]


def _find_out_of_bag(rows_in_bag: np.ndarray, n_rows: int) -> np.ndarray:
    is_out = np.ones(n_rows, dtype=bool)
    is_out[rows_in_bag] = False
    return np.flatnonzero(is_out)


def _measure_drops(
    member: Any,
    features: np.ndarray | None,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_features: int,
    n_repeats: int,
    seed: int,
) -> np.ndarray:
    """Return the importance of each feature for one member; 0 for features it does not use."""
    if not hasattr(member, "feature_names_in_") and hasattr(member, "n_features_in_"):
        X = (
            np.asarray(X) if not hasattr(X, "tocsr") else X
        )  # it was fitted on an array made from a frame
    draws = np.random.RandomState(seed)
    n_rows = len(y)
    used = np.arange(n_features) if features is None else np.unique(features)
    before = _measure_loss(member, take_features(X, features), y, weight)
    drops = np.zeros(n_features)
    for feature in used:
        for _ in range(n_repeats):
            shuffled = shuffle_feature(X, int(feature), draws.permutation(n_rows))
            after = _measure_loss(member, take_features(shuffled, features), y, weight)
            drops[feature] += (after - before) / n_repeats
    return drops


def _measure_loss(member: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the error rate, or the mean squared error."""
    predicted = np.asarray(member.predict(X))
    if is_classifier(member):
        return float(np.average(predicted != y, weights=weight))
    return float(np.average((predicted - y) ** 2, weights=weight))
