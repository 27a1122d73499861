"""What ensembles of one base learner share: members made from it, each in another way.

Every member is known by its number: what is drawn for it depends on the seed and that number alone.
So it does not matter who fits it, when, and next to how many others.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
)

from sumwise.combine.classes import (
    log_probabilities,
    normalize_probabilities,
    one_hot,
    place_classes,
)
from sumwise.data.frames.selection import take_features, take_rows
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.boosting.validation import encode_labels
from sumwise.estimators.combined.member_list import read_members_rows
from sumwise.estimators.combined.out_of_fold import count_rows, take_if_by_row
from sumwise.estimators.combined.votes import HARD, SOFT, decide_votes
from sumwise.estimators.input.features import check_features
from sumwise.estimators.input.parameters import check_choice, check_integer
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.members import fit_member
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.estimators.resampled.table_trees import MembersMixin
from sumwise.kernels.runtime import random

# Members whose predictions are summed up in one piece of work. Fixed: the order of the sums, and
# so their last bits, must not depend on the number of jobs.
MEMBERS_PER_BLOCK = 4
_MOST_SEED = np.uint64(np.iinfo(np.int32).max)

# From (member, X, method, metadata) to what is summed up.
Reader = Callable[[Any, Any, str, Mapping[str, Any]], np.ndarray]

LEARNER_PARAMETERS = """estimator : estimator or None, default=None
        The base learner, of any kind: clones of it are fitted. None for a decision tree of
        sumwise."""

JOB_PARAMETERS = """n_jobs : int or None, default=None
        Members that joblib fits, or lets predict, at once; None for 1, -1 for all CPUs. Results
        do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of everything that is drawn, and of the members' own seeds.
    verbose : int, default=0
        Whether to show progress on standard error: members that joblib has fitted (it is passed
        this number), or trees that have grown."""

VOTE_PARAMETERS = """votes : {"auto", "soft", "hard"}, default="auto"
        "soft": the mean of the members' probabilities decides; "hard": members vote with labels.
        "auto": with probabilities if the base learner has them.
    tie : {"random", "confidence"}, default="random"
        Who wins where classes have equally many votes: one of them at random, the same for a row
        whenever and with whatever other rows it comes; or the one whose mean probability is
        highest, for which the base learner needs ``predict_proba``."""

REPEATED_ATTRIBUTES = """estimator_ : estimator
        The base learner, not fitted.
    estimators_ : list of estimators
        The fitted members, also as ``model[0]`` and so on.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any."""

REPEATED_TEXTS = {
    "learner": LEARNER_PARAMETERS,
    "jobs": JOB_PARAMETERS,
    "votes": VOTE_PARAMETERS,
    "attributes": REPEATED_ATTRIBUTES,
}


def find_member_seed(seed: int, purpose: int, number: int) -> int:
    """Return a seed for what is drawn by others than our kernels."""
    return int(random.make_key(seed, purpose, number) % _MOST_SEED)


def open_rows(owner: Any, X: Any, y: Any) -> Any:
    """Return X as something whose rows can be taken; remember its features."""
    X = read_members_rows(X)
    check_features(owner, X, y)
    X = _make_indexable(X)
    if count_rows(X) == 0:
        raise DataError("Found array with 0 sample(s): there is nothing to learn from")
    return X


def _make_indexable(X: Any) -> Any:
    """Return X as something whose rows can be taken; sparse matrices by row or by column."""
    return X if getattr(X, "format", None) in ("csr", "csc") else indexable(X)[0]


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` may be given ``sample_weight``."""
    if _routing_enabled():
        request = get_routing_for_object(estimator)
        return bool(request.consumes("fit", ("sample_weight",)))
    return bool(has_fit_parameter(estimator, "sample_weight"))


@dataclass(frozen=True)
class Recipe:
    """How members are made; goes to where they are fitted.

    Attributes
    ----------
    estimator : estimator
        The base learner.
    seed : int
    fit_params : mapping
        Arguments of its ``fit``.
    takes_weights : bool
        Whether ``sample_weight`` is one.
    perturb : mapping or None
        Parameters that are drawn for each member.
    """

    estimator: Any
    seed: int
    fit_params: Mapping[str, Any]
    takes_weights: bool
    perturb: Mapping[str, Any] | None = None

    def draw_parameters(self, number: int) -> dict[str, Any]:
        """Return the drawn parameters of a member."""
        draws = np.random.RandomState(find_member_seed(self.seed, random.MEMBER_PARAMETERS, number))
        return {
            name: choices.rvs(random_state=draws)
            if hasattr(choices, "rvs")
            else choices[draws.randint(len(choices))]
            for name, choices in sorted((self.perturb or {}).items())
        }

    def make_member(self, number: int) -> Any:
        """Return a clone with parameters and seeds of its own."""
        member = clone(self.estimator)
        member.set_params(**self.draw_parameters(number))
        names = sorted(name for name in member.get_params() if _is_seed(name))
        seeds = np.random.RandomState(find_member_seed(self.seed, random.MEMBER_SEEDS, number))
        drawn = seeds.randint(np.iinfo(np.int32).max, size=len(names))
        return member.set_params(**dict(zip(names, map(int, drawn), strict=True)))

    def draw_features(self, number: int) -> np.ndarray | None:
        """Return the features of a member, ascending; None if all are taken as they are."""
        return None

    def fit(self, number: int, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Return a fitted member."""
        raise NotImplementedError

    def fit_rows(
        self,
        number: int,
        member: Any,
        X: Any,
        y: np.ndarray,
        rows: np.ndarray | None,
        weight: np.ndarray | None,
    ) -> Any:
        """Fit a member on some rows, or all; the weights are those of these rows."""
        params = dict(self.fit_params)
        if rows is not None:
            n_rows = count_rows(X)
            params = {k: take_if_by_row(v, rows, n_rows) for k, v in params.items()}
            X, y = take_rows(X, rows), y[rows]
        if weight is not None:
            params["sample_weight"] = weight
        return fit_member(f"member {number}", member, X, y, params)


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


class RepeatedEnsemble(MembersMixin, NotSavedMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of ensembles of one base learner."""

    _seed: int
    _method = "predict"  # what members are asked for

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- the base learner ---

    def _get_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sumwise.estimators.forests.decision_tree import (
            DecisionTreeClassifier,
            DecisionTreeRegressor,
        )

        # Not by is_classifier, which asks for tags, which ask for the base learner.
        is_class = isinstance(self, ClassifierMixin)
        return DecisionTreeClassifier() if is_class else DecisionTreeRegressor()

    def _check_estimator(self) -> Any:
        learner = self._get_estimator()
        is_instance = hasattr(learner, "fit") and not isinstance(learner, type)
        if not is_instance or not hasattr(learner, "predict"):
            raise ParameterError(
                f"{type(self).__name__}: estimator={learner!r}; must be an estimator with fit and "
                "predict"
            )
        is_class = is_classifier(self)
        if is_regressor(learner) if is_class else is_classifier(learner):
            needed, found = ("classifier", "regressor")[:: 1 if is_class else -1]
            raise ParameterError(
                f"{type(self).__name__}: estimator={learner!r} is a {found}; members must be "
                f"{needed}s"
            )
        return learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self._get_estimator()).input_tags
        except Exception:  # what is no estimator is refused in fit
            return tags
        tags.input_tags.allow_nan = inner.allow_nan
        for name in ("sparse", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    # --- metadata ---

    def _map_methods(self) -> dict[str, str]:
        """The method of the base learner that each method passes metadata on to."""
        return {"fit": "fit", "predict": "predict"}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where methods pass metadata on: to the base learner."""
        mapping = MethodMapping()
        for caller, callee in self._map_methods().items():
            mapping.add(caller=caller, callee=callee)
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._get_estimator(), method_mapping=mapping)
        )

    def _route(self, caller: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the base learner's method."""
        if not _routing_enabled():
            _raise_for_params(params, self, caller)
            return dict(params)
        if not params:
            return {}
        routed = process_routing(self, caller, **params)
        return dict(routed["estimator"][self._map_methods()[caller]])

    # --- fitting ---

    def _start_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return X, y and weights, checked; classes as indices."""
        check_integer(self, "n_estimators", 1)
        self.estimator_ = self._check_estimator()
        X = open_rows(self, X, y)
        y = self._read_target(y)
        check_consistent_length(X, y)
        return X, y, check_sample_weight(sample_weight, len(y))

    def _read_target(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _fit_members(
        self, recipe: Recipe, X: Any, y: np.ndarray, weight: np.ndarray | None, first: int = 0
    ) -> list[Any]:
        """Return what the recipe makes of each number from ``first`` on."""
        return list(
            Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(recipe.fit)(number, X, y, weight)
                for number in range(first, self.n_estimators)
            )
        )

    # --- prediction ---

    def _check_rows(self, X: Any) -> Any:
        """Return rows to predict."""
        check_is_fitted(self)
        X = read_members_rows(X)
        if getattr(X, "ndim", 2) > 1:
            check_features(self, X, reset=False)
        elif hasattr(self, "n_features_in_"):  # as it is not where rows are texts
            raise DataError(
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(1, -1) is "
                "one row, X.reshape(-1, 1) one feature"
            )
        return _make_indexable(X)

    def _list_features(self) -> Sequence[np.ndarray | None]:
        """The features of each member, None for all."""
        return [None] * self._count_members()

    def _get_reader(self) -> Reader:
        """Return what reads the predictions of a member, in the form that is summed up."""
        raise NotImplementedError

    def _average(self, X: Any, method: str, params: Mapping[str, Any]) -> np.ndarray:
        """Return the mean of what the members predict."""
        if "_trees" in self.__dict__ and not params:
            return self._trees.average(X, method, self.n_jobs)
        members = list(zip(self.estimators_, self._list_features(), strict=True))
        blocks = [
            members[i : i + MEMBERS_PER_BLOCK] for i in range(0, len(members), MEMBERS_PER_BLOCK)
        ]
        sums = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_sum_block)(self._get_reader(), block, X, method, params) for block in blocks
        )
        return _add_up(sums) / len(members)

    def predict_members(self, X: Any) -> np.ndarray:
        """Return what each member predicts.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_members, n_rows, ...)
            Numbers; for classifiers, labels or, where members vote with these, probabilities.
        """
        X = self._check_rows(X)
        features = self._list_features() or [None] * len(self.estimators_)
        return np.stack(
            [
                self._show(m, take_features(X, f))
                for m, f in zip(self.estimators_, features, strict=True)
            ]
        )

    def _show(self, member: Any, X: Any) -> np.ndarray:
        return np.asarray(member.predict(X))


def _sum_block(
    read: Reader,
    block: list[tuple[Any, np.ndarray | None]],
    X: Any,
    method: str,
    params: Mapping[str, Any],
) -> np.ndarray:
    return _add_up([read(member, take_features(X, f), method, params) for member, f in block])


def _add_up(arrays: list[np.ndarray]) -> np.ndarray:
    """Return the sum, in the order of the list."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def read_numbers(member: Any, X: Any, method: str, params: Mapping[str, Any]) -> np.ndarray:
    """Return what a regressor predicts."""
    return np.asarray(getattr(member, method)(X, **params), dtype=np.float64)


def read_votes(
    member: Any, X: Any, method: str, params: Mapping[str, Any], *, n_classes: int
) -> np.ndarray:
    """Return what a classifier predicts for all classes; labels as probabilities of 0 and 1."""
    places = np.asarray(getattr(member, "classes_", np.arange(n_classes))).astype(np.intp)
    if method == "decision_function" and places.size < n_classes:
        raise DataError(
            f"a member has seen {places.size} of {n_classes} classes, so that the members' "
            "decision values do not compare: use predict_proba"
        )
    predicted = np.asarray(getattr(member, method)(X, **params))
    if method == "predict":
        return one_hot(predicted.astype(np.intp), n_classes)
    if method == "predict_proba":
        return normalize_probabilities(place_classes(predicted, places, n_classes))
    return predicted


class RepeatedRegressor(RegressorMixin, RepeatedEnsemble):
    """Regressors that are averaged; with several outputs if the base learner has them."""

    def _read_target(self, y: Any) -> np.ndarray:
        y = read_target(y, is_number=True, many=True)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        return y

    def _get_reader(self) -> Reader:
        return read_numbers

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of what the members predict.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner's ``predict`` requests.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._average(self._check_rows(X), "predict", self._route("predict", params))


def _has_decisions(ensemble: Any) -> bool:
    """Whether there are decision values; votes with labels could contradict their mean."""
    return ensemble.votes != HARD and hasattr(ensemble._get_estimator(), "decision_function")


class RepeatedClassifier(ClassifierMixin, RepeatedEnsemble):
    """Classifiers that vote; members learn class indices, as scikit-learn's do."""

    classes_: np.ndarray
    votes: str
    votes_: str
    tie: str

    def _read_target(self, y: Any) -> np.ndarray:
        y = read_target(y, is_number=False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return encode_labels("y", y, self.classes_)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return int(self.classes_.size)

    def _resolve_votes(self) -> str:
        """Return "hard" or "soft"; raise if that cannot be."""
        check_choice(self, "votes", ("auto", HARD, SOFT))
        check_choice(self, "tie", ("random", "confidence"))
        learner = self._get_estimator()
        has_probabilities = hasattr(learner, "predict_proba")
        votes = self.votes
        if votes == "auto":
            votes = SOFT if has_probabilities else HARD
        for name, value in (("votes", SOFT), ("tie", "confidence")):
            if getattr(self, name) == value and not has_probabilities:
                raise ParameterError(
                    f"{type(self).__name__}: {name}={value!r} needs probabilities, and "
                    f"{type(learner).__name__} has no predict_proba"
                )
        return votes

    def _map_methods(self) -> dict[str, str]:
        has_probabilities = hasattr(self._get_estimator(), "predict_proba")
        callee = "predict" if self.votes == HARD or not has_probabilities else "predict_proba"
        return {
            "fit": "fit",
            "predict": callee,
            "predict_proba": callee,
            "predict_log_proba": callee,
            "decision_function": "decision_function",
        }

    def _get_reader(self) -> Reader:
        return partial(read_votes, n_classes=self.classes_.size)

    @property
    def _method(self) -> str:  # type: ignore[override]
        return "predict" if self.votes_ == HARD else "predict_proba"

    def _show(self, member: Any, X: Any) -> np.ndarray:
        if self.votes_ == SOFT:
            return self._get_reader()(member, X, "predict_proba", {})
        return self.classes_[np.asarray(member.predict(X)).astype(np.intp)]

    def _decide(self, X: Any, shares: np.ndarray) -> np.ndarray:
        """Return class indices."""
        if self.tie == "random":
            return decide_votes(shares, X, self._seed)

        def find_confidence(rows: np.ndarray) -> np.ndarray:
            if self.votes_ == SOFT:
                return shares[rows]
            return self._average(take_rows(X, rows), "predict_proba", {})

        return decide_votes(shares, X, self._seed, find_confidence)

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class that wins the vote.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for what it votes with.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._check_rows(X)
        params = self._route("predict", params)
        return self.classes_[self._decide(X, self._average(X, self._method, params))]

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' probabilities; the shares of their votes if hard.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for what it votes with.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        X = self._check_rows(X)
        return self._average(X, self._method, self._route("predict_proba", params))

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            As of ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        X = self._check_rows(X)
        shares = self._average(X, self._method, self._route("predict_log_proba", params))
        return log_probabilities(shares)

    @available_if(_has_decisions)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' decision values, if the base learner has them.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner's ``decision_function`` requests.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        params = self._route("decision_function", params)
        return self._average(self._check_rows(X), "decision_function", params)


def fit_or_stay_constant(
    recipe: Recipe,
    number: int,
    member: Any,
    X: Any,
    y: np.ndarray,
    rows: np.ndarray,
    weight: np.ndarray | None,
) -> Any:
    """Fit a classifier; one that refuses a bag of one class is replaced by that class."""
    try:
        return recipe.fit_rows(number, member, X, y, rows, weight)
    except ValueError:
        if np.unique(y[rows]).size > 1 or np.unique(y).size == 1:
            raise
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior").fit(np.zeros((rows.size, 1)), y[rows])


def warn_of_constants(owner: Any, members: list[Any]) -> None:
    """Tell how many members had to be replaced by a constant."""
    from sklearn.dummy import DummyClassifier

    n_constant = sum(isinstance(member, DummyClassifier) for member in members)
    if n_constant and not isinstance(owner.estimator_, DummyClassifier):
        warnings.warn(
            f"{type(owner).__name__}: the rows drawn for {n_constant} of {len(members)} members "
            f"have one class only, which {type(owner.estimator_).__name__} cannot learn; these "
            "members always predict that class. Draw more rows",
            DataWarning,
            stacklevel=3,
        )
