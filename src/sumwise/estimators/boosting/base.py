"""The base of the gradient boosting estimators: ``fit``, step by step, and ``refit``."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sumwise.data.batches.sources import is_source
from sumwise.data.categories.target_statistics import TargetStatistics
from sumwise.errors import DataError, ParameterError, PeersError
from sumwise.estimators.boosting.automatic import (
    PLAIN_VALUES,
    SEED,
    encodes_all,
    fixes_seed,
    is_auto,
    measures_rounds,
    name_encoding,
    resolve_automatic,
    with_values,
)
from sumwise.estimators.boosting.base_score import check_base_score, find_base_score
from sumwise.estimators.boosting.boosters import refuse_categories, resolve_booster
from sumwise.estimators.boosting.categories import name_encoding_part
from sumwise.estimators.boosting.constraints import read_directions
from sumwise.estimators.boosting.continuing import (
    Start,
    check_chosen_rounds,
    check_start,
    find_start,
)
from sumwise.estimators.boosting.devices import open_devices
from sumwise.estimators.boosting.encoding import encode_categories, find_encoding
from sumwise.estimators.boosting.evaluation import VALIDATION, read_eval_sets
from sumwise.estimators.boosting.fitted import UNKNOWN, BaseFittedBoosting
from sumwise.estimators.boosting.learning_rates import find_rates
from sumwise.estimators.boosting.losses import name_loss_part
from sumwise.estimators.boosting.measured_rounds import can_measure, measure_rounds
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.pipeline import (
    check_parameters,
    check_support,
    collect_rows,
    draws_held_out,
    find_watched,
    make_settings,
    stops_early,
)
from sumwise.estimators.boosting.refitting import check_decay, check_loss, check_refittable
from sumwise.estimators.boosting.rows import FitData, GivenRows, LabeledRows, as_array
from sumwise.estimators.boosting.splits import make_table, move_table
from sumwise.estimators.boosting.tasks import Task, as_target
from sumwise.estimators.boosting.validation import read_validation
from sumwise.estimators.calibrated.unseen import needs_unseen
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.input.features import FeatureSchema, read_training_data
from sumwise.estimators.input.jobs import LONG_STEPS, start_team
from sumwise.estimators.input.parameters import check_nested, name_part
from sumwise.estimators.input.targets import read_target
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import CustomLoss
from sumwise.peers import Peers
from sumwise.sampling import ROW_SAMPLERS
from sumwise.training.boost import BoostingSettings, TrainingTable, boost
from sumwise.training.boosters import BOOSTERS, Booster
from sumwise.training.callbacks import Callback
from sumwise.training.progress import show_best_round, show_progress
from sumwise.training.rounds import BoostingResult
from sumwise.training.stopping import LOSS, SCORE
from sumwise.tree import GrowthSettings
from sumwise.tree.parallel import DATA, Parallel

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device
    from sumwise.estimators.boosting.out_of_core import Budget

    # It imports this module.
    from sumwise.estimators.combined.shared_table import SharedTable

# Elementary steps per value of a tree, at least; a second thread pays from about 1,000 x 25 on.
_STEPS_PER_VALUE = 8


def _share_seed(seed: int, *all_peers: Peers) -> int:
    """Return the seed of the first process; ``random_state`` may give each another one."""
    for peers in all_peers:
        if peers.size > 1:
            seed = int(peers.gather(np.array([seed]))[0][0])
    return seed


def _take_growth(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that :class:`GrowthSettings` has, too."""
    names = {field.name for field in fields(GrowthSettings)}
    return {name: value for name, value in chosen.items() if name in names}


@contextmanager
def _knowing_seed(seed: int) -> Iterator[None]:
    """Give the model that a lost peer leaves the seed of its fit, which goes on elsewhere."""
    try:
        yield
    except PeersError as error:
        fitted: Any = getattr(error, "fitted", None)
        if fitted is not None:
            fitted._seed = seed
        raise


class BaseGradientBoosting(BoostingParameters, BaseFittedBoosting):
    """Shared by classifier and regressor."""

    _fitted_privately = ("_chosen", "_custom_link", "_encoder", "_seed", "_watched")
    schema_: FeatureSchema

    @abstractmethod
    def _learn_task(self, y: np.ndarray, classes: np.ndarray | None) -> tuple[Task, np.ndarray]:
        """Return what to learn, and y as the loss takes it.

        ``classes`` are those of the model to continue from, or None.
        """

    def _check_parameters(self) -> GrowthSettings:
        """Check all parameters before any data is read; return those of growth."""
        return check_parameters(self)

    def _adapt_booster(self, booster: Booster, task: Task) -> Booster:
        """Return the booster for a task."""
        return booster

    # --- fit ---

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
        memory_limit: int | str | None = None,
        cache_dir: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers of any type, strings, categories or dates; NaN and null are missing values,
            infinities are values. A frame of pandas, polars or Arrow gives names, too.

            Or rows that are read in batches and need not fit into memory: the path of a Parquet
            file or of a folder of such files, a ``pyarrow.dataset.Dataset``, or a function without
            arguments that returns an iterator of record batches or frames, anew for each pass. The
            model has the same bytes as if all rows were in memory. See ``docs/guide/scale.md``.
        y : array-like of shape (n_rows,) or, for a regressor, (n_rows, n_targets)
            Target, or several of them. If X is read in batches, the name of its column, or a list
            of names; ``sample_weight``, ``init_score`` and ``groups`` may be names then, too. All
            other columns are features.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights; a row of weight 2 counts twice, and a row of weight 0 is ignored.
        init_score : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
            Raw scores to start from, in place of the best constant (with a log link, the best
            constant is added to them). Predictions do not contain them: add them to
            ``decision_function`` or, for a regressor with the identity link, to ``predict``. With a
            log link, ``init_score=np.log(exposure)`` makes predictions rates per exposure.
        groups : array-like of shape (n_rows,), default=None
            If rows are held out for early stopping, rows of one group are held out together. With
            ``sampler=GroupSubsample(...)`` they are also drawn together.
        X_val, y_val : array-like, default=None
            Rows to validate on. They affect neither bins nor trees.
        sample_weight_val, init_score_val : array-like, default=None
            Their weights and initial scores.
        eval_set : list of pairs (X, y), default=None
            Further validation sets, each measured after every round. With ``early_stopping=True``
            the last one is watched, unless there is ``X_val``.
        eval_names : list of str, default=None
            Their names in ``history_``; None for "valid_0", "valid_1", ...
        eval_sample_weight, eval_init_score : list of array-like or None, default=None
            Their weights and initial scores, one entry per set.
        init_model : fitted estimator or path of a model file, default=None
            Model to continue; ``n_estimators`` counts its rounds, too. With the data and parameters
            of that model, the result is the same as if it had been fitted at once. Categorical
            features and their values are those of the model.
        memory_limit : int, str or None, default=None
            If X is read in batches: the memory that the fit may use, in bytes or as "4GB", besides
            what the process uses already. None for what is free on the machine, in the container
            and within the limits of the process.
        cache_dir : path or None, default=None
            If X is read in batches: the folder for the binned pages that do not fit into memory,
            about two bytes per value. None for the system's folder of temporary files. Nothing is
            left there, even if the process is killed.

        Returns
        -------
        self
        """
        options = {
            "groups": groups,
            "X_val": X_val,
            "y_val": y_val,
            "sample_weight_val": sample_weight_val,
            "init_score_val": init_score_val,
            "eval_set": eval_set,
            "eval_names": eval_names,
            "eval_sample_weight": eval_sample_weight,
            "eval_init_score": eval_init_score,
            "init_model": init_model,
        }
        if is_source(X) or memory_limit is not None or cache_dir is not None:
            from sumwise.estimators.boosting.out_of_core import check_source_fit

            options["budget"] = check_source_fit(self, X, memory_limit, cache_dir)
        if not needs_unseen(self):
            return self._fit_trees(X, y, sample_weight, init_score, **options)
        from sumwise.estimators.boosting.calibrating import fit_calibrated  # only needed here

        fit_calibrated(self, X, y, sample_weight, init_score, options)
        return self

    def _fit_trees(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        init_score: Any,
        *,
        groups: Any,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
        init_score_val: Any,
        eval_set: Any,
        eval_names: Any,
        eval_sample_weight: Any,
        eval_init_score: Any,
        init_model: Any,
        budget: "Budget | None" = None,
    ) -> Self:
        """Fit without calibration; the arguments are those of ``fit``.

        ``budget`` is what a fit may use if X is read in batches.
        """
        found = find_start(self, init_model)
        start = Start() if found is None else found._make_start()
        with starting_anew(self), ExitStack() as stack:
            growth = self._check_parameters()
            devices = stack.enter_context(open_devices(self))  # or say at once what is missing
            given = GivenRows(X, y, sample_weight, init_score, groups)
            matrix, given = self._read_given(given, start, budget)
            y, groups = given.y, given.groups
            task, target = self._learn_task(y, start.classes)
            scores = (given.sample_weight, given.init_score)
            train = LabeledRows.label(task, given.X, matrix, y, target, *scores)
            check_base_score(self, train.init_score is not None)
            check_start(self, start, task.loss, train.init_score is not None)
            encoding = None
            if budget is None:
                by_rule = encodes_all(self, task.loss)
                encoding = find_encoding(self, self.schema_.n_categories, start, by_rule)
            unknown_code = np.nan if encoding is None else UNKNOWN
            read = partial(read_validation, self, task, unknown_code, budget is not None)
            sets = read_eval_sets(read, eval_set, eval_names, eval_sample_weight, eval_init_score)
            valid = read(VALIDATION, X_val, y_val, sample_weight_val, init_score_val)
            if valid is not None:
                sets = [*sets, valid]
            own = (train, sets, task, growth, start, encoding, groups, devices)
            return self._train(*own, budget=budget)

    def _read_given(
        self, given: GivenRows, start: Start, budget: "Budget | None"
    ) -> tuple[Any, GivenRows]:
        """Return the features as a matrix, and the other arguments of ``fit`` as arrays."""
        if budget is not None:
            from sumwise.estimators.boosting.out_of_core import read_source  # few fits need it

            return read_source(self, given, start, budget)
        matrix, y, self.schema_ = read_training_data(
            self,
            given.X,
            given.y,
            start.schema,
            many_targets=not is_classifier(self),
            unknown_code=np.nan if start.encoder is None else UNKNOWN,
        )
        return matrix, given._replace(y=y)

    def _fit_rows(
        self,
        table: "SharedTable",
        rows: np.ndarray,
        groups: np.ndarray | None = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] = (),
        measured: Mapping[str, np.ndarray] = MappingProxyType({}),
    ) -> Self:
        """Fit on some rows, in ascending order, of a table that is binned already.

        ``groups`` has an entry for every row of the table. ``n_jobs`` replaces the parameter;
        ``callbacks`` are called after those of the user. ``measured`` are sets of other rows, in
        ascending order, whose loss is measured after each round: by name, as in ``history_``.
        """
        with starting_anew(self), ExitStack() as stack:
            growth = self._check_parameters()
            devices = stack.enter_context(open_devices(self))
            table.describe_features(self)
            task, own = self._learn_task(table.y[rows], None)
            own_weight = task.weigh(own, None if table.weight is None else table.weight[rows])
            task.loss.check_target(own, as_array(own_weight))
            # The other rows get a target that is valid for every loss, and is not used.
            every = np.repeat(own[:1], table.n_rows, axis=0)
            target, weight = as_target(every, own.dtype), None
            target[rows] = own
            if own_weight is not None:
                weight = np.zeros(table.n_rows)
                weight[rows] = own_weight
            for others in measured.values():
                target[others] = task.encode(table.y[others], "y")
                if weight is not None:
                    others_weight = None if table.weight is None else table.weight[others]
                    found = task.weigh(target[others], others_weight)
                    weight[others] = 1.0 if found is None else found
            known = (table.given, table.matrix, table.y, target, weight, None, rows)
            train = LabeledRows(*known, measured=measured)
            shared = TrainingTable([table.matrix], table.data, table.mapper)
            options = (groups, devices, shared, n_jobs, callbacks)
            return self._train(train, [], task, growth, Start(), None, *options)

    def _train(
        self,
        train: LabeledRows,
        sets: Sequence[LabeledRows],
        task: Task,
        growth: GrowthSettings,
        start: Start,
        encoding: TargetStatistics | None,
        groups: Any,
        devices: Sequence["Device"],
        table: TrainingTable | None = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] = (),
        budget: "Budget | None" = None,
        parallel: Parallel = DATA,
    ) -> Self:
        """Encode and bin the rows, unless a table is given, and boost."""
        n_jobs = n_jobs or self.n_jobs
        is_fixed = fixes_seed(self, task.loss) and not draws_held_out(self, sets)
        seed = start.find_seed(self.random_state, SEED if is_fixed else None)
        is_fixed = is_fixed and seed == start.find_seed(SEED)
        seed = _share_seed(seed, train.peers, parallel.peers)
        booster = self._adapt_booster(resolve_booster(self), task)
        refuse_categories(self, booster, self.schema_.n_categories)
        data = collect_rows(self, train, sets, task, groups, seed)
        if draws_held_out(self, sets):
            self._seed = seed  # a fit that continues this one must hold out the same rows
        if encoding is not None:
            data = encode_categories(self, booster, data, encoding, start.encoder, seed, n_jobs)
            self._encoder = data.encoder
        chosen = self._choose_automatic(data, task, is_fixed)
        growth = replace(growth, **_take_growth(chosen))
        # The model keeps the loss without its rows. Scorers and callbacks need it while training.
        loss = task.loss
        self._custom_link = loss if isinstance(loss, CustomLoss) and loss.inverse_link else None
        check_support(self, data, loss, booster)
        settings = make_settings(with_values(self, chosen), data, loss, growth, booster, seed)
        settings = replace(settings, parallel=parallel)
        n_values = data.train.matrix.size
        n_steps, n_grown = _STEPS_PER_VALUE * n_values, None
        if not devices:
            n_grown = n_values
        elif n_steps >= LONG_STEPS:
            # Threads only bin the table, some rows at a time: an interrupt comes in between.
            n_steps = LONG_STEPS - 1
        with (
            ExitStack() as stack,
            show_progress(bool(self.verbose)) as shown,
            start_team(n_jobs, n_steps, n_grown) as team,
        ):
            told = [*shown, *(self.callbacks or ()), *callbacks]
            if not booster.grows_trees:
                table = TrainingTable(data.matrices)
            elif budget is not None:
                opened = budget.open_table(self, data, settings, team, start.past is not None)
                table = stack.enter_context(opened)
            elif table is None:
                table = make_table(self, data, settings, team, devices)
            elif devices:
                table = move_table(table, data.rows, settings, team, devices)
            if measures_rounds(self, loss) and can_measure(data.rows, settings):
                settings = self._measure_rounds(table, data, settings, team)
            if "n_estimators" in chosen:
                check_chosen_rounds(settings.n_rounds, start)
            settings = replace(settings, callbacks=told, make_model=self._make_model)
            with _knowing_seed(seed):
                result = boost(table, data.rows, settings, team, start.past)
        self._keep(result, settings, data)
        return self

    # --- steps of a fit ---

    def _choose_automatic(self, data: FitData, task: Task, is_fixed: bool) -> dict[str, Any]:
        """Choose the automatic parameters; ``is_fixed``: the seed is that of the rule."""
        stops, encodes = stops_early(self, data.sets), data.encoder is not None
        size = data.rows.n_train
        self._chosen = resolve_automatic(self, size, task.loss, stops, encodes, is_fixed)
        return self._chosen

    def _measure_rounds(
        self,
        table: TrainingTable,
        data: FitData,
        settings: BoostingSettings,
        team: Team,
    ) -> BoostingSettings:
        """Return settings with as many rounds as the data need."""
        try:
            n_rounds = measure_rounds(table, data.rows, settings, team)
        except PeersError as error:
            error.fitted = None  # type: ignore[attr-defined]  # the short fit is no model to continue
            raise
        self._chosen["n_estimators"] = n_rounds
        return replace(settings, n_rounds=n_rounds)

    @property
    def resolved_params_(self) -> dict[str, Any]:
        """The parameters that ``fit`` may choose, with the values that it used."""
        check_is_fitted(self)
        names = (*PLAIN_VALUES, "categorical_encoding", "random_state")
        values = {name: getattr(self, name) for name in names} | getattr(self, "_chosen", {})
        if is_auto(values["categorical_encoding"]):
            values["categorical_encoding"] = name_encoding(self._encoder is not None)
        return values

    def _make_start(self) -> Start:
        """Return what another fit needs to continue this model."""
        return Start(
            BoostingResult(self.ensemble_, self.history_),
            self.schema_,
            getattr(self, "feature_names_in_", None),
            self._encoder,
            getattr(self, "classes_", None),
            getattr(self, "_chosen", {}).get("random_state", self.random_state),
            getattr(self, "_seed", None),
        )

    def _make_model(self, result: BoostingResult) -> Self:
        """Return a fitted copy while this estimator is still being fitted."""
        model = copy(self)
        model.history_, model.ensemble_ = result.history, result.ensemble
        return model

    def _keep(self, result: BoostingResult, settings: BoostingSettings, data: FitData) -> None:
        """Store the result of a fit, and report its best round."""
        is_first = data.rows.peers.rank == settings.parallel.peers.rank == 0
        if self.verbose and settings.stopping is not None and is_first:
            watched, n_kept = settings.stopping.watched, result.ensemble.n_rounds
            show_best_round(result.history[watched], n_kept, settings.n_rounds, watched)
        watched, _ = find_watched(self, data.sets)
        if data.rows.n_valid and watched != (SCORE if SCORE in result.history else LOSS):
            self._watched = watched
        self.history_ = result.history
        self.ensemble_ = result.ensemble  # last: it marks the estimator as fitted

    # --- refit ---

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        *,
        decay: float = 0.9,
    ) -> Self:
        """Return a fitted copy with the same splits and leaf values updated by other rows.

        Every leaf (and the constant to start from) becomes ``decay`` times its value plus
        ``1 - decay`` times the value that a fit would give it on these rows, tree by tree: later
        trees learn from the errors that the new values of earlier ones leave. A leaf that no row
        reaches keeps its value. This is LightGBM's ``refit`` with ``decay_rate``. It is computed on
        the CPU, whatever ``device`` is.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Rows with the features of ``fit``. Statistics that encode categories do not change.
        y : array-like of shape (n_rows,)
            Their target; a classifier refuses new classes.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights; they are multiplied by class weights as in ``fit``.
        init_score : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
            Raw scores to start from, if ``fit`` had them.
        decay : float, default=0.9
            Share of the old values, from 0 (only new values) to 1 (no change).

        Returns
        -------
        estimator
            A new model. Its ``history_`` is empty; its nodes keep the rows and weights of ``fit``.
        """
        from sumwise.training.refitting import refit_ensemble  # only needed here

        if needs_unseen(self):
            raise ParameterError(
                f"{type(self).__name__}: the leaves of a model that was calibrated cannot be "
                "refitted: what it learned belongs to their old values. "
                "set_params(conformal=False) and, for a classifier, calibrate=None allow it; the "
                "result is not calibrated"
            )
        check_is_fitted(self)
        share = check_decay(decay)
        model = self._drop_calibration()
        params = with_values(model, getattr(self, "_chosen", {}))
        growth = params._check_parameters()
        directions = read_directions(model, model.schema_.n_categories > 0)
        ensemble = check_refittable(model.ensemble_, directions)
        matrix = model._check_input(X)
        is_number = not is_classifier(model)
        labels = read_target(y, is_number, many=is_number)
        if labels is None or len(labels) != matrix.shape[0]:
            found = "none" if labels is None else len(labels)
            raise DataError(f"X has {matrix.shape[0]} rows, but y has {found}")
        task, target = model._learn_task(labels, getattr(self, "classes_", None))
        check_loss(model.loss, task.loss, ensemble)
        train = LabeledRows.label(task, X, matrix, labels, target, sample_weight, init_score)
        rows = train.number(train.find_rows(), np.empty(0, dtype=np.uint32))
        loss = task.loss.adapt(rows.target, rows.weight, rows.train, rows.init_score)
        settings = BoostingSettings(
            loss=loss,
            growth=growth,
            rates=find_rates(params),
            booster=resolve_booster(model),
            base_score=find_base_score(model, loss),
        )
        with start_team(model.n_jobs, matrix.shape[0] * ensemble.n_trees) as team:
            model.ensemble_ = refit_ensemble(ensemble, matrix, rows, settings, share, team)
        model.history_ = {}  # it was measured with other values
        return model

    # --- scikit-learn ---

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
