"""The base of the estimators of CatBoost: ``fit`` step by step, and fitted attributes."""

import math
import sys
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.compat.base import (
    CompatClassifier,
    CompatEstimator,
    FitPlan,
)
from sumwise.compat.catboost.learning_rate import DEFAULT, find_rate
from sumwise.compat.catboost.objectives import find_loss, read_metric
from sumwise.compat.catboost.parameters import TABLE, translate
from sumwise.compat.catboost.pool import Pool
from sumwise.compat.conversions import find_classes, list_columns
from sumwise.compat.evaluation import Entry, EvalSet, Evaluation, list_sets
from sumwise.compat.metrics import Metric
from sumwise.compat.starting import read_start
from sumwise.compat.stopping import Patience
from sumwise.compat.table import Table
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.fitted_state import starting_anew
from sumwise.inspection.importance import importance
from sumwise.training.callbacks import RoundState

RAW = "RawFormulaVal"
_LEARN = "learn"
# What makes a metric from the mean training loss, for metrics that are this loss.
_FROM_LOSS = {
    "Logloss": float,
    "MultiClass": float,
    "RMSE": lambda loss: math.sqrt(2.0 * loss),
    "MAE": float,
    "Quantile": float,
    "MultiQuantile": float,
}
_NEVER = 1 << 40
# Losses whose predictions are not raw scores.
_EXPONENTS = ("Poisson", "Tweedie")
_QUIET_LEVELS = ("Silent",)


class _CallUser:
    """Calls a user's callback with what CatBoost would give it."""

    def __init__(self, callback: Any, results: dict[str, dict[str, list[float]]]) -> None:
        self.callback, self.results = callback, results

    def __call__(self, n_rounds: int, entries: list[Entry], state: RoundState, /) -> bool:
        """Call it; return whether to stop."""
        info = SimpleNamespace(iteration=n_rounds, metrics=self.results)
        return not self.callback.after_iteration(info)


class _ShowRounds:
    """Writes rounds to standard output, if ``verbose`` asks for it."""

    def __init__(self, period: int) -> None:
        self.period = period

    def __call__(self, n_rounds: int, entries: list[Entry], state: RoundState, /) -> None:
        """Write a line if it is due."""
        if (n_rounds - 1) % self.period == 0 or n_rounds == state.n_rounds:
            values = [f"{own.set_name} {own.metric_name}: {own.value:.7g}" for own in entries]
            sys.stdout.write("\t".join([f"{n_rounds - 1}:", *values]) + "\n")


class BaseCatBoost(CompatEstimator):
    """Shared by classifier and regressor."""

    _table: ClassVar[Table] = TABLE

    _learned: dict[str, Any]

    def fit(
        self,
        X: Any,
        y: Any = None,
        cat_features: Any = None,
        *,
        sample_weight: Any = None,
        baseline: Any = None,
        use_best_model: bool | None = None,
        eval_set: Any = None,
        verbose: Any = None,
        logging_level: Any = None,
        verbose_eval: Any = None,
        metric_period: Any = None,
        silent: Any = None,
        early_stopping_rounds: Any = None,
        init_model: Any = None,
        callbacks: Any = None,
        plot: bool = False,
        **others: Any,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame or array-like of shape (n_rows, n_features), or Pool
        y : array-like of shape (n_rows,)
            None if X is a :class:`Pool`.
        cat_features : list of int or str, default=None
            Features whose values are categories, as the parameter.
        sample_weight, baseline : array-like, default=None
            Weights, and raw scores to start from.
        use_best_model, early_stopping_rounds : default=None
            As the parameters.
        eval_set : pair (X, y), Pool or list of these, default=None
            Sets that are measured after each round. The last one decides on the best round.
        verbose, logging_level, verbose_eval, metric_period, silent : default=None
            As the parameters: whether rounds are written to standard output. Unlike in CatBoost,
            they are not by default.
        init_model : path or fitted model, default=None
            A model to continue: of sumwise, or of CatBoost.
        callbacks : list of objects, default=None
            With a method ``after_iteration(info)``, which returns False to stop.
        plot : bool, default=False
            Refused if True.
        **others
            Refused, unless they are None.

        Returns
        -------
        self
        """
        with starting_anew(self):
            self._refuse_options(others | {"plot": plot or None})
            values = self._resolve()
            said = {
                "cat_features": cat_features,
                "use_best_model": use_best_model,
                "od_wait": early_stopping_rounds,
                "metric_period": metric_period,
            }
            values |= {name: value for name, value in said.items() if value is not None}
            shown = self._find_period(values, verbose, logging_level, verbose_eval, silent)
            rows = _read_rows(X, y, sample_weight, baseline)
            if isinstance(X, Pool) and X.cat_features is not None:
                values["cat_features"] = X.cat_features
            is_class = isinstance(self, CompatClassifier)
            classes = find_classes(rows.label) if is_class else None
            n_classes = None if not is_class else 2 if classes is None else classes.size
            sets = self._name_sets(eval_set)
            keeps_best = bool(sets) and values["use_best_model"] is not False
            if values["use_best_model"] and not sets:
                raise DataError(f"{self._owner}: use_best_model=True needs eval_set")
            n_rows = 0 if rows.label is None else len(np.asarray(rows.label))
            params = translate(self._owner, values, n_rows, (n_classes or 0) > 2)
            found = find_loss(self._owner, values["loss_function"], n_classes)
            params["loss"], loss_name, from_average = found
            if values["boost_from_average"] is not None:
                from_average = bool(values["boost_from_average"])
            params["learning_rate"] = self._find_rate(
                values, loss_name, n_rows, keeps_best, from_average
            )
            if not from_average and rows.baseline is None and loss_name:
                params["base_score"] = _find_constant(loss_name, n_classes)
            params["categorical_features"] = self._find_categories(values, rows)
            if is_class:
                params["class_weight"] = self._find_class_weight(values, rows.label, classes)
            metrics = self._find_metrics(values, loss_name, n_classes)
            evaluation = Evaluation(sets, metrics)
            if loss_name in _FROM_LOSS:
                name = str(values["loss_function"] or loss_name)
                evaluation.from_loss = (_LEARN, name, _FROM_LOSS[loss_name])
            stopper = self._make_stopper(values, sets)
            listeners: list[Any] = [] if stopper is None else [stopper]
            users = [*_as_list(values["callback"]), *_as_list(callbacks)]
            listeners += [_CallUser(one, evaluation.results) for one in users]
            if shown:
                listeners.append(_ShowRounds(shown))
            evaluation.listeners = listeners
            start = None if init_model is None else read_start(init_model, "catboost")
            plan = FitPlan(
                params,
                rows.data,
                rows.label,
                evaluation,
                rows.weight,
                rows.baseline,
                start,
                measure_training=evaluation.from_loss is not None,
            )
            model = self._train(plan)
            best = stopper.best_round if stopper is not None else None
            kept = None
            if best is not None and keeps_best:
                kept = max(best, min(values["best_model_min_trees"], model.best_iteration_))
            self._keep(model, kept)
            self._learned = {
                "best": None if best is None else best - 1,
                "results": evaluation.results,
                "bests": _find_bests(evaluation),
                "rate": params["learning_rate"],
                "loss": loss_name,
                "names": rows.feature_names,
                "values": {name: v for name, v in values.items() if v is not None},
            }
        return self

    # --- steps of a fit ---

    def _refuse_options(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if name in ("log_cout", "log_cerr"):
                continue
            if value is not None:
                raise ParameterError(f"{self._owner}: fit({name}=...) is not supported")

    def _find_period(
        self, values: Mapping[str, Any], verbose: Any, level: Any, verbose_eval: Any, silent: Any
    ) -> int:
        """Return how many rounds are between two lines of output; 0 for none."""
        given = {
            "verbose": verbose if verbose is not None else values["verbose"],
            "verbose_eval": verbose_eval,
            "silent": silent if silent is not None else values["silent"],
            "logging_level": level if level is not None else values["logging_level"],
        }
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) > 1:
            raise ParameterError(f"{self._owner}: pass only one of {', '.join(given)}")
        period = max(int(values["metric_period"]), 1)
        for name, value in given.items():
            if name == "silent":
                return 0 if value else period
            if name == "logging_level":
                return 0 if value in _QUIET_LEVELS else period
            if isinstance(value, bool) or value <= 1:
                return period if value else 0
            return int(value)
        return 0

    def _name_sets(self, eval_set: Any) -> list[EvalSet]:
        given = [eval_set] if isinstance(eval_set, Pool) else eval_set
        if isinstance(given, (list, tuple)) and any(isinstance(own, Pool) for own in given):
            pools = [own if isinstance(own, Pool) else Pool(*own) for own in given]
        else:
            pools = [Pool(X, y) for X, y in list_sets(given)]
        return [
            EvalSet(
                "validation" if len(pools) == 1 else f"validation_{k}",
                own.data,
                own.label,
                own.weight,
                own.baseline,
            )
            for k, own in enumerate(pools)
        ]

    def _find_rate(
        self,
        values: Mapping[str, Any],
        loss_name: str,
        n_rows: int,
        keeps_best: bool,
        from_average: bool,
    ) -> float:
        if values["learning_rate"] is not None:
            return float(values["learning_rate"])
        given = self.get_params()
        fixing = ("l2_leaf_reg", "leaf_estimation_iterations", "leaf_estimation_method")
        names = [alias for name in fixing for alias in (name, *self._table[name].aliases)]
        if any(given.get(name) is not None for name in names):
            return DEFAULT
        return find_rate(loss_name, n_rows, values["iterations"], keeps_best, from_average)

    def _find_categories(self, values: Mapping[str, Any], rows: Pool) -> Any:
        chosen = values["cat_features"]
        if chosen is None or len(chosen) == 0:
            return None
        names = rows.feature_names
        if names is not None and list_columns(rows.data) is None:
            return [list(names).index(c) if isinstance(c, str) else int(c) for c in chosen]
        return [c if isinstance(c, str) else int(c) for c in chosen]

    def _find_class_weight(
        self, values: Mapping[str, Any], y: Any, classes: np.ndarray | None
    ) -> dict[Any, float] | None:
        names = ("class_weights", "auto_class_weights", "scale_pos_weight")
        used = [name for name in names if values[name] not in (None, 1.0, "None")]
        if len(used) > 1:
            raise ParameterError(f"{self._owner}: pass only one of {', '.join(used)}")
        if not used or classes is None:
            return None
        labels = classes.tolist()
        if values["class_names"] is not None:
            labels = list(values["class_names"])
        weights = values["class_weights"]
        if isinstance(weights, Mapping):
            return dict(weights)
        if used[0] == "scale_pos_weight":
            weights = [1.0, values["scale_pos_weight"]]
        elif used[0] == "auto_class_weights":
            counts = np.array([np.sum(np.asarray(y) == label) for label in labels])
            ratio = counts.max() / np.maximum(counts, 1)
            kinds = {"Balanced": ratio, "SqrtBalanced": np.sqrt(ratio)}
            if values["auto_class_weights"] not in kinds:
                raise ParameterError(
                    f"{self._owner}: auto_class_weights={values['auto_class_weights']!r}; must be "
                    "'Balanced' or 'SqrtBalanced'"
                )
            weights = kinds[values["auto_class_weights"]].tolist()
        if len(weights) != len(labels):
            raise ParameterError(
                f"{self._owner}: {used[0]} is for {len(weights)} classes, and y has {len(labels)}"
            )
        return dict(zip(labels, map(float, weights), strict=True))

    def _find_metrics(
        self, values: Mapping[str, Any], loss_name: str, n_classes: int | None
    ) -> list[Metric]:
        """Return the loss, further metrics, and last the one that is watched."""
        own = values["loss_function"] if isinstance(values["loss_function"], str) else None
        wanted = [own or loss_name] if loss_name else []
        wanted = [loss_name if name == "MultiClass" else name for name in wanted]
        custom = values["custom_metric"]
        extra = [custom] if isinstance(custom, str) else list(custom or ())
        watched = values["eval_metric"]
        wanted = [name for name in wanted if name not in extra] + [
            name for name in extra if name != watched
        ]
        if watched is not None and watched not in wanted:
            wanted.append(watched)
        return [read_metric(self._owner, name, n_classes) for name in wanted]

    def _make_stopper(self, values: Mapping[str, Any], sets: list[EvalSet]) -> Patience | None:
        if not sets:
            if values["od_wait"] is not None and values["od_type"] == "Iter":
                raise DataError(f"{self._owner}: early stopping needs eval_set")
            return None
        if values["od_type"] not in (None, "Iter"):
            raise ParameterError(f"{self._owner}: od_type={values['od_type']!r}; must be 'Iter'")
        rounds = values["od_wait"]
        if rounds is None:
            rounds = 20 if values["od_type"] == "Iter" else _NEVER
        watched = values["eval_metric"]
        own = values["loss_function"]
        name = watched if isinstance(watched, str) else own if isinstance(own, str) else None

        def select(entries: list[Entry]) -> list[Entry]:
            last = [entry for entry in entries if entry.set_name == sets[-1].name]
            if watched is not None and not isinstance(watched, str):
                return last[-1:]
            return [entry for entry in last if entry.metric_name == name] or last[:1]

        return Patience(rounds, select)

    # --- predictions ---

    def _find_rounds(self, ntree_start: int, ntree_end: int) -> Any:
        check_is_fitted(self)
        n_rounds = self.model_.best_iteration_
        last = ntree_end or n_rounds
        if not 0 <= ntree_start < last <= n_rounds:
            raise ParameterError(
                f"{self._owner}: ntree_start={ntree_start}, ntree_end={ntree_end}: the model has "
                f"{n_rounds} rounds"
            )
        return None if (ntree_start, last) == (0, n_rounds) else (ntree_start, last)

    def _predict_as(self, data: Any, kind: str, rounds: Any) -> np.ndarray:
        X = data.data if isinstance(data, Pool) else data
        is_class = isinstance(self, CompatClassifier)
        if kind == RAW:
            return self._raw(X, rounds)
        if kind == "Exponent" and not is_class:
            raw = self._raw(X, rounds)
            return np.exp(raw)
        if is_class and kind == "Class":
            return self._labels(X, rounds)
        if is_class and kind == "Probability":
            return self._mean(X, rounds)
        if is_class and kind == "LogProbability":
            return np.log(np.maximum(self._mean(X, rounds), np.finfo(float).tiny))
        known = ("Class", "Probability", "LogProbability", RAW) if is_class else (RAW, "Exponent")
        raise ParameterError(
            f"{self._owner}: prediction_type={kind!r}; must be one of {', '.join(map(repr, known))}"
        )

    def _stages(
        self, data: Any, kind: str, ntree_start: int, ntree_end: int, eval_period: int
    ) -> Iterator[np.ndarray]:
        self._find_rounds(ntree_start, ntree_end)
        last = ntree_end or self.model_.best_iteration_
        for end in [*range(ntree_start + eval_period, last, eval_period), last]:
            yield self._predict_as(data, kind, self._find_rounds(ntree_start, end))

    def calc_leaf_indexes(self, data: Any, ntree_start: int = 0, ntree_end: int = 0) -> np.ndarray:
        """Return the node that each row reaches in each tree; a round has one tree per class.

        Parameters
        ----------
        data : frame, array-like or Pool
        ntree_start, ntree_end : int, default=0
            The rounds to use; 0 for all.
        """
        X = data.data if isinstance(data, Pool) else data
        return self._leaves(X, self._find_rounds(ntree_start, ntree_end))

    def get_feature_importance(
        self, data: Any = None, type: Any = "FeatureImportance", **others: Any
    ) -> np.ndarray:
        """Return shares of the total gain in percent, or Shapley values of rows.

        Parameters
        ----------
        data : Pool, frame or array-like, default=None
            Rows, for Shapley values.
        type : str, default="FeatureImportance"
            "FeatureImportance", "PredictionValuesChange" or "ShapValues". The first two are shares
            of the total gain here; CatBoost measures changes of predictions.
        **others
            Refused.

        Returns
        -------
        ndarray
        """
        for name in others:
            raise ParameterError(f"{self._owner}: get_feature_importance has no {name!r} here")
        kind = getattr(type, "name", type)
        if kind == "ShapValues":
            if data is None:
                raise DataError(f"{self._owner}: type='ShapValues' needs data")
            return self._contributions(data.data if isinstance(data, Pool) else data)
        if kind not in ("FeatureImportance", "PredictionValuesChange"):
            raise ParameterError(
                f"{self._owner}: type={kind!r}; must be 'FeatureImportance', "
                "'PredictionValuesChange' or 'ShapValues'; see model_.explain for interactions"
            )
        check_is_fitted(self)
        return 100.0 * importance(self.model_.ensemble_)

    # --- fitted attributes ---

    def is_fitted(self) -> bool:
        """Return whether the model is fitted."""
        return self.__sklearn_is_fitted__()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of the total gain in percent."""
        return self.get_feature_importance()

    def _say(self, name: str) -> Any:
        check_is_fitted(self)
        return self._learned[name]

    @property
    def best_iteration_(self) -> int | None:
        """The best round on the last of ``eval_set``, counted from 0; None without one."""
        return self._say("best")

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """The best value of each metric on each set."""
        return self._say("bests")

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """What was measured after each round, by set and metric; "learn" has the loss only."""
        return self._say("results")

    def get_best_iteration(self) -> int | None:
        """Return ``best_iteration_``."""
        return self.best_iteration_

    def get_best_score(self) -> dict[str, dict[str, float]]:
        """Return ``best_score_``."""
        return self.best_score_

    def get_evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return ``evals_result_``."""
        return self.evals_result_

    @property
    def learning_rate_(self) -> float:
        """The learning rate that was used."""
        return self._say("rate")

    @property
    def tree_count_(self) -> int:
        """Rounds in the model."""
        check_is_fitted(self)
        return int(self.model_.best_iteration_)

    @property
    def random_seed_(self) -> Any:
        """The seed that was used."""
        check_is_fitted(self)
        return self.model_.random_state

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features; numbers as text for an array."""
        names = self._say("names")
        return self._name_features("{}") if names is None else [str(name) for name in names]

    def get_all_params(self) -> dict[str, Any]:
        """Return the values of all parameters that have one, by CatBoost's main names."""
        return {**self._say("values"), "learning_rate": self.learning_rate_}

    def shrink(self, ntree_end: int, ntree_start: int = 0) -> None:
        """Keep only the first rounds.

        Parameters
        ----------
        ntree_end : int
            Rounds to keep.
        ntree_start : int, default=0
            Must be 0.
        """
        check_is_fitted(self)
        if ntree_start:
            raise ParameterError(f"{self._owner}: ntree_start={ntree_start}; must be 0 here")
        self.model_ = self.model_.truncate(ntree_end)

    def _learn_loaded(self, model: Any) -> None:
        self._learned = {
            "best": None,
            "results": {},
            "bests": {},
            "rate": model.learning_rate,
            "loss": "",
            "names": None,
            "values": {},
        }


def _read_rows(X: Any, y: Any, sample_weight: Any, baseline: Any) -> Pool:
    if not isinstance(X, Pool):
        return Pool(X, y, weight=sample_weight, baseline=baseline)
    for name, value in {"y": y, "sample_weight": sample_weight, "baseline": baseline}.items():
        if value is not None:
            raise DataError(f"{name} is part of the Pool: pass it there")
    return X


def _find_constant(loss_name: str, n_classes: int | None) -> Any:
    """Return the prediction whose raw score is 0."""
    if n_classes is None:
        return 1.0 if loss_name in _EXPONENTS else 0.0
    return 0.5 if n_classes <= 2 else np.full(n_classes, 1 / n_classes)


def _find_bests(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Return the best value of each metric on each set."""
    higher = {metric.name: metric.higher for metric in evaluation.metrics}
    return {
        set_name: {
            name: (max if higher.get(name, False) else min)(scores)
            for name, scores in by_metric.items()
        }
        for set_name, by_metric in evaluation.results.items()
    }


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]
