"""GradientBoostingClassifier."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.data.on_device import give
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.docs import document
from sumwise.estimators.boosting.losses import (
    CLASS_LINKS,
    check_class_loss,
    make_class_loss,
    takes_many_classes,
)
from sumwise.estimators.boosting.tasks import Classification, as_target
from sumwise.estimators.calibrated.mixins import CalibratedClassifierMixin
from sumwise.estimators.input.class_weights import check_class_weight
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_number, extend_parameters
from sumwise.estimators.input.targets import find_classes
from sumwise.export.portable import Affine, Node, PortableModel
from sumwise.tree import GrowthSettings

# Threads pay only for millions of labels: numbering one takes a nanosecond.
_STEPS_PER_LABEL = 0.1

if TYPE_CHECKING:
    from sumwise.estimators.boosting.device_scores import DeviceScores


@document
class GradientBoostingClassifier(ClassifierMixin, CalibratedClassifierMixin, BaseGradientBoosting):
    """Gradient boosted trees for classification.

    Parameters
    ----------
    loss : {"auto", "log_loss", "exponential"}, object or function, default="auto"
        "auto" and "log_loss": logistic loss for two classes, multinomial for more. "exponential":
        AdaBoost's loss, for two classes. Or an object with a method ``gradient(y, raw)``, or a
        function of (y, raw) that returns gradient and hessian; see :func:`sumwise.check_loss` and
        ``docs/guide/losses.md``.
    {parameters}
    class_weight : "balanced", dict or None, default=None
        Factors on the sample weights: a dict from classes to weights (1 for those it lacks), or
        "balanced" for weights that give all classes the same total.
    scale_pos_weight : float, default=1.0
        Factor on the sample weights of the second of two classes; not with ``class_weight``.
    calibrate : {"isotonic", "logistic", "temperature"} or None, default=None
        How probabilities are calibrated, on ``calibration_rows``: by nondecreasing curves, by
        logistic functions of the raw scores, or by dividing the raw scores by one number. The
        labels of ``predict`` follow. Raw scores, and probabilities of some ``rounds``, do not
        change. See ``docs/guide/calibration.md``.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted. A single class is predicted with probability 1.
    n_classes_ : int
        Number of classes.
    calibration_ : Calibration
        With ``calibrate``: the functions that were learned.
    {attributes}

    Notes
    -----
    For K > 2 classes each round grows K trees on the gradient p_k - [y = k] and the hessian
    K / (K - 1) p_k (1 - p_k).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _saved_attributes = ("classes_", *BaseGradientBoosting._saved_attributes)
    _links = CLASS_LINKS

    @extend_parameters(BaseGradientBoosting)
    def __init__(
        self,
        *,
        class_weight: Any = None,
        scale_pos_weight: float = 1.0,
        calibrate: str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.class_weight = class_weight
        self.scale_pos_weight = scale_pos_weight
        self.calibrate = calibrate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_many_classes(self.loss)
        return tags

    def _check_parameters(self) -> GrowthSettings:
        check_class_loss(self)
        check_class_weight(self)
        check_number(self, "scale_pos_weight", 0.0, open_low=True)
        return super()._check_parameters()

    def _learn_task(
        self, y: np.ndarray, classes: np.ndarray | None
    ) -> tuple[Classification, np.ndarray]:
        class_idx = None
        if classes is None:
            with start_team(self.n_jobs, int(_STEPS_PER_LABEL * y.size)) as team:
                classes, class_idx = find_classes(y, at_least=1, narrow=True, team=team)
        self.classes_ = classes
        loss = make_class_loss(self, classes.size)
        task = Classification(loss, classes, self.class_weight, self.scale_pos_weight)
        if class_idx is None:
            return task, task.encode(y, "y")
        return task, as_target(class_idx, loss.target_type)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return int(self.classes_.size)

    def decision_function(self, X: Any, rounds: Any = None, *, output: Any = None) -> np.ndarray:
        """Return raw scores: log odds for two classes, one score per class for more.

        Parameters
        ----------
        X, rounds, output
            As in :meth:`predict`. Columns of a file are named "score", or "score_" and the class.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes), or None with ``output``
        """
        model = self._take_rounds(rounds)
        named = (output, "score", getattr(model, "classes_", None))
        return model._predict(X, model._scores, model._give_scores, *named)

    def predict_proba(self, X: Any, rounds: Any = None, *, output: Any = None) -> np.ndarray:
        """Return class probabilities, one column per class in the order of ``classes_``.

        Parameters
        ----------
        X, rounds, output
            As in :meth:`predict`. Probabilities of some rounds are not calibrated. Columns of a
            file are named "probability_" and the class.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or None with ``output``
        """
        model = self._take_rounds(rounds)
        named = (output, "probability", getattr(model, "classes_", None))
        return model._predict(X, model._to_probabilities, model._give_mean, *named)

    def predict_log_proba(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return logarithms of :meth:`predict_proba`, -inf for a probability of 0."""
        from sumwise.combine.classes import log_probabilities  # only needed here

        return log_probabilities(self.predict_proba(X, rounds))

    def predict(self, X: Any, rounds: Any = None, *, output: Any = None) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Or rows that are read in batches, as in :meth:`fit`; columns that are no features are
            ignored.
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict with: the number of first rounds, a pair (first round, round after
            the last) or a slice. None for all.
        output : path or None, default=None
            A Parquet file to write, with the column "prediction". It appears when it is
            complete.

        Returns
        -------
        ndarray of shape (n_rows,), or None with ``output``
        """
        model = self._take_rounds(rounds)
        return model._predict(X, model._to_labels, model._give_labels, output)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        float
        """
        return float(super().score(*self._read_scored(X, y, sample_weight)))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`decision_function` after each round."""
        return map(self._scores, self._staged_predict_raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after each round, without calibration."""
        return map(self._predict_mean, self._staged_predict_raw(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round, without calibration."""
        return map(self._labels, self._staged_predict_raw(X))

    def _learn_from_unseen(
        self, values: np.ndarray, class_idx: np.ndarray, weight: np.ndarray | None
    ) -> None:
        if self.calibrate == "temperature" and self._custom_link is not None:
            raise ParameterError(
                f"{type(self).__name__}: calibrate='temperature' divides log odds, and the loss "
                "has a link of its own; use 'isotonic' or 'logistic'"
            )
        super()._learn_from_unseen(values, class_idx, weight)

    def _predict_unlinked(self, X: Any) -> np.ndarray:
        return self._predict_raw(X)

    def _to_shares(self, values: np.ndarray) -> np.ndarray:
        return self._predict_mean(values)

    def _predict_mean(self, raw: np.ndarray) -> np.ndarray:
        if self.classes_.size == 1:
            return np.ones((raw.shape[0], 1))
        mean = super()._predict_mean(raw)
        # A link of the user's own may return the probability of the second class alone.
        return mean if mean.ndim == 2 else np.column_stack([1.0 - mean, mean])

    def _describe_output(self, raw: Node) -> Node:
        if self.classes_.size == 1:
            return Affine((), np.zeros((1, 0)), np.ones(1))
        shares = super()._describe_output(raw)
        return self.calibration_.describe(raw, shares) if self._is_calibrated() else shares

    def _describe_decision(self) -> PortableModel:
        """Return the decision values in plain terms, for export."""
        return replace(self._describe(), output=self._describe_raw(), classes=())

    def _give_mean(self, scores: "DeviceScores") -> Any:
        if self._needs_host():
            return give(self._to_probabilities(scores.to_host()), scores.like)
        return super()._give_mean(scores)

    def _give_labels(self, scores: "DeviceScores") -> Any:
        if self._needs_host():
            return give(self._to_labels(scores.to_host()), scores.like)
        return scores.give_labels(self.classes_)

    def _needs_host(self) -> bool:
        """Whether predictions are more than raw scores and a link, which a device has."""
        is_linked = self._custom_link is None and self.classes_.size > 1
        return self._is_calibrated() or not is_linked

    def _to_labels(self, raw: np.ndarray) -> np.ndarray:
        """Return the most probable classes, by calibrated probabilities if the model has them."""
        if self._is_calibrated():
            return self.classes_[self._to_probabilities(raw).argmax(axis=1)]
        return self._labels(raw)

    def _labels(self, raw: np.ndarray) -> np.ndarray:
        if self.classes_.size == 1:
            return np.repeat(self.classes_, raw.shape[0])
        if self._custom_link is not None:
            return self.classes_[self._predict_mean(raw).argmax(axis=1)]
        indices = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return self.classes_[indices]
