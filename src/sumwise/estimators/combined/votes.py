"""What members vote with: labels, or probabilities if these are comparable."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import _routing_enabled

from sumwise.combine.vote import (
    break_ties_by_confidence,
    break_ties_by_hash,
    find_ties,
    scramble,
)
from sumwise.docstrings import document_rows
from sumwise.errors import ParameterError
from sumwise.estimators.combined.base import FitJob, MemberEnsemble
from sumwise.estimators.combined.by_task import ClassifierEnsemble
from sumwise.estimators.input.parameters import check_choice, extend_parameters

HARD, SOFT = "hard", "soft"
_METHODS = ("sigmoid", "isotonic", "temperature")

VOTE_PARAMETERS = """
votes : {"auto", "hard", "soft"}, default="auto"
    "hard": members vote with labels. "soft": members vote with probabilities. "auto":
    probabilities if all members are learners of one class or are calibrated; otherwise labels,
    because probabilities of unlike learners are not comparable.
calibrate : {"sigmoid", "isotonic", "temperature"}, CalibratedClassifierCV or None, default=None
    How to calibrate the members, so that unlike learners can vote with probabilities."""


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
        """Return "hard" or "soft"; refuse votes that the members cannot give."""
        check_choice(self, "votes", ("auto", HARD, SOFT))
        self._check_calibrate()
        pairs = self._check_members()
        if self.votes == HARD and self.calibrate is not None:
            raise ParameterError(
                f"{type(self).__name__}: votes='hard' votes with labels, and calibrate is for "
                "probabilities; pass only one of them"
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
        # It takes weights itself, and passes them on if its member requests them.
        return calibrated.set_fit_request(sample_weight=True) if _routing_enabled() else calibrated

    def _start_fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> FitJob:
        job = super()._start_fit(X, y, fit_params)
        self.votes_ = self._resolve_votes()
        return job

    @property
    def _method(self) -> str:
        return "predict" if self.votes_ == HARD else "predict_proba"

    def _offers_probabilities(self) -> bool:
        if self.votes == HARD:
            raise AttributeError("predict_proba is not available with votes='hard'")
        try:
            if hasattr(self, "estimators_"):
                members = list(zip(self._list_fitted(), self._models, strict=True))
            elif self._resolve_votes() == SOFT:  # members without probabilities are calibrated
                return True
            else:
                members = self._list_kept()
        except ParameterError as error:
            raise AttributeError(str(error)) from error
        for name, member in members:
            if not hasattr(member, "predict_proba"):
                raise AttributeError(f"predict_proba is not available: member {name!r} has none")
        return True

    @document_rows
    def predict_shares(self, X: Any) -> np.ndarray:
        """Return the share of each class in the weighted votes.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Rows sum to 1. Where members vote with probabilities, these are the probabilities of
            the ensemble.
        """
        return self._share(X)


def are_alike(members: list[Any]) -> bool:
    """Whether all members are learners of one class, so that their probabilities are comparable."""
    return len({_find_kind(member) for member in members}) == 1


def _find_kind(member: Any) -> tuple[type, ...]:
    """The class of a learner; for a wrapper, its class and that of the wrapped learner."""
    if hasattr(member, "steps"):  # a pipeline counts as its last step
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

    Ties are broken at random, by a hash of the row; or, with ``find_confidence``, in favor of the
    class with the highest confidence. That function is given row numbers and returns the confidence
    in each class for these rows.
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
    """Return a 64-bit hash of the values of each given row of X.

    It does not depend on other rows, so neither does the random choice for a row.
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
