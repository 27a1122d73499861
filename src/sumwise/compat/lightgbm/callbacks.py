"""LightGBM's callbacks: early stopping, logging, records and schedules."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from sumwise.compat.evaluation import Entry
from sumwise.errors import ParameterError
from sumwise.training.callbacks import RoundState


class EarlyStopException(Exception):  # noqa: N818 - LightGBM's name
    """Raised by a callback to stop training.

    Parameters
    ----------
    best_iteration : int
        The best round, counted from 0.
    best_score : list of tuple
        What was measured after it, as in ``CallbackEnv.evaluation_result_list``.

    Examples
    --------
    >>> from sumwise.compat.lightgbm import EarlyStopException
    >>> def stop_after_three(env):
    ...     if env.iteration == 2:
    ...         raise EarlyStopException(env.iteration, env.evaluation_result_list)
    """

    def __init__(self, best_iteration: int, best_score: Any) -> None:
        super().__init__()
        self.best_iteration = best_iteration
        self.best_score = best_score


class EvalResult(NamedTuple):
    """What was measured on a set: unpacks as (set, metric, value, whether higher is better)."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool

    @property
    def metric_std_dev(self) -> None:
        """None: of cross-validation."""

    def is_cv_result(self) -> bool:
        """Return whether it is the mean over the folds of a cross-validation: no."""
        return False


class NoBooster:
    """Stands for the booster that a callback would get from LightGBM."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a callback asks for env.model.{name}, and there is no booster of LightGBM; for early "
            "stopping, use early_stopping of sumwise.compat.lightgbm"
        )


class CallbackEnv(NamedTuple):
    """What a callback is given after a round.

    Attributes
    ----------
    model : NoBooster
        Stands for the booster; asking it for anything is an error.
    params : dict
        The parameters of the estimator.
    iteration : int
        The round, counted from 0.
    begin_iteration, end_iteration : int
        The rounds that are trained.
    evaluation_result_list : list of tuple
        (name of the set, name of the metric, value, whether higher is better); as attributes:
        ``dataset_name``, ``metric_name``, ``metric_value`` and ``maximize``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import CallbackEnv, LGBMRegressor
    >>> rounds = []
    >>> def watch(env: CallbackEnv) -> None:
    ...     rounds.append(env.iteration)
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LGBMRegressor(n_estimators=3).fit(X, y, callbacks=[watch])
    >>> rounds
    [0, 1, 2]
    """

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult]


def early_stopping(
    stopping_rounds: int,
    first_metric_only: bool = False,
    verbose: bool = True,
    min_delta: float | list[float] = 0.0,
) -> "EarlyStopping":
    """Return a callback that stops when a metric no longer improves.

    Parameters
    ----------
    stopping_rounds : int
        Rounds without improvement after which training stops.
    first_metric_only : bool, default=False
        Whether only the first metric is watched. Otherwise each metric on each set (except the
        training rows) may stop training, and the one that does decides on the best round.
    verbose : bool, default=True
        LightGBM says where it stopped; a fit of sumwise says nothing.
    min_delta : float or list of float, default=0.0
        An improvement must be larger than this.

    Returns
    -------
    EarlyStopping

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import LGBMRegressor, early_stopping
    >>> X, y = load_diabetes(return_X_y=True)
    >>> sets = [(X[:100], y[:100])]
    >>> model = LGBMRegressor().fit(X[100:], y[100:], eval_set=sets, callbacks=[early_stopping(5)])
    >>> 0 < model.best_iteration_ < 100
    True
    """
    return EarlyStopping(stopping_rounds, first_metric_only, min_delta)


class EarlyStopping:
    """What :func:`early_stopping` returns."""

    def __init__(self, rounds: int, first_metric_only: bool, min_delta: Any) -> None:
        if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds <= 0:
            raise ParameterError(f"early_stopping({rounds!r}): must be an integer above 0")
        self.rounds, self.first_metric_only = rounds, first_metric_only
        self.min_delta = min_delta


def log_evaluation(period: int = 1, show_stdv: bool = True) -> "LogEvaluation":
    """Return a callback that writes what was measured to standard output.

    Parameters
    ----------
    period : int, default=1
        Rounds from one line to the next; 0 or less for no lines.
    show_stdv : bool, default=True
        Of cross-validation; has no effect here.

    Returns
    -------
    LogEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import LGBMRegressor, log_evaluation
    >>> X, y = load_diabetes(return_X_y=True)
    >>> show = log_evaluation(period=2)
    >>> model = LGBMRegressor(n_estimators=4).fit(
    ...     X, y, eval_set=[(X, y)], callbacks=[show]
    ... )  # doctest: +ELLIPSIS
    [2]...training's l2: ...
    [4]...training's l2: ...
    """
    return LogEvaluation(period)


class LogEvaluation:
    """What :func:`log_evaluation` returns."""

    def __init__(self, period: int) -> None:
        self.period = period

    def __call__(self, env: CallbackEnv) -> None:
        """Write a line if it is due."""
        due = self.period > 0 and (env.iteration + 1) % self.period == 0
        if due and env.evaluation_result_list:
            values = [
                f"{s}'s {name}: {value:g}" for s, name, value, _ in env.evaluation_result_list
            ]
            line = "\t".join([f"[{env.iteration + 1}]", *values])
            sys.stdout.write(line + "\n")


def record_evaluation(eval_result: dict[str, dict[str, list[float]]]) -> "RecordEvaluation":
    """Return a callback that records what was measured in a dict.

    Parameters
    ----------
    eval_result : dict
        Is emptied, and then filled: ``eval_result["valid_0"]["auc"]`` is a list.

    Returns
    -------
    RecordEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import LGBMRegressor, record_evaluation
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = {}
    >>> record = record_evaluation(found)
    >>> model = LGBMRegressor(n_estimators=4).fit(X, y, eval_set=[(X, y)], callbacks=[record])
    >>> len(found["training"]["l2"])
    4
    """
    if not isinstance(eval_result, dict):
        raise TypeError("eval_result should be a dictionary")
    return RecordEvaluation(eval_result)


class RecordEvaluation:
    """What :func:`record_evaluation` returns."""

    def __init__(self, eval_result: dict[str, dict[str, list[float]]]) -> None:
        self.eval_result = eval_result

    def __call__(self, env: CallbackEnv) -> None:
        """Record a round."""
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
        for set_name, name, value, _ in env.evaluation_result_list:
            by_metric = self.eval_result.setdefault(set_name, {})
            by_metric.setdefault(name, []).append(value)


def reset_parameter(**kwargs: Any) -> "ResetParameter":
    """Return a schedule of the learning rate.

    Parameters
    ----------
    **kwargs : list or callable
        ``learning_rate``: a list with one entry per round, or a function of the round, counted
        from 0. Other parameters are refused.

    Returns
    -------
    ResetParameter

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import LGBMRegressor, reset_parameter
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rates = reset_parameter(learning_rate=lambda k: 0.2 * 0.99**k)
    >>> model = LGBMRegressor(n_estimators=20).fit(X, y, callbacks=[rates])
    """
    return ResetParameter(kwargs)


class ResetParameter:
    """What :func:`reset_parameter` returns."""

    def __init__(self, schedules: dict[str, Any]) -> None:
        others = sorted(set(schedules) - {"learning_rate"})
        if others:
            raise ParameterError(
                f"reset_parameter({others[0]}=...): only learning_rate can change between rounds"
            )
        self.learning_rate = schedules.get("learning_rate")


class CallUser:
    """Calls a user's own callback with what LightGBM would give it."""

    def __init__(
        self, callback: Callable[[CallbackEnv], Any], params: dict[str, Any], first: int
    ) -> None:
        self.callback, self.params, self.first = callback, params, first
        self.best_round: int | None = None
        self.best_entries: list[Entry] = []

    def __call__(self, n_rounds: int, entries: list[Entry], state: RoundState, /) -> bool:
        """Call it; return whether it has stopped training."""
        known = [EvalResult(*own) for own in entries]
        env = CallbackEnv(
            NoBooster(),
            self.params,
            n_rounds - 1,
            self.first,
            state.n_rounds,
            known,
        )
        try:
            self.callback(env)
        except Exception as error:
            # Also that of LightGBM itself, whose callbacks work here, too.
            if type(error).__name__ != "EarlyStopException":
                raise
            stop: Any = error
            self.best_round = int(stop.best_iteration) + 1
            self.best_entries = [Entry(*own[:4]) for own in stop.best_score]
            return True
        return False
