"""Bagging: members learn from rows and features that are drawn anew for each."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from sumwise.combine.out_of_bag import OutOfBagMean
from sumwise.data.frames.selection import take_features, take_rows
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.combined.base import document_members
from sumwise.estimators.combined.out_of_fold import take_if_by_row
from sumwise.estimators.fitted_state import forget_fit
from sumwise.estimators.input.parameters import check_choice, check_nested, extend_parameters
from sumwise.estimators.members import name_failure
from sumwise.estimators.resampled.bagged_trees import (
    BaggedTrees,
    OutOfBagValues,
    can_grow_together,
    grow_together,
)
from sumwise.estimators.resampled.base import (
    MEMBERS_PER_BLOCK,
    REPEATED_TEXTS,
    Reader,
    Recipe,
    RepeatedClassifier,
    RepeatedEnsemble,
    RepeatedRegressor,
    find_member_seed,
    fit_or_stay_constant,
    takes_weights,
    warn_of_constants,
)
from sumwise.estimators.resampled.out_of_bag import (
    OOB_ATTRIBUTES,
    OOB_PARAMETER,
    OobStopping,
    check_oob_score,
    fit_until_stopped,
    oob_permutation_importance,
    store_out_of_bag,
    sum_out_of_bag,
    takes_partial_weights,
)
from sumwise.estimators.resampled.table_trees import draw_seed
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling import bootstrap as resample
from sumwise.sampling import BayesianBootstrap, Bootstrap, Pasting, PoissonBootstrap, Resampler
from sumwise.sampling.resample import list_drawn_rows

_SAMPLINGS: dict[str, type] = {
    "bootstrap": Bootstrap,
    "pasting": Pasting,
    "poisson": PoissonBootstrap,
    "bayesian": BayesianBootstrap,
}

# Members without sample weights get copies of all rows drawn: no more than so many, or so many for
# each row of X.
_MOST_ROWS, _LARGEST_RATE = 10_000_000, 100

BAGGING_PARAMETERS = """n_estimators : int, default=10
        Number of members.
    max_samples : int, float or None, default=None
        Rows drawn for a member: a number, or a share of the rows, in (0, 1]. None for as many as
        there are. Without replacement, no more than there are; with replacement, at most ten
        million or 100 times as many. With a part as ``sampling``, the part's ``rate`` says it.
    max_features : int or float, default=1.0
        Features drawn for a member: a number, or a share, in (0, 1]. With all rows
        (``bootstrap=False``) this is the random subspace method, with some of the rows random
        patches.
    bootstrap : bool or None, default=None
        Whether rows are drawn with replacement, as scikit-learn has it. None for what ``sampling``
        says, or else True.
    bootstrap_features : bool, default=False
        Whether features are drawn with replacement.
    sampling : {"bootstrap", "pasting", "poisson", "bayesian"}, part or None, default=None
        How rows are drawn: :class:`Bootstrap`, :class:`Pasting`, :class:`PoissonBootstrap` or
        :class:`BayesianBootstrap`. None for what ``bootstrap`` says; without replacement that is
        all rows, unless ``max_samples`` says fewer, whereas "pasting" is half of them.
    perturb : dict or None, default=None
        Parameters of the base learner that are drawn for each member: from names to lists of
        values, or to distributions with a method ``rvs``.
    {oob}
    early_stopping : {"oob"}, OobStopping or None, default=None
        Whether base learners with ``partial_fit`` are trained epoch by epoch until their
        out-of-bag loss gets no better.
    warm_start : bool, default=False
        Whether ``fit`` keeps the members there are and adds to them, on the same rows."""

BAGGING_ATTRIBUTES = """estimators_samples_ : list of ndarray
        Rows that each member saw, those drawn twice twice.
    estimators_features_ : list of ndarray
        Features that each member saw.
    estimators_parameters_ : list of dict
        What ``perturb`` drew for each member.
    {oob_attributes}
    oob_score_is_optimistic_ : bool
        Whether the rows of the score also stopped members early.
    oob_losses_ : list of list of float
        With ``early_stopping``: each member's out-of-bag loss after each epoch."""

TEXTS = {
    **REPEATED_TEXTS,
    "bagging": BAGGING_PARAMETERS.replace("{oob}", OOB_PARAMETER),
    "bagging_attributes": BAGGING_ATTRIBUTES.replace("{oob_attributes}", OOB_ATTRIBUTES),
}


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_share(value: Any) -> bool:
    is_real = isinstance(value, Real) and not isinstance(value, Integral)
    return is_real and 0.0 < float(value) <= 1.0


class _Fitted(NamedTuple):
    member: Any
    losses: list[float]


@dataclass(frozen=True)
class BaggingRecipe(Recipe):
    """How members of bagging are made.

    Attributes
    ----------
    sampling : Resampler
    n_features : int or None
        None where X has no features that could be counted, such as a list of texts.
    n_drawn_features : int
        As many as there are for all.
    bootstrap_features : bool
    n_classes : int or None
        None for regressors.
    stopping : OobStopping or None
    """

    sampling: Any = None
    n_features: int | None = None
    n_drawn_features: int = 0
    bootstrap_features: bool = False
    n_classes: int | None = None
    stopping: OobStopping | None = None

    def draw_features(self, number: int) -> np.ndarray | None:
        """Return the features of a member, ascending; None if all are taken as they are."""
        is_all = self.n_drawn_features == self.n_features and not self.bootstrap_features
        if self.n_features is None or is_all:
            return None
        counts = np.empty(self.n_features, dtype=np.uint32)
        kind = resample.BOOTSTRAP if self.bootstrap_features else resample.PASTING
        key = random.make_key(self.seed, random.MEMBER_FEATURES, number)
        resample.fill_counts(kind, key, self.n_drawn_features, np.empty(0), counts)
        return np.repeat(np.arange(self.n_features), counts)

    def draw_weights(self, number: int, n_rows: int, weight: np.ndarray | None) -> np.ndarray:
        """Return the weight of every row for a member; zero is out of its bag."""
        return self.sampling.draw_member(self.seed, number, n_rows, weight)

    def find_out_of_bag(self, drawn: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows out of a bag that may stop its member, and those that may score it."""
        rows = np.flatnonzero(drawn == 0)
        if self.stopping is None:
            return rows[:0], rows
        if self.stopping.share == 1:
            return rows, rows
        seed = find_member_seed(self.seed, random.MEMBER_STOPPING, number)
        order = np.random.RandomState(seed).permutation(rows)
        n_stopping = max(1, round(self.stopping.share * rows.size))
        return np.sort(order[:n_stopping]), np.sort(order[n_stopping:])

    def fit(self, number: int, X: Any, y: np.ndarray, weight: np.ndarray | None) -> _Fitted:
        member = self.make_member(number)
        X = take_features(X, self.draw_features(number))
        drawn = self.draw_weights(number, len(y), weight)
        rows = np.flatnonzero(drawn)
        if rows.size == 0:
            raise DataError(f"the rows drawn for member {number} all have a weight of zero")
        row_weight: np.ndarray | None = drawn[rows].astype(np.float64)
        if self.stopping is not None:
            return self._fit_epochs(number, member, X, y, drawn, weight)
        if not self.takes_weights:
            rows, row_weight = np.repeat(np.arange(len(y)), drawn), None
        elif np.all(row_weight == 1.0):
            row_weight = None
        if self.n_classes is None:
            return _Fitted(self.fit_rows(number, member, X, y, rows, row_weight), [])
        return _Fitted(fit_or_stay_constant(self, number, member, X, y, rows, row_weight), [])

    def _fit_epochs(
        self,
        number: int,
        member: Any,
        X: Any,
        y: np.ndarray,
        drawn: np.ndarray,
        weight: np.ndarray | None,
    ) -> _Fitted:
        assert self.stopping is not None
        watched, _ = self.find_out_of_bag(drawn, number)
        if watched.size == 0:
            raise DataError(
                f"member {number} has no out-of-bag rows that could stop it; draw fewer rows "
                "(max_samples)"
            )
        if takes_partial_weights(member):
            rows = np.flatnonzero(drawn)
            row_weight: np.ndarray | None = drawn[rows].astype(np.float64)
        else:
            rows, row_weight = np.repeat(np.arange(len(y)), drawn), None
        watched_weight = None if weight is None else weight[watched]
        if watched_weight is not None and not watched_weight.any():
            watched_weight = None
        params = {k: take_if_by_row(v, rows, len(y)) for k, v in self.fit_params.items()}
        with name_failure(f"member {number}", member):
            fitted, losses = fit_until_stopped(
                member,
                self.stopping,
                (take_rows(X, rows), y[rows], row_weight),
                (take_rows(X, watched), y[watched], watched_weight),
                self.n_classes,
                params,
            )
        return _Fitted(fitted, losses)


class Bagging(RepeatedEnsemble):
    """Base of bagging: what classifiers and regressors share."""

    _recipe: BaggingRecipe

    @extend_parameters(RepeatedEnsemble)
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool | None = None,
        bootstrap_features: bool = False,
        sampling: Any = None,
        perturb: Any = None,
        oob_score: Any = False,
        early_stopping: Any = None,
        warm_start: bool = False,
        **shared: Any,
    ) -> None:
        super().__init__(estimator, n_estimators, **shared)
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.sampling = sampling
        self.perturb = perturb
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.warm_start = warm_start

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of parts and of the base learner as ``name__parameter=...``."""
        check_nested(self, params, {"sampling": "Bootstrap", "early_stopping": "OobStopping"})
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Draw rows and features for each member, and fit it.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Whatever the base learner takes: members get it as it is, but for the rows and features
            that are drawn.
        y : array-like of shape (n_rows,)
            Targets; for regressors also of shape (n_rows, n_outputs).
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows. Drawing with replacement, rows are drawn in proportion to them;
            otherwise they multiply what is drawn, and members must be able to take weights.
        **fit_params : dict
            With metadata routing, whatever the base learner requests.

        Returns
        -------
        self
        """
        kept = self._take_old() if self.warm_start else None
        self._forget_fit()
        try:
            self._check_parameters()
            X, y, weight = self._start_fit(X, y, sample_weight)
            seed = draw_seed(self.random_state) if kept is None else kept.recipe.seed
            recipe = self._make_recipe(seed, y, weight, self._route("fit", fit_params))
            if kept is not None:
                self._check_continuation(kept, y, recipe)
            self._recipe, self._seed, self._n_rows, self._weight = recipe, seed, len(y), weight
            can_share = can_grow_together(recipe, is_classifier(self))
            if can_share and (kept is None or kept.trees is not None):
                out_of_bag = self._fit_trees(X, y, weight, None if kept is None else kept.trees)
            else:
                out_of_bag = self._fit_each(X, y, weight, kept)
                if is_classifier(self):
                    warn_of_constants(self, self._members)
            if out_of_bag is not None:  # not before there are members, which may break ties
                self._set_oob_score(X, y, weight, out_of_bag)
        except BaseException:  # also an interrupt
            self._forget_fit()
            raise
        return self

    def _forget_fit(self) -> None:
        self._forget_members()
        forget_fit(self)

    def _fit_trees(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, old: BaggedTrees | None
    ) -> OutOfBagValues | None:
        """Grow trees on one table; return what they say of rows out of bag, if that is wanted."""
        self._trees, out_of_bag = grow_together(
            self._recipe,
            X,
            y,
            weight,
            int(self.n_estimators),
            old,
            self._method if self.oob_score else None,
            self.n_jobs,
            bool(self.verbose),
        )
        return out_of_bag

    def _fit_each(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, kept: "_Old | None"
    ) -> OutOfBagValues | None:
        """Fit members one by one; return what they say of rows out of bag, if that is wanted."""
        members = [] if kept is None else kept.list_members()
        fitted = self._fit_members(self._recipe, X, y, weight, len(members))
        if self.early_stopping is not None:
            losses = [] if kept is None else kept.losses
            self.oob_losses_ = losses + [item.losses for item in fitted]
        self.estimators_ = members + [item.member for item in fitted]
        return self._average_out_of_bag(X, weight) if self.oob_score else None

    # --- parameters ---

    def _check_parameters(self) -> None:
        check_oob_score(self)
        for name in ("bootstrap_features", "warm_start"):
            check_choice(self, name, (True, False))
        if self.bootstrap is not None:
            check_choice(self, "bootstrap", (True, False))

    def _resolve_sampling(self, n_rows: int) -> Any:
        """Return the part that draws rows; raise where parameters contradict each other."""
        given, own = self.sampling, type(self).__name__
        if isinstance(given, str) and given in _SAMPLINGS:
            part: Any = _SAMPLINGS[given]()
        elif given is None:
            part = Pasting(1.0) if self.bootstrap is False else Bootstrap()
        elif isinstance(given, Resampler):
            part = given
        else:
            raise ParameterError(
                f"{own}: sampling={given!r}; must be {', '.join(map(repr, _SAMPLINGS))}, a part "
                "such as Bootstrap(rate=0.5), or None"
            )
        if self.bootstrap is not None and self.bootstrap == isinstance(part, Pasting):
            raise ParameterError(
                f"{own}: bootstrap={self.bootstrap} contradicts sampling={given!r}; leave one of "
                "them None"
            )
        if self.max_samples is not None:
            if part is given or not hasattr(part, "rate"):
                raise ParameterError(
                    f"{own}: max_samples={self.max_samples!r} and sampling={given!r}: how many "
                    "rows are drawn is said by the part, if it can be; leave max_samples None"
                )
            part.rate = self._read_max_samples(n_rows, isinstance(part, Pasting))
        part.check()
        n_drawn = getattr(part, "rate", 0.0) * n_rows
        if n_drawn > max(_MOST_ROWS, _LARGEST_RATE * n_rows):
            raise ParameterError(
                f"{own}: max_samples={self.max_samples!r} and sampling={given!r} would draw "
                f"{n_drawn:.0f} rows for every member, and X has {n_rows}; draw fewer"
            )
        return part

    def _read_max_samples(self, n_rows: int, without_replacement: bool) -> float:
        value, own = self.max_samples, type(self).__name__
        if _is_count(value):
            if without_replacement and value > n_rows:
                raise ParameterError(
                    f"{own}: max_samples={value}, and X has {n_rows} rows: without replacement no "
                    "more can be drawn"
                )
            return float(value) / n_rows
        if not _is_share(value):
            raise ParameterError(
                f"{own}: max_samples={value!r}; must be a number of rows, a share in (0, 1] or None"
            )
        return float(value)

    def _count_features(self) -> tuple[int | None, int]:
        """Return how many features there are, None if X has none to count, and how many to draw."""
        value, own = self.max_features, type(self).__name__
        n_features = getattr(self, "n_features_in_", None)
        if not _is_count(value) and not _is_share(value):
            raise ParameterError(
                f"{own}: max_features={value!r}; must be a number of features or a share in (0, 1]"
            )
        if n_features is None:
            if value != 1.0 or self.bootstrap_features:
                raise ParameterError(f"{own}: X has no features that could be drawn")
            return None, 0
        if _is_count(value) and value > n_features:
            raise ParameterError(
                f"{own}: max_features={value}, and X has {n_features}: max_features must be <= "
                "n_features"
            )
        return n_features, int(value) if _is_count(value) else max(1, int(value * n_features))

    def _check_perturb(self, learner: Any) -> Mapping[str, Any] | None:
        if self.perturb is None:
            return None
        own = type(self).__name__
        if not isinstance(self.perturb, Mapping):
            raise ParameterError(
                f"{own}: perturb={self.perturb!r}; must be a dict from parameters to lists of "
                "values or distributions"
            )
        known = learner.get_params()
        for name, choices in self.perturb.items():
            if name not in known:
                raise ParameterError(
                    f"{own}: perturb has {name!r}, which is no parameter of "
                    f"{type(learner).__name__}; it has {', '.join(sorted(known))}"
                )
            is_list = hasattr(choices, "__getitem__") and not isinstance(choices, (str, Mapping))
            if not hasattr(choices, "rvs") and not (is_list and len(choices) > 0):
                raise ParameterError(
                    f"{own}: perturb[{name!r}]={choices!r}; must be a non-empty list of values or "
                    "a distribution with rvs"
                )
        return dict(self.perturb)

    def _resolve_stopping(self, learner: Any, sampling: Any) -> OobStopping | None:
        given, own = self.early_stopping, type(self).__name__
        if given is None:
            return None
        stopping = OobStopping() if isinstance(given, str) and given == "oob" else given
        if not isinstance(stopping, OobStopping):
            raise ParameterError(
                f"{own}: early_stopping={given!r}; must be 'oob', OobStopping(...) or None"
            )
        stopping.check()
        if not hasattr(learner, "partial_fit"):
            raise ParameterError(
                f"{own}: early_stopping needs a base learner with partial_fit, which "
                f"{type(learner).__name__} has not"
            )
        if not sampling.leaves_rows_out:
            raise ParameterError(
                f"{own}: early_stopping='oob', and sampling={self.sampling!r} leaves no row out of "
                "a bag"
            )
        return stopping

    def _make_recipe(
        self,
        seed: int,
        y: np.ndarray,
        weight: np.ndarray | None,
        fit_params: Mapping[str, Any],
    ) -> BaggingRecipe:
        learner, own = self.estimator_, type(self).__name__
        sampling = self._resolve_sampling(len(y))
        stopping = self._resolve_stopping(learner, sampling)
        can_weigh = takes_weights(learner) if stopping is None else takes_partial_weights(learner)
        is_counted = sampling.gives_counts and not (
            weight is not None and isinstance(sampling, Pasting)
        )
        if not can_weigh and not is_counted:
            raise ParameterError(
                f"{own}: {type(learner).__name__} cannot take sample weights, which "
                f"{sampling!r} {'with sample_weight ' if sampling.gives_counts else ''}needs; "
                "use sampling='bootstrap' or 'poisson', which repeat rows"
            )
        draws_all = isinstance(sampling, Pasting) and sampling.count_draws(len(y)) == len(y)
        if self.oob_score and (draws_all or not sampling.leaves_rows_out):
            raise ParameterError(
                f"{own}: oob_score={self.oob_score!r}, and {sampling!r} leaves no row out of a bag"
            )
        n_features, n_drawn = self._count_features()
        return BaggingRecipe(
            learner,
            seed,
            fit_params,
            can_weigh,
            self._check_perturb(learner),
            sampling,
            n_features,
            n_drawn,
            self.bootstrap_features,
            self.classes_.size if is_classifier(self) else None,
            stopping,
        )

    # --- more members ---

    def _take_old(self) -> "_Old | None":
        if not self.__sklearn_is_fitted__():
            return None
        n_members, trees = self._count_members(), self.__dict__.get("_trees")
        losses = getattr(self, "oob_losses_", [[] for _ in range(n_members)])
        classes = getattr(self, "classes_", None)
        members = None if trees is not None else self._members
        return _Old(n_members, members, trees, losses, self._recipe, self._n_rows, classes)

    def _check_continuation(self, old: "_Old", y: np.ndarray, recipe: BaggingRecipe) -> None:
        own = type(self).__name__
        if old.n_members > self.n_estimators:
            raise ParameterError(
                f"{own}: n_estimators={self.n_estimators} must be at least the {old.n_members} "
                "members there are, when warm_start=True"
            )
        if old.n_members == self.n_estimators:
            warnings.warn(
                f"{own}: warm_start=True without a larger n_estimators fits no new members",
                UserWarning,
                stacklevel=3,
            )
        same_classes = old.classes is None or np.array_equal(old.classes, self.classes_)
        if len(y) != old.n_rows or old.recipe.n_features != recipe.n_features or not same_classes:
            raise DataError(
                f"{own}: warm_start=True adds members on the same rows, and X or y are of another "
                "shape or have other classes; use warm_start=False"
            )

    # --- out of bag ---

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each member saw, ascending; those drawn twice twice. Drawn anew when asked."""
        return [
            list_drawn_rows(self._recipe.draw_weights(number, self._n_rows, self._weight))
            for number in range(self._count_members())
        ]

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """Features that each member saw. Drawn anew when asked."""
        if not self.__sklearn_is_fitted__() or self._recipe.n_features is None:
            raise AttributeError(
                f"{type(self).__name__} has estimators_features_ after a fit on features alone"
            )
        every = np.arange(self._recipe.n_features)
        return [every if own is None else own for own in self._list_features()]

    @property
    def estimators_parameters_(self) -> list[dict[str, Any]]:
        """What ``perturb`` drew for each member."""
        return [self._recipe.draw_parameters(t) for t in range(self._count_members())]

    def _list_features(self) -> Sequence[np.ndarray | None]:
        return [self._recipe.draw_features(t) for t in range(self._count_members())]

    def _oob_shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def _average_out_of_bag(self, X: Any, weight: np.ndarray | None) -> OutOfBagValues:
        n_rows = self._n_rows
        features = self._list_features()
        members = list(zip(range(len(features)), self.estimators_, features, strict=True))
        sums = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_sum_block)(
                self._recipe,
                members[start : start + MEMBERS_PER_BLOCK],
                X,
                weight,
                n_rows,
                self._get_reader(),
                self._method,
                self._oob_shape(),
            )
            for start in range(0, len(members), MEMBERS_PER_BLOCK)
        )
        mean = sums[0]
        for more in sums[1:]:
            mean.merge(more)
        return OutOfBagValues(mean.mean(), mean.is_covered)

    def _set_oob_score(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, out_of_bag: OutOfBagValues
    ) -> None:
        stopping = self._recipe.stopping
        self.oob_score_is_optimistic_ = stopping is not None and stopping.share == 1
        if self.oob_score_is_optimistic_:
            warnings.warn(
                f"{type(self).__name__}: oob_score_ is of the rows that also stopped the members: "
                "it is too good. With early_stopping=OobStopping(share=0.5) half of the rows are "
                "kept for the score",
                DataWarning,
                stacklevel=3,
            )
        store_out_of_bag(self, *out_of_bag, y, weight, partial(self._decide_rows, X))

    def _decide_rows(self, X: Any, rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def oob_permutation_importance(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_repeats: int = 1,
        random_state: Any = None,
    ) -> Any:
        """Return what shuffling each feature costs on out-of-bag rows.

        See :func:`sumwise.oob_permutation_importance`.

        Parameters
        ----------
        X, y : array-like
            The rows of ``fit``, in the same order.
        sample_weight : array-like of shape (n_rows,), default=None
        n_repeats : int, default=1
            How often each feature is shuffled for each member.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Bunch
            ``importances_mean``, ``importances_std`` and ``importances``.
        """
        return oob_permutation_importance(
            self,
            X,
            y,
            sample_weight=sample_weight,
            n_repeats=n_repeats,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )


class _Old(NamedTuple):
    """What an earlier fit has left: members, or trees that make them."""

    n_members: int
    members: list[Any] | None
    trees: BaggedTrees | None
    losses: list[list[float]]
    recipe: BaggingRecipe
    n_rows: int
    classes: np.ndarray | None

    def list_members(self) -> list[Any]:
        """Return the members."""
        if self.trees is not None:
            return list(self.trees.members)
        assert self.members is not None
        return self.members


def _sum_block(
    recipe: BaggingRecipe,
    members: list[tuple[int, Any, np.ndarray | None]],
    X: Any,
    weight: np.ndarray | None,
    n_rows: int,
    read: Reader,
    method: str,
    shape: tuple[int, ...],
) -> OutOfBagMean:
    def find_rows(number: int) -> np.ndarray:
        return recipe.find_out_of_bag(recipe.draw_weights(number, n_rows, weight), number)[1]

    return sum_out_of_bag(
        ((member, features, find_rows(number)) for number, member, features in members),
        X,
        lambda member, rows: read(member, rows, method, {}),
        n_rows,
        shape,
    )


@document_members(**TEXTS)
class BaggingRegressor(RepeatedRegressor, Bagging):
    """The mean of regressors that learned from rows drawn anew for each (Breiman 1996).

    Parameters
    ----------
    {learner}
    {bagging}
    {jobs}

    Attributes
    ----------
    {attributes}
    {bagging_attributes}
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Mean prediction of the members that did not see the row; NaN if there are none.

    Notes
    -----
    Decision trees of sumwise share one table: X is read and binned once, from all rows, and members
    grow side by side; ``n_jobs`` is then a number of threads, None for all CPUs. ``estimators_``
    are made when they are asked for. This does not hold with ``perturb`` or
    ``bootstrap_features``, nor for subclasses.

    Rows out of a member's bag are not passed to other learners; those drawn twice have a weight of
    two, or come twice if the base learner's ``fit`` takes no ``sample_weight``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < model.oob_score_ < 0.5
    True
    """

    def _oob_shape(self) -> tuple[int, ...]:
        return () if self.n_outputs_ == 1 else (self.n_outputs_,)


@document_members(**TEXTS)
class BaggingClassifier(RepeatedClassifier, Bagging):
    """A vote of classifiers that learned from rows drawn anew for each (Breiman 1996).

    Parameters
    ----------
    {learner}
    {bagging}
    {votes}
    {jobs}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    n_classes_ : int
        Their number.
    votes_ : {"hard", "soft"}
        What members vote with.
    {attributes}
    {bagging_attributes}
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Shares of the votes, or mean probabilities, of the members that did not see the row; NaN if
        there are none.

    Notes
    -----
    Decision trees of sumwise share one table: X is read and binned once, from all rows, and members
    grow side by side; ``n_jobs`` is then a number of threads, None for all CPUs. ``estimators_``
    are made when they are asked for. This does not hold with ``perturb`` or
    ``bootstrap_features``, nor for subclasses.

    Rows out of a member's bag are not passed to other learners; those drawn twice have a weight of
    two, or come twice if the base learner's ``fit`` takes no ``sample_weight``. Members learn the
    indices of the classes, 0, 1, ...; a class that a member's bag misses gets no probability from
    it. A learner that refuses a bag of one class is replaced by that class, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import BaggingClassifier, DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(
    ...     DecisionTreeClassifier(),
    ...     n_estimators=30,
    ...     perturb={"max_depth": [2, 4, 8]},
    ...     oob_score=True,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    >>> sorted({parameters["max_depth"] for parameters in model.estimators_parameters_})
    [2, 4, 8]
    """

    @extend_parameters(Bagging)
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        votes: str = "auto",
        tie: str = "random",
        **shared: Any,
    ) -> None:
        super().__init__(estimator, n_estimators, **shared)
        self.votes = votes
        self.tie = tie

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_estimator()
        self.votes_ = self._resolve_votes()

    def _oob_shape(self) -> tuple[int, ...]:
        return (self.classes_.size,)

    def _decide_rows(self, X: Any, rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
        return self._decide(take_rows(X, rows), shares)
