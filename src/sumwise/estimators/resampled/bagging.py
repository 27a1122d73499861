"""Bagging: members learn from rows and features that are drawn for each of them."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch

from sumwise.combine.classes import log_probabilities
from sumwise.data.frames.selection import take_rows
from sumwise.docstrings import fill_docstring
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.calibrated.mixins import CalibratedClassifierMixin, ConformalRegressorMixin
from sumwise.estimators.calibrated.unseen import needs_unseen
from sumwise.estimators.explaining import UNCALIBRATED
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.input.parameters import check_choice, check_nested, extend_parameters
from sumwise.estimators.out_of_bag import score_out_of_bag
from sumwise.estimators.resampled.averaging import OutOfBagValues, average_out_of_bag
from sumwise.estimators.resampled.bagged_trees import BaggedTrees, can_grow_together, grow_together
from sumwise.estimators.resampled.bagging_parameters import (
    check_perturb,
    count_drawn_features,
    resolve_sampling,
    resolve_stopping,
)
from sumwise.estimators.resampled.bagging_recipe import BaggingRecipe
from sumwise.estimators.resampled.base import (
    RepeatedClassifier,
    RepeatedEnsemble,
    RepeatedRegressor,
)
from sumwise.estimators.resampled.out_of_bag import oob_permutation_importance
from sumwise.estimators.resampled.parameters import BAGGING_CLASSIFIER, BAGGING_REGRESSOR
from sumwise.estimators.resampled.recipe import takes_weights, warn_of_constants
from sumwise.estimators.resampled.stopping import takes_partial_weights
from sumwise.estimators.scoring import KnownClassifier, KnownRegressor, resolve_oob_score
from sumwise.estimators.warn import warn_user
from sumwise.export.portable import Affine, Node, PortableModel
from sumwise.sampling import Pasting
from sumwise.sampling.resample import list_drawn_rows


class Bagging(RepeatedEnsemble):
    """Base of bagging: what classifiers and regressors share."""

    _fitted_privately = (
        *RepeatedEnsemble._fitted_privately,
        "_recipe",
        "_seed",
        "_n_rows",
        "_weight",
    )
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
        conformal: bool = False,
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
        self.conformal = conformal
        self.early_stopping = early_stopping
        self.warm_start = warm_start

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of parts and of the base learner as ``name__parameter=...``."""
        check_nested(self, params, {"sampling": "Bootstrap", "early_stopping": "OobStopping"})
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Draw rows and features for each member, and fit it.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Anything that the base learner accepts: members get the rows and features drawn for
            them in the same form.
        y : array-like of shape (n_rows,)
            Targets; for regressors also of shape (n_rows, n_outputs).
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows. With replacement, rows are drawn in proportion to them. Otherwise
            they multiply the drawn weights, and members must accept weights.
        **fit_params : dict
            With metadata routing, metadata that the base learner requests.

        Returns
        -------
        self
        """
        old = copy(self) if self.warm_start and self.__sklearn_is_fitted__() else None
        with starting_anew(self):
            self._check_parameters()
            X, y, weight = self._start_fit(X, y, sample_weight)
            self._seed = draw_seed(self.random_state) if old is None else old._seed
            self._recipe = self._make_recipe(y, weight, self._route("fit", fit_params))
            self._n_rows, self._weight = len(y), weight
            if old is not None:
                self._check_continuation(old)
            can_share = can_grow_together(self._recipe, is_classifier(self))
            grown = None
            if can_share and (old is None or "_trees" in old.__dict__):
                grown = self._grow_trees(X, y, weight, None if old is None else old._trees)
            if grown is not None:
                self._trees, out_of_bag = grown
            else:
                out_of_bag = self._fit_each(X, y, weight, old)
                if is_classifier(self):
                    warn_of_constants(type(self).__name__, self.estimator_, self._members)
            if out_of_bag is not None and needs_unseen(self):
                self._learn_out_of_bag(y, weight, out_of_bag)
            if out_of_bag is not None and self.oob_score:  # last: members break ties
                self._set_oob_score(X, y, weight, out_of_bag)
        return self

    def _grow_trees(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, old: BaggedTrees | None
    ) -> tuple[BaggedTrees, OutOfBagValues | None] | None:
        """Return trees on one table, and their out-of-bag predictions if they are needed.

        None if members have to be fitted one by one.
        """
        return grow_together(
            self._recipe,
            X,
            y,
            weight,
            int(self.n_estimators),
            old,
            self._method if self._needs_out_of_bag() else None,
            self.n_jobs,
            bool(self.verbose),
        )

    def _fit_each(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, old: "Bagging | None"
    ) -> OutOfBagValues | None:
        """Fit members one by one; return their out-of-bag predictions if they are needed."""
        members = [] if old is None else old.estimators_
        fitted = self._fit_members(self._recipe, X, y, weight, len(members))
        if self.early_stopping is not None:
            losses = getattr(old, "oob_losses_", [[] for _ in members])
            self.oob_losses_ = losses + [item.losses for item in fitted]
        self.estimators_ = members + [item.member for item in fitted]
        if not self._needs_out_of_bag():
            return None
        return average_out_of_bag(
            self._list_members(),
            X,
            self._get_reader(self._method, {}),
            partial(self._recipe.find_scored_rows, n_rows=len(y), weight=weight),
            self._oob_shape(),
            len(y),
            self.n_jobs,
            self.verbose,
        )

    # --- parameters ---

    def _check_parameters(self) -> None:
        resolve_oob_score(self.oob_score, self)
        for name in ("bootstrap_features", "conformal", "warm_start"):
            check_choice(self, name, (True, False))
        if self.bootstrap is not None:
            check_choice(self, "bootstrap", (True, False))

    def _make_recipe(
        self, y: np.ndarray, weight: np.ndarray | None, fit_params: Mapping[str, Any]
    ) -> BaggingRecipe:
        learner, own = self.estimator_, type(self).__name__
        sampling = resolve_sampling(self, len(y))
        stopping = resolve_stopping(self, learner, sampling)
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
        if self._needs_out_of_bag() and (draws_all or not sampling.leaves_rows_out):
            what = f"oob_score={self.oob_score!r}" if self.oob_score else "calibration"
            raise ParameterError(f"{own}: {what}, and {sampling!r} leaves no row out of a bag")
        if needs_unseen(self) and stopping is not None and stopping.share == 1:
            raise ParameterError(
                f"{own}: conformal and calibrate need rows that have not stopped the members; "
                "early_stopping=OobStopping(share=0.5) leaves half of the out-of-bag rows"
            )
        n_features = getattr(self, "n_features_in_", None)
        return BaggingRecipe(
            learner,
            self._seed,
            fit_params,
            can_weigh,
            check_perturb(self, learner),
            sampling,
            n_features,
            count_drawn_features(self, n_features),
            self.bootstrap_features,
            self.classes_.size if is_classifier(self) else None,
            stopping,
        )

    # --- more members ---

    def _check_continuation(self, old: "Bagging") -> None:
        own, n_members = type(self).__name__, old._count_members()
        if n_members > self.n_estimators:
            raise ParameterError(
                f"{own}: n_estimators={self.n_estimators} must be at least the {n_members} "
                "members there are, when warm_start=True"
            )
        if n_members == self.n_estimators:
            warn_user(
                f"{own}: warm_start=True without a larger n_estimators fits no new members",
                UserWarning,
            )
        same_classes = not is_classifier(self) or np.array_equal(old.classes_, self.classes_)
        same_shape = (old._n_rows, old._recipe.n_features) == (
            self._n_rows,
            self._recipe.n_features,
        )
        if not (same_shape and same_classes):
            raise DataError(
                f"{own}: warm_start=True adds members on the same rows, and X or y have another "
                "shape or other classes; use warm_start=False"
            )

    # --- out of bag ---

    def _needs_out_of_bag(self) -> bool:
        return bool(self.oob_score) or needs_unseen(self)

    def _learn_out_of_bag(
        self, y: np.ndarray, weight: np.ndarray | None, out_of_bag: OutOfBagValues
    ) -> None:
        """Learn from out-of-bag rows."""
        is_used = out_of_bag.is_covered if weight is None else out_of_bag.is_covered & (weight > 0)
        rows = np.flatnonzero(is_used)
        if rows.size == 0:
            raise DataError(
                f"{type(self).__name__}: every row is in the bags of all members (n_samples="
                f"{len(y)}): nothing to calibrate on; increase n_estimators"
            )
        own = None if weight is None else weight[rows]
        self._learn_from_unseen(out_of_bag.values[rows], y[rows], own)

    def _learn_from_unseen(
        self, values: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        raise NotImplementedError

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each member saw, ascending; a row drawn twice occurs twice. Drawn on access."""
        return [
            list_drawn_rows(self._recipe.draw_weights(number, self._n_rows, self._weight))
            for number in range(self._count_members())
        ]

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """Features that each member saw. Drawn on access."""
        if not self.__sklearn_is_fitted__() or self._recipe.n_features is None:
            raise AttributeError(
                f"{type(self).__name__} has estimators_features_ after a fit on features alone"
            )
        every = np.arange(self._recipe.n_features)
        return [every if own is None else own for own in self._list_features()]

    @property
    def estimators_parameters_(self) -> list[dict[str, Any]]:
        """Parameters that ``perturb`` drew for each member."""
        return [self._recipe.draw_parameters(t) for t in range(self._count_members())]

    def _list_features(self) -> Sequence[np.ndarray | None]:
        return [self._recipe.draw_features(t) for t in range(self._count_members())]

    def _oob_shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def _know(
        self, X: Any, rows: np.ndarray, values: np.ndarray
    ) -> KnownClassifier | KnownRegressor:
        """Return a model that knows the out-of-bag predictions of some rows."""
        raise NotImplementedError

    def _set_oob_score(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, out_of_bag: OutOfBagValues
    ) -> None:
        stopping, values = self._recipe.stopping, out_of_bag.values
        self.oob_score_is_optimistic_ = stopping is not None and stopping.share == 1
        if self.oob_score_is_optimistic_:
            warn_user(
                f"{type(self).__name__}: oob_score_ uses the rows that also stopped the members: "
                "it is optimistic. early_stopping=OobStopping(share=0.5) keeps half of the rows "
                "for the score",
                DataWarning,
            )
        if is_classifier(self):
            self.oob_decision_function_, y = values, self.classes_[y]
        else:
            self.oob_prediction_ = values
        self.oob_score_ = score_out_of_bag(
            self,
            out_of_bag.is_covered,
            y,
            weight,
            lambda rows: self._know(X, rows, values[rows]),
        )

    def oob_permutation_importance(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_repeats: int = 1,
        random_state: Any = None,
    ) -> Bunch:
        """Measure how much worse members predict out-of-bag rows if a feature is shuffled.

        :func:`sumwise.oob_permutation_importance` describes the parameters and the result.
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


@fill_docstring(**BAGGING_REGRESSOR)
class BaggingRegressor(ConformalRegressorMixin, RepeatedRegressor, Bagging):
    """The mean of regressors, each trained on its own draw of the rows (Breiman 1996).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Mean prediction of the members that have not seen the row; NaN if there are none.

    Notes
    -----
    {table}

    Other learners get the rows of their bag only. A row drawn twice has a weight of two, or occurs
    twice if the base learner's ``fit`` does not accept ``sample_weight``.

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

    def _know(self, X: Any, rows: np.ndarray, values: np.ndarray) -> KnownRegressor:
        return KnownRegressor(values)

    def _learn_from_unseen(
        self, values: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        from sumwise.estimators.calibrated.conformal import ConformalIntervals

        columns = values.reshape(len(y), -1)
        self.conformal_ = ConformalIntervals.learn(y, columns, None, weight)

    def _predict_spread(self, X: Any) -> tuple[np.ndarray, None]:
        found = self.predict(X)
        return found.reshape(len(found), -1), None


@fill_docstring(**BAGGING_CLASSIFIER)
class BaggingClassifier(CalibratedClassifierMixin, RepeatedClassifier, Bagging):
    """A vote of classifiers, each trained on its own draw of the rows (Breiman 1996).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Shares of the votes, or mean probabilities, of the members that have not seen the row; NaN
        if there are none.

    Notes
    -----
    {table}

    Other learners get the rows of their bag only. A row drawn twice has a weight of two, or occurs
    twice if the base learner's ``fit`` does not accept ``sample_weight``. Members learn the class
    indices 0, 1, ...; a class that is missing in a member's bag gets no probability from it. If a
    learner refuses a bag of one class, the member is replaced by that class, with a warning.

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
        calibrate: str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(estimator, n_estimators, **shared)
        self.votes = votes
        self.tie = tie
        self.calibrate = calibrate

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.calibrate is not None:
            check_choice(self, "calibrate", ("isotonic", "logistic"))
        self.votes_ = self._resolve_votes()

    def _oob_shape(self) -> tuple[int, ...]:
        return (self.classes_.size,)

    def _know(self, X: Any, rows: np.ndarray, values: np.ndarray) -> KnownClassifier:
        labels = self.classes_[self._decide(take_rows(X, rows), values)]
        return KnownClassifier(labels, self.classes_, values)

    # --- calibration ---

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class that wins the vote; with ``calibrate``, the most probable one.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for the method that it votes with.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if not self._is_calibrated():
            return super().predict(X, **params)
        X, params = self._check_rows(X), self._route("predict", params)
        shares = self._calibrate_shares(self._average(X, self._method, params))
        return self.classes_[shares.argmax(axis=1)]

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' probabilities, or their votes' shares; calibrated.

        They are calibrated if the model was fitted with ``calibrate``.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for the method that it votes with.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._calibrate_shares(super().predict_proba(X, **params))

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`, which has the same parameters."""
        X, params = self._check_rows(X), self._route("predict_log_proba", params)
        return log_probabilities(self._calibrate_shares(self._average(X, self._method, params)))

    def _calibrate_shares(self, shares: np.ndarray) -> np.ndarray:
        if not self._is_calibrated():
            return shares
        return self.calibration_.predict(self._to_values(shares), self._to_shares)

    def _to_values(self, shares: np.ndarray) -> np.ndarray:
        """Return what is calibrated: of two classes, the share of the second."""
        return shares[:, 1:] if self.classes_.size == 2 else shares

    def _to_shares(self, values: np.ndarray) -> np.ndarray:
        return np.hstack([1.0 - values, values]) if self.classes_.size == 2 else values

    def _predict_unlinked(self, X: Any) -> np.ndarray:
        return self._to_values(self._average(self._check_rows(X), self._method, {}))

    def _learn_from_unseen(
        self, values: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        super()._learn_from_unseen(self._to_values(values), y, weight)

    @property
    def _scale(self) -> str:
        return UNCALIBRATED if self._is_calibrated() else super()._scale

    def _describe(self) -> PortableModel:
        described = super()._describe()
        if not self._is_calibrated():
            return described
        shares: Node = described.output
        values = shares
        if self.classes_.size == 2:
            values = Affine((shares,), np.array([[0.0, 1.0]]), np.zeros(1))
        return replace(described, output=self.calibration_.describe(values, shares))
