"""Automatic ensembles at equal time: ours, a stack of three libraries, AutoGluon; and defaults.

`python -m benchmarks.auto --time 60` reads the data sets from the folder in the environment
variable `SUMWISE_DATA`; see `--help`. The stack is scikit-learn's, with XGBoost, LightGBM and
CatBoost as members, whose number of rounds is chosen so that it takes about as long. AutoGluon
takes part if it is installed. The libraries at their defaults take much less time.

Every fit runs in a process of its own, pinned to `--jobs` CPUs; `--processes` of them run at once.
One that fails, or takes much longer than the limit, is reported on standard error and left out.
The result of every fold is kept in a file, so that an interrupted run continues where it was. The
libraries' results can be taken from the accuracy suite, whose folds are the same: see `--suite`.
"""

import argparse
import math
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from benchmarks.accuracy import split_folds
from benchmarks.contestants import (
    DEFAULTS,
    FORESTS,
    SEED,
    Contestant,
    list_categories,
    to_strings,
)
from benchmarks.datasets import MissingDataError, read_frame
from benchmarks.pinned import call_all
from benchmarks.report import (
    Table,
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
    Result,
    Store,
    run_fold,
)

OURS, STACK, AUTOGLUON = "sumwise auto", "stack of three", "AutoGluon"
# What a single library does at its defaults: boosting, and the forests of scikit-learn.
SINGLE: dict[str, Contestant] = {
    **DEFAULTS,
    **{name: fit for name, fit in FORESTS.items() if name.startswith("scikit-learn")},
}
PRESETS = ("medium_quality", "good_quality", "high_quality", "best_quality")
# A fit is killed after this many times its limit. Reading data and loading kernels come on top.
_PATIENCE, _START = 6.0, 120.0
# Seconds that compiling our kernels may take, before; and the rows of a data set that are enough.
_COMPILING, _COMPILED_ROWS = 1800.0, 500
# Folds are those of at least so many, of which fewer may be run: by default, the suite's.
_FEWEST_FOLDS = 5
# A loss that is 0 would be infinitely better.
_LEAST_GAP = -0.99
# Rounds of the stack's members when its time is measured, and at most.
_PROBED_ROUNDS, _MOST_ROUNDS = 20, 1500
# The learning rate times the rounds, within the limits of rates that make sense. More of it would
# overfit small data, and would make the stack an easy rival.
_STEPS, _SLOWEST, _QUICKEST = 15.0, 0.01, 0.3


def fit_ours(seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train our automatic ensemble."""
    import sumwise

    name = "AutoEnsembleRegressor" if task == "regression" else "AutoEnsembleClassifier"
    kind = getattr(sumwise, name)
    return kind(time_limit=seconds, n_jobs=n_jobs, random_state=SEED).fit(X, y)


def fit_stack(seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train a stack of as many rounds as the time suffices for."""
    begin = time.perf_counter()
    _make_stack(task, X, 1, n_jobs).fit(X, y)  # libraries are imported, too
    middle = time.perf_counter()
    _make_stack(task, X, _PROBED_ROUNDS, n_jobs).fit(X, y)
    end = time.perf_counter()
    n_rounds = round(_PROBED_ROUNDS * (seconds - (end - begin)) / (end - middle))
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


def fit_autogluon(
    preset: str, seconds: float, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int
) -> Any:
    """Train AutoGluon with one of its presets."""
    from autogluon.tabular import TabularPredictor

    folder = tempfile.TemporaryDirectory()
    metric = "root_mean_squared_error" if task == "regression" else "log_loss"
    predictor = TabularPredictor(
        "target", problem_type=task, eval_metric=metric, path=folder.name, verbosity=0
    )
    predictor.fit(X.assign(target=y), time_limit=seconds, presets=preset, num_cpus=n_jobs)
    return _Predictor(predictor, folder)


def list_contestants(seconds: float, preset: str = PRESETS[0]) -> dict[str, Contestant]:
    """Return ours first, then those that are installed, then libraries at their defaults."""
    found: dict[str, Contestant] = {
        OURS: partial(fit_ours, seconds),
        STACK: partial(fit_stack, seconds),
    }
    if find_spec("autogluon") is not None:
        found[f"{AUTOGLUON} {preset}"] = partial(fit_autogluon, preset, seconds)
    return {**found, **SINGLE}


class Setup(NamedTuple):
    """What the fits of a run have in common."""

    seconds: float
    preset: str
    rows: int
    n_splits: int
    jobs: int


def run_one(setup: Setup, key: Key) -> Result:
    """Train a contestant on a fold, and test it."""
    task = SETS[key.source]
    fit = list_contestants(setup.seconds, setup.preset)[key.contestant]
    X, y = read_frame(key.source, task, setup.rows)
    folds = list(split_folds(task, X, y, setup.n_splits))
    return run_fold(fit, task, X, y, *folds[key.fold], setup.jobs)


def compile_kernels(source: str, rows: int) -> None:
    """Train all our members on a few rows, so that no kernel is compiled while time is taken."""
    import sumwise

    task = SETS[source]
    X, y = read_frame(source, task, rows)
    first = np.arange(min(len(X), _COMPILED_ROWS))
    if task != "regression":  # all classes
        _, places = np.unique(y, return_index=True)
        first = np.union1d(first, places)
    name = "AutoEnsembleRegressor" if task == "regression" else "AutoEnsembleClassifier"
    options = {"time_limit": None, "n_folds": 2, "n_repeats": 1, "random_state": SEED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(sumwise, name)(**options).fit(X.iloc[first].reset_index(drop=True), y[first])


def list_folds(parsed: argparse.Namespace) -> range:
    """Return the numbers of the folds to run."""
    return range(parsed.first_fold, parsed.first_fold + parsed.folds)


def count_splits(parsed: argparse.Namespace) -> int:
    """Return how many folds the rows are divided into."""
    return max(list_folds(parsed).stop, _FEWEST_FOLDS)


def list_missing(
    store: Store, names: Sequence[str], sources: Sequence[str], folds: Sequence[int]
) -> list[Key]:
    """Return what is not in the store, all contestants of a fold one after the other."""
    keys = [Key(name, source, fold) for source in sources for fold in folds for name in names]
    return [key for key in keys if key not in store.results]


def run(store: Store, names: Sequence[str], sources: Sequence[str], parsed: Any) -> Iterator[str]:
    """Add what is missing in the store; yield what could not be added, and why."""
    present = []
    for source in sources:
        try:
            read_frame(source, SETS[source], parsed.rows)
            present.append(source)
        except MissingDataError as error:
            yield f"{source} SKIPPED: {error}"
    missing = list_missing(store, names, present, list_folds(parsed))
    setup = Setup(parsed.time, parsed.preset, parsed.rows, count_splits(parsed), parsed.jobs)
    own = list(dict.fromkeys(key.source for key in missing if key.contestant == OURS))
    few = [(source, parsed.rows) for source in own]
    limits = [_COMPILING] * len(few)
    for number, outcome in call_all(compile_kernels, few, parsed.processes, parsed.jobs, limits):
        if outcome.error:
            yield f"compiling for {own[number]}: {outcome.error}"
        print(f"{own[number]}: {outcome.error or 'kernels are ready'}", file=sys.stderr, flush=True)
    limits = [_PATIENCE * parsed.time + _START] * len(missing)
    calls = [(setup, key) for key in missing]
    for number, outcome in call_all(run_one, calls, parsed.processes, parsed.jobs, limits):
        key = missing[number]
        said = outcome.error
        if not said:
            store.add(key, outcome.value)
            said = f"{outcome.value.loss:.6g} in {outcome.value.seconds:.0f} s"
        else:
            yield f"{key.contestant}, {key.source}, fold {key.fold} FAILED: {said}"
        print(f"{key.source} fold {key.fold} {key.contestant}: {said}", file=sys.stderr, flush=True)


# --- what the results say ---


def find_losses(
    results: Mapping[Key, Result],
    names: Sequence[str],
    sources: Sequence[str],
    folds: Sequence[int],
) -> dict[str, dict[str, float]]:
    """Return the mean loss by data set and contestant, of those that have finished all folds.

    Sets without a result of the first contestant are left out.
    """
    found = {}
    for source in sources:
        own = {}
        for name in names:
            keys = [Key(name, source, fold) for fold in folds]
            if all(key in results for key in keys):
                own[name] = statistics.fmean(results[key].loss for key in keys)
        if names[0] in own:
            found[source] = own
    return found


def tabulate_losses(losses: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Table:
    """Return a line per data set: losses, and how far ours is from the best library's default."""
    rows = []
    for source, own in losses.items():
        gap = _compare(own, [name for name in names if name in SINGLE])
        cells = [f"{own[name]:.5g}" if name in own else "" for name in names]
        rows.append([source, *cells, "" if gap is None else f"{100 * gap:+.2f} %"])
    return Table("Mean test loss", ["data set", *names, "to the best default"], rows)


def tabulate_rivals(losses: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Table:
    """Return a line per rival: how often ours has the lower loss, and by how much."""
    defaults = [name for name in names if name in SINGLE]
    rivals = {name: [name] for name in names[1:]}
    if len(defaults) > 1:
        rivals["best of the defaults"] = defaults
    rows = []
    for title, own in rivals.items():
        gaps = [gap for each in losses.values() if (gap := _compare(each, own)) is not None]
        if not gaps:
            continue
        won, lost = sum(gap < 0.0 for gap in gaps), sum(gap > 0.0 for gap in gaps)
        mean = statistics.fmean(math.log1p(max(gap, _LEAST_GAP)) for gap in gaps)
        middle = statistics.median(gaps)
        share = f"{100 * won / len(gaps):.0f} %"
        rows.append(
            [
                title,
                f"{won} : {lost}",
                share,
                f"{100 * middle:+.2f} %",
                f"{100 * math.expm1(mean):+.2f} %",
            ]
        )
    head = ["", "won : lost", "won", "median loss of ours", "geometric mean"]
    return Table(f"{names[0]} on {len(losses)} data sets", head, rows)


def _compare(own: Mapping[str, float], rivals: Sequence[str]) -> float | None:
    """Return the loss of the first contestant relative to the best rival's; negative is better."""
    known = [own[name] for name in rivals if name in own]
    ours = next(iter(own.values()))
    if not known or min(known) <= 0.0:
        return None
    return ours / min(known) - 1.0


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("auto", __doc__)
    parser.add_argument("--time", type=float, default=60.0, help="seconds of each automatic fit")
    parser.add_argument("--preset", choices=PRESETS, default=PRESETS[0], help="of AutoGluon")
    parser.add_argument("--contestants", nargs="+", metavar="NAME", help="ours must be the first")
    parser.add_argument("--only", nargs="+", choices=tuple(SETS), metavar="NAME")
    parser.add_argument("--fast", action="store_true", help="a subset of the data sets")
    parser.add_argument("--folds", type=int, default=1, help="of five or more, how many are run")
    parser.add_argument("--first-fold", type=int, default=0, help="number of the first one")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="at most, per data set")
    parser.add_argument("--jobs", type=int, default=count_cpus(), help="CPUs of each fit")
    parser.add_argument("--processes", type=int, default=1, help="fits that run at once")
    parser.add_argument("--results", type=Path, default=Path("build/auto.jsonl"))
    parser.add_argument(
        "--suite",
        type=Path,
        metavar="FILE",
        help="take libraries at their defaults from results of `benchmarks.accuracy --suite`",
    )
    add_outputs(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables."""
    parsed = parse_arguments(arguments)
    known = list(list_contestants(parsed.time, parsed.preset))
    names = list(parsed.contestants or known)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"unknown contestants {unknown}; there are {known}")
    sources = list(parsed.only or (FAST if parsed.fast else SETS))
    setup = f"{parsed.time:g} s, {parsed.rows} rows, {count_splits(parsed)} folds"
    store = Store(parsed.results, setup)
    if parsed.suite is not None:
        known = Store(parsed.suite, f"{parsed.rows} rows, {count_splits(parsed)} folds").results
        for key, result in known.items():
            if key.contestant in SINGLE:
                store.results.setdefault(key, result)
    notes = [
        f"{parsed.time:g} seconds, at most {parsed.rows:,} rows, folds "
        f"{list(list_folds(parsed))} of {count_splits(parsed)}, "
        f"{parsed.jobs} threads, {parsed.processes} fits at once; log loss or RMSE",
        *run(store, names, sources, parsed),
        ", ".join(f"{key} {value}" for key, value in describe_machine().items()),
    ]
    losses = find_losses(store.results, names, sources, list_folds(parsed))
    tables = [tabulate_losses(losses, names), tabulate_rivals(losses, names)] if losses else []
    print("\n\n".join([*map(format_aligned, tables), "\n".join(notes)]))
    write_outputs(parsed, "Automatic ensembles", notes, tables, {"notes": notes, "losses": losses})


if __name__ == "__main__":
    main()
