"""Ensembles of given regressors, which are averaged, and of given classifiers, which vote."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sumwise.combine.average import average
from sumwise.combine.classes import normalize_probabilities, place_classes
from sumwise.combine.vote import share_labels, share_probabilities
from sumwise.docstrings import document_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.base import MemberEnsemble
from sumwise.estimators.combined.out_of_fold import is_frozen
from sumwise.estimators.describing.members import find_class_places, place_outputs
from sumwise.estimators.explaining import (
    PREDICTION,
    PROBABILITY,
    SHARE,
    Question,
    attribute_classes,
    attribute_numbers,
)
from sumwise.estimators.input.targets import encode_labels
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin
from sumwise.export.portable import Node, Share, Vote

if TYPE_CHECKING:
    from sumwise.estimators.serving.row_predictor import RowPredictor
    from sumwise.inspection.attribution import Attribution


class RegressorEnsemble(RegressorMixin, MemberEnsemble):
    """Base of ensembles that average regressors."""

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        question = question.read(self._check_rows)
        return attribute_numbers(self._weigh_members(), question, self.n_features_in_)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted average of the members' predictions.

        {rows}
        ndarray of shape (n_rows,)
        """
        return average(self.predict_members(X), self._get_weights())


class FrozenClassifier(FrozenEstimator):
    """A fitted classifier that predicts class indices instead of its labels; never refitted."""

    def __init__(self, estimator: Any, labels: np.ndarray) -> None:
        super().__init__(estimator)
        self.labels = labels

    @property
    def classes_(self) -> np.ndarray:
        """Indices of its classes among all."""
        return encode_labels("a fitted member", self.estimator.classes_, self.labels)

    def predict(self, X: Any) -> np.ndarray:
        """Class index of each row."""
        return encode_labels("a fitted member", self.estimator.predict(X), self.labels)


def _check_offer(ensemble: "ClassifierEnsemble") -> bool:
    return ensemble._offers_probabilities()


class ClassifierEnsemble(LogProbabilitiesMixin, ClassifierMixin, MemberEnsemble):
    """Base of ensembles of classifiers; members learn class indices, as scikit-learn's do."""

    classes_: np.ndarray

    def _encode_target(self, y: np.ndarray, members: list[Any]) -> np.ndarray:
        check_classification_targets(y)
        known = [m.classes_ for m in members if is_frozen(m)]
        try:
            self.classes_ = np.unique(np.concatenate([np.unique(y), *known]))
        except TypeError:
            self.classes_ = np.empty(0)
        kinds = {labels.dtype.kind in "biuf" for labels in (y, *known) if labels.dtype != object}
        if self.classes_.size == 0 or len(kinds) > 1:
            raise DataError(
                "y and the classes of fitted members are of different kinds; numbers and strings "
                "cannot be the same classes"
            )
        return encode_labels("y", y, self.classes_)

    def _list_labels(self) -> np.ndarray | None:
        return np.arange(self.classes_.size)

    def _freeze(self, member: Any) -> Any:
        return FrozenClassifier(member.estimator, self.classes_)

    def _to_labels(self, predicted: np.ndarray) -> np.ndarray:
        return self.classes_[predicted]

    def _read(self, model: Any, X: Any, method: str) -> np.ndarray:
        predicted = getattr(model, method)(X)
        if method == "predict":
            return column_or_1d(predicted).astype(np.intp)
        places = np.asarray(model.classes_).astype(np.intp)
        return normalize_probabilities(place_classes(predicted, places, self.classes_.size))

    def _describe_output(self, nodes: Sequence[Node], weights: np.ndarray) -> Node:
        n_classes = self.classes_.size
        placed = [
            place_outputs(node, find_class_places(model, n_classes), n_classes)
            for node, model in zip(nodes, self._models, strict=True)
        ]
        if self._method == "predict":  # the label of a member is its most probable class
            return Share(Vote(tuple(placed), weights))
        return super()._describe_output(placed, weights)

    def compile(self, output: str = "predict", *, absent: str = "error") -> "RowPredictor":
        """Return a function that predicts one row at a time; see ``docs/guide/serving.md``.

        Parameters
        ----------
        output : {"predict", "proba", "proba_dict"}, default="predict"
            As in the method ``compile`` of members. Where members vote with labels, "predict" only.
        absent : {"error", "missing"}, default="error"
            What features are that a dict lacks.

        Returns
        -------
        RowPredictor
        """
        check_is_fitted(self)
        if self._method == "predict" and output in ("proba", "proba_dict"):
            raise ParameterError(
                f"compile: output={output!r}: the members of this {type(self).__name__} vote with "
                "labels, and only the label can be compiled; votes='soft' votes with probabilities"
            )
        return super().compile(output, absent=absent)

    def _share(self, X: Any) -> np.ndarray:
        """Return the share of each class in the weighted votes, or its mean probability."""
        check_is_fitted(self)
        votes = self._collect(X, self._method)
        if self._method == "predict":
            return share_labels(votes, self.classes_.size, self._get_weights())
        return share_probabilities(votes, self._get_weights())

    @property
    def _scale(self) -> str:
        return SHARE if self._method == "predict" else PROBABILITY

    def _attribute(self, question: Question) -> "Attribution":
        return attribute_classes(
            self._weigh_members(),
            question.read(self._check_rows),
            self.n_features_in_,
            self.classes_.size,
            by_label=self._method == "predict",
        )

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest share of the votes; ties go to the first class.

        Where members vote with probabilities, the share of a class is its mean probability.

        {rows}
        ndarray of shape (n_rows,)
        """
        shares = self._share(X)
        return self.classes_[shares.argmax(axis=1)]

    def _offers_probabilities(self) -> bool:
        """Whether ``predict_proba`` is available; an AttributeError says why not."""
        return True

    @available_if(_check_offer)  # type: ignore[untyped-decorator]
    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' probabilities, if all members have them.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``. Where members vote with labels, the most probable
            class need not win the vote.
        """
        check_is_fitted(self)
        return share_probabilities(self._collect(X, "predict_proba"), self._get_weights())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # labels come as integers
        return tags
