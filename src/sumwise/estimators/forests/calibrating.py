"""Calibrated forests: the spread of their trees, and learning from rows unseen by the trees."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.frames.selection import take_rows
from sumwise.docstrings import document_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.calibrated.mixins import (
    CalibratedClassifierMixin,
    ConformalRegressorMixin,
    refuse_many_outputs,
)
from sumwise.estimators.calibrated.unseen import (
    CV,
    OOB,
    check_unseen,
    clone_for_fold,
    count_folds,
    draw_folds,
    gather_folds,
    needs_unseen,
    predict_fold,
    refuse_missing_classes,
)
from sumwise.estimators.explaining import UNCALIBRATED
from sumwise.estimators.forests.base import BaseTrees
from sumwise.estimators.forests.outputs import BaseTreeClassifier, BaseTreeRegressor
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.scoring import KnownClassifier
from sumwise.export.portable import Node, TreeSum
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import sum_out_of_bag
from sumwise.tree.forest import BinnedForest
from sumwise.tree.forest_grower import Table


class BaseCalibratedTrees(BaseTrees):
    """A forest that may learn from rows unseen by its trees."""

    conformal: bool
    calibration_rows: Any

    @abstractmethod
    def _learn_from_unseen(
        self, values: np.ndarray, encoded: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Learn from the values of trees for rows that these have not seen."""

    @abstractmethod
    def _predict_for_learning(self, X: Any) -> np.ndarray:
        """Return values as :meth:`_learn_from_unseen` takes them."""

    @abstractmethod
    def _has_unseen_rows(self) -> bool:
        """Whether out-of-bag rows exist that have not changed the trees."""

    def _check_calibration(self) -> None:
        """Check the parameters."""
        check_unseen(self, ("isotonic", "logistic"), (OOB, CV))
        if needs_unseen(self) and self.calibration_rows == OOB and not self._has_unseen_rows():
            raise ParameterError(
                f"{type(self).__name__}: calibration_rows='oob' needs rows that are left out of "
                "bags, and not used for prune or leaf_posterior; use bootstrap=True, or "
                "calibration_rows='cv'"
            )

    def _learns_out_of_bag(self) -> bool:
        """Whether the forest learns from out-of-bag rows."""
        if not needs_unseen(self) or self.calibration_rows not in ("auto", OOB):
            return False
        return self._has_unseen_rows()

    def _sum_out_of_bag(
        self, table: Table, team: Team, in_bag: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return out-of-bag values for learning, for scores, and the trees of each row."""
        total, n_trees = sum_out_of_bag(self.forest_, table, in_bag, seed, team)
        with np.errstate(invalid="ignore"):
            values = total / n_trees[:, np.newaxis]
        return values, values, n_trees

    def _learn_out_of_bag(
        self, values: np.ndarray, train: TrainingSet, n_trees: np.ndarray
    ) -> None:
        """Learn from out-of-bag rows; ``n_trees`` have not seen a row."""
        weight = train.weight
        is_unseen = n_trees > 0 if weight is None else (n_trees > 0) & (weight > 0.0)
        rows = np.flatnonzero(is_unseen)
        if rows.size == 0:
            raise DataError(
                f"{type(self).__name__}: calibration_rows='oob': every row is in the bags of all "
                f"trees (n_samples={n_trees.size}); grow more trees"
            )
        own = None if weight is None else weight[rows]
        self._learn_from_unseen(values[rows], train.encoded[rows], own)

    def _finish_fit(self, X: Any, train: TrainingSet) -> None:
        if self._learns_by_folds():
            folds = self._draw_folds(train)
            found = [self._predict_fold(X, train, folds, k) for k in range(int(folds.max()) + 1)]
            self._learn_by_folds(train, folds, found)

    def _learns_by_folds(self) -> bool:
        """Whether the forest learns from out-of-fold predictions."""
        return needs_unseen(self) and not self._learns_out_of_bag()

    def _draw_folds(self, train: TrainingSet) -> np.ndarray:
        """Return the fold of each row that has weight."""
        labels = train.encoded[train.used_rows] if is_classifier(self) else None
        return draw_folds(count_folds(self), train.used_rows.size, labels, None, train.seed)

    def _predict_fold(self, X: Any, train: TrainingSet, folds: np.ndarray, fold: int) -> np.ndarray:
        """Fit a forest on the rows of all other folds; return its values for those of a fold."""
        used = train.used_rows

        def fit_fold(learned: np.ndarray, test: np.ndarray) -> np.ndarray:
            member, rows = clone_for_fold(self), used[learned]
            own = None if train.weight is None else train.weight[rows]
            member.fit(take_rows(X, rows), train.y[rows], own)
            if is_classifier(self):
                refuse_missing_classes(member.classes_, self.classes_)
            found: np.ndarray = member._predict_for_learning(take_rows(X, used[test]))
            return found

        return predict_fold(fit_fold, folds, fold)

    def _learn_by_folds(
        self, train: TrainingSet, folds: np.ndarray, found: Sequence[np.ndarray]
    ) -> None:
        """Learn from what :meth:`_predict_fold` returned for each fold."""
        used, weight = train.used_rows, train.weight
        own_weight = None if weight is None else weight[used]
        self._learn_from_unseen(gather_folds(found, folds), train.encoded[used], own_weight)


class BaseCalibratedClassifier(CalibratedClassifierMixin, BaseTreeClassifier, BaseCalibratedTrees):
    """A forest of classification trees whose probabilities may be calibrated."""

    def _encode_target(self, y: np.ndarray, start: BaseTrees | None) -> np.ndarray:
        encoded = super()._encode_target(y, start)
        if needs_unseen(self):
            refuse_many_outputs(self, isinstance(self.classes_, list))
        return encoded

    def _predict_unlinked(self, X: Any) -> np.ndarray:
        return self._predict_values(X)

    def _to_shares(self, values: np.ndarray) -> Any:
        return self._find_shares(values)

    def _predict_for_learning(self, X: Any) -> np.ndarray:
        return self._predict_values(X)

    def _know(self, values: np.ndarray) -> KnownClassifier:
        shares = self._to_probabilities(values)
        return KnownClassifier(self._choose_labels(shares), self.classes_, shares)

    @property
    def _scale(self) -> str:
        return UNCALIBRATED if self._is_calibrated() else super()._scale

    def _describe_output(self, values: TreeSum) -> Node:
        shares = super()._describe_output(values)
        return self.calibration_.describe(values, shares) if self._is_calibrated() else shares

    @document_rows
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities: the mean over the trees of the class shares in their leaves.

        They are calibrated if the forest was fitted with ``calibrate``.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``; with several outputs, a list of such arrays.
        """
        return self._to_probabilities(self._predict_values(X))


class BaseConformalRegressor(ConformalRegressorMixin, BaseTreeRegressor, BaseCalibratedTrees):
    """A forest of regression trees that may have intervals, by the spread of its trees."""

    def _learn_from_unseen(
        self, values: np.ndarray, encoded: np.ndarray, weight: np.ndarray | None
    ) -> None:
        from sumwise.estimators.calibrated.conformal import ConformalIntervals

        base, spread = np.split(values, 2, axis=1)
        support = (0.0 if self.criterion == "poisson" else -np.inf, np.inf)
        self.conformal_ = ConformalIntervals.learn(
            encoded, base, fill_spread(spread, weight), weight, power=None, support=support
        )

    def _predict_for_learning(self, X: Any) -> np.ndarray:
        return np.hstack(self._predict_spread(X))

    def _predict_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        X, n_trees = self._check_input(X), np.array([self.forest_.n_trees])
        wide = self._with_team(X, lambda team: widen(self.forest_, team).predict_raw(X, team))
        base, spread = find_spread(self.forest_, wide, n_trees)
        return base, np.nan_to_num(spread, nan=0.0)  # that of a single tree is not known

    def _sum_out_of_bag(
        self, table: Table, team: Team, in_bag: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self._learns_out_of_bag():
            return super()._sum_out_of_bag(table, team, in_bag, seed)
        wide = widen(self.forest_, team)
        total, n_trees = sum_out_of_bag(wide, table, in_bag, seed, team)
        with np.errstate(invalid="ignore"):
            base, spread = find_spread(self.forest_, total / n_trees[:, np.newaxis], n_trees)
        return np.hstack([base, spread]), base, n_trees


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
