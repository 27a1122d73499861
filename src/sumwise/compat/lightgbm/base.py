"""The base of the estimators of LightGBM: ``fit`` step by step, and fitted attributes."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.compat.base import (
    CompatClassifier,
    CompatEstimator,
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
from sumwise.compat.evaluation import Entry, EvalSet, Evaluation, list_sets, match_sets
from sumwise.compat.lightgbm.callbacks import (
    CallUser,
    EarlyStopping,
    ResetParameter,
)
from sumwise.compat.lightgbm.objectives import OBJECTIVES, list_metrics
from sumwise.compat.lightgbm.parameters import SIGNATURE, TABLE, translate
from sumwise.compat.metrics import Metric, Scored, find_metric
from sumwise.compat.schedules import make_schedule
from sumwise.compat.starting import read_start
from sumwise.compat.stopping import Patience
from sumwise.compat.table import Table
from sumwise.errors import DataError, IgnoredParameterWarning, ParameterError
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.warn import warn_user
from sumwise.inspection.importance import importance

_TRAINING = "training"
# Predictions whose raw score is 0, of objectives without the identity link.
_AT_ZERO = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), 1.0),
    **dict.fromkeys(("cross_entropy", "xentropy"), 0.5),
}


class BaseLightGBM(CompatEstimator):
    """Shared by classifier and regressor."""

    _table: ClassVar[Table] = TABLE
    _signature: ClassVar[Mapping[str, Any]] = SIGNATURE

    _learned: dict[str, Any]

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,  # noqa: N803 - LightGBM's name
        eval_y: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
        init_score : array-like, default=None
            Raw scores to start from; predictions do not contain them.
        eval_set : list of pairs (X, y), default=None
            Sets that are measured after each round.
        eval_names : list of str, default=None
            Their names; None for "valid_0", ..., and "training" for the training rows.
        eval_sample_weight, eval_class_weight, eval_init_score : list, default=None
            One entry per set.
        eval_metric : str, callable or list of these, default=None
            Metrics in addition to that of the objective. A function of (y_true, y_pred) or
            (y_true, y_pred, weight) returns (name, value, whether higher is better).
        feature_name : list of str or "auto", default="auto"
            Names of the features of an array.
        categorical_feature : list of str or int, or "auto", default="auto"
            Features whose values are categories.
        callbacks : list, default=None
            :func:`early_stopping` and the others, or functions of a :class:`CallbackEnv`.
        init_model : path or fitted model, default=None
            A model to continue: of sumwise, or of LightGBM.
        eval_X, eval_y : array-like or tuple of array-like, default=None
            The sets of ``eval_set``, in another form.

        Returns
        -------
        self
        """
        with starting_anew(self):
            values = self._resolve()
            is_class = isinstance(self, CompatClassifier)
            classes = find_classes(y) if is_class else None
            params = translate(self._owner, values, is_class)
            params["loss"], own_metric = OBJECTIVES.find_loss(self._owner, values, is_class)
            if init_score is None:
                params |= self._find_base_score(values, classes, y, sample_weight)
            features = self._find_features(values, X, feature_name, categorical_feature)
            params |= features
            sample_weight = self._weigh(values, y, sample_weight, classes)
            pairs = self._list_pairs(eval_set, eval_X, eval_y)
            sets = self._name_sets(
                pairs, X, y, eval_names, eval_sample_weight, eval_class_weight, eval_init_score
            )
            n_classes = None if not is_class else 2 if classes is None else classes.size
            metrics = self._find_metrics(values, eval_metric, own_metric, n_classes)
            start = None if init_model is None else read_start(init_model, "lightgbm")
            first = 0 if start is None else start.best_iteration_
            listeners, stopper = self._find_listeners(values, callbacks, sets, params, first)
            evaluation = Evaluation(sets, metrics, listeners)
            plan = FitPlan(params, X, y, evaluation, sample_weight, init_score, start)
            model = self._train(plan)
            self._finish(model, evaluation, stopper, listeners)
            self._learned = {
                "objective_": self._name_objective(values, n_classes),
                "feature_name_": list(feature_name) if feature_name != "auto" else None,
            }
        return self

    # --- steps of a fit ---

    def _find_base_score(
        self, values: Mapping[str, Any], classes: np.ndarray | None, y: Any, sample_weight: Any
    ) -> dict[str, Any]:
        """Return where the model starts, if that is not the best constant."""
        if values["boost_from_average"]:
            if classes is None or classes.size != 2 or not _scales_classes(values):
                return {}
            # The average of LightGBM does not count the factors of classes.
            is_second = np.asarray(y) == classes[1]
            weight = None if sample_weight is None else np.asarray(sample_weight)
            return {"base_score": float(np.average(is_second, weights=weight))}
        if not isinstance(self, CompatClassifier):  # the prediction whose raw score is 0
            return {"base_score": _AT_ZERO.get(values["objective"], 0.0)}
        n_classes = 2 if classes is None else classes.size
        return {"base_score": 0.5 if n_classes <= 2 else np.full(n_classes, 1 / n_classes)}

    def _find_features(
        self, values: Mapping[str, Any], X: Any, feature_name: Any, categorical_feature: Any
    ) -> dict[str, Any]:
        chosen = categorical_feature
        if isinstance(chosen, str) and chosen == "auto":
            chosen = values["categorical_feature"]
        found: dict[str, Any] = {}
        if not (isinstance(chosen, str) and chosen == "auto"):
            if isinstance(chosen, str):
                chosen = [c for c in chosen.removeprefix("name:").split(",") if c]
                chosen = [int(c) if c.isdigit() else c for c in chosen]
            if feature_name != "auto":
                names = list(feature_name)
                chosen = [names.index(c) if c in names else c for c in chosen]
            found["categorical_features"] = list(chosen)
        groups = values["interaction_constraints"]
        if groups is not None and not (isinstance(groups, str) and not groups):
            groups = read_groups(groups)
            rest = list_rest(groups, list_columns(X), count_columns(X))
            if rest:
                raise ParameterError(
                    f"{self._owner}: interaction_constraints do not name feature {rest[0]}, which "
                    "LightGBM would never use: drop such columns, or add them to a group"
                )
            found["interaction_cst"] = groups
        return found

    def _weigh(
        self, values: Mapping[str, Any], y: Any, sample_weight: Any, classes: np.ndarray | None
    ) -> Any:
        """Return the weights of the training rows, multiplied by those of their classes."""
        class_weight: Any = self.class_weight
        scale = values["scale_pos_weight"]
        if values["is_unbalance"] and scale != 1.0:
            raise ParameterError(f"{self._owner}: pass is_unbalance or scale_pos_weight, not both")
        if _scales_classes(values):
            if classes is None or classes.size != 2:
                name = "is_unbalance" if values["is_unbalance"] else "scale_pos_weight"
                raise ParameterError(f"{self._owner}: {name} is for two classes")
            if values["is_unbalance"]:
                counts = [int(np.sum(np.asarray(y) == own)) for own in classes]
                scales = [max(counts) / count for count in counts]
            else:
                scales = [1.0, scale]
            sample_weight = weigh_classes(
                sample_weight, dict(zip(classes.tolist(), scales, strict=True)), y
            )
        if class_weight is not None and y is not None and classes is not None:
            sample_weight = weigh_classes(sample_weight, class_weight, y)
        return sample_weight

    def _list_pairs(self, eval_set: Any, tables: Any, targets: Any) -> list[Any]:
        if (tables is None) != (targets is None):
            raise DataError("eval_X and eval_y belong together")
        if tables is None:
            return list_sets(eval_set)
        if eval_set is not None:
            raise DataError("pass eval_set, or eval_X and eval_y, not both")
        if isinstance(tables, tuple):
            return list(zip(tables, targets, strict=True))
        return [(tables, targets)]

    def _name_sets(
        self,
        pairs: list[Any],
        X: Any,
        y: Any,
        names: Any,
        weights: Any,
        class_weights: Any,
        scores: Any,
    ) -> list[EvalSet]:
        n = len(pairs)
        names = match_sets("eval_names", [names] if isinstance(names, str) else names, n)
        weights = match_sets("eval_sample_weight", weights, n)
        by_class = match_sets("eval_class_weight", class_weights, n)
        scores = match_sets("eval_init_score", scores, n)
        sets = []
        for k, (table, target) in enumerate(pairs):
            is_training = table is X and target is y
            name = names[k] or (_TRAINING if is_training else f"valid_{k}")
            weight = weights[k]
            if by_class[k] is not None:
                weight = weigh_classes(weight, by_class[k], target)
            sets.append(EvalSet(name, table, target, weight, scores[k]))
        return sets

    def _find_metrics(
        self, values: Mapping[str, Any], given: Any, own: str | None, n_classes: int | None
    ) -> list[Metric]:
        """Return those of ``eval_metric``, and then those of the parameter or the objective."""
        wanted = _as_list(given)
        if values["metric"] is not None:
            wanted += [
                name
                for name in _as_list(values["metric"])
                if name not in ("", "None", "na", "null", "custom")
            ]
        elif n_classes is None:
            wanted += [own] if own else []
        elif not callable(values["objective"]):
            wanted += ["binary_logloss" if n_classes <= 2 else "multi_logloss"]
        known = list_metrics(values)
        found: list[Metric] = []
        for one in wanted:
            if callable(one):
                found.append(_wrap_metric(self._owner, one))
                continue
            metric = find_metric(self._owner, one, known, n_classes)
            if metric.name not in [other.name for other in found]:
                found.append(metric)
        return found

    def _find_listeners(
        self,
        values: Mapping[str, Any],
        callbacks: Any,
        sets: list[EvalSet],
        params: dict[str, Any],
        first: int,
    ) -> tuple[list[Any], Patience | None]:
        listeners: list[Any] = []
        stopper = None
        only_first = bool(values["first_metric_only"])
        rounds = values["early_stopping_round"]
        given = list(callbacks or ())
        if rounds is not None and rounds > 0:
            delta = values["early_stopping_min_delta"]
            given.insert(0, EarlyStopping(int(rounds), only_first, delta))
        for callback in sorted(given, key=lambda c: getattr(c, "order", 0)):
            if isinstance(callback, EarlyStopping):
                stopper = self._make_stopper(callback, sets, values)
                if stopper is not None:
                    listeners.append(stopper)
            elif isinstance(callback, ResetParameter):
                n_rounds = params["n_estimators"] + first
                if callback.learning_rate is not None:
                    params["learning_rate"] = make_schedule(callback.learning_rate, n_rounds)
            elif callable(callback):
                if getattr(callback, "before_iteration", False):
                    raise ParameterError(
                        f"{self._owner}: callbacks before a round cannot change parameters here; "
                        "for the learning rate, use reset_parameter of sumwise.compat.lightgbm"
                    )
                listeners.append(CallUser(callback, self.get_params(), first))
            else:
                raise ParameterError(f"{self._owner}: a callback is a {type(callback).__name__}")
        # Records come first, so that a callback that stops has recorded the round.
        listeners.sort(key=lambda own: not isinstance(own, CallUser))
        return listeners, stopper

    def _make_stopper(
        self, asked: EarlyStopping, sets: list[EvalSet], values: Mapping[str, Any]
    ) -> Patience | None:
        watched = [own.name for own in sets if own.name != _TRAINING]
        if values["boosting"] == "dart":
            warn_user(
                f"{self._owner}: early stopping is not available with 'dart', as in LightGBM",
                IgnoredParameterWarning,
            )
            return None
        if not sets:
            raise DataError("early stopping needs eval_set")
        if not watched:
            warn_user(
                f"{self._owner}: only training rows are in eval_set: early stopping is off",
                IgnoredParameterWarning,
            )
            return None

        def select(entries: list[Entry]) -> list[Entry]:
            others = [own for own in entries if own.set_name in watched]
            if asked.first_metric_only:
                others = [own for own in others if own.metric_name == entries[0].metric_name]
            return others

        delta = asked.min_delta
        if isinstance(delta, list):  # one per metric
            delta = delta * len(watched)
        return Patience(asked.rounds, select, delta)

    def _finish(
        self, model: Any, evaluation: Evaluation, stopper: Patience | None, listeners: list[Any]
    ) -> None:
        """Cut the model after its best round, and store what was measured."""
        found: Any = stopper
        for listener in listeners:
            if isinstance(listener, CallUser) and listener.best_round is not None:
                found = listener
        best = None if found is None else found.best_round
        last = [] if found is None else found.best_entries
        if not last:
            last = [
                Entry(set_name, name, scores[-1], False)
                for set_name, by_metric in evaluation.results.items()
                for name, scores in by_metric.items()
            ]
        self.evals_result_ = evaluation.results
        self.best_score_: dict[str, dict[str, float]] = {}
        for own in last:
            self.best_score_.setdefault(own.set_name, {})[own.metric_name] = own.value
        self.best_iteration_ = best or 0
        self._keep(model, best)

    def _name_objective(self, values: Mapping[str, Any], n_classes: int | None) -> Any:
        given = values["objective"]
        if given is not None and (n_classes is None or callable(given)):
            return given
        if n_classes is None:
            return "regression"
        return "binary" if n_classes <= 2 else "multiclass"

    # --- predictions ---

    def _find_rounds(self, start_iteration: int, num_iteration: int | None) -> Any:
        check_is_fitted(self)
        n_rounds = self.model_.best_iteration_
        start = max(start_iteration, 0)
        count = n_rounds if num_iteration is None or num_iteration <= 0 else num_iteration
        last = min(start + count, n_rounds)
        return None if (start, last) == (0, n_rounds) else (start, last)

    def _predict_as(
        self,
        X: Any,
        raw_score: bool,
        start_iteration: int,
        num_iteration: int | None,
        pred_leaf: bool,
        pred_contrib: bool,
        others: Mapping[str, Any],
    ) -> tuple[Any, np.ndarray | None]:
        """Return the rounds to use, and what was asked for unless it is a plain prediction."""
        for name in others:
            raise ParameterError(f"{self._owner}: predict has no option {name!r} here")
        rounds = self._find_rounds(start_iteration, num_iteration)
        if pred_leaf:
            return rounds, self._leaves(X, rounds)
        if pred_contrib:
            found = self._contributions(X, rounds)
            return rounds, found.reshape(found.shape[0], -1)
        return rounds, self._raw(X, rounds) if raw_score else None

    # --- fitted attributes ---

    @property
    def n_features_(self) -> int:
        """Number of features seen in ``fit``."""
        return self.n_features_in_

    @property
    def n_estimators_(self) -> int:
        """Rounds in the model."""
        return int(self._model.best_iteration_)

    @property
    def n_iter_(self) -> int:
        """Rounds in the model."""
        return self.n_estimators_

    @property
    def objective_(self) -> Any:
        """The objective, by LightGBM's name."""
        check_is_fitted(self)
        return self._learned["objective_"]

    @property
    def feature_name_(self) -> list[str]:
        """Names of the features, "Column_0" and so on for an array."""
        check_is_fitted(self)
        return self._learned["feature_name_"] or self._name_features("Column_{}")

    @property
    def feature_importances_(self) -> np.ndarray:
        """Number of splits of each feature, or their total gain, by ``importance_type``."""
        kind: Any = self.importance_type
        if kind not in ("split", "gain"):
            raise ParameterError(
                f"{self._owner}: importance_type={kind!r}; must be 'split' or 'gain'"
            )
        trees = self._model.ensemble_
        if kind == "split":
            return importance(trees, "count", normalize=False).astype(np.int32)
        return 2.0 * importance(trees, "gain", normalize=False)  # theirs lacks the factor 1/2

    @property
    def booster_(self) -> Any:
        """Refused: there is no booster of LightGBM."""
        check_is_fitted(self)
        raise AttributeError(
            f"{self._owner} has no booster_: the model is not one of LightGBM. model_ is the "
            "fitted estimator of sumwise; sumwise.export.to_lightgbm(model_) writes a file"
        )

    def _learn_loaded(self, model: Any) -> None:
        self.evals_result_, self.best_score_ = {}, {}
        self.best_iteration_ = 0
        n_classes = model.classes_.size if hasattr(model, "classes_") else None
        name = self._name_objective({"objective": None}, n_classes)
        self._learned = {"objective_": name, "feature_name_": None}


def _scales_classes(values: Mapping[str, Any]) -> bool:
    return bool(values["is_unbalance"]) or values["scale_pos_weight"] != 1.0


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str):
        return [name.strip() for name in given.split(",")]
    return list(given) if isinstance(given, (list, tuple, set)) else [given]


def _wrap_metric(owner: str, function: Any) -> Metric:
    """Return a metric of the user, who says its name and direction with each value."""
    n_taken = len(inspect.signature(function).parameters)

    def measure(scored: Scored) -> float:
        weight = (scored.weight,) if n_taken > 2 else ()
        answer = function(scored.y, scored.mean, *weight)
        if not isinstance(answer, tuple) or len(answer) != 3:
            raise ParameterError(
                f"{owner}: a function of eval_metric returns one tuple (name, value, whether "
                f"higher is better); this one returned {answer!r}. Pass several functions as a list"
            )
        metric.name, value, metric.higher = answer
        return float(value)

    metric = Metric(getattr(function, "__name__", "custom"), measure)
    return metric
