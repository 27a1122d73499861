"""What the gradient boosting estimators share: parameters, fit, and prediction of raw scores."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin

from sumwise.data.bundling import Bundling
from sumwise.data.matrix import stack_rows
from sumwise.data.native import Native
from sumwise.data.target_statistics import TargetStatistics
from sumwise.estimators.boosting.base_score import check_base_score, find_base_score
from sumwise.estimators.boosting.boosters import (
    check_features,
    resolve_booster,
    resolve_sampler,
    stops_by_oob,
)
from sumwise.estimators.boosting.categories import find_native, find_statistics, name_encoding_part
from sumwise.estimators.boosting.constraints import read_constraints
from sumwise.estimators.boosting.continuing import check_start, find_seed, find_start, make_past
from sumwise.estimators.boosting.encoding import encode_constraints, encode_rows
from sumwise.estimators.boosting.evaluation import (
    VALIDATION,
    ValidationSet,
    find_watched,
    make_evaluations,
    read_eval_sets,
    resolve_metrics,
)
from sumwise.estimators.boosting.fitted import BaseFittedBoosting
from sumwise.estimators.boosting.learning_rates import check_learning_rate, find_rates
from sumwise.estimators.boosting.leaves import check_leaves, resolve_leaves
from sumwise.estimators.boosting.losses import (
    name_loss_part,
)
from sumwise.estimators.boosting.multi_target import refuse_categories
from sumwise.estimators.boosting.splits import Tables, TableSource, check_splits, make_tables
from sumwise.estimators.boosting.validation import (
    LabeledRows,
    append_rows,
    as_target,
    check_groups,
    hold_out_rows,
    read_validation,
    require_groups,
)
from sumwise.estimators.combined.shared_table import SharedTable
from sumwise.estimators.fitted_state import forget_fit, starting_anew
from sumwise.estimators.input.by_feature import check_max_bins, read_max_bins, read_weights
from sumwise.estimators.input.features import (
    check_feature_parameters,
    read_training_data,
)
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import (
    check_callbacks,
    check_choice,
    check_integer,
    check_nested,
    check_number,
    name_part,
    resolve_part,
)
from sumwise.estimators.input.sparse import resolve_bundling
from sumwise.estimators.input.targets import check_init_score, check_sample_weight
from sumwise.losses import CustomLoss, Loss
from sumwise.sampling import ROW_SAMPLERS, Columns, RowSampler
from sumwise.training.boost import BoostingSettings, TrainingRows, boost
from sumwise.training.boosters import BOOSTERS, Booster
from sumwise.training.callbacks import Callback, Snapshot
from sumwise.training.progress import show_best_round, show_progress
from sumwise.training.rounds import BoostingResult
from sumwise.training.stopping import LOSS, OOB, SCORE, EarlyStopping
from sumwise.tree import GrowthSettings, LinearLeaves
from sumwise.tree.growth import GROWTH

# Steps that a value costs in a tree, at least; a second thread pays from about 1,000 x 25 on.
_STEPS_PER_VALUE = 8

_Class = TypeVar("_Class", bound=type)

# What a fit learns besides attributes that end in an underscore.
_LEARNED = ("_custom_link", "_encoder", "_encodes", "_seed", "_watched")

_PARAMETERS = """n_estimators : int, default=100
        Rounds of boosting; a round adds one tree (one a class for more than two classes).
    learning_rate : float, callable or sequence of float, default=0.1
        Factor on each tree's values. A function of the number of the round, from 0, or a sequence
        of at least ``n_estimators`` rates makes it a schedule.
    base_score : float, array-like of shape (n_classes,) or None, default=None
        What is predicted before the first round: a mean, the probability of the second of two
        classes, or one probability per class. None for the best constant. With a link of your own
        it is a raw score.
    growth : {"leaf", "depth", "symmetric"}, default="leaf"
        How trees grow: always the best leaf next; level by level; or one split for a whole level.
    max_leaves : int or None, default=None
        Most leaves of a tree. None: 31 for leaf-wise growth, no limit otherwise.
    max_depth : int or None, default=None
        Most splits from the root to a leaf. None: no limit for leaf-wise growth; otherwise 6, or
        no limit of its own if ``max_leaves`` is given. Symmetric trees have at most 16 levels.
    min_samples_leaf : int, default=20
        Fewest rows of a leaf. In symmetric trees, a node that the split of its level would leave
        with fewer gains nothing by it, and both children keep its value.
    min_child_weight : float, default=1e-3
        Smallest sum of hessians of a leaf.
    min_gain : float, default=0.0
        A split must gain more than this (half the difference of scores, as in the XGBoost paper).
    max_bins : int, array-like of int or dict, default=255
        Most bins of a feature, 2 to 65,535; missing values have one more of their own. More than
        255 take several times as long. An array has one number for each feature, a dict gives them
        by feature name, 255 for all others.
    splits : {"histogram", "approx", "exact"}, default="histogram"
        Where splits may be: "histogram" between bins that are the same for all trees; "approx"
        between bins of each tree, quantiles weighted by its hessians; "exact" between any two
        values, for small data.
    extra_trees : bool, default=False
        Whether a node looks at one random split of each feature in place of all.
    l1, l2 : float, default=0.0 and 1.0
        Penalties on leaf values; on the choice of splits alone for losses whose leaves are medians
        or quantiles.
    max_delta_step : float, default=0.0
        Largest leaf value before the learning rate; 0 means no limit.
    path_smooth : float, default=0.0
        Draws the value of a node to that of its parent, by half where it has as many rows; 0 means
        not at all. On the choice of splits alone for losses whose leaves are medians or quantiles.
    leaves : {"constant", "linear"} or LinearLeaves, default="constant"
        What leaves hold: a value, or a linear model of the numeric features above them.
        :class:`LinearLeaves` has a parameter.
    booster : {"plain", "ordered", "dart", "forest", "linear"} or a part, default="plain"
        What a round does: "plain" adds a tree to the model so far; "ordered" grows it on residuals
        of models that have not seen the row; "dart" drops some of the trees before; "forest"
        averages trees that do not build on each other; "linear" fits a linear model in place of
        trees. The parts :class:`Plain`, :class:`Ordered`, :class:`Dart`, :class:`Forest` and
        :class:`Linear` have parameters.
    sampler : str, a part or None, default=None
        Rows that each round's trees are grown on; None for all. :class:`Subsample`, :class:`Goss`,
        :class:`Mvs`, :class:`BayesianBootstrap`, :class:`ClassSubsample`, :class:`GroupSubsample`,
        or the name of one in lower case.
    columns : Columns or None, default=None
        Features that each tree, level or node may split on; None for all.
    categorical_features : "auto", list or None, default="auto"
        Features whose values are categories: "auto" for strings and categorical types, a list of
        names, indices or booleans, or None for none.
    categorical_encoding : str, Native or TargetStatistics, default="auto"
        How trees use categories: "native" splits by sets of them, "onehot" by one of them;
        "ordered", "greedy", "holdout" and "leave_one_out" make them numbers, see
        :class:`TargetStatistics`. "auto": "ordered" if a feature has more than 50 categories,
        else "native".
    unknown_category : {"missing", "error"}, default="missing"
        What a category that was not in the training data is at prediction: a missing value (the
        prior, where statistics encode it) or an error.
    extra_columns : {"error", "ignore"}, default="error"
        What a column of a frame is that was not there in ``fit``.
    sparse_zeros : {"value", "missing"}, default="value"
        What a sparse X has where nothing is stored: zeros, or missing values.
    bundling : "auto", Bundling or None, default="auto"
        How sparse features share columns. "auto" is ``Bundling()``, which changes no model; None
        for a column each.
    monotonic_cst : array-like of int, dict or None, default=None
        For each feature 1, if predictions must not fall as it rises; -1, if they must not rise;
        otherwise 0. A dict gives it by feature name, 0 for all others. For a classifier it is the
        probability of the second of two classes. Missing values have no order.
    interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
        Features that may interact: those above a leaf all belong to one group of feature indices
        or names. Features in no group form one more. "pairwise": any two; "no_interactions": none.
    early_stopping : "auto", "oob" or bool, default="auto"
        Stop when validation rows are predicted no better, and keep the best round. "auto": if
        ``X_val`` is passed to ``fit``. True: if it is not passed, rows are held out. "oob": when
        rounds improve no more on the rows that their ``sampler`` leaves out.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    validation_rows : {"random", "last"}, default="random"
        Which rows are held out: random ones, with the shares of the classes (whole groups if
        ``groups`` are passed to ``fit``), or the last ones, for rows in the order of time.
    scoring : str, callable, list or dict of these, default="loss"
        What is measured of validation rows beside the loss: "loss" for nothing else, a scikit-learn
        scorer by name, a function of (estimator, X, y), or a metric, a function of (y_true,
        y_pred). Higher is better, unless the name of a metric ends in ``_loss``, ``_error`` or
        ``_deviance``. Of several, early stopping watches the last.
    n_iter_no_change : int, default=10
        Rounds without improvement after which early stopping stops.
    tol : float, default=0.0
        An improvement must be larger than this.
    track_training_loss : bool, default=False
        Whether ``history_`` has the "training_loss" after each round, which takes time.
    callbacks : list of callables or None, default=None
        Called after each round with a :class:`RoundState`; one that returns True stops training.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the rounds of the last ``fit``; ``n_estimators`` is the total.
    n_jobs : int or None, default=None
        Threads; None or -1 for all CPUs. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of sampling, of permutations (ordered statistics and ordered boosting) and of the
        held-out rows. Without a number they differ from fit to fit; only a fit that goes on holds
        out the same rows as before.
    verbose : bool, default=False
        Show rounds, scores and time left on standard error: a bar with the package rich."""


def document_parameters(kind: _Class) -> _Class:
    """Put the parameters that both estimators share into the docstring."""
    assert kind.__doc__ is not None
    kind.__doc__ = kind.__doc__.replace("{parameters}", _PARAMETERS)
    return kind


class BaseGradientBoosting(BaseFittedBoosting):
    """What classifier and regressor share."""

    _takes_sparse = True
    # Whether statistics of the target make numbers of categories: known before the encoder is.
    _encodes: bool = False

    def __init__(
        self,
        *,
        loss: Any = "auto",
        n_estimators: int = 100,
        learning_rate: Any = 0.1,
        base_score: Any = None,
        # trees
        growth: str = "leaf",
        max_leaves: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        min_gain: float = 0.0,
        max_bins: Any = 255,
        splits: str = "histogram",
        extra_trees: bool = False,
        # regularization
        l1: float = 0.0,
        l2: float = 1.0,
        max_delta_step: float = 0.0,
        path_smooth: float = 0.0,
        leaves: LinearLeaves | str = "constant",
        # rounds
        booster: Booster | str = "plain",
        sampler: RowSampler | str | None = None,
        columns: Columns | None = None,
        # features
        categorical_features: Any = "auto",
        categorical_encoding: Native | TargetStatistics | str = "auto",
        unknown_category: str = "missing",
        extra_columns: str = "error",
        sparse_zeros: str = "value",
        bundling: Bundling | str | None = "auto",
        # constraints
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        # validation
        early_stopping: str | bool = "auto",
        validation_fraction: float = 0.1,
        validation_rows: str = "random",
        scoring: Any = "loss",
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        track_training_loss: bool = False,
        # running
        callbacks: Sequence[Callback] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.base_score = base_score
        self.growth = growth
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.splits = splits
        self.extra_trees = extra_trees
        self.l1 = l1
        self.l2 = l2
        self.max_delta_step = max_delta_step
        self.path_smooth = path_smooth
        self.leaves = leaves
        self.booster = booster
        self.sampler = sampler
        self.columns = columns
        self.categorical_features = categorical_features
        self.categorical_encoding = categorical_encoding
        self.unknown_category = unknown_category
        self.extra_columns = extra_columns
        self.sparse_zeros = sparse_zeros
        self.bundling = bundling
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.validation_rows = validation_rows
        self.scoring = scoring
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.track_training_loss = track_training_loss
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        """Return y as the loss takes it; ``start`` is the model to continue from, or None."""

    @abstractmethod
    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        """Return y_val as the loss takes it."""

    @abstractmethod
    def _make_loss(self) -> Loss:
        """Return the loss, after the target is known."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        *,
        groups: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score_val: Any = None,
        eval_set: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        init_model: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers of any type, strings, categories or dates; NaN and null are missing values,
            infinities are values. A frame of pandas, polars or Arrow gives names, too.
        y : array-like of shape (n_rows,) or, for a regressor, (n_rows, n_targets)
            Target, or several of them.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights; a weight of 2 counts as the row twice, of 0 as not at all.
        init_score : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
            Raw scores to start from, in place of the best constant (with a log link, the best
            constant is added to them). Predictions do not contain them: add them to
            ``decision_function`` or, for a regressor with the identity link, to ``predict``. With a
            log link, ``init_score=np.log(exposure)`` makes predictions rates per exposure.
        groups : array-like of shape (n_rows,), default=None
            Where rows are held out for early stopping: rows of one group are held out together.
            With ``sampler=GroupSubsample(...)`` they are also drawn together.
        X_val, y_val : array-like, default=None
            Rows to validate on. They shape neither bins nor trees.
        sample_weight_val, init_score_val : array-like, default=None
            What belongs to them, as ``sample_weight`` and ``init_score`` to X.
        eval_set : list of pairs (X, y), default=None
            Further validation sets, each measured after every round. With ``early_stopping=True``
            the last one is watched, unless there is ``X_val``.
        eval_names : list of str, default=None
            What ``history_`` calls them; None for "valid_0", "valid_1", ...
        eval_sample_weight, eval_init_score : list of array-like or None, default=None
            What belongs to them, one entry per set.
        init_model : fitted estimator or path of a model file, default=None
            Model whose rounds come first; ``n_estimators`` counts them, too. With the data and
            parameters of that model, the result is the same as if it had been fitted at once. Which
            features are categories, and of which values, is taken from it.

        Returns
        -------
        self
        """
        start = find_start(self, init_model)
        with starting_anew(self._forget_fit):
            growth = self._check_parameters()
            given = X
            self._encodes = start is not None and start._encodes
            X, y, self.schema_ = read_training_data(self, X, y, getattr(start, "schema_", None))
            if start is None:
                self._encodes = find_statistics(self, self.schema_.n_categories) is not None
            target = as_target(self._encode_target(y, start))
            loss = self._make_loss()
            weight = self._weigh_classes(target, check_sample_weight(sample_weight, X.shape[0]))
            loss.check_target(target, np.empty(0) if weight is None else weight)
            init_score = check_init_score(init_score, X.shape[0], loss.n_outputs)
            check_base_score(self, init_score)
            check_start(self, start, loss, init_score)
            train = LabeledRows(given, X, y, target, weight, init_score)
            of_sets = (eval_set, eval_names, eval_sample_weight, eval_init_score)
            sets = read_eval_sets(self, loss, *of_sets)
            valid = read_validation(self, loss, X_val, y_val, sample_weight_val, init_score_val)
            if valid is not None:
                sets = [*sets, ValidationSet(VALIDATION, valid)]
            return self._train(train, sets, groups, loss, growth, start)

    def _fit_rows(
        self,
        table: SharedTable,
        rows: np.ndarray,
        groups: np.ndarray | None = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Fit on some rows, which ascend, of a table that is binned already.

        ``groups`` has an entry for every row of the table. ``n_jobs`` takes the place of the
        parameter; ``callbacks`` come after those of the user.
        """
        with starting_anew(self._forget_fit):
            growth = self._check_parameters()
            table.describe_features(self)
            own = as_target(self._encode_target(table.y[rows], None))
            loss = self._make_loss()
            own_weight = None if table.weight is None else table.weight[rows]
            own_weight = self._weigh_classes(own, own_weight)
            loss.check_target(own, np.empty(0) if own_weight is None else own_weight)
            # The other rows have a target that every loss can take, and nothing comes of it.
            target, weight = as_target(np.repeat(own[:1], table.n_rows, axis=0)), None
            target[rows] = own
            if own_weight is not None:
                weight = np.zeros(table.n_rows)
                weight[rows] = own_weight
            train = LabeledRows(table.given, table.matrix, table.y, target, weight, None, rows)
            return self._train(train, [], groups, loss, growth, None, table, n_jobs, callbacks)

    def _train(
        self,
        train: LabeledRows,
        sets: Sequence[ValidationSet],
        groups: Any,
        loss: Loss,
        growth: GrowthSettings,
        start: Any,
        table: SharedTable | None = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Grow the trees; bin the rows, unless they lie in a shared table."""
        seed = find_seed(self, start)
        native, booster, sampler, columns = self._resolve_parts()
        booster = self._adapt_booster(booster)
        check_features(self, booster, self.schema_.n_categories)
        # Sets are only measured unless stopping is asked for, as rivals' are; X_val asks for it.
        has_own_rows = bool(sets) and sets[-1].name == VALIDATION
        stops = has_own_rows if self.early_stopping == "auto" else bool(self.early_stopping)
        holds_out = stops and not stops_by_oob(self)
        rows = self._number_rows(train, sets, groups, holds_out, seed)
        draws = holds_out and not sets and self.validation_rows == "random"
        if draws and not isinstance(self.random_state, Integral):
            self._seed = seed  # the same rows are held out if another fit goes on
        of_rows = None
        if sampler is not None and sampler.needs_groups:
            of_rows = require_groups(self, groups, train.n_rows)
        rows = replace(rows, groups=of_rows, classes=getattr(self, "classes_", None))
        encoded = encode_rows(self, train, sets, rows, seed, start, booster, n_jobs or self.n_jobs)
        train, sets, rows = encoded.train, encoded.sets, encoded.rows
        self._encoder = encoded.encoder
        self._encodes = encoded.encoder is not None
        X, weight, n_categories = train.matrix, train.weight, encoded.n_categories
        check_leaves(self, train, loss)
        if booster.shares_splits:
            refuse_categories(self, n_categories)
        # Before it takes anything from the rows, for the model keeps it; and before training, for
        # scorers and callbacks predict with the rounds so far.
        self._custom_link = loss if isinstance(loss, CustomLoss) and loss.inverse_link else None
        loss = loss.adapt(rows.target, rows.weight, rows.train, rows.init_score)
        constraints = read_constraints(self, self.schema_.n_categories > 0)
        constraints = encode_constraints(constraints, encoded.encoder)
        settings = BoostingSettings(
            loss=loss,
            growth=replace(growth, constraints=constraints),
            n_rounds=int(self.n_estimators),
            rates=find_rates(self),
            booster=booster,
            sampler=sampler,
            columns=read_weights(self, columns, encoded.encoder),
            leaves=resolve_leaves(self),
            stopping=self._make_stopping(sets) if stops else None,
            seed=seed,
            track_training_loss=bool(self.track_training_loss) or self._is_watched(),
            base_score=find_base_score(self, loss),
            evaluated=make_evaluations(self, train, sets, rows.valid, loss.link),
            make_model=self._make_model,
        )
        with (
            show_progress(bool(self.verbose)) as shown,
            start_team(n_jobs or self.n_jobs, _STEPS_PER_VALUE * X.size) as team,
        ):
            told = [*shown, *(self.callbacks or ()), *callbacks]
            settings = replace(settings, callbacks=told)
            tables = Tables()
            if table is not None:
                tables = Tables(table.data, table.mapper)
            elif booster.grows_trees:
                source = TableSource(
                    X,
                    stack_rows([part.rows.matrix for part in sets]) if sets else None,
                    encoded.variants,
                    rows.train,
                    growth.min_samples_leaf,
                    weight,
                    n_categories,
                    native,
                    seed,
                    read_max_bins(self, encoded.encoder),
                    needs_columns=booster.shares_splits,
                )
                tables = make_tables(self, source, team)
            data, mapper, more = tables
            matrices = [train.matrix, *(part.rows.matrix for part in sets)]
            past = make_past(start, matrices)
            result = boost(data, mapper, rows, settings, team, past, matrices, more)
        if self.verbose and settings.stopping is not None:
            seen = settings.stopping.watched
            best_round = result.ensemble.n_rounds
            show_best_round(result.history[seen], best_round, settings.n_rounds, seen)
        watched, _ = find_watched(self, sets)
        if rows.valid.size and watched != (SCORE if SCORE in result.history else LOSS):
            self._watched = watched
        self.history_ = result.history
        self.ensemble_ = result.ensemble  # last: with it the estimator counts as fitted
        return self

    def _forget_fit(self) -> None:
        """Drop everything that was learned."""
        forget_fit(self)
        for name in _LEARNED:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.leaves == "constant"
        tags.input_tags.string = True  # read by column: as categories, or refused by name
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of parts as ``sampler__rate=...``."""
        parts = {
            "booster": name_part("booster", BOOSTERS, params),
            "sampler": name_part("sampler", ROW_SAMPLERS, params),
            "columns": "Columns",
            "leaves": "LinearLeaves",
            "categorical_encoding": name_encoding_part(params),
            "bundling": "Bundling",
            "loss": name_loss_part(params),
        }
        check_nested(self, params, parts)
        return super().set_params(**params)

    def _resolve_parts(self) -> tuple[Native, Booster, RowSampler | None, Columns | None]:
        """Return the checked parts: categorical splits, booster, row and column sampling."""
        return (
            find_native(self),
            resolve_booster(self),
            resolve_sampler(self),
            resolve_part(self, "columns", [Columns], names=False),
        )

    def _check_parameters(self) -> GrowthSettings:
        self._resolve_parts()
        check_integer(self, "n_estimators", 1)
        check_max_bins(self)
        check_splits(self)
        check_choice(self, "early_stopping", ("auto", "oob", True, False))
        check_number(self, "validation_fraction", 0.0, 0.99, open_low=True)
        check_choice(self, "validation_rows", ("random", "last"))
        resolve_metrics(self)
        check_integer(self, "n_iter_no_change", 1)
        check_number(self, "tol", 0.0)
        check_choice(self, "track_training_loss", (True, False))
        check_callbacks(self)
        check_feature_parameters(self)
        check_choice(self, "sparse_zeros", ("value", "missing"))
        resolve_bundling(self)
        resolve_leaves(self)
        return GrowthSettings(
            growth=check_choice(self, "growth", tuple(GROWTH)),
            max_leaves=check_integer(self, "max_leaves", 2, optional=True),
            max_depth=check_integer(self, "max_depth", 1, optional=True),
            min_samples_leaf=check_integer(self, "min_samples_leaf", 1) or 1,
            min_child_weight=check_number(self, "min_child_weight", 0.0),
            min_gain=check_number(self, "min_gain", 0.0),
            l1=check_number(self, "l1", 0.0),
            l2=check_number(self, "l2", 0.0),
            max_delta_step=check_number(self, "max_delta_step", 0.0),
            learning_rate=check_learning_rate(self),
            path_smooth=check_number(self, "path_smooth", 0.0),
            extra_trees=bool(check_choice(self, "extra_trees", (True, False))),
        )

    def _number_rows(
        self,
        train: LabeledRows,
        sets: Sequence[ValidationSet],
        groups: Any,
        stops: bool,
        seed: int,
    ) -> TrainingRows:
        """Choose training and validation rows; rows of weight zero are in neither."""
        if sets:
            return append_rows(train, [part.rows for part in sets])
        rows = train.find_rows()
        if not stops:
            return train.number(rows, rows[:0])
        labels = train.target[rows] if isinstance(self, ClassifierMixin) else None
        groups = check_groups(self, groups, train.n_rows)
        held_out = hold_out_rows(
            rows,
            self.validation_fraction,
            self.validation_rows,
            None if groups is None else groups[rows],
            labels,
            seed,
        )
        return train.number(*held_out)

    def _is_watched(self) -> bool:
        """Whether somebody looks at scores: measuring the training loss takes time."""
        return bool(self.verbose) or any(not isinstance(c, Snapshot) for c in self.callbacks or ())

    def _make_stopping(self, sets: Sequence[ValidationSet]) -> EarlyStopping:
        watched = (OOB, False) if stops_by_oob(self) else find_watched(self, sets)
        return EarlyStopping(self.n_iter_no_change, self.tol, *watched)

    def _adapt_booster(self, booster: Booster) -> Booster:
        """Return what a round does, once the target is known."""
        return booster

    def _weigh_classes(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Sample weights times the weights of classes, if there are any."""
        return weight

    def _make_model(self, result: BoostingResult) -> Self:
        """Return a fitted copy, while this one is still being fitted."""
        model = copy(self)
        model.history_ = result.history
        model.ensemble_ = result.ensemble
        return model
