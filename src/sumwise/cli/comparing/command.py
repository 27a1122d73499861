"""What `sumwise compare` does: for each data set, compile, train, print, report, save."""

import argparse
import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import sumwise
from sumwise.cli.comparing.board import show_board
from sumwise.cli.comparing.contenders import REFERENCE, Terms, list_contenders
from sumwise.cli.comparing.datasets import NAMES, Dataset, from_rows, load_dataset
from sumwise.cli.comparing.markdown import format_markdown
from sumwise.cli.comparing.rows import (
    DECOMPOSITION_HEADER,
    format_decompositions,
    format_result,
    name_columns,
    sort_results,
)
from sumwise.cli.comparing.scores import METRICS, Metric
from sumwise.cli.comparing.sharing import Memory
from sumwise.cli.comparing.validation import Fold, Result, cross_validate, split_folds
from sumwise.cli.comparing.warming import is_cold, warm_up_all
from sumwise.cli.console import Console
from sumwise.cli.reading.files import STANDARD_INPUT, ReadOptions, read_table
from sumwise.cli.reading.roles import LabeledRows, assign_roles, label_rows
from sumwise.cli.usage import UsageError
from sumwise.cli.writing import check_target, write_file
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.report import Comparison, report_comparison
from sumwise.report import Contender as ReportedContender
from sumwise.training.progress import format_seconds

_DEFAULT_NAMES = NAMES[:1]
_MARKDOWN = {".md", ".markdown"}


@dataclass(frozen=True)
class Task:
    """A data set with what was asked for it.

    Attributes
    ----------
    data : Dataset
        What contenders are compared on.
    rows : LabeledRows or None
        All rows of a table of the user.
    X : array or frame
        The features of the compared rows as the best model reads them.
    metric : Metric
    folds : list of (train, test)
    """

    data: Dataset
    rows: LabeledRows | None
    X: Any
    metric: Metric
    folds: list[Fold]


def compare_all(args: argparse.Namespace, options: ReadOptions, console: Console) -> None:
    """Compare as the options say."""
    for path in (*args.report, *filter(None, [args.save])):
        option = "--save" if path == args.save else "--report"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{option} {path}: {error.strerror}") from None
        check_target(str(path), option)
    terms = Terms(args.rounds, args.jobs, args.auto_seconds)
    tasks = _load_tasks(args, options, console)
    found: list[dict[str, Any]] = []
    texts = [_describe_settings(args)]
    with threadpool_limits(args.jobs, user_api="openmp"), console.show_warnings():
        for place, task in enumerate(tasks):
            result = _compare(task, terms, console)
            texts.append(format_markdown(task.data, result, task.metric, len(task.folds)))
            _print_results(task, result, console)
            found.append(_to_json(task, result))
            suffix = f"-{task.data.name}" if place else ""
            _keep(args, task, terms, result, suffix, console)
    for path in args.report:
        if path.suffix.lower() in _MARKDOWN:
            write_file(path, "\n".join(texts))
            console.say(f"report: {path}")
    if not args.report and args.save is None:
        console.say("\n--report report.html keeps a report, and --save best.sumwise the best model")
    console.print_json({"data": found})


# --- data ---


def _load_tasks(args: argparse.Namespace, options: ReadOptions, console: Console) -> list[Task]:
    if args.file is not None and args.data:
        raise UsageError("name a FILE, or data sets by --data, not both")
    if args.file is None:
        columns = ("target", "task", "id", "group", "time", "drop")
        given = [name for name in columns if getattr(args, name)]
        if given:
            raise UsageError(f"--{given[0]} needs a FILE")
        loaded = [load_dataset(name) for name in args.data or _DEFAULT_NAMES]
        return [_make_task(args, data, None, data.X) for data in loaded]
    table = read_table(args.file, options)
    console.say(f"{table.name}: {table.n_rows:,} rows, {len(table.names)} columns")
    rows = label_rows(table, assign_roles(table, args, console.say), args.drop_missing, console.say)
    name = "standard input" if args.file == STANDARD_INPUT else Path(args.file).stem
    data = from_rows(rows, name)
    X = rows.X
    if len(data.y) > args.max_rows:
        console.say(f"compared on {args.max_rows:,} random rows (--max-rows)")
        chosen = np.sort(np.random.default_rng(0).permutation(len(data.y))[: args.max_rows])
        data, X = data.take(chosen), rows.table.take(chosen).select(rows.roles.features)
    return [_make_task(args, data, rows, X)]


def _make_task(args: argparse.Namespace, data: Dataset, rows: LabeledRows | None, X: Any) -> Task:
    known = METRICS[data.task]
    name = args.metric or next(iter(known))
    if name not in known:
        raise UsageError(
            f"--metric {name}: {data.name} is a task of {data.task}; choose {', '.join(known)}"
        )
    return Task(data, rows, X, known[name], split_folds(data, args.folds))


# --- comparing ---


def _compare(task: Task, terms: Terms, console: Console) -> list[Result]:
    """Compile, then train all contenders on all folds; return the results in order of training."""
    data = task.data
    contenders = list_contenders(data, terms)
    n_rows, n_features = data.X.shape
    console.say(f"{data.name}: {n_rows:,} rows, {n_features} features, {data.task}")
    start = perf_counter()
    if is_cold():
        console.say("compiling kernels for this machine, once: about a minute")
    with console.overwrite() as show_line:
        warm_up_all(
            contenders,
            data,
            terms,
            lambda name: show_line(f"{format_seconds(perf_counter() - start)}: {name}"),
        )
    seconds = perf_counter() - start
    if seconds > 5:
        console.say(f"kernels ready after {seconds:.0f} s")
    terms = terms._replace(memory=Memory())
    n_folds = len(task.folds)
    console.say(f"training {len(contenders)} models on {n_folds} folds")
    start = perf_counter()
    with show_board(console, contenders, task.metric, terms, n_folds) as show:
        results = [
            cross_validate(each, data, task.folds, terms, task.metric, show) for each in contenders
        ]
    console.say(f"trained in {perf_counter() - start:.0f} s")
    for result in results:
        if result.failure is not None:
            console.warn(f"{result.name} failed: {result.failure}")
    if not any(result.failure is None for result in results):
        raise RuntimeError(f"no model could be trained: {results[0].failure}")
    return results


def _print_results(task: Task, results: Sequence[Result], console: Console) -> None:
    ordered = sort_results(results, task.metric)
    n_folds = len(task.folds)
    console.print(f"\n{task.data.name}: {n_folds}-fold {task.metric.title}, best first")
    console.print_table(
        name_columns(task.metric), [format_result(result, n_folds) for result in ordered]
    )
    parts = format_decompositions(ordered)
    if parts:
        what = "squared error" if task.data.task == "regression" else "error of the vote"
        console.print(f"\n{what} = mean error of the members - diversity + bad diversity")
        console.print_table(DECOMPOSITION_HEADER, parts)


def _to_json(task: Task, results: Sequence[Result]) -> dict[str, Any]:
    return {
        "name": task.data.name,
        "task": task.data.task,
        "metric": task.metric.title,
        "n_rows": len(task.data.y),
        "n_folds": len(task.folds),
        "models": [
            {
                "name": each.name,
                "group": each.contender.group,
                "fold_scores": each.scores,
                "mean_score": each.mean_score,
                "fit_seconds": each.fit_seconds,
                "predict_seconds": each.predict_seconds,
                "members": each.members,
                "failure": each.failure,
            }
            for each in sort_results(results, task.metric)
        ],
    }


# --- what is kept ---


def _keep(
    args: argparse.Namespace,
    task: Task,
    terms: Terms,
    results: Sequence[Result],
    suffix: str,
    console: Console,
) -> None:
    """Write the report of HTML and the best model; the suffix tells further data sets apart."""
    pages = [path for path in args.report if path.suffix.lower() not in _MARKDOWN]
    if not pages and args.save is None:
        return
    ranked = [
        each
        for each in sort_results(results, task.metric)
        if each.contender.group != REFERENCE and each.failure is None
    ]
    best, model = _fit_best(task, terms, ranked, console)
    if args.save is not None:
        path = args.save.with_stem(args.save.stem + suffix)
        model = _save(model, path)
        console.say(f"model: {path} ({best.name}, fitted to all {len(_find_y(task)):,} rows)")
    for page in pages:
        path = page.with_stem(page.stem + suffix)
        report_comparison(_describe(args, task, results, ranked[0], best, model)).save(path)
        console.say(f"report: {path}")


def _find_y(task: Task) -> np.ndarray:
    return task.data.y if task.rows is None else task.rows.y


def _fit_best(
    task: Task, terms: Terms, ranked: Sequence[Result], console: Console
) -> tuple[Result, Any]:
    """Fit the best contender that has a model file to all rows."""
    for result in ranked:
        model = result.contender.build(task.data, terms)
        if hasattr(model, "distill") or not isinstance(model, NotSavedMixin):
            break
    if result is not ranked[0]:
        console.say(
            f"{ranked[0].name} is best, and has no model file: its members may be of any kind; "
            f"kept is {result.name}"
        )
    X = task.data.X if task.rows is None else task.rows.X
    model.fit(X, _find_y(task))
    if isinstance(X, np.ndarray):
        model.feature_names_in_ = np.array(task.data.names, dtype=object)
    return result, model


def _save(model: Any, path: Path) -> Any:
    """Save a model, or what is distilled from it; return what was saved."""
    try:
        model.save(path)
    except TypeError:
        model = model.distill()
        model.save(path)
    return model


def _describe(
    args: argparse.Namespace,
    task: Task,
    results: Sequence[Result],
    winner: Result,
    kept: Result,
    model: Any,
) -> Comparison:
    """Return what the report shows."""
    data = task.data
    contenders = [
        ReportedContender(
            each.name,
            np.array(each.scores + [np.nan] * (len(task.folds) - len(each.scores))),
            float(sum(each.fit_seconds)),
            float(sum(each.predict_seconds)),
            round(float(np.mean(each.members))) if each.members else None,
            each.out_of_fold,
            each.contender.group,
        )
        for each in results
    ]
    return Comparison(
        data.name,
        data.task,
        task.metric.title,
        task.metric.greater_is_better,
        task.X,
        data.y,
        list(data.names),
        contenders,
        kept.name,
        model,
        {**_list_settings(args), "best": winner.name, "model": kept.name},
        shlex.join(["sumwise", *args.words]),
    )


def _list_settings(args: argparse.Namespace) -> dict[str, str]:
    return {
        "folds": str(args.folds),
        "rounds": str(args.rounds),
        "threads": f"{args.jobs or 'all'} of {os.cpu_count()} CPUs",
        "automatic ensemble": f"{args.auto_seconds:g} s per fold",
        "sumwise": sumwise.__version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _describe_settings(args: argparse.Namespace) -> str:
    lines = [f"- {name}: {value}" for name, value in _list_settings(args).items()]
    lines.append("- times: means over folds; rounds of boosting count as members")
    return "\n".join(["# sumwise compare", "", *lines, ""])
