"""What members vote with: labels or probabilities, never both, and these of like learners."""

import zlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.classes import log_probabilities
from sumwise.combine.vote import (
    break_ties_by_confidence,
    break_ties_by_hash,
    find_ties,
    scramble,
    share_labels,
    share_probabilities,
)
from sumwise.errors import ParameterError
from sumwise.estimators.combined.base import ClassifierEnsemble, FitJob, HeldOut, MemberEnsemble
from sumwise.estimators.input.parameters import check_choice, extend_parameters

HARD, SOFT = "hard", "soft"
_METHODS = ("sigmoid", "isotonic", "temperature")

VOTE_PARAMETERS = """votes : {"auto", "hard", "soft"}, default="auto"
        "hard": members vote with labels; "soft": with probabilities. "auto": with probabilities if
        all members are learners of one class, or are calibrated; otherwise with labels, because
        probabilities of unlike learners are not comparable.
    calibrate : {"sigmoid", "isotonic", "temperature"}, CalibratedClassifierCV or None, default=None
        How members are calibrated, so that unlike ones can vote with probabilities."""


def _gives_probabilities(ensemble: Any) -> bool:
    """Whether an ensemble has probabilities, fitted or not; an AttributeError says why not."""
    if ensemble.votes == HARD:
        raise AttributeError("predict_proba is not available with votes='hard'")
    try:
        if hasattr(ensemble, "estimators_"):
            members = list(zip(ensemble._list_fitted(), ensemble._models, strict=True))
        elif ensemble._resolve_votes() == SOFT:  # calibrated members will have some
            return True
        else:
            members = ensemble._list_kept()
    except ParameterError as error:
        raise AttributeError(str(error)) from error
    for name, member in members:
        if not hasattr(member, "predict_proba"):
            raise AttributeError(f"predict_proba is not available: member {name!r} has none")
    return True


class VotesEnsemble(ClassifierEnsemble):
    """Base of ensembles of classifiers that vote with labels or with probabilities."""

    votes_: str

    @extend_parameters(MemberEnsemble)
    def __init__(
        self, estimators: Any, *, votes: str = "auto", calibrate: Any = None, **shared: Any
    ) -> None:
        super().__init__(estimators, **shared)
        self.votes = votes
        self.calibrate = calibrate

    def _resolve_votes(self) -> str:
        """Return "hard" or "soft"; raise if that cannot be."""
        check_choice(self, "votes", ("auto", HARD, SOFT))
        self._check_calibrate()
        pairs = self._check_members()
        if self.votes == HARD and self.calibrate is not None:
            raise ParameterError(
                f"{type(self).__name__}: votes='hard' votes with labels, and calibrate is for "
                "probabilities: pass only one of them"
            )
        if self.votes == HARD:
            return HARD
        if self.calibrate is not None:
            return SOFT
        lacking = [name for name, member in pairs if not hasattr(member, "predict_proba")]
        if self.votes == "auto":
            return HARD if lacking or not are_alike([member for _, member in pairs]) else SOFT
        if lacking:
            raise ParameterError(
                f"{type(self).__name__}: votes='soft' needs probabilities, and {lacking[0]!r} has "
                "no predict_proba; calibrate='sigmoid' makes some"
            )
        return SOFT

    def _check_calibrate(self) -> None:
        given = self.calibrate
        is_named = isinstance(given, str) and given in _METHODS
        is_template = hasattr(given, "set_params") and "method" in given.get_params(deep=False)
        if not (given is None or is_named or is_template):
            raise ParameterError(
                f"{type(self).__name__}: calibrate={given!r}; must be None, "
                f"{', '.join(map(repr, _METHODS))} or a CalibratedClassifierCV"
            )

    def _wrap(self, member: Any) -> Any:
        if self.calibrate is None:
            return member
        if not isinstance(self.calibrate, str):
            return clone(self.calibrate).set_params(estimator=member)
        from sklearn.calibration import CalibratedClassifierCV

        calibrated = CalibratedClassifierCV(member, method=self.calibrate, cv=self.cv)
        # It takes weights whatever its member does, and passes them on if that asks for them.
        return calibrated.set_fit_request(sample_weight=True) if _routing_enabled() else calibrated

    @property
    def _method(self) -> str:
        return "predict" if self.votes_ == HARD else "predict_proba"

    def _vote_held_out(self, job: FitJob) -> HeldOut:
        """Return out-of-fold votes as probabilities, (n_members, n_rows, n_classes)."""
        return self._predict_held_out(job, self._method)

    def _share(self, X: Any, weights: np.ndarray | None) -> np.ndarray:
        """Return the share of each class in the weighted votes, (n_rows, n_classes)."""
        votes = self._collect(X, self._method)
        if self.votes_ == HARD:
            return share_labels(votes, self.classes_.size, weights)
        return share_probabilities(votes, weights)

    @abstractmethod
    def _weights_of_votes(self) -> np.ndarray | None:
        """Return the weights of the fitted members' votes; None where all are equal."""

    def predict_members(self, X: Any) -> np.ndarray:
        """Return what each member votes.

        Parameters
        ----------
        X : frame, array-like or sparse matrix
            Rows, as the members take them.

        Returns
        -------
        ndarray of shape (n_members, n_rows) or (n_members, n_rows, n_classes)
            Labels, or probabilities where members vote with these, in the order of
            ``estimators_``.
        """
        votes = self._collect(X, self._method)
        return self.classes_[votes] if self.votes_ == HARD else votes

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean of the members' probabilities, weighted as their votes are.

        It is there if all members have probabilities, unless ``votes="hard"`` asks for labels.
        Where members vote with labels, the most probable class need not win the vote.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return share_probabilities(self._collect(X, "predict_proba"), self._weights_of_votes())

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, minus infinity for 0.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return log_probabilities(self.predict_proba(X))


def are_alike(members: list[Any]) -> bool:
    """Whether all members are learners of one class, so that their probabilities compare."""
    return len({_find_kind(member) for member in members}) == 1


def _find_kind(member: Any) -> tuple[type, ...]:
    """The class of a learner; of what is around another one, both classes."""
    if hasattr(member, "steps"):  # a pipeline is as its last step
        return _find_kind(member.steps[-1][1])
    inner = getattr(member, "estimator", None)
    module = type(member).__module__
    if inner is None or isinstance(inner, str) or module.startswith("sklearn.calibration"):
        return (type(member),)
    if module.startswith(("sklearn.model_selection", "sklearn.frozen")):
        return _find_kind(inner)
    return (type(member), *_find_kind(inner))


def decide_votes(
    shares: np.ndarray,
    X: Any,
    seed: int,
    find_confidence: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the class with the most votes in each row of X.

    Ties are broken at random, by a hash of the row; or by confidence, where a function is given
    that returns it for the rows whose numbers it gets.
    """
    is_tied = find_ties(shares)
    decided = is_tied.argmax(axis=1)
    rows = np.flatnonzero(is_tied.sum(axis=1) > 1)
    if rows.size and find_confidence is None:
        decided[rows] = break_ties_by_hash(is_tied[rows], hash_rows(X, rows), seed)
    elif rows.size and find_confidence is not None:
        decided[rows] = break_ties_by_confidence(is_tied[rows], find_confidence(rows))
    return decided


def hash_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """Return 64 bits for each of some rows of X, from their values alone.

    So what is drawn for a row does not depend on the rows around it.
    """
    part = _safe_indexing(indexable(X)[0], rows)
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part)
    values = values.reshape(len(rows), -1)
    if values.dtype.kind in "buif":
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # no negative zero
    else:
        codes = [[zlib.crc32(str(value).encode()) for value in row] for row in values.tolist()]
        bits = np.array(codes, dtype=np.uint64)
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        keys = scramble(keys ^ column)
    return keys
