"""XGBoost's callbacks: early stopping, monitors, schedules and check points."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sumwise.compat.evaluation import Entry
from sumwise.errors import ParameterError
from sumwise.training.callbacks import RoundState

__all__ = [
    "EarlyStopping",
    "EvaluationMonitor",
    "LearningRateScheduler",
    "TrainingCallback",
    "TrainingCheckPoint",
]

EvalsLog = dict[str, dict[str, list[float]]]


class TrainingCallback:
    """The base of callbacks: what is called around training, and after each round.

    ``model`` is None: there is no booster. ``evals_log`` has what was measured so far, by set and
    metric, as ``evals_result()``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat import xgboost as xgb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> class StopAfterThree(xgb.callback.TrainingCallback):
    ...     def after_iteration(self, model, epoch, evals_log):
    ...         return epoch == 2
    >>> model = xgb.XGBRegressor(callbacks=[StopAfterThree()]).fit(X, y)
    >>> model.model_.best_iteration_
    3
    """

    def before_training(self, model: Any) -> Any:
        """Do something before the first round."""
        return model

    def after_training(self, model: Any) -> Any:
        """Do something after the last round."""
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Do something before round ``epoch``, counted from 0; return True to stop."""
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Do something after round ``epoch``, counted from 0; return True to stop."""
        return False


class EarlyStopping(TrainingCallback):
    """Stops when a metric no longer improves.

    Parameters
    ----------
    rounds : int
        Rounds without improvement after which training stops.
    metric_name : str or None, default=None
        The metric to watch; None for the last.
    maximize : bool or None, default=None
        Whether higher is better; None for what is known of the metric.
    data_name : str or None, default=None
        The set to watch, such as "validation_0"; None for the last.
    save_best : bool, default=False
        Whether the model ends with its best round. Otherwise it keeps all rounds, and predictions
        use those up to the best.
    min_delta : float, default=0.0
        An improvement must be larger than this.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat import xgboost as xgb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stop = xgb.callback.EarlyStopping(5, save_best=True)
    >>> model = xgb.XGBRegressor(callbacks=[stop])
    >>> model = model.fit(X[100:], y[100:], eval_set=[(X[:100], y[:100])])
    >>> model.best_iteration + 1 == model.model_.best_iteration_
    True
    """

    def __init__(
        self,
        rounds: int,
        metric_name: str | None = None,
        maximize: bool | None = None,
        data_name: str | None = None,
        save_best: bool | None = False,
        min_delta: float = 0.0,
    ) -> None:
        self.rounds, self.metric_name, self.maximize = rounds, metric_name, maximize
        self.data_name, self.save_best, self.min_delta = data_name, save_best, min_delta

    def select(self, entries: list[Entry]) -> list[Entry]:
        """Return the entry to watch."""
        found = [own for own in entries if self.data_name in (None, own.set_name)]
        found = [own for own in found if self.metric_name in (None, own.metric_name)]
        if not found:
            raise ParameterError(
                f"EarlyStopping: there is no metric {self.metric_name!r} on a set "
                f"{self.data_name!r}; there are "
                + ", ".join(f"{own.metric_name!r} on {own.set_name!r}" for own in entries)
            )
        own = found[-1]
        return [own if self.maximize is None else own._replace(higher=bool(self.maximize))]


class EvaluationMonitor(TrainingCallback):
    """Writes what was measured to standard output.

    Parameters
    ----------
    rank : int, default=0
        Of clusters; has no effect.
    period : int, default=1
        Rounds from one line to the next.
    show_stdv : bool, default=False
        Of cross-validation; has no effect.
    logger : callable, default=None
        What is called with a line instead.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat import xgboost as xgb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lines = []
    >>> monitor = xgb.callback.EvaluationMonitor(period=2, logger=lines.append)
    >>> model = xgb.XGBRegressor(n_estimators=4, callbacks=[monitor]).fit(X, y, eval_set=[(X, y)])
    >>> len(lines)
    2
    """

    def __init__(
        self,
        rank: int = 0,
        period: int = 1,
        show_stdv: bool = False,
        logger: Callable[[str], None] | None = None,
    ) -> None:
        self.period, self._logger = period, logger or _write_line

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Write a line if it is due."""
        if epoch % self.period == 0 and evals_log:
            values = [
                f"{set_name}-{name}:{scores[-1]:.5f}"
                for set_name, by_metric in evals_log.items()
                for name, scores in by_metric.items()
            ]
            self._logger("\t".join([f"[{epoch}]", *values]))
        return False


def _write_line(line: str) -> None:
    sys.stdout.write(line + "\n")


class LearningRateScheduler(TrainingCallback):
    """A schedule of the learning rate.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        A function of the round, counted from 0, or one rate per round.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat import xgboost as xgb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rates = xgb.callback.LearningRateScheduler(lambda k: 0.3 * 0.99**k)
    >>> model = xgb.XGBRegressor(n_estimators=10, callbacks=[rates]).fit(X, y)
    """

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        self.learning_rates = learning_rates


class TrainingCheckPoint(TrainingCallback):
    """Saves the model at regular intervals, as a file of sumwise.

    Parameters
    ----------
    directory : str or path-like
    name : str, default="model"
        Files are called "model_10.sumwise" and so on, by the round, counted from 0.
    as_pickle : bool, default=False
        Refused.
    interval : int, default=100
        Rounds from one file to the next.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat import xgboost as xgb
    >>> X, y = load_diabetes(return_X_y=True)
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save = xgb.callback.TrainingCheckPoint(folder, interval=5)
    ...     model = xgb.XGBRegressor(n_estimators=10, callbacks=[save]).fit(X, y)
    ...     sorted(os.listdir(folder))
    ['model_4.sumwise', 'model_9.sumwise']
    """

    def __init__(
        self, directory: Any, name: str = "model", as_pickle: bool = False, interval: int = 100
    ) -> None:
        if as_pickle:
            raise ParameterError("TrainingCheckPoint(as_pickle=True): files are those of sumwise")
        self.directory, self.name, self.interval = Path(directory), name, interval
        if not self.directory.is_dir():
            raise ParameterError(f"TrainingCheckPoint: there is no folder {self.directory}")

    def save(self, state: RoundState) -> None:
        """Save the model if it is due."""
        if state.round_number % self.interval == 0:
            path = self.directory / f"{self.name}_{state.round_number - 1}.sumwise"
            state.model().save(path)


class CallUser:
    """Calls a user's own callback with what XGBoost would give it."""

    def __init__(self, callback: TrainingCallback, results: EvalsLog) -> None:
        self.callback, self.results = callback, results

    def __call__(self, n_rounds: int, entries: list[Entry], state: RoundState, /) -> bool:
        """Call it after a round, and before the next."""
        if isinstance(self.callback, TrainingCheckPoint):
            self.callback.save(state)
            return False
        stops = self.callback.after_iteration(None, n_rounds - 1, self.results)
        if not stops and n_rounds < state.n_rounds:
            stops = self.callback.before_iteration(None, n_rounds, self.results)
        return bool(stops)
