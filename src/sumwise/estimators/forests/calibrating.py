"""Calibrated forests: the spread of their trees, and learning from rows unseen by the trees."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.frames.selection import take_rows
from sumwise.errors import DataError
from sumwise.estimators.calibrated.unseen import (
    clone_for_fold,
    count_folds,
    draw_folds,
    predict_unseen,
    refuse_missing_classes,
)
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.forest import BinnedForest

if TYPE_CHECKING:
    from sumwise.estimators.forests.base_forest import BaseForest
    from sumwise.estimators.forests.training_set import TrainingSet


def learn_out_of_bag(
    forest: "BaseForest",
    values: np.ndarray,
    encoded: np.ndarray,
    weight: np.ndarray | None,
    n_trees: np.ndarray,
) -> None:
    """Let a forest learn from its out-of-bag rows; ``n_trees`` have not seen a row."""
    is_unseen = n_trees > 0 if weight is None else (n_trees > 0) & (weight > 0.0)
    rows = np.flatnonzero(is_unseen)
    if rows.size == 0:
        raise DataError(
            f"{type(forest).__name__}: calibration_rows='oob': every row is in the bags of all "
            f"trees (n_samples={n_trees.size}); grow more trees"
        )
    forest._learn_from_unseen(values[rows], encoded[rows], None if weight is None else weight[rows])


def learn_by_folds(forest: "BaseForest", X: Any, train: "TrainingSet") -> None:
    """Let a forest learn from out-of-fold predictions."""
    weight = train.weight
    used = np.arange(len(train.y)) if weight is None else np.flatnonzero(weight)
    own_weight = None if weight is None else weight[used]
    encoded = train.encoded[used]
    labels = encoded if is_classifier(forest) else None
    folds = draw_folds(count_folds(forest), used.size, labels, None, train.seed)

    def fit_fold(learned: np.ndarray, test: np.ndarray) -> np.ndarray:
        member, rows = clone_for_fold(forest), used[learned]
        own = None if weight is None else weight[rows]
        member.fit(take_rows(X, rows), train.y[rows], own)
        if is_classifier(forest):
            refuse_missing_classes(member.classes_, forest.classes_)
        found: np.ndarray = member._predict_for_learning(take_rows(X, used[test]))
        return found

    forest._learn_from_unseen(predict_unseen(fit_fold, folds), encoded, own_weight)


# --- spread ---


def widen(forest: BinnedForest, team: Team) -> BinnedForest:
    """Return the same trees with more values: the squares of their distances from a center.

    Distances are shares of the largest, whose square might be too large for float64.
    """
    center, unit = _find_unit(forest)
    squares = ((forest.value - center) / unit) ** 2
    wide = replace(forest, value=np.hstack([forest.value, squares]))
    wide.__dict__["_packed"] = forest._pack(team)  # the nodes are the same
    return wide


def find_spread(
    forest: BinnedForest, wide: np.ndarray, n_trees: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return means of trees, and standard deviations between them.

    Parameters
    ----------
    forest : BinnedForest
    wide : ndarray of shape (n_rows, 2 * n_outputs)
        Means of the trees of :func:`widen`.
    n_trees : ndarray
        Number of trees of each row. The standard deviation of one tree is NaN.
    """
    mean, square = np.split(wide, 2, axis=1)
    center, unit = _find_unit(forest)
    variance = np.maximum(square - ((mean - center) / unit) ** 2, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = n_trees / np.where(n_trees > 1, n_trees - 1.0, np.nan)
    return mean, unit * np.sqrt(variance * factor[:, np.newaxis])


def fill_spread(spread: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return spreads with the mean in place of NaN; zeros if all are NaN."""
    is_known = ~np.isnan(spread)
    own = np.ones(spread.shape) if weight is None else weight[:, np.newaxis] * is_known
    total = (own * is_known).sum(axis=0)
    known = np.where(is_known, spread, 0.0)
    mean = np.divide((known * own).sum(axis=0), total, out=np.zeros(total.size), where=total > 0.0)
    return np.where(is_known, spread, mean)


def _find_unit(forest: BinnedForest) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean value of the leaves, and the largest distance from it; 1 if that is 0."""
    center = forest.value.mean(axis=0)
    unit = np.abs(forest.value - center).max(axis=0)
    return center, np.where(unit > 0.0, unit, 1.0)
