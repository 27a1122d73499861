"""What trees predict: classes or numbers, one or several per row.

The mixins encode the targets of ``fit``, and turn the values of trees into predictions.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.classes import log_probabilities, one_hot
from sumwise.docstrings import document_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.explaining import PROBABILITY, Question
from sumwise.estimators.forests.base import BaseTrees
from sumwise.estimators.forests.targets import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    ForestTarget,
    find_scale,
    make_class_target,
    make_number_target,
)
from sumwise.estimators.input.class_weights import check_class_weight, weigh_classes
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, find_classes
from sumwise.estimators.scoring import KnownClassifier, KnownRegressor
from sumwise.export.portable import Affine, Node, TreeSum
from sumwise.training.forest import Reweigher

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution

_Classifier = TypeVar("_Classifier", bound="BaseTreeClassifier")

_SAVED = ("n_features_in_", "feature_names_in_", "schema_")


class BaseTreeClassifier(ClassifierMixin, BaseTrees):
    """What tree and forest classifiers share."""

    _criteria = CLASS_CRITERIA
    _saved_attributes: ClassVar[tuple[str, ...]] = ("classes_", *_SAVED)

    classes_: Any
    class_weight: Any

    @property
    def n_classes_(self) -> Any:
        """Number of classes; with several outputs a list."""
        check_is_fitted(self)
        return _count_classes(self.classes_)

    @property
    def n_outputs_(self) -> int:
        """Number of labels predicted per row."""
        check_is_fitted(self)
        return len(self.classes_) if isinstance(self.classes_, list) else 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _encode_target(self, y: np.ndarray, start: BaseTrees | None) -> np.ndarray:
        """Return the class index of each row and output; set the classes."""
        if start is not None:
            assert isinstance(start, BaseTreeClassifier)
            self.classes_ = start.classes_
            return _encode_outputs(y, start.classes_)
        if y.ndim == 1:
            self.classes_, indices = find_classes(y, at_least=1)
            return indices
        found = [find_classes(column, at_least=1) for column in _list_columns(y)]
        self.classes_ = [classes for classes, _ in found]
        return np.column_stack([indices for _, indices in found])

    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        return make_class_target(encoded, _count_classes(self.classes_), self.criterion)

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        if self.class_weight is None:
            return None, None
        of_row = np.ones(encoded.shape[0])
        for classes, balance, indices in self._list_outputs(encoded):
            of_class = weigh_classes(classes, balance, indices, weight)
            if of_class is not None:
                of_row *= of_class[indices]
        check_sample_weight(of_row if weight is None else of_row * weight, of_row.size)
        return of_row / find_scale(of_row), None

    def _list_outputs(self, encoded: np.ndarray) -> Iterator[tuple[np.ndarray, Any, np.ndarray]]:
        """Yield the classes, the class weights and the class indices of each output."""
        balance, is_many = self.class_weight, isinstance(self.classes_, list)
        classes = self.classes_ if is_many else [self.classes_]
        own = balance if isinstance(balance, list) else [balance] * len(classes)
        if len(own) != len(classes) or isinstance(balance, Mapping if is_many else list):
            which = "a list of one dict per output" if is_many else "a dict"
            raise ParameterError(
                f"{type(self).__name__}: class_weight={balance!r}; y has {len(classes)} outputs: "
                f"must be 'balanced', {which}, or None"
            )
        yield from zip(classes, own, encoded.T if is_many else [encoded], strict=True)

    def _check_class_weight(self) -> None:
        balance = self.class_weight
        if not isinstance(balance, list):
            check_class_weight(self)
        elif not all(own is None or isinstance(own, Mapping) for own in balance):
            raise ParameterError(
                f"{type(self).__name__}: class_weight={balance!r}; a list must have one dict from "
                "classes to weights, or None, per output"
            )

    @document_rows
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities: the mean over the trees of the class shares in their leaves.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``; with several outputs, a list of such arrays.
        """
        return self._find_shares(self._predict_values(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`, -inf for a probability of 0."""
        shares = self.predict_proba(X)
        if isinstance(shares, list):
            return [log_probabilities(own) for own in shares]
        return log_probabilities(shares)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, the first of equals.

        {rows}
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._choose_labels(self.predict_proba(X))

    def _find_shares(self, values: np.ndarray) -> Any:
        """Return the probabilities of all classes, from the values of trees."""
        if isinstance(self.classes_, list):
            ends = np.cumsum(_count_classes(self.classes_))
            return np.split(values, ends[:-1], axis=1)
        if self.classes_.size > 2:
            return values
        return np.column_stack([1.0 - values, values])[:, : self.classes_.size]

    def _describe_output(self, values: TreeSum) -> Node:
        if isinstance(self.classes_, list) or self.classes_.size > 2:
            return values
        slopes = np.array([[-1.0], [1.0]])[: self.classes_.size]
        return Affine((values,), slopes, np.array([1.0, 0.0])[: self.classes_.size])

    @property
    def _scale(self) -> str:
        return PROBABILITY

    def _attribute(self, question: Question) -> "Attribution":
        found = super()._attribute(question)
        if isinstance(self.classes_, list) or self.classes_.size > 1:
            return found
        return found.mix_outputs(np.zeros((1, 1)), np.ones(1))  # a single class is certain

    def _list_classes(self) -> tuple[np.ndarray, ...]:
        return tuple(self.classes_) if isinstance(self.classes_, list) else (self.classes_,)

    def _choose_labels(self, shares: Any) -> np.ndarray:
        """Return the most probable labels."""
        if not isinstance(shares, list):
            return self.classes_[shares.argmax(axis=1)]
        pairs = zip(self.classes_, shares, strict=True)
        return np.column_stack([classes[own.argmax(axis=1)] for classes, own in pairs])

    def _know(self, values: np.ndarray) -> KnownClassifier:
        """Return a model that knows the predictions of some rows, from the values of trees."""
        shares = self._find_shares(values)
        return KnownClassifier(self._choose_labels(shares), self.classes_, shares)

    def _store_out_of_bag(self, values: np.ndarray) -> None:
        """Set the out-of-bag predictions, from the values of trees."""
        shares = self._find_shares(values)
        if isinstance(shares, list):
            widest = max(own.shape[1] for own in shares)
            padded = [np.pad(own, ((0, 0), (0, widest - own.shape[1]))) for own in shares]
            shares = np.stack(padded, axis=2)
        self.oob_decision_function_ = shares


def vote_with_labels(model: _Classifier) -> _Classifier:
    """Return a copy whose trees have a label in each leaf, in place of probabilities."""
    voter, value = copy(model), model.forest_.value
    if value.shape[1] == 1:  # probability of the second of two classes
        votes = (value > 1.0 - value).astype(np.float64)
    else:
        votes = one_hot(value.argmax(axis=1), value.shape[1])
    voter.forest_ = replace(model.forest_, value=votes)
    return voter


def _list_columns(y: np.ndarray) -> list[np.ndarray]:
    """Return the labels of each output; numbers next to strings become numbers again."""
    return [np.array(own.tolist()) if own.dtype == object else own for own in y.T]


def _encode_outputs(y: np.ndarray, classes: Any) -> np.ndarray:
    """Return the index of each label among the classes of its output."""
    n_outputs = 1 if y.ndim == 1 else y.shape[1]
    n_known = len(classes) if isinstance(classes, list) else 1
    if n_outputs != n_known:
        raise DataError(f"y has {n_outputs} targets, and the trees to continue from have {n_known}")
    if n_outputs == 1:
        return encode_labels("y", y, classes)
    pairs = enumerate(zip(_list_columns(y), classes, strict=True))
    return np.column_stack([encode_labels(f"y[:, {k}]", own, known) for k, (own, known) in pairs])


def _count_classes(classes: Any) -> Any:
    """Return the number of classes; of a list of classes, a list of numbers."""
    return [own.size for own in classes] if isinstance(classes, list) else int(classes.size)


class BaseTreeRegressor(RegressorMixin, BaseTrees):
    """What tree and forest regressors share."""

    _criteria = NUMBER_CRITERIA
    _saved_attributes: ClassVar[tuple[str, ...]] = _SAVED

    @property
    def n_outputs_(self) -> int:
        """Number of targets predicted per row."""
        check_is_fitted(self)
        return self.forest_.n_outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def _encode_target(self, y: np.ndarray, start: BaseTrees | None) -> np.ndarray:
        n_columns = 1 if y.ndim == 1 else y.shape[1]
        if start is not None and start.forest_.n_outputs != n_columns:
            raise DataError(
                f"y has {n_columns} targets, and the trees to continue from have "
                f"{start.forest_.n_outputs}"
            )
        return y

    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        return make_number_target(encoded, weight, self.criterion)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted value of each row: the mean over the trees.

        {rows}
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._flatten(self._predict_values(X))

    def _flatten(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if values.shape[1] == 1 else values

    def _know(self, values: np.ndarray) -> KnownRegressor:
        """Return a model that knows the predictions of some rows, from the values of trees."""
        return KnownRegressor(self._flatten(values))

    def _store_out_of_bag(self, values: np.ndarray) -> None:
        """Set the out-of-bag predictions, from the values of trees."""
        self.oob_prediction_ = self._flatten(values)


def shape_values(model: BaseTrees, values: np.ndarray) -> Any:
    """Return the predictions of a model from the values of its trees: shares, or numbers."""
    if isinstance(model, BaseTreeClassifier):
        return model._find_shares(values)
    assert isinstance(model, BaseTreeRegressor)
    return model._flatten(values)
