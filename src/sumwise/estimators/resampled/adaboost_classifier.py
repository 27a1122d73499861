"""AdaBoost for classification: AdaBoost.M1 for two classes, SAMME for more."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin

from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import DataError
from sumwise.estimators.describing.members import DescribedMembers
from sumwise.estimators.explaining import VOTES, Question
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier
from sumwise.estimators.input.targets import find_classes
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin
from sumwise.estimators.resampled.adaboost import RESAMPLE, REWEIGHT, BaseAdaBoost
from sumwise.estimators.resampled.boosted_members import Learner, find_class_indices
from sumwise.estimators.resampled.parameters import ADABOOST_CLASSIFIER
from sumwise.estimators.resampled.shallow_trees import BaseShallowTree, ShallowTreeClassifier
from sumwise.estimators.warn import warn_user
from sumwise.export.portable import Affine, Link, Node, PortableModel, TreeSum
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.links import LINKS
from sumwise.training.adaboost import AdaBoostResult, ClassRule, Rule

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


@fill_docstring(**ADABOOST_CLASSIFIER)
class AdaBoostClassifier(LogProbabilitiesMixin, ClassifierMixin, BaseAdaBoost):
    """AdaBoost: each learner gives more weight to the rows that earlier learners got wrong.

    For two classes this is the algorithm of Freund and Schapire, for more classes SAMME (Zhu and
    others).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {classes}
    estimator_weights_ : ndarray
        Weight of each learner: ``ln((1 - error) / error) / 2``, for K classes plus
        ``ln(K - 1) / 2``, times the learning rate. scikit-learn's weights are twice as large.
    exponential_loss_ : ndarray
        Exponential loss on the training rows after each round: for two classes the mean of
        ``exp(-y * decision_function(X))`` with y of -1 and 1.
    {attributes}

    Notes
    -----
    ``decision_function`` is the sum of the weighted votes, and probabilities are derived from that
    sum, as in the articles. scikit-learn divides it by the sum of the weights.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> bool((model.exponential_loss_[1:] < model.exponential_loss_[:-1]).all())
    True
    """

    classes_: np.ndarray

    def _make_default(self) -> BaseShallowTree:
        return ShallowTreeClassifier(max_depth=1)

    def _make_tree(self, **parameters: Any) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(**parameters)

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        self.classes_, indices = find_classes(y, at_least=1)
        self.n_classes_ = int(self.classes_.size)
        return indices

    def _count_classes(self) -> int:
        return self.n_classes_

    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        return ClassRule(target, self.n_classes_, float(self.learning_rate), team)

    def _resolve_method(self, takes_weights: bool) -> str:
        if takes_weights:
            return REWEIGHT
        warn_user(
            f"{type(self.estimator_).__name__} takes no sample_weight, so rows are drawn at random "
            "by their weights instead; method='resample' does that without this warning",
            UserWarning,
        )
        return RESAMPLE

    def _make_reader(self) -> Callable[[Any], np.ndarray]:
        learner = type(self.estimator_).__name__
        return partial(find_class_indices, classes=self.classes_, learner=learner)

    def _keep_rejected(self, result: AdaBoostResult) -> None:
        found = "" if result.rejected is None else f" (error {result.rejected[1]:.3g})"
        hint = "; raise max_restarts" if self.method_ == RESAMPLE else ""
        raise DataError(
            f"the first {type(self.estimator_).__name__} is no better than chance{found}, so there "
            f"is nothing to boost: use another base learner or other features{hint}"
        )

    def _store(self, result: AdaBoostResult, learn: Learner) -> None:
        super()._store(result, learn)
        with np.errstate(over="ignore"):
            self.exponential_loss_ = np.exp(result.log_losses)

    # --- prediction ---

    def _list_votes(self) -> np.ndarray:
        """Return the votes: -1 or 1 for two classes, otherwise 1 in the column of the class."""
        return np.array([[-1.0], [1.0]]) if self.n_classes_ == 2 else np.eye(self.n_classes_)

    def _add_up(self, X: Any) -> np.ndarray:
        """Return weighted votes: (n_rows, 1) for the second class, or (n_rows, n_classes)."""
        X = self._read_rows(X)
        return self._learners.add_up(X, self.n_jobs)

    def _staged_add_up(self, X: Any) -> Iterator[np.ndarray]:
        X = self._read_rows(X)
        yield from self._learners.staged_add_up(X, self.n_jobs)

    def _decide(self, votes: np.ndarray) -> np.ndarray:
        if self.n_classes_ == 2:
            return votes[:, 0]
        if self.n_classes_ == 1:  # nothing to decide
            return np.zeros_like(votes)
        # A learner gives 1 to the class it predicts, and -1 / (K - 1) to the others.
        total = votes.sum(axis=1, keepdims=True)
        return (self.n_classes_ * votes - total) / (self.n_classes_ - 1)

    @property
    def _scale(self) -> str:
        return VOTES

    def _attribute(self, question: Question) -> "Attribution":
        """Return the contributions to :meth:`decision_function`, a linear function of the votes."""
        found = self._learners.attribute(question, self._read_rows, self.n_jobs)
        slopes = self._decide(np.eye(found.n_outputs)).reshape(found.n_outputs, -1)
        return found.mix_outputs(slopes, np.zeros(found.n_outputs))

    def _label(self, votes: np.ndarray) -> np.ndarray:
        places = votes[:, 0] > 0.0 if self.n_classes_ == 2 else votes.argmax(axis=1)
        return self.classes_[places.astype(np.intp)]

    def _find_probabilities(self, votes: np.ndarray) -> np.ndarray:
        """Return the minimizers of the exponential loss: a vote is half the log odds."""
        if self.n_classes_ == 2:
            return LINKS["half_logistic"](votes)
        return LINKS["softmax"](2.0 * votes)

    @document_rows
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the weighted votes.

        {rows}
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            For two classes, the total weight of the learners that predict the second class, minus
            that of the others. For K classes, a learner adds its weight to the class that it
            predicts, and subtracts 1 / (K - 1) of it from the others.
        """
        return self._decide(self._add_up(X))

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest weighted vote, the first of equals.

        {rows}
        ndarray of shape (n_rows,)
        """
        return self._label(self._add_up(X))

    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that correspond to the votes.

        They would minimize the exponential loss: with two classes,
        ``1 / (1 + exp(-2 * decision_function(X)))``. After many rounds they are overconfident.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._find_probabilities(self._add_up(X))

    def _describe_trees(self, trees: TreeSum) -> Node:
        return self._describe_probabilities(trees)

    def _describe_members(self, members: DescribedMembers) -> Node:
        slopes = []
        for member, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            places = np.searchsorted(self.classes_, member.classes_)
            slopes.append(weight * self._list_votes()[places].T)
        votes = np.hstack(slopes)
        return self._describe_probabilities(
            Affine(tuple(members.nodes), votes, np.zeros(len(votes)))
        )

    def _describe_probabilities(self, votes: Node) -> Node:
        if self.n_classes_ == 2:
            return Link(votes, "half_logistic")
        doubled = Affine((votes,), 2.0 * np.eye(self.n_classes_), np.zeros(self.n_classes_))
        return Link(doubled, "softmax")

    def _describe_decision(self) -> PortableModel:
        """Return the decision values in plain terms, for export."""
        described = self._describe()
        assert isinstance(described.output, Link)
        votes = described.output.of
        if self.n_classes_ > 2:
            slopes = 0.5 * (self.n_classes_ * np.eye(self.n_classes_) - 1.0)
            slopes /= self.n_classes_ - 1
            votes = Affine((votes,), slopes, np.zeros(self.n_classes_))
        return replace(described, output=votes, classes=())

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`decision_function` after each round."""
        return map(self._decide, self._staged_add_up(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        return map(self._label, self._staged_add_up(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after each round."""
        return map(self._find_probabilities, self._staged_add_up(X))
