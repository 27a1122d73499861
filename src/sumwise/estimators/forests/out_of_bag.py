"""Scores of forests, and importances of features, on out-of-bag rows."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, is_classifier
from sklearn.utils.multiclass import type_of_target

from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.forests.targets import find_scale, scale_weight
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.scoring import takes_weight
from sumwise.inspection.forest_importance import (
    ForestImportance,
    OutOfBag,
    permutation_importance,
    unbiased_importance,
)
from sumwise.kernels.forest.many_outputs import Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.training.forest import ForestPlan, draw_bags
from sumwise.tree.forest_grower import ForestSettings, Target


def check_oob_score(estimator: Any) -> None:
    """Refuse an ``oob_score`` that is neither a boolean nor a way to score."""
    value = estimator.oob_score
    if isinstance(value, (bool, np.bool_)) or callable(value):
        return
    if isinstance(value, str):
        from sklearn.metrics import get_scorer_names

        if value in get_scorer_names():
            return
    raise ParameterError(
        f"{type(estimator).__name__}: oob_score={value!r}; must be a boolean, a metric of (y_true, "
        "y_pred), a scorer or its name"
    )


def score_out_of_bag(
    estimator: Any,
    values: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    is_known: np.ndarray,
) -> float:
    """Return the score of a forest by the out-of-bag means ``values`` (n_rows, n_columns).

    ``is_known`` tells which rows some tree has not seen. A warning says how many others there are.
    """
    _check_scored(estimator, y)
    n_unknown = int((~is_known).sum())
    if n_unknown:
        warnings.warn(
            f"{n_unknown} of {is_known.size} rows are in the bag of every tree: they have no "
            "out-of-bag prediction (NaN) and do not count in the score. Some inputs do not have "
            "OOB scores because there are too few trees; more n_estimators help",
            DataWarning,
            stacklevel=5,
        )
    rows = np.flatnonzero(is_known if weight is None else is_known & (weight > 0))
    if rows.size == 0:
        return float("nan")
    numbers, y = rows[:, np.newaxis], y[rows]
    own_weight = None if weight is None else weight[rows]
    score = estimator.oob_score
    if isinstance(score, (bool, np.bool_)) and isinstance(estimator, RegressorMixin):
        # The coefficient of determination is the same in any unit, and squares stay finite.
        scale = find_scale(y)
        y, values = y / scale, values / scale
    # Rows are known by their numbers, so that nothing is predicted again.
    model = copy(estimator)
    model._predict_values = lambda numbers: values[numbers[:, 0]]
    if isinstance(score, (bool, np.bool_)):
        return float(model.score(numbers, y, own_weight))
    if isinstance(score, str):
        from sklearn.metrics import get_scorer

        score = get_scorer(score)
    options = {} if own_weight is None or not takes_weight(score) else {"sample_weight": own_weight}
    if hasattr(score, "_score_func"):
        return float(score(model, numbers, y, **options))
    return float(score(y, model.predict(numbers), **options))


def _check_scored(estimator: Any, y: np.ndarray) -> None:
    """Refuse the accuracy of several outputs of which some have more than two classes."""
    if y.ndim == 1 or not is_classifier(estimator):
        return
    is_indicator = y.dtype.kind in "biuf" and type_of_target(y) == "multilabel-indicator"
    if isinstance(estimator.oob_score, (bool, np.bool_)) and not is_indicator:
        raise ParameterError(
            f"{type(estimator).__name__}: oob_score=True: The type of target cannot be used to "
            "compute OOB estimates: y is multiclass-multioutput, which has no accuracy; pass a "
            "metric of (y_true, y_pred)"
        )


def measure_importances(
    estimator: Any, X: Any, y: Any, sample_weight: Any, kind: str
) -> ForestImportance:
    """Return importances on the rows out of each tree's bag, given all rows of ``fit`` again."""
    if kind not in ("permutation", "unbiased"):
        raise ParameterError(f"kind={kind!r}: must be 'permutation' or 'unbiased'")
    matrix, forest = estimator._check_input(X), estimator.forest_
    n_rows = matrix.shape[0]
    y = read_target(y, is_number=isinstance(estimator, RegressorMixin), many=True)
    weight, total_weight = scale_weight(check_sample_weight(sample_weight, n_rows), n_rows)
    encoded = estimator._encode_target(y, estimator)
    if encoded.shape[0] != n_rows:
        raise DataError(f"X has {n_rows} rows, and y {encoded.shape[0]}")
    row_weight, reweigh = estimator._weigh_classes(encoded, weight)
    resampler = estimator._resolve_resampler(n_rows, total_weight)
    plan = ForestPlan(ForestSettings(), estimator._seed, 0, forest.n_trees, resampler)
    in_bag = draw_bags(replace(plan, reweigh=reweigh), n_rows, weight, row_weight)
    n_seen = np.unpackbits(in_bag, axis=1).sum(axis=1)
    if not np.array_equal(n_seen, forest.n_rows[forest.start[:-1]]):
        raise DataError(
            "X, y and sample_weight are not those of fit: other rows would have been drawn from "
            "them. Out-of-bag importances need the same rows in the same order"
        )
    target: Target
    if is_classifier(estimator):
        target = estimator._make_target(encoded, weight).target
    else:  # as the trees' values are: neither shifted nor scaled
        numbers = encoded.astype(np.float64)
        target = Numbers(numbers) if numbers.ndim == 1 else Vectors(numbers)
    with start_team(estimator.n_jobs, estimator._count_steps(matrix)) as team:
        bins = forest.mapper.map_to_rows(matrix, team)
        rows = OutOfBag(bins, target, is_classifier(estimator), in_bag, weight)
        if kind == "unbiased":
            return unbiased_importance(forest, rows, team)
        return permutation_importance(forest, rows, team, estimator._seed)
