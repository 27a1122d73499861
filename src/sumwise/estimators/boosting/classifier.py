"""GradientBoostingClassifier."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sumwise.estimators.boosting.base import BaseGradientBoosting, document_parameters
from sumwise.estimators.boosting.losses import (
    CLASS_LINKS,
    check_class_loss,
    make_class_loss,
    takes_many_classes,
)
from sumwise.estimators.boosting.validation import (
    encode_labels,
)
from sumwise.estimators.input.class_weights import check_class_weight, find_class_weights
from sumwise.estimators.input.parameters import (
    check_number,
    extend_parameters,
)
from sumwise.estimators.input.targets import check_sample_weight, find_classes
from sumwise.losses import Loss
from sumwise.tree import GrowthSettings


@document_parameters
class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
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
        "balanced" for weights that make all classes weigh the same.
    scale_pos_weight : float, default=1.0
        Factor on the sample weights of the second of two classes; not with ``class_weight``.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted. With one label alone, it is predicted with probability 1.
    n_classes_ : int
        Number of classes.
    n_trees_ : int
        Number of trees.
    best_iteration_ : int
        Rounds in the model; with early stopping, the best number of rounds.
    n_estimators_, n_iter_ : int
        The same, under scikit-learn's names.
    best_score_ : float
        Its validation loss, or validation score with ``scoring``, if there were validation rows.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the total gain.
    oob_improvement_ : ndarray of shape (n_rounds,)
        With a ``sampler`` that leaves rows out at random, how much lower each round made the loss
        of these rows; also of rounds that were cut off.
    coef_, intercept_ : ndarray and float
        Of a model with ``booster="linear"``; by class, if there are more than two.
    history_ : dict of ndarray
        What was measured after each round, also of rounds that were cut off: "validation_loss" and
        "validation_score" (with ``scoring``; "validation_" and its name, if it has several metrics)
        if there were validation rows, "valid_0_loss" and so on of an ``eval_set``,
        "oob_improvement" as above, "training_loss" with ``track_training_loss``, if verbose or
        with callbacks. A model file does not hold the training loss.
    ensemble_ : TreeEnsemble or LinearEnsemble
        The trees, or the linear model.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any.
    schema_ : FeatureSchema
        Their kinds, and the values of those that are categories.

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

    _saved_attributes = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "schema_",
        "history_",
        "_seed",
        "_watched",
    )
    _links = CLASS_LINKS

    @extend_parameters(BaseGradientBoosting)
    def __init__(
        self, *, class_weight: Any = None, scale_pos_weight: float = 1.0, **shared: Any
    ) -> None:
        super().__init__(**shared)
        self.class_weight = class_weight
        self.scale_pos_weight = scale_pos_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = takes_many_classes(self.loss)
        return tags

    def _check_parameters(self) -> GrowthSettings:
        check_class_loss(self)
        check_class_weight(self)
        check_number(self, "scale_pos_weight", 0.0, open_low=True)
        return super()._check_parameters()

    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        if start is not None:
            check_classification_targets(y)
            self.classes_ = start.classes_
            return encode_labels("y", y, self.classes_)
        self.classes_, indices = find_classes(y, at_least=1)
        return indices

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        return encode_labels("y_val", y, self.classes_)

    def _make_loss(self) -> Loss:
        return make_class_loss(self, self.classes_.size)

    def _weigh_classes(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        class_idx = target.astype(np.intp)
        of_class = find_class_weights(self, class_idx, weight)
        if of_class is None:
            return weight
        of_row = of_class[class_idx]
        return check_sample_weight(of_row if weight is None else of_row * weight, target.size)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return int(self.classes_.size)

    def decision_function(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return raw scores: log odds for two classes, one score per class for more.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        rounds : int, pair of int, slice or None, default=None
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._scores(self._predict_rounds(X, rounds))

    def predict_proba(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        rounds : int, pair of int, slice or None, default=None
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._predict_mean(self._predict_rounds(X, rounds))

    def predict_log_proba(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return logarithms of class probabilities; those of zero are minus infinity.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        rounds : int, pair of int, slice or None, default=None
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        from sumwise.combine.classes import log_probabilities  # all else does without `combine`

        return log_probabilities(self.predict_proba(X, rounds))

    def predict(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict by: the first so many, those from the first of a pair up to, not
            including, the second, or a slice. None for all.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._labels(self._predict_rounds(X, rounds))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`decision_function` after each round."""
        return map(self._scores, self._staged_predict_raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after each round."""
        return map(self._predict_mean, self._staged_predict_raw(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        return map(self._labels, self._staged_predict_raw(X))

    def _predict_mean(self, raw: np.ndarray) -> np.ndarray:
        if self.classes_.size == 1:
            return np.ones((raw.shape[0], 1))
        mean = super()._predict_mean(raw)
        # A link of the user's own gives the probability of the second class alone.
        return mean if mean.ndim == 2 else np.column_stack([1.0 - mean, mean])

    def _labels(self, raw: np.ndarray) -> np.ndarray:
        if self.classes_.size == 1:
            return np.repeat(self.classes_, raw.shape[0])
        if self._custom_link is not None:
            return self.classes_[self._predict_mean(raw).argmax(axis=1)]
        indices = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return self.classes_[indices]
