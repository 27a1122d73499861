"""The base of the automatic ensembles: parameters, ``fit``, ``refit`` and ``distill``."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from sumwise.data.batches.memory import read_memory_limit
from sumwise.diversity import Ambiguity, PairwiseMatrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.assembling import assemble
from sumwise.estimators.auto.bags import Bag
from sumwise.estimators.auto.budget import Budget
from sumwise.estimators.auto.checkpoint import Checkpoint, take_fingerprint
from sumwise.estimators.auto.combination import KINDS, Combined
from sumwise.estimators.auto.data import ReadTable, TrainingData
from sumwise.estimators.auto.fold_fits import FitTerms, fit_all
from sumwise.estimators.auto.folds import count_folds, make_folds
from sumwise.estimators.auto.halving import halve_all
from sumwise.estimators.auto.leaderboard import Leaderboard
from sumwise.estimators.auto.metrics import choose_loss, resolve_metric
from sumwise.estimators.auto.progress import show_members
from sumwise.estimators.auto.search import Search
from sumwise.estimators.combined.member_list import read_members_rows
from sumwise.estimators.combined.out_of_fold import Folds
from sumwise.estimators.explaining import ExplainMixin, WeightedMember
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.features import FeatureSchema, read_rows
from sumwise.estimators.input.parameters import (
    NamedParametersMixin,
    check_choice,
    check_integer,
    refuse,
)
from sumwise.estimators.members import name_failure
from sumwise.estimators.reporting import ReportMixin
from sumwise.estimators.serving.mixin import CompilesMixin
from sumwise.estimators.warn import warn_user
from sumwise.export.files import Target, write_bytes
from sumwise.parts import is_number

if TYPE_CHECKING:
    from sumwise.export.portable import PortableModel

FAST, BAG, ALL = "fast", "bag", "all"
# Random variants of boosting by preset.
_N_VARIANTS = {"best": 24, FAST: 0}


class BaseAutoEnsemble(
    ReportMixin, ExplainMixin, CompilesMixin, NamedParametersMixin, BaseEstimator
):
    """Shared by classifier and regressor."""

    # How categories and columns that ``fit`` has not seen are read.
    unknown_category: ClassVar[str] = "missing"
    extra_columns: ClassVar[str] = "error"
    _bag_class: ClassVar[type[Bag]]
    _fitted_privately = ("_combined", "_data", "_loss", "_seed")

    estimators_: list[Bag]
    weights_: np.ndarray
    combination_: str
    leaderboard_: Leaderboard
    out_of_fold_: np.ndarray
    diversity_: PairwiseMatrix
    decomposition_: Ambiguity
    n_features_in_: int
    schema_: FeatureSchema
    _combined: Combined
    _data: TrainingData | None
    _loss: str
    _seed: int

    def __init__(
        self,
        *,
        time_limit: float | None = 60,
        preset: str = "best",
        metric: Any = None,
        members: Sequence[str] | None = None,
        n_variants: int | None = None,
        n_folds: int | None = None,
        n_repeats: int | None = None,
        combination: str = "auto",
        refit_members: str = "auto",
        memory_limit: int | str | None = None,
        checkpoint: Any = None,
        categorical_features: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.time_limit = time_limit
        self.preset = preset
        self.metric = metric
        self.members = members
        self.n_variants = n_variants
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.combination = combination
        self.refit_members = refit_members
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def _clock() -> float:
        """Return seconds since any moment."""
        return time.monotonic()

    # --- parameters ---

    def _check_parameters(self) -> None:
        limit = self.time_limit
        if limit is not None and (not is_number(limit) or not 0 < limit < np.inf):
            refuse(self, "time_limit", "must be a positive number of seconds, or None")
        check_choice(self, "preset", tuple(_N_VARIANTS))
        check_integer(self, "n_variants", 0, optional=True)
        check_integer(self, "n_folds", 2, optional=True)
        check_integer(self, "n_repeats", 1, optional=True)
        check_choice(self, "combination", ("auto", *KINDS))
        check_choice(self, "refit_members", ("auto", BAG, ALL))
        if self.members is None:
            return
        known = ", ".join(portfolio.BY_NAME)
        is_list = isinstance(self.members, (list, tuple)) and len(self.members) > 0
        if not is_list or not all(name in portfolio.BY_NAME for name in self.members):
            refuse(self, "members", f"must be None or a list of names among {known}")
        if len(set(self.members)) < len(self.members):
            refuse(self, "members", "names a member twice")

    def _choose_seed(self, checkpoint: Checkpoint) -> int:
        """Return the seed; that of the fit to continue, if ``random_state`` is none."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return checkpoint.find_seed(seed) if self.random_state is None else seed

    def _make_folds(self, data: TrainingData, time_order: bool, cv: Any, seed: int) -> Folds:
        n_folds, n_repeats = count_folds(data.n_rows, self.preset == FAST)
        n_folds = n_folds if self.n_folds is None else int(self.n_folds)
        n_repeats = n_repeats if self.n_repeats is None else int(self.n_repeats)
        return make_folds(data, n_folds, n_repeats, time_order, cv, seed)

    # --- fit ---

    @fit_as_a_whole
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time_order: bool = False,
        cv: Any = None,
    ) -> Self:
        """Choose, train and combine members.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers of any type, strings, categories or dates; NaN and null are missing values.
        y : array-like of shape (n_rows,)
            Target: class labels or numbers.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, in training and in all scores. Only their ratios matter; rows of
            weight 0 are ignored.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are held out together.
        time_order : bool, default=False
            Whether rows are in the order of time: models then predict rows after those that they
            have seen.
        cv : splitter or iterable of (train, test), default=None
            Folds of your own.

        Returns
        -------
        self
        """
        self._check_parameters()
        budget = Budget(self.time_limit, self._clock)
        checkpoint = Checkpoint(self.checkpoint)
        seed = self._choose_seed(checkpoint)
        data = self._read(X, y, sample_weight, groups)
        data.table.describe_features(self)
        self._learn_classes(data)
        metric = resolve_metric(self.metric, self, data.classes)
        loss = choose_loss(metric, data.classes is not None)
        folds = self._make_folds(data, bool(time_order), cv, seed)
        checkpoint.open(take_fingerprint(data, folds, loss), seed)
        refits = time_order if self.refit_members == "auto" else self.refit_members == ALL
        with _work_quietly(), show_members(bool(self.verbose)) as report:
            search = Search(
                data=data,
                folds=folds,
                metric=metric,
                budget=budget,
                checkpoint=checkpoint,
                report=report,
                loss=loss,
                seed=seed,
                n_jobs=self.n_jobs,
                memory=read_memory_limit(self.memory_limit),
                refits=bool(refits),
            )
            self._search(search)
            self._loss, self._seed, self._data = loss, seed, data
            self._keep(search)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingData:
        X, is_class = read_members_rows(X), is_classifier(self)
        options = (self.categorical_features, self.n_jobs)
        return TrainingData.read(is_class, X, y, sample_weight, groups, *options)

    def _learn_classes(self, data: TrainingData) -> None:
        """Set the classes of a classifier."""

    def _search(self, search: Search) -> None:
        """Train the portfolio, then random variants."""
        traits = search.data.find_traits(search.loss)
        names = self.members
        if names is None:
            names = portfolio.FAST if self.preset == FAST else portfolio.list_names(traits)
        n_variants = 0 if self.members is not None else _N_VARIANTS[self.preset]
        n_variants = n_variants if self.n_variants is None else int(self.n_variants)
        if search.data.classes is not None and search.data.classes.size == 1:
            names, n_variants = names[:1], 0  # there is nothing to learn
        recipes = portfolio.choose_recipes(names, traits)
        if not recipes:
            raise ParameterError(
                f"{type(self).__name__}: members={self.members!r}; none of them suits the data: "
                f"they need {', '.join(sorted(portfolio.BY_NAME[names[0]].needs - traits))}"
            )
        search.try_all(recipes)
        halve_all(search, portfolio.draw_variants(n_variants, search.seed, traits))
        failed = [each for each in search.candidates if each.error is not None]
        if not search.complete:
            assert failed[0].error is not None  # the first member is left out for no other reason
            with name_failure(f"member {failed[0].recipe.name!r}", self):
                raise failed[0].error
        for each in failed:
            warn_user(f"member {each.recipe.name!r} {each.reason}; it is left out")

    def _keep(self, search: Search) -> None:
        """Combine the members, and set the fitted attributes."""
        found = assemble(search, self.combination)
        terms = FitTerms(
            search.data, search.folds, search.loss, search.seed, search.budget.clock, self.n_jobs
        )
        bags = []
        for member in found.members:
            fits = [member.fits[fold_idx] for fold_idx in sorted(member.fits)]
            models = [fit.model for fit in fits]
            if search.refits and not search.budget.is_over:
                models = [fit_all(terms, member.recipe, round(member.n_rounds))]
            bags.append(self._make_bag(member.recipe, models, search.data))
        self._combined, self.combination_ = found.combined, found.kind
        self.weights_, self.leaderboard_ = found.weights, found.leaderboard
        self.diversity_, self.decomposition_ = found.diversity, found.decomposition
        self.out_of_fold_ = _place_rows(found.out_of_fold, search.data)
        self.estimators_ = bags

    def _make_bag(self, recipe: portfolio.Recipe, models: Sequence[Any], data: TrainingData) -> Bag:
        for model in models:
            if hasattr(model, "n_jobs"):
                model.set_params(n_jobs=self.n_jobs)
        return self._bag_class(recipe, models, data.make_reader(), data.classes)

    # --- after fit ---

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # read by column: as categories, or refused by name
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: everything except the training rows."""
        state = dict(super().__getstate__())
        if "_data" in state:
            state["_data"] = None
        return state

    @property
    def named_estimators_(self) -> Bunch:
        """The members of the ensemble by name."""
        check_is_fitted(self)
        return Bunch(**{bag.name: bag for bag in self.estimators_})

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of the features in the trees of the members, weighted as these."""
        check_is_fitted(self)
        found = [
            (weight, bag.find_importances())
            for bag, weight in zip(self.estimators_, self.weights_, strict=True)
        ]
        known = [(weight, shares) for weight, shares in found if shares is not None]
        if not known:
            raise AttributeError(
                "feature_importances_: no member of the ensemble has trees; use "
                "sklearn.inspection.permutation_importance"
            )
        total = np.sum([weight * shares for weight, shares in known], axis=0)
        return total / total.sum() if total.any() else total

    def save(self, path: Target) -> None:
        """Write the fitted ensemble to one file that :func:`sumwise.load` reads.

        The file holds arrays and JSON, no code, and predicts the same bits. It has neither the
        training rows nor ``out_of_fold_``, and no times in ``leaderboard_``.

        Parameters
        ----------
        path : str, path-like or binary file object
            File to write, see :meth:`sumwise.GradientBoostingRegressor.save`.
        """
        from sumwise.estimators.auto.saving import dump_ensemble  # only needed here

        check_is_fitted(self)
        write_bytes(path, dump_ensemble(self))

    def _describe(self) -> "PortableModel":
        from sumwise.estimators.auto.describing import describe_ensemble  # only needed here

        check_is_fitted(self)
        return describe_ensemble(self)

    def _collect(self, X: Any) -> np.ndarray:
        """Return the predictions of the members, members first."""
        check_is_fitted(self)
        rows = self._read_table(X)
        return np.stack([bag.predict_outputs(rows) for bag in self.estimators_])

    def _read_table(self, X: Any) -> ReadTable:
        return ReadTable.of(read_rows(self, read_members_rows(X)))

    def _combine(self, X: Any) -> np.ndarray:
        predictions = self._collect(X)
        return self._combined.combine(predictions)

    def _list_models(self, is_shared: bool) -> list[WeightedMember]:
        """Return the models that were fitted on the shared table, or the others, with weights."""
        return [
            WeightedMember(f"member {bag.name!r}", model, float(coef) / len(bag.models))
            for bag, coef in zip(self.estimators_, self._combined.coef, strict=True)
            for model in bag.models
            if bag.is_shared is is_shared
        ]

    # --- refit and distill ---

    def refit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Return an ensemble of the same members, each fitted once on all rows.

        It predicts faster than one model per fold, and takes less memory. The weights, and the
        mean numbers of rounds that the folds have found, stay.

        Parameters
        ----------
        X, y, sample_weight
            The rows; None for those of ``fit``, which a pickle does not contain.

        Returns
        -------
        estimator
        """
        check_is_fitted(self)
        data = self._find_data(X, y, sample_weight)
        model = copy(self)
        model._data = data
        data.table.describe_features(model)
        folds = Folds([], [], data.n_rows)
        terms = FitTerms(data, folds, self._loss, self._seed, self._clock, self.n_jobs)
        with _work_quietly():
            model.estimators_ = [
                self._make_bag(bag.recipe, [fit_all(terms, bag.recipe, bag.n_rounds)], data)
                for bag in self.estimators_
            ]
        return model

    def _find_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Return the rows to learn from again."""
        if X is not None:
            data = self._read(X, y, sample_weight, None)
            self._check_same(data)
            return data
        if self._data is None:
            raise DataError(
                f"{type(self).__name__}: neither a pickle nor a model file contains the training "
                "rows; pass X and y"
            )
        return self._data

    def _check_same(self, data: TrainingData) -> None:
        if data.n_features != self.n_features_in_:
            raise DataError(
                f"X has {data.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def distill(self, X: Any = None, **params: Any) -> Any:
        """Return one boosting model that has learned to predict what the ensemble predicts.

        It can be saved, exported, compiled and explained like any other model of sumwise.

        Parameters
        ----------
        X : frame, array-like or sparse matrix, default=None
            Rows to learn from; labels are not needed, so they may be many more than those of
            ``fit``. None for the rows of ``fit`` with their out-of-fold predictions.
        **params : dict
            Parameters of the model, in place of the defaults.

        Returns
        -------
        GradientBoostingClassifier or GradientBoostingRegressor
        """
        check_is_fitted(self)
        if X is not None:
            X = read_members_rows(X)
            return self._distill(X, self._combine(X), None, params)
        data = self._find_data(None, None, None)
        predictions = self.out_of_fold_ if data.kept is None else self.out_of_fold_[data.kept]
        predictions = predictions.copy()
        unknown = np.isnan(predictions.reshape(len(predictions), -1)[:, 0])
        predictions[unknown] = self._encode_truth(data.y[unknown])
        return self._distill(data.given, predictions, data.weight, params)

    def _choose_parameters(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of the distilled model."""
        own = {
            "categorical_features": self.categorical_features,
            "n_jobs": self.n_jobs,
            "random_state": self._seed,
        }
        return {**own, **params}

    @abstractmethod
    def _encode_truth(self, y: np.ndarray) -> np.ndarray:
        """Return true targets as predictions."""

    @abstractmethod
    def _distill(
        self, X: Any, predictions: np.ndarray, weight: np.ndarray | None, params: dict[str, Any]
    ) -> Any:
        """Return a model that has learned predictions."""


@contextmanager
def _work_quietly() -> Iterator[None]:
    """Within this context, libraries use one thread each, and do not warn about convergence.

    Then sums are in the same order for any number of threads: several folds run side by side.
    """
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _place_rows(values: np.ndarray, data: TrainingData) -> np.ndarray:
    """Return values of the rows that were used as those of all rows, NaN for the others."""
    if data.kept is None:
        return values
    placed = np.full((len(data.arguments.y), *values.shape[1:]), np.nan)
    placed[data.kept] = values
    return placed
