"""Automatic ensembles at equal time: ours, a stack of three libraries, AutoGluon; and defaults.

`python -m benchmarks.auto --time 60` reads the data sets from the folder in the environment
variable `SUMWISE_DATA`; see `--help`. The stack is scikit-learn's, with XGBoost, LightGBM and
CatBoost as members, whose number of rounds is chosen so that it takes about as long. AutoGluon
takes part if it is installed. The libraries at their defaults take much less time.

The result of every fold is kept in a file, so that an interrupted run continues where it was.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from benchmarks.accuracy import split_folds
from benchmarks.contestants import (
    DEFAULTS,
    SEED,
    Contestant,
    list_categories,
    to_strings,
)
from benchmarks.datasets import MissingDataError, read_frame
from benchmarks.report import (
    add_outputs,
    count_cpus,
    describe_machine,
    format_aligned,
    write_outputs,
)
from benchmarks.rivals import Task
from benchmarks.side_by_side import make_parser
from benchmarks.suite import (
    FAST,
    MAX_ROWS,
    SETS,
    Key,
    Store,
    average,
    run_fold,
    tabulate_ranks,
    tabulate_sets,
)

OURS, STACK, AUTOGLUON = "sumwise auto", "stack of three", "AutoGluon"
# Rounds of the stack's members when its time is measured, and at most.
_PROBED_ROUNDS, _MOST_ROUNDS = 20, 5000
# The learning rate times the rounds, within the limits of rates that make sense.
_STEPS, _SLOWEST, _QUICKEST = 30.0, 0.02, 0.3


def fit_ours(seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train our automatic ensemble."""
    import sumwise

    name = "AutoEnsembleRegressor" if task == "regression" else "AutoEnsembleClassifier"
    kind = getattr(sumwise, name)
    return kind(time_limit=seconds, n_jobs=n_jobs, random_state=SEED).fit(X, y)


def fit_stack(seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train a stack of as many rounds as the time suffices for."""
    begin = time.perf_counter()
    _make_stack(task, X, _PROBED_ROUNDS, n_jobs).fit(X, y)
    taken = time.perf_counter() - begin
    n_rounds = round(_PROBED_ROUNDS * (seconds - taken) / taken)
    return _make_stack(task, X, min(max(n_rounds, _PROBED_ROUNDS), _MOST_ROUNDS), n_jobs).fit(X, y)


def _make_stack(task: Task, X: pd.DataFrame, n_rounds: int, n_jobs: int) -> Any:
    import lightgbm
    import xgboost
    from sklearn import ensemble

    kind = "Regressor" if task == "regression" else "Classifier"
    shared = {
        "n_estimators": n_rounds,
        "learning_rate": min(max(_STEPS / n_rounds, _SLOWEST), _QUICKEST),
    }
    cat = CatBoostRegressorMember if task == "regression" else CatBoostClassifierMember
    own = {**shared, "n_jobs": n_jobs, "random_state": SEED}
    members = [
        ("xgboost", getattr(xgboost, f"XGB{kind}")(enable_categorical=True, verbosity=0, **own)),
        ("lightgbm", getattr(lightgbm, f"LGBM{kind}")(verbosity=-1, **own)),
        ("catboost", cat({**shared, "thread_count": n_jobs, "random_seed": SEED})),
    ]
    return getattr(ensemble, f"Stacking{kind}")(members)


class _CatBoostMember(BaseEstimator):
    """CatBoost that finds out which columns are categories; scikit-learn cannot copy it else."""

    _kind: str

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> Self:
        """Train on columns of strings."""
        import catboost

        quiet = {"logging_level": "Silent", "allow_writing_files": False}
        kind = getattr(catboost, self._kind)
        self.model_ = kind(**self.params, **quiet, cat_features=list_categories(X))
        self.model_.fit(to_strings(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return predicted values or labels."""
        return self.model_.predict(to_strings(X)).reshape(len(X))


class CatBoostRegressorMember(RegressorMixin, _CatBoostMember):
    """A regressor of a stack."""

    _kind = "CatBoostRegressor"


class CatBoostClassifierMember(ClassifierMixin, _CatBoostMember):
    """A classifier of a stack."""

    _kind = "CatBoostClassifier"

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> Self:
        """Train on columns of strings."""
        super().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return probabilities of the classes."""
        return self.model_.predict_proba(to_strings(X))


class _Predictor:
    """AutoGluon with the methods of scikit-learn."""

    def __init__(self, predictor: Any, folder: Any) -> None:
        self._predictor, self._folder = predictor, folder  # the folder lives as long as the model

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return predicted values."""
        return self._predictor.predict(X, as_pandas=False)

    def predict_proba(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return probabilities of the classes."""
        return self._predictor.predict_proba(X, as_pandas=False)


def fit_autogluon(seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train AutoGluon with its preset for the best quality."""
    from autogluon.tabular import TabularPredictor

    folder = tempfile.TemporaryDirectory()
    metric = "root_mean_squared_error" if task == "regression" else "log_loss"
    predictor = TabularPredictor(
        "target", problem_type=task, eval_metric=metric, path=folder.name, verbosity=0
    )
    predictor.fit(X.assign(target=y), time_limit=seconds, presets="best_quality", num_cpus=n_jobs)
    return _Predictor(predictor, folder)


def list_contestants(seconds: float) -> dict[str, Contestant]:
    """Return ours first, then those that are installed, then libraries at their defaults."""
    found: dict[str, Contestant] = {
        OURS: partial(fit_ours, seconds),
        STACK: partial(fit_stack, seconds),
    }
    if find_spec("autogluon") is not None:
        found[AUTOGLUON] = partial(fit_autogluon, seconds)
    return {**found, **DEFAULTS}


def run(
    store: Store, contestants: dict[str, Contestant], sources: Sequence[str], parsed: Any
) -> Iterator[str]:
    """Add what is missing in the store; yield each data set that is not there."""
    for source in sources:
        task = SETS[source]
        keys = [Key(name, source, k) for k in range(parsed.folds) for name in contestants]
        missing = [key for key in keys if key not in store.results]
        if not missing:
            continue
        try:
            X, y = read_frame(source, task, parsed.rows)
        except MissingDataError as error:
            yield f"{source} SKIPPED: {error}"
            continue
        folds = list(split_folds(task, X, y, max(parsed.folds, 3)))
        for key in missing:
            own = contestants[key.contestant], task, X, y, *folds[key.fold], parsed.jobs
            store.add(key, run_fold(*own))


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("auto", __doc__)
    parser.add_argument("--time", type=float, default=60.0, help="seconds of each automatic fit")
    parser.add_argument("--only", nargs="+", choices=tuple(SETS), metavar="NAME")
    parser.add_argument("--fast", action="store_true", help="a subset of the data sets")
    parser.add_argument("--folds", type=int, default=1, help="of three or more, how many are run")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="at most, per data set")
    parser.add_argument("--jobs", type=int, default=count_cpus())
    parser.add_argument("--results", type=Path, default=Path("build/auto.jsonl"))
    add_outputs(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables."""
    parsed = parse_arguments(arguments)
    contestants = list_contestants(parsed.time)
    names, sources = list(contestants), list(parsed.only or (FAST if parsed.fast else SETS))
    store = Store(parsed.results, f"{parsed.time:g} s, {parsed.rows} rows, {parsed.folds} folds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        skipped = list(run(store, contestants, sources, parsed))
    notes = [
        f"{parsed.time:g} seconds, at most {parsed.rows:,} rows, {parsed.folds} folds, "
        f"{parsed.jobs} threads; log loss or RMSE",
        *skipped,
        ", ".join(f"{key} {value}" for key, value in describe_machine().items()),
    ]
    losses = average(store.results, names, sources, parsed.folds)
    tables = []
    if losses:
        ranks = tabulate_ranks(losses, store.results, names, parsed.folds)
        tables = [tabulate_sets(losses, names), ranks]
    print("\n\n".join([*map(format_aligned, tables), "\n".join(notes)]))
    write_outputs(parsed, "Automatic ensembles", notes, tables, {"notes": notes, "losses": losses})


if __name__ == "__main__":
    main()
