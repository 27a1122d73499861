"""The base of the estimators of XGBoost: ``fit`` step by step, and fitted attributes."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.compat.base import (
    CompatClassifier,
    CompatEstimator,
    CompatRegressor,
    FitPlan,
)
from sumwise.compat.conversions import (
    count_columns,
    find_classes,
    list_columns,
    list_rest,
    read_groups,
    weigh_classes,
)
from sumwise.compat.evaluation import EvalSet, Evaluation, list_sets, match_sets
from sumwise.compat.metrics import Metric, Scored, find_metric
from sumwise.compat.schedules import make_schedule
from sumwise.compat.starting import read_start
from sumwise.compat.stopping import Patience
from sumwise.compat.table import Table
from sumwise.compat.xgboost.callbacks import (
    CallUser,
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
)
from sumwise.compat.xgboost.objectives import OBJECTIVES, find_parametric, list_metrics
from sumwise.compat.xgboost.parameters import TABLE, translate
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.fitted_state import starting_anew
from sumwise.inspection.importance import importance

_IMPORTANCES = ("gain", "weight", "total_gain")


class BaseXGBoost(CompatEstimator):
    """Shared by classifier and regressor."""

    _table: ClassVar[Table] = TABLE
    _is_forest: ClassVar[bool] = False

    _learned: dict[str, Any]

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Any = None,
        verbose: bool | int | None = None,
        xgb_model: Any = None,
        sample_weight_eval_set: Any = None,
        base_margin_eval_set: Any = None,
        feature_weights: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Zeros that a sparse matrix does not store are missing values, as in XGBoost.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
        base_margin : array-like, default=None
            Raw scores to start from; pass them to ``predict``, too.
        eval_set : list of pairs (X, y), default=None
            Sets that are measured after each round. Early stopping watches the last.
        verbose : bool, int or None, default=None
            Whether what is measured is written to standard output; a number is the number of
            rounds from one line to the next. None, unlike in XGBoost, for nothing.
        xgb_model : path or fitted model, default=None
            A model to continue: of sumwise, or of XGBoost.
        sample_weight_eval_set, base_margin_eval_set : list, default=None
            One entry per set.
        feature_weights : array-like of shape (n_features,), default=None
            As the parameter.

        Returns
        -------
        self
        """
        with starting_anew(self):
            values = self._resolve()
            if feature_weights is not None:
                values["feature_weights"] = feature_weights
            is_class = isinstance(self, CompatClassifier)
            classes = find_classes(y) if is_class else None
            params = translate(self._owner, values)
            params["loss"], own_metric = OBJECTIVES.find_loss(self._owner, values, is_class)
            params |= self._find_rest(values, X, own_metric, classes)
            sample_weight = self._weigh(values, y, sample_weight, classes)
            sets = self._name_sets(
                eval_set, sample_weight_eval_set, base_margin_eval_set, values["missing"]
            )
            n_classes = None if not is_class else 2 if classes is None else classes.size
            metrics = self._find_metrics(values, own_metric, n_classes)
            start = None if xgb_model is None else read_start(xgb_model, "xgboost")
            first = 0 if start is None else start.best_iteration_
            evaluation = Evaluation(sets, metrics)
            stopper, saves_best, callbacks = self._find_listeners(
                values, evaluation, params, first, verbose
            )
            X = replace_missing(self._owner, X, values["missing"])
            plan = FitPlan(params, X, y, evaluation, sample_weight, base_margin, start)
            for callback in callbacks:
                callback.before_training(None)
                callback.before_iteration(None, first, evaluation.results)
            model = self._train(plan)
            for callback in callbacks:
                callback.after_training(None)
            best = None if stopper is None else stopper.best_round
            self._keep(model, best, keeps_all=not saves_best)
            self._learned = {"best": best, "score": None, "results": evaluation.results}
            if stopper is not None:
                self._learned["score"] = stopper.best_score
        return self

    # --- steps of a fit ---

    def _resolve(self) -> dict[str, Any]:
        values = super()._resolve()
        if self._is_forest:
            if values["early_stopping_rounds"] is not None or values["callbacks"] is not None:
                raise ParameterError(
                    f"{self._owner}: a forest has one round: no early stopping, no callbacks"
                )
            values |= {"num_parallel_tree": values["n_estimators"], "n_estimators": 1}
        if values["booster"] == "gblinear":  # other defaults than those of trees
            values |= {
                name: default
                for name, default in (("reg_lambda", 0.0), ("learning_rate", 0.5))
                if not self._has_set(name)
            }
        return values

    def _has_set(self, name: str) -> bool:
        row = self._table[name]
        given = self.get_params()
        return any(given.get(known) is not None for known in (row.name, *row.aliases))

    def _find_rest(
        self,
        values: Mapping[str, Any],
        X: Any,
        metric: str | None,
        classes: np.ndarray | None,
    ) -> dict[str, Any]:
        """Return the parameters that depend on loss, classes or features."""
        found: dict[str, Any] = {}
        if metric == "poisson-nloglik" and not self._has_set("max_delta_step"):
            found["max_delta_step"] = 0.7  # as in XGBoost
        if values["base_score"] is not None:
            found["base_score"] = values["base_score"]
        strategy = values["multi_strategy"]
        if isinstance(self, CompatRegressor):
            found["multi_strategy"] = strategy
        elif strategy != "one_output_per_tree" and classes is not None and classes.size > 2:
            raise ParameterError(
                f"{self._owner}: multi_strategy={strategy!r} is for regression here; leave it out"
            )
        groups = values["interaction_constraints"]
        if groups is not None and not (isinstance(groups, str) and not groups):
            groups = read_groups(groups)
            rest = list_rest(groups, list_columns(X), count_columns(X))
            found["interaction_cst"] = [*groups, *([k] for k in rest)] if rest else groups
            if rest and any(isinstance(name, str) for group in groups for name in group):
                names = list_columns(X) or []
                found["interaction_cst"] = [*groups, *([names[k]] for k in rest)]
        return found

    def _weigh(
        self, values: Mapping[str, Any], y: Any, sample_weight: Any, classes: np.ndarray | None
    ) -> Any:
        scale = values["scale_pos_weight"]
        if scale == 1.0:
            return sample_weight
        if classes is None or classes.size != 2:
            raise ParameterError(f"{self._owner}: scale_pos_weight is for two classes")
        weights = dict(zip(classes.tolist(), [1.0, scale], strict=True))
        return weigh_classes(sample_weight, weights, y)

    def _name_sets(self, eval_set: Any, weights: Any, margins: Any, missing: Any) -> list[EvalSet]:
        pairs = list_sets(eval_set)
        weights = match_sets("sample_weight_eval_set", weights, len(pairs))
        margins = match_sets("base_margin_eval_set", margins, len(pairs))
        return [
            EvalSet(
                f"validation_{k}",
                replace_missing(self._owner, X, missing),
                y,
                weights[k],
                margins[k],
            )
            for k, (X, y) in enumerate(pairs)
        ]

    def _find_metrics(
        self, values: Mapping[str, Any], own: str | None, n_classes: int | None
    ) -> list[Metric]:
        given = values["eval_metric"]
        wanted = list(given) if isinstance(given, (list, tuple)) else [given]
        if given is None:
            wanted = [own]
            if n_classes is not None:
                wanted = ["logloss" if n_classes <= 2 else "mlogloss"]
            if callable(values["objective"]):
                wanted = ["rmse"] if n_classes is None else wanted
            if values["disable_default_eval_metric"]:
                wanted = []
        known = list_metrics(values)
        found = []
        for one in wanted:
            if callable(one):
                found.append(_wrap_metric(one))
            else:
                metric = find_parametric(str(one))
                found.append(metric or find_metric(self._owner, str(one), known, n_classes))
        return found

    def _find_listeners(
        self,
        values: Mapping[str, Any],
        evaluation: Evaluation,
        params: dict[str, Any],
        first: int,
        verbose: bool | int | None,
    ) -> tuple[Patience | None, bool, list[TrainingCallback]]:
        """Add listeners to an evaluation; return what stops, whether it cuts, and callbacks."""
        given = list(values["callbacks"] or ())
        if values["early_stopping_rounds"] is not None:
            given.append(EarlyStopping(values["early_stopping_rounds"]))
        if verbose:
            given.append(EvaluationMonitor(period=1 if verbose is True else int(verbose)))
        listeners: list[Any] = []
        stopper, saves_best, users = None, False, []
        for callback in given:
            if isinstance(callback, EarlyStopping):
                if not evaluation.sets:
                    raise DataError(f"{self._owner}: early stopping needs eval_set")
                if values["booster"] == "dart":
                    raise ParameterError(
                        f"{self._owner}: early stopping cannot cut a model of booster='dart', "
                        "whose rounds change earlier trees; use "
                        "GradientBoosting...(booster='dart', early_stopping=True)"
                    )
                stopper = Patience(callback.rounds, callback.select, callback.min_delta)
                saves_best = bool(callback.save_best)
                listeners.append(stopper)
            elif isinstance(callback, LearningRateScheduler):
                n_rounds = params["n_estimators"] + first
                params["learning_rate"] = make_schedule(callback.learning_rates, n_rounds)
            elif isinstance(callback, TrainingCallback) or hasattr(callback, "after_iteration"):
                listeners.append(CallUser(callback, evaluation.results))
                users.append(callback)
            else:
                raise ParameterError(
                    f"{self._owner}: a callback is a {type(callback).__name__}; it must be a "
                    "TrainingCallback"
                )
        evaluation.listeners = listeners
        return stopper, saves_best, users

    # --- predictions ---

    def _find_rounds(self, iteration_range: Any) -> Any:
        check_is_fitted(self)
        if iteration_range is None or tuple(iteration_range) == (0, 0):
            return None
        first, last = (int(number) for number in iteration_range)
        n_rounds = self.model_.best_iteration_
        last = last or n_rounds
        if not 0 <= first < last <= n_rounds:
            raise ParameterError(
                f"{self._owner}: iteration_range={tuple(iteration_range)!r}; the model has rounds "
                f"0 to {n_rounds - 1}, and the range ends before its second number"
            )
        return None if (first, last) == (0, n_rounds) and self._rounds is None else (first, last)

    def _predict_raw(self, X: Any, base_margin: Any, iteration_range: Any) -> np.ndarray:
        X = replace_missing(self._owner, X, getattr(self, "missing", np.nan))
        raw = self._raw(X, self._find_rounds(iteration_range))
        if base_margin is None:
            return raw
        margin = np.asarray(base_margin, dtype=float).reshape(raw.shape)
        return raw + margin

    def _to_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions or probabilities of raw scores."""
        columns = raw if raw.ndim == 2 else raw[:, None]
        return self.model_._predict_mean(columns)

    def apply(self, X: Any, iteration_range: Any = None) -> np.ndarray:
        """Return the node that each row reaches in each tree.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        iteration_range : pair of int, default=None
            The first round, and the one after the last; None for all up to the best.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
        """
        X = replace_missing(self._owner, X, getattr(self, "missing", np.nan))
        return self._leaves(X, self._find_rounds(iteration_range))

    # --- fitted attributes ---

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return what was measured after each round, by set and metric."""
        check_is_fitted(self)
        if not self._learned["results"]:
            raise DataError(f"{self._owner}: there is no evaluation result without eval_set")
        return self._learned["results"]

    @property
    def best_iteration(self) -> int:
        """The best round, counted from 0; only with early stopping."""
        check_is_fitted(self)
        if self._learned["best"] is None:
            raise AttributeError("`best_iteration` is only defined when early stopping is used.")
        return int(self._learned["best"]) - 1

    @property
    def best_score(self) -> float:
        """The watched metric after the best round; only with early stopping."""
        check_is_fitted(self)
        if self._learned["best"] is None:
            raise AttributeError("`best_score` is only defined when early stopping is used.")
        return float(self._learned["score"])

    def get_num_boosting_rounds(self) -> int:
        """Return the number of rounds to train."""
        return int(self._resolve()["n_estimators"])

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters without those of the wrapper."""
        others = (
            *("callbacks", "early_stopping_rounds", "enable_categorical", "feature_types"),
            *("feature_weights", "importance_type", "missing", "n_estimators"),
        )
        return {name: value for name, value in self.get_params().items() if name not in others}

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of the features by ``importance_type``: mean gain, number or total gain."""
        check_is_fitted(self)
        kind: Any = self.importance_type or "gain"
        if kind not in _IMPORTANCES:
            raise ParameterError(
                f"{self._owner}: importance_type={kind!r}; must be one of {_IMPORTANCES}"
            )
        if hasattr(self.model_, "coef_"):
            sizes = np.abs(np.atleast_2d(self.model_.coef_)).mean(axis=0)
            return sizes / max(sizes.sum(), np.finfo(float).tiny)
        trees = self.model_.ensemble_  # of all rounds, as in XGBoost
        count = importance(trees, "count", normalize=False)
        gain = importance(trees, "gain", normalize=False)
        found = {"weight": count, "total_gain": gain, "gain": gain / np.maximum(count, 1)}[kind]
        return found / found.sum() if found.sum() > 0 else found

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear model."""
        check_is_fitted(self)
        return self.model_.coef_

    @property
    def intercept_(self) -> Any:
        """Intercept of a linear model; of trees, the raw score before the first round."""
        check_is_fitted(self)
        found = getattr(self.model_, "intercept_", None)
        return self.model_.ensemble_.base_score if found is None else found

    def get_booster(self) -> Any:
        """Refused: there is no booster of XGBoost."""
        raise AttributeError(
            f"{self._owner} has no booster: the model is not one of XGBoost. model_ is the fitted "
            "estimator of sumwise; sumwise.export.to_xgboost(model_) writes it as a file of XGBoost"
        )

    def _learn_loaded(self, model: Any) -> None:
        self._learned = {"best": None, "score": None, "results": {}}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def replace_missing(owner: str, X: Any, missing: Any) -> Any:
    """Return an array in which NaN stands for missing values."""
    if missing is None or missing != missing:
        return X
    if isinstance(X, (list, np.ndarray)):
        table = np.array(X, dtype=float)
        table[table == missing] = np.nan
        return table
    raise DataError(
        f"{owner}: missing={missing!r} is replaced in NumPy arrays only, and X is a "
        f"{type(X).__name__}; replace it by NaN or null before"
    )


def _wrap_metric(function: Any) -> Metric:
    """Return a metric of the user: of (y_true, y_pred), and lower is better."""
    takes_weight = "sample_weight" in inspect.signature(function).parameters

    def measure(scored: Scored) -> float:
        options = {}
        if takes_weight and scored.weight is not None:
            options["sample_weight"] = scored.weight
        return float(function(scored.y, scored.mean, **options))

    return Metric(getattr(function, "__name__", "custom"), measure)
