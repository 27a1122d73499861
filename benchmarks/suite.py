"""The accuracy suite: all data sets, cross-validated, libraries at their defaults and with equal
budgets.

`python -m benchmarks.accuracy --suite` reads the data sets from the folder in the environment
variable `SUMWISE_DATA`. The result of every fold is kept in a file as soon as it is known, so that
an interrupted run continues where it was. Contestants take turns within a fold, so that the noise
of the machine is shared. With `--processes`, several folds run at once. Scores are log loss and
RMSE; a set counts by the mean over its folds.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.contestants import CONTESTANTS, GROUPS, Contestant
from benchmarks.datasets import MissingDataError, read_frame
from benchmarks.metrics import predict, score
from benchmarks.report import (
    Table,
    add_outputs,
    count_cpus,
    describe_machine,
    format_aligned,
    format_seconds,
    write_outputs,
)
from benchmarks.rivals import Task
from benchmarks.side_by_side import make_parser

MAX_ROWS = 50_000
SETS: dict[str, Task] = {
    "adult": "binary",
    "amazon_employee": "binary",
    "kick": "binary",
    "bank_marketing": "binary",
    "census_income_kdd": "binary",
    "german_credit": "binary",
    "telco_churn": "binary",
    "titanic": "binary",
    "credit_default": "binary",
    "mushroom": "binary",
    "sick_thyroid": "binary",
    "higgs_21k": "binary",
    "spambase": "binary",
    "electricity_6f": "binary",
    "a9a": "binary",
    "w8a": "binary",
    "agaricus_onehot": "binary",
    "covertype": "multiclass",
    "letter": "multiclass",
    "california_housing": "regression",
    "california_housing_cat": "regression",
    "bike_sharing_hour": "regression",
    "diamonds": "regression",
    "nyc_flights13": "regression",
    "ames_housing": "regression",
    "wine_quality": "regression",
    "abalone": "regression",
    "kin8nm": "regression",
}
# Small or quick sets of all kinds, for development.
FAST = [
    "german_credit",
    "titanic",
    "telco_churn",
    "sick_thyroid",
    "spambase",
    "higgs_21k",
    "amazon_employee",
    "letter",
    "california_housing_cat",
    "ames_housing",
    "wine_quality",
    "abalone",
    "kin8nm",
    "bike_sharing_hour",
]


class Key(NamedTuple):
    """What a result belongs to."""

    contestant: str
    source: str
    fold: int


class Result(NamedTuple):
    """Test metrics of a fold; seconds of training by the clock and of all threads."""

    metrics: dict[str, float]
    seconds: float
    cpu_seconds: float

    @property
    def loss(self) -> float:
        """The metric that counts; lower is better."""
        return self.metrics["RMSE" if "RMSE" in self.metrics else "log loss"]


class Store:
    """Results of folds in a file, one line each, written as soon as they are known.

    Parameters
    ----------
    path : Path
        Lines of another setup (rows, folds) are ignored.
    setup : str
    """

    def __init__(self, path: Path, setup: str) -> None:
        self._path, self._setup = path, setup
        self.results: dict[Key, Result] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                own = json.loads(line)
                if own["setup"] == setup:
                    self.results[Key(*own["key"])] = Result(*own["result"])

    def add(self, key: Key, result: Result) -> None:
        """Keep a result."""
        self.results[key] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            line = {"setup": self._setup, "key": list(key), "result": list(result)}
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def run_fold(
    fit: Contestant, task: Task, X: Any, y: Any, train: Any, test: Any, n_jobs: int
) -> Result:
    """Train on some rows and test on others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = X.iloc[train].reset_index(drop=True), y[train]
        start, start_cpu = time.perf_counter(), time.process_time()
        model = fit(task, *own, n_jobs)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        metrics = score(task, y[test], predict(model, X.iloc[test].reset_index(drop=True), task))
    return Result(metrics, seconds, cpu)


class Fold(NamedTuple):
    """A fold of a data set, and the contestants whose results are missing."""

    source: str
    number: int
    names: tuple[str, ...]


def list_missing(
    store: Store, names: Sequence[str], sources: Sequence[str], n_folds: int
) -> Iterator[Fold]:
    """List the folds that are not complete in the store: the first fold of all sets comes first.

    So a run that is interrupted has seen all data sets.
    """
    for number in range(n_folds):
        for source in sources:
            missing = [name for name in names if Key(name, source, number) not in store.results]
            if missing:
                yield Fold(source, number, tuple(missing))


def run_contestants(
    fold: Fold, n_folds: int, max_rows: int, n_jobs: int
) -> Iterator[tuple[Key, Result]]:
    """Yield the results of a fold, one contestant after the other."""
    from benchmarks.accuracy import split_folds  # it offers this module, too

    task = SETS[fold.source]
    X, y = read_frame(fold.source, task, max_rows)
    rows = list(split_folds(task, X, y, n_folds))[fold.number]
    for name in fold.names:
        print(f"{fold.source} fold {fold.number}: {name}", file=sys.stderr, flush=True)
        yield (
            Key(name, fold.source, fold.number),
            run_fold(CONTESTANTS[name], task, X, y, *rows, n_jobs),
        )


def run(
    store: Store,
    names: Sequence[str],
    sources: Sequence[str],
    n_folds: int,
    max_rows: int,
    n_jobs: int,
    n_processes: int = 1,
    only: int | None = None,
) -> Iterator[str]:
    """Add what is missing in the store; yield each data set that is not there.

    ``only`` is the number of a fold, None for all.
    """
    folds, found = [], {}
    for fold in list_missing(store, names, sources, n_folds):
        if only not in (None, fold.number):
            continue
        if fold.source not in found:
            try:
                X, _ = read_frame(fold.source, SETS[fold.source], max_rows)
                found[fold.source] = X.size
            except MissingDataError as error:
                found[fold.source] = 0
                yield f"{fold.source} SKIPPED: {error}"
        if found[fold.source]:
            folds.append(fold)
    run_all = partial(run_contestants, n_folds=n_folds, max_rows=max_rows, n_jobs=n_jobs)
    if n_processes == 1:
        for fold in folds:
            for key, result in run_all(fold):
                store.add(key, result)
        return
    # The long ones first, so that no process is left alone with one of them in the end.
    folds.sort(key=lambda fold: (SETS[fold.source] != "multiclass", -found[fold.source]))
    with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
        for results in pool.imap_unordered(partial(_run_whole, run_all), folds):
            for key, result in results:
                store.add(key, result)


def _run_whole(run_all: Any, fold: Fold) -> list[tuple[Key, Result]]:
    return list(run_all(fold))


# --- what the results say ---


def average(
    results: Mapping[Key, Result], names: Sequence[str], sources: Sequence[str], n_folds: int
) -> dict[str, dict[str, float]]:
    """Return the mean loss by data set and contestant, over the folds that are known of all."""
    found = {}
    for source in sources:
        folds = find_complete(results, names, source, n_folds)
        if folds:
            found[source] = {
                name: statistics.fmean(results[Key(name, source, fold)].loss for fold in folds)
                for name in names
            }
    return found


def find_complete(
    results: Mapping[Key, Result], names: Sequence[str], source: str, n_folds: int
) -> list[int]:
    """Return the folds of which the results of all contestants are known."""
    return [
        fold for fold in range(n_folds) if all(Key(name, source, fold) in results for name in names)
    ]


def tabulate_sets(
    losses: Mapping[str, Mapping[str, float]],
    results: Mapping[Key, Result],
    names: Sequence[str],
    n_folds: int,
) -> Table:
    """Return a line per data set: losses, and how far ours is behind the best of the others."""
    rows = []
    for source, own in losses.items():
        best = min((loss for name, loss in own.items() if name != names[0]), default=0.0)
        gap = f"{100 * (own[names[0]] / best - 1):+.2f} %" if best > 0 else ""
        n_known = len(find_complete(results, names, source, n_folds))
        rows.append([source, str(n_known), *(f"{own[name]:.5g}" for name in names), gap])
    return Table("Mean test loss", ["data set", "folds", *names, "to the best other"], rows)


def tabulate_ranks(
    losses: Mapping[str, Mapping[str, float]],
    results: Mapping[Key, Result],
    names: Sequence[str],
    n_folds: int,
) -> Table:
    """Return a line per contestant: mean rank, wins and losses against it, and training time.

    Times are means over folds, of all threads: other work on the machine disturbs them least.
    """
    matrix = np.array([[own[name] for name in names] for own in losses.values()])
    ranks = rankdata(matrix, axis=1).mean(axis=0)
    times = {
        name: [
            statistics.fmean(
                results[Key(name, source, fold)].cpu_seconds
                for fold in find_complete(results, names, source, n_folds)
            )
            for source in losses
        ]
        for name in names
    }
    rows = []
    for k, name in enumerate(names):
        ours, own = matrix[:, 0], matrix[:, k]
        relative = np.divide(ours - own, own, out=np.zeros_like(own), where=own > 0)
        cells = ["", "", ""]
        if k:
            wins, defeats = int((ours < own).sum()), int((ours > own).sum())
            p = wilcoxon(relative).pvalue if np.any(relative) else 1.0
            cells = [f"{wins} : {defeats}", f"{100 * np.median(relative):+.2f} %", f"{p:.3f}"]
        speed = [mine / theirs for mine, theirs in zip(times[names[0]], times[name], strict=True)]
        ratio = f"{statistics.median(speed):.2f}" if k else ""
        rows.append([name, f"{ranks[k]:.2f}", *cells, format_seconds(sum(times[name])), ratio])
    title = f"{len(losses)} data sets"
    heads = ["", "mean rank", "won : lost", "median loss of ours", "Wilcoxon p", "CPU time"]
    return Table(title, [*heads, "ours / theirs"], rows)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("accuracy --suite", __doc__)
    parser.add_argument("--group", choices=tuple(GROUPS), default="defaults")
    parser.add_argument("--contestants", nargs="+", choices=tuple(CONTESTANTS), metavar="NAME")
    parser.add_argument("--only", nargs="+", choices=tuple(SETS), metavar="NAME")
    parser.add_argument("--fast", action="store_true", help="a subset of the data sets")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--fold", type=int, help="number of the only fold to run; the first is 0")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="at most, per data set")
    parser.add_argument("--jobs", type=int, default=count_cpus(), help="threads of a fit")
    parser.add_argument("--processes", type=int, default=1, help="folds that run at once")
    parser.add_argument("--results", type=Path, default=Path("build/suite.jsonl"))
    add_outputs(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables."""
    parsed = parse_arguments(arguments)
    names = list(parsed.contestants or GROUPS[parsed.group])
    sources = list(parsed.only or (FAST if parsed.fast else SETS))
    store = Store(parsed.results, f"{parsed.rows} rows, {parsed.folds} folds")
    setup = (parsed.folds, parsed.rows, parsed.jobs, parsed.processes, parsed.fold)
    run_all = run(store, names, sources, *setup)
    chosen = f"{parsed.folds} shuffled folds"
    if parsed.fold is not None:
        chosen = f"fold {parsed.fold} of {chosen}"
    notes = [
        f"at most {parsed.rows:,} rows, {chosen}, {parsed.jobs} threads, "
        f"{parsed.processes} folds at once; log loss or RMSE",
        f"ours is {names[0]}; medians and tests are over data sets",
        *run_all,
        ", ".join(f"{key} {value}" for key, value in describe_machine().items()),
    ]
    results = {
        key: result for key, result in store.results.items() if parsed.fold in (None, key.fold)
    }
    losses = average(results, names, sources, parsed.folds)
    tables = []
    if losses:
        tables = [
            tabulate_sets(losses, results, names, parsed.folds),
            tabulate_ranks(losses, results, names, parsed.folds),
        ]
    print("\n\n".join([*map(format_aligned, tables), "\n".join(notes)]))
    content = {"notes": notes, "losses": losses}
    write_outputs(parsed, "Accuracy of defaults", notes, tables, content)
