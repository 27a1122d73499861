"""Votes of classifiers."""

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state, indexable

from sumwise.combine.average import fit_simplex_weights
from sumwise.combine.classes import one_hot
from sumwise.combine.vote import (
    REJECTED,
    RejectReport,
    measure_accuracy,
    report_rejects,
    share_probabilities,
    vote_by_majority,
)
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import ExportError, ParameterError
from sumwise.estimators.combined.base import MEMBER_TEXTS, FitJob, HeldOut
from sumwise.estimators.combined.member_list import read_members_rows
from sumwise.estimators.combined.votes import (
    HARD,
    SOFT,
    VOTE_PARAMETERS,
    VotesEnsemble,
    decide_votes,
)
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, read_target
from sumwise.export.portable import PortableModel

_LEARNED = ("accuracy", "learned")


@fill_docstring(**MEMBER_TEXTS, votes=VOTE_PARAMETERS)
class VotingClassifier(VotesEnsemble):
    """A vote of classifiers: by majority with reject, by plurality, or weighted.

    Parameters
    ----------
    {members}
    rule : {"plurality", "majority", "weighted"}, default="plurality"
        "plurality": the class with the most votes, weighted if ``weights`` are given. "majority":
        the class with more than half of all votes; a row without such a class is rejected.
        "weighted": plurality of weighted votes; ``weights`` are required.
    {votes}
    tie : {"random", "confidence"}, default="random"
        Which class wins if several have the most votes. "random": one of them at random; the draw
        depends on the values of the row alone. "confidence": the one with the highest mean
        probability; all members need ``predict_proba``.
    weights : {"accuracy", "learned"}, array-like or None, default=None
        Weights of the votes, unless ``rule="majority"``. An array: one nonnegative weight per
        member. "accuracy": proportional to the out-of-fold accuracy. "learned": those that bring
        the out-of-fold votes closest to the true classes, in squared error.
    reject_label : label, default="auto"
        What ``predict`` returns for rejected rows; "auto" is -1 if the classes are numbers, and
        "reject" otherwise.
    flatten_transform : bool, default=True
        Whether ``transform`` returns probabilities side by side, with shape
        (n_rows, n_members * n_classes); False: with shape (n_members, n_rows, n_classes).
    {more}
    random_state : int, RandomState or None, default=None
        Seed of the random ties.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    votes_ : {"hard", "soft"}
        What members vote with.
    weights_ : ndarray of shape (n_members,)
        Weights of the votes, with sum 1.
    reject_label_ : label
        What ``predict`` returns for rejected rows.
    {attributes}

    Notes
    -----
    Members learn class indices, 0, 1, ..., as in scikit-learn. ``score`` counts a rejected row as
    an error; ``reject_report`` counts rejected and wrong rows separately.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sumwise import VotingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [GaussianNB(), LogisticRegression(max_iter=1000), DecisionTreeClassifier()]
    >>> model = VotingClassifier(members, rule="majority").fit(X, y)
    >>> model.votes_  # unlike learners vote with labels
    'hard'
    >>> labels, is_rejected = model.predict_with_reject(X)
    >>> report = model.reject_report(X, y)
    >>> report.coverage > 0.9 and report.accuracy > 0.9
    True
    """

    @extend_parameters(VotesEnsemble)
    def __init__(
        self,
        estimators: Any,
        *,
        rule: str = "plurality",
        tie: str = "random",
        weights: Any = None,
        reject_label: Any = "auto",
        flatten_transform: bool = True,
        random_state: Any = None,
        **shared: Any,
    ) -> None:
        super().__init__(estimators, **shared)
        self.rule = rule
        self.tie = tie
        self.weights = weights
        self.reject_label = reject_label
        self.flatten_transform = flatten_transform
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice(self, "rule", ("plurality", "majority", "weighted"))
        check_choice(self, "tie", ("random", "confidence"))
        check_choice(self, "flatten_transform", (True, False))
        if self.rule == "majority" and self.weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: rule='majority' counts all votes alike; with weights "
                "pass rule='weighted'"
            )
        if self.rule == "weighted" and self.weights is None:
            raise ParameterError(
                f"{type(self).__name__}: rule='weighted' needs weights: an array, "
                f"{' or '.join(map(repr, _LEARNED))}"
            )
        if isinstance(self.weights, str):
            check_choice(self, "weights", _LEARNED)

    def _fit(self, job: FitJob) -> None:
        self._check_confidence()
        self.reject_label_ = self._find_reject_label()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self._tie_seed = int(seed)
        self.weights_ = self._find_weights(self.weights, job, self._learn_weights)
        self._fit_members(job)

    def _check_confidence(self) -> None:
        """Breaking ties of labels by confidence needs the probabilities of all members."""
        if self.tie != "confidence" or self.votes_ != HARD or self.rule == "majority":
            return
        for name, member in self._check_members():
            if not hasattr(member, "predict_proba"):
                raise ParameterError(
                    f"{type(self).__name__}: tie='confidence' needs probabilities, and {name!r} "
                    "has no predict_proba; use tie='random'"
                )

    def _find_reject_label(self) -> Any:
        label = self.reject_label
        is_number = self.classes_.dtype.kind in "biuf"
        if isinstance(label, str) and label == "auto":
            label = -1 if is_number else "reject"
        if self.rule == "majority" and label in self.classes_.tolist():
            raise ParameterError(
                f"{type(self).__name__}: reject_label={label!r} is one of the classes; pass another"
            )
        return label

    def _learn_weights(self, held_out: HeldOut) -> np.ndarray:
        votes, y, weight = held_out
        if self.weights == "learned":
            return fit_simplex_weights(votes, one_hot(y, self.classes_.size), weight)
        accuracy = measure_accuracy(votes.argmax(axis=2), y, weight)
        total = accuracy.sum()
        return accuracy / total if total > 0.0 else np.full(len(votes), 1.0 / len(votes))

    # --- prediction ---

    def _get_weights(self) -> np.ndarray | None:
        # Without weights the counts of votes are exact.
        return None if self.weights is None else self.weights_

    def _join(self, outputs: np.ndarray) -> np.ndarray:
        is_flat = self.flatten_transform or outputs.ndim == 2
        return super()._join(outputs) if is_flat else outputs

    def _name_columns(self) -> list[str]:
        if self.votes_ == SOFT and not self.flatten_transform:
            raise ParameterError(
                "get_feature_names_out is not supported when members vote with probabilities and "
                "flatten_transform=False"
            )
        return super()._name_columns()

    def _describe(self) -> PortableModel:
        if self.rule == "majority":
            raise ExportError(
                "rule='majority' rejects rows, and a class must be exported for every row; "
                "set_params(rule='plurality') decides all rows by the same shares of votes"
            )
        return super()._describe()

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the class that wins the vote, ``reject_label_`` where the row is rejected.

        {rows}
        ndarray of shape (n_rows,)
        """
        return self.predict_with_reject(X)[0]

    @document_rows
    def predict_with_reject(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the class that wins the vote, and which rows are rejected.

        {rows}
        labels : ndarray of shape (n_rows,)
            ``reject_label_`` where the row is rejected.
        is_rejected : ndarray of bool, shape (n_rows,)
            All False unless ``rule="majority"``.
        """
        decided = self._decide(X)
        labels = self.classes_[decided]
        is_rejected = decided == REJECTED
        if is_rejected.any():
            label = np.asarray(self.reject_label_)
            is_mixed = (label.dtype.kind in "biuf") != (labels.dtype.kind in "biuf")
            kind = object if is_mixed else np.result_type(labels.dtype, label.dtype)
            labels = labels.astype(kind)
            labels[is_rejected] = self.reject_label_
        return labels, is_rejected

    def reject_report(self, X: Any, y: Any, sample_weight: Any = None) -> RejectReport:
        """Return the share of rows that get a class, and the accuracy on these.

        Parameters
        ----------
        X, y : array-like
            Labeled rows.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        RejectReport
            ``coverage``, ``accuracy`` of the rows that are not rejected, and ``n_rejected``.
        """
        decided = self._decide(X)
        y = encode_labels("y", read_target(y, is_number=False), self.classes_)
        return report_rejects(decided, y, check_sample_weight(sample_weight, len(y)))

    def _decide(self, X: Any) -> np.ndarray:
        """Return class indices, ``REJECTED`` among them."""
        X = read_members_rows(X)
        shares = self.predict_shares(X)
        if self.rule == "majority":
            return vote_by_majority(shares)
        if self.tie == "random":
            return decide_votes(shares, X, self._tie_seed)
        return decide_votes(
            shares, X, self._tie_seed, lambda rows: self._find_confidence(X, rows, shares[rows])
        )

    def _find_confidence(self, X: Any, rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Mean probabilities of some rows."""
        if self.votes_ != HARD:
            return shares
        probabilities = self._collect(_safe_indexing(indexable(X)[0], rows), "predict_proba")
        return share_probabilities(probabilities, self._get_weights())
