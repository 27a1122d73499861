"""Methods of estimators whose fit keeps what it learned from rows unseen by the trees."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.docstrings import fill_docstring
from sumwise.errors import DataError, ParameterError

if TYPE_CHECKING:  # imported when something is calibrated
    from sumwise.estimators.calibrated.calibration import Calibration
    from sumwise.estimators.calibrated.conformal import ConformalIntervals, ConformalSets

_COVERAGE = """X : frame, array-like or sparse matrix of shape (n_rows, n_features)
coverage : float, default=0.9
    Share of new rows whose target is to be covered, above 0 and below 1."""


class CalibratedClassifierMixin:
    """Adds calibrated probabilities and prediction sets to a classifier."""

    classes_: Any
    calibrate: str | None
    conformal: bool
    calibration_: "Calibration"
    conformal_: "ConformalSets"

    @abstractmethod
    def _predict_unlinked(self, X: Any) -> np.ndarray:
        """Return raw scores, or values of trees, of shape (n_rows, n_outputs)."""

    @abstractmethod
    def _to_shares(self, values: np.ndarray) -> Any:
        """Return probabilities before calibration."""

    def _to_probabilities(self, values: np.ndarray) -> Any:
        """Return probabilities, calibrated if the model is."""
        if not self._is_calibrated():
            return self._to_shares(values)
        return self.calibration_.predict(values, self._to_shares)

    def _is_calibrated(self) -> bool:
        return "calibration_" in self.__dict__

    def _learn_from_unseen(
        self, values: np.ndarray, class_idx: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Learn from the values of rows that the trees have not seen.

        A single class has the probability 1, calibrated or not.
        """
        if self.classes_.size > 1 and self.calibrate is not None:
            from sumwise.estimators.calibrated.calibration import fit_calibration

            about = (class_idx, self.classes_, weight, self._to_shares)
            self.calibration_ = fit_calibration(self.calibrate, values, *about)
        if self.conformal:
            from sumwise.estimators.calibrated.conformal import ConformalSets

            self.conformal_ = ConformalSets.learn(self._to_shares(values), class_idx, weight)

    @fill_docstring(coverage=_COVERAGE)
    def predict_set(self, X: Any, coverage: float = 0.9, by_class: bool = False) -> np.ndarray:
        """Return the classes that each row may have: sets that contain the true class.

        A class belongs to the set of a row if its probability, before calibration, is at least the
        ``1 - coverage`` quantile of the probabilities of the true classes, of rows unseen by the
        trees. The most probable class always does. The model must have been fitted with
        ``conformal=True``.

        Parameters
        ----------
        {coverage}
        by_class : bool, default=False
            Whether the coverage holds for the rows of each class, not only for all rows. Classes
            with few rows then belong to more sets.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        from sumwise.estimators.calibrated.conformal import check_coverage, warn_of_few_rows

        check_is_fitted(self)
        coverage = check_coverage(coverage)
        known = self.__dict__.get("conformal_") or _refuse_without_scores(self, "predict_set")
        shares = self._to_shares(self._predict_unlinked(X))
        thresholds = known.find_thresholds(coverage, self.classes_.size, by_class)
        if np.isneginf(thresholds).any():
            few = "some classes" if by_class else "all classes"
            what = f"{type(self).__name__}: {few} belong to all sets"
            warn_of_few_rows(what, coverage, 1)
        sets: np.ndarray = shares >= thresholds
        sets[np.arange(len(sets)), shares.argmax(axis=1)] = True
        return sets


class ConformalRegressorMixin:
    """Adds prediction intervals to a regressor."""

    conformal: bool
    conformal_: "ConformalIntervals"

    @abstractmethod
    def _predict_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return predictions and their spread, (n_rows, n_outputs); None for that of the loss."""

    @fill_docstring(coverage=_COVERAGE)
    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return an interval for the target of each row.

        On average over new rows, at most half of the rest of the coverage lies below the intervals
        and at most half above. The model must have been fitted with ``conformal=True``. If there
        were too few rows to learn from, intervals are infinite, with a warning.

        Parameters
        ----------
        {coverage}

        Returns
        -------
        ndarray of shape (n_rows, 2) or (n_rows, n_targets, 2)
            Lower and upper bounds. The coverage holds for each target alone.
        """
        from sumwise.estimators.calibrated.conformal import check_coverage, warn_of_few_rows

        check_is_fitted(self)
        coverage = check_coverage(coverage)
        known = self.__dict__.get("conformal_") or _refuse_without_scores(self, "predict_interval")
        low, high = known.find_bounds(*self._predict_spread(X), coverage)
        if np.isinf(known.residuals.find_low(0.5 * (1.0 - coverage))).any():
            what = f"{type(self).__name__}: intervals are infinite"
            warn_of_few_rows(what, coverage, 2)
        bounds = np.stack([low, high], axis=-1)
        return bounds[:, 0] if bounds.shape[1] == 1 else bounds


def _refuse_without_scores(model: Any, method: str) -> NoReturn:
    reason = "set it before fit"
    if model.conformal:
        reason = "the model was fitted without it, or has changed since; fit it again"
    raise ParameterError(f"{type(model).__name__}: {method} needs conformal=True: {reason}")


def refuse_many_outputs(model: Any, is_many: bool) -> None:
    """Refuse to calibrate a classifier of several outputs."""
    if is_many:
        raise DataError(
            f"{type(model).__name__}: calibrate and conformal are for one label per row; y has "
            "several outputs. Fit one model per output"
        )
