"""sumwise and its rivals side by side: training, prediction, memory, first fit.

`python -m benchmarks.compare` runs every work of `WORKS`; `--help` tells the rest.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets import (
    Dataset,
    MissingDataError,
    load_categorical,
    load_covertype,
    load_higgs_like,
    load_iris_flowers,
)
from benchmarks.measure import (
    Measurement,
    measure_batch_prediction,
    measure_cold_first_fit,
    measure_memory,
    measure_single_prediction,
    measure_training,
    measure_warm_first_fit,
)
from benchmarks.report import (
    Table,
    count_cpus,
    describe_machine,
    format_aligned,
    format_bytes,
    format_figures,
    format_metrics,
    format_seconds,
    write_json,
    write_markdown,
)
from benchmarks.rivals import (
    CATBOOST,
    LIGHTGBM,
    LIGHTGBM_ALL_ROWS,
    LIGHTGBM_QUANTIZED,
    SCIKIT_LEARN,
    SUMWISE,
    SUMWISE_ALL_ROWS,
    XGBOOST,
    Model,
    Settings,
    with_one_thread,
)


@dataclass(frozen=True)
class Plan:
    """The size of a run."""

    n_rows: int = 1_000_000
    n_trees: int = 100
    n_repeats: int = 3


QUICK = Plan(n_rows=5_000, n_trees=5, n_repeats=1)


@dataclass(frozen=True)
class Target:
    """What ours / best rival may come to; or ours alone, in seconds."""

    reach_first: float
    goal: float
    in_seconds: bool = False

    def judge(self, value: float) -> str:
        if value <= self.goal:
            return "goal"
        return "reached" if value <= self.reach_first else "not yet"


@dataclass(frozen=True)
class Work:
    """A line of the comparison."""

    name: str
    title: str
    measure: Callable[[Sequence[Model], Settings, Dataset, int], list[Measurement]]
    load: Callable[[Plan], Dataset]
    settings: Settings
    rivals: Sequence[Model]
    target: Target

    @property
    def format_value(self) -> Callable[[float], str]:
        return format_bytes if self.measure is measure_memory else format_seconds


@dataclass(frozen=True)
class Comparison:
    """The measurements of a work, ours and the rivals'."""

    work: Work
    settings: Settings
    shape: str
    measurements: Sequence[Measurement]

    @property
    def ours(self) -> Measurement:
        return next(each for each in self.measurements if each.model == SUMWISE.name)

    @property
    def best_rival(self) -> Measurement:
        rivals = [each for each in self.measurements if each is not self.ours]
        return min(rivals, key=lambda rival: rival.median)

    @property
    def ratio(self) -> float:
        return self.ours.median / self.best_rival.median

    @property
    def verdict(self) -> str:
        target = self.work.target
        return target.judge(self.ours.median if target.in_seconds else self.ratio)


def load_dense(plan: Plan) -> Dataset:
    """The data set of the training works."""
    return load_higgs_like(plan.n_rows, min(plan.n_rows, 200_000))


def load_predicted(plan: Plan) -> Dataset:
    """The shape of trees matters here, not the time to grow them."""
    return load_higgs_like(min(plan.n_rows, 100_000), min(plan.n_rows, 200_000))


def load_1k(plan: Plan) -> Dataset:
    """Small data, where overhead counts."""
    return load_higgs_like(min(plan.n_rows, 1_000), 20_000)


def load_10k(plan: Plan) -> Dataset:
    """Ten times as much."""
    return load_higgs_like(min(plan.n_rows, 10_000), 20_000)


def load_classes(plan: Plan) -> Dataset:
    """Several classes: a tree for each, every round."""
    return load_covertype(max_rows=plan.n_rows)


def load_adult(plan: Plan) -> Dataset:
    """Half of the features have categories, up to 41 of them."""
    return load_categorical("adult", plan.n_rows)


def load_amazon(plan: Plan) -> Dataset:
    """All features have categories, up to 7,518 of them."""
    return load_categorical("amazon_employee", plan.n_rows)


def load_flowers(plan: Plan) -> Dataset:
    """Tiny data, where only the start counts."""
    return load_iris_flowers()


# XGBoost and CatBoost have no minimum of rows in a leaf: where they are the ones to
# beat, the others go without.
LEAF = Settings(growth="leaf")
DEPTH = Settings(growth="depth", min_rows=1)
SYMMETRIC = Settings(growth="symmetric", min_rows=1)
CLASSES = Settings(task="multiclass")
GOSS = Settings(growth="leaf", sampling="goss")

LEAF_RIVALS = (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST, SCIKIT_LEARN)
CATEGORICAL_RIVALS = (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST)
DEPTH_RIVALS = (XGBOOST, LIGHTGBM, LIGHTGBM_QUANTIZED)
SMALL_RIVALS = (
    *LEAF_RIVALS,
    *map(with_one_thread, (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST)),
)
PREDICTING_RIVALS = (LIGHTGBM, XGBOOST, SCIKIT_LEARN)
SINGLE_ROW_RIVALS = (
    *PREDICTING_RIVALS,
    *map(with_one_thread, (LIGHTGBM, XGBOOST)),
)
FRESH_RIVALS = (LIGHTGBM, XGBOOST, CATBOOST, SCIKIT_LEARN)

WORKS = (
    Work(
        "train-leaf",
        "train dense, 31 leaves",
        measure_training,
        load_dense,
        LEAF,
        LEAF_RIVALS,
        Target(0.45, 0.30),
    ),
    Work(
        "train-depth",
        "train dense, depth 6",
        measure_training,
        load_dense,
        DEPTH,
        DEPTH_RIVALS,
        Target(0.45, 0.28),
    ),
    Work(
        "train-symmetric",
        "train dense, symmetric 6",
        measure_training,
        load_dense,
        SYMMETRIC,
        (CATBOOST,),
        Target(0.30, 0.15),
    ),
    Work(
        "train-goss",
        "train dense, 31 leaves, GOSS",
        measure_training,
        load_dense,
        GOSS,
        (SUMWISE_ALL_ROWS, LIGHTGBM, LIGHTGBM_ALL_ROWS),
        Target(0.9, 0.7),
    ),
    Work(
        "train-1k",
        "train 1,000 rows, 31 leaves",
        measure_training,
        load_1k,
        LEAF,
        SMALL_RIVALS,
        Target(0.5, 0.3),
    ),
    Work(
        "train-10k",
        "train 10,000 rows, 31 leaves",
        measure_training,
        load_10k,
        LEAF,
        SMALL_RIVALS,
        Target(0.5, 0.3),
    ),
    Work(
        "train-classes",
        "train covertype, 7 classes, 31 leaves",
        measure_training,
        load_classes,
        CLASSES,
        LEAF_RIVALS,
        Target(0.5, 0.3),
    ),
    Work(
        "categories-adult",
        "train adult, native categories, 31 leaves",
        measure_training,
        load_adult,
        LEAF,
        CATEGORICAL_RIVALS,
        Target(0.6, 0.4),
    ),
    Work(
        "categories-amazon",
        "train amazon_employee, native categories, 31 leaves",
        measure_training,
        load_amazon,
        LEAF,
        CATEGORICAL_RIVALS,
        Target(0.6, 0.4),
    ),
    Work(
        "predict-leaf",
        "predict a batch, 31 leaves",
        measure_batch_prediction,
        load_predicted,
        LEAF,
        PREDICTING_RIVALS,
        Target(0.3, 0.12),
    ),
    Work(
        "predict-symmetric",
        "predict a batch, symmetric 6",
        measure_batch_prediction,
        load_predicted,
        SYMMETRIC,
        (CATBOOST,),
        Target(0.6, 0.25),
    ),
    Work(
        "predict-one-leaf",
        "predict one row, 31 leaves, p50",
        measure_single_prediction,
        load_predicted,
        LEAF,
        SINGLE_ROW_RIVALS,
        Target(1.0, 0.3),
    ),
    Work(
        "predict-one-symmetric",
        "predict one row, symmetric 6, p50",
        measure_single_prediction,
        load_predicted,
        SYMMETRIC,
        (CATBOOST, with_one_thread(CATBOOST)),
        Target(1.0, 0.3),
    ),
    Work(
        "memory-leaf",
        "peak memory above the input, 31 leaves",
        measure_memory,
        load_dense,
        LEAF,
        LEAF_RIVALS,
        Target(0.8, 0.5),
    ),
    Work(
        "memory-depth",
        "peak memory above the input, depth 6",
        measure_memory,
        load_dense,
        DEPTH,
        DEPTH_RIVALS,
        Target(0.8, 0.5),
    ),
    Work(
        "memory-symmetric",
        "peak memory above the input, symmetric 6",
        measure_memory,
        load_dense,
        SYMMETRIC,
        (CATBOOST,),
        Target(0.8, 0.5),
    ),
    Work(
        "first-fit-cold",
        "first fit, nothing compiled yet (iris)",
        measure_cold_first_fit,
        load_flowers,
        CLASSES,
        FRESH_RIVALS,
        Target(15.0, 6.0, in_seconds=True),
    ),
    Work(
        "first-fit-warm",
        "first fit of a process, compiled before (iris)",
        measure_warm_first_fit,
        load_flowers,
        CLASSES,
        FRESH_RIVALS,
        Target(1.5, 0.8, in_seconds=True),
    ),
)


def compare(work: Work, plan: Plan) -> Comparison:
    """Load the data of a work and measure all its models."""
    data = work.load(plan)
    settings = replace(work.settings, n_trees=plan.n_trees, n_jobs=count_cpus())
    models = (SUMWISE, *work.rivals)
    measurements = work.measure(models, settings, data, plan.n_repeats)
    return Comparison(work, settings, data.shape, measurements)


def tabulate_summary(comparisons: Sequence[Comparison]) -> Table:
    """A line a work: ours against the best rival, and the targets."""
    header = (
        "work",
        "ours",
        "best rival",
        "rival",
        "ratio",
        "reach first",
        "goal",
        "verdict",
        "metric, ours",
        "metric, rival",
    )
    return Table("Summary (ratio: ours / best rival)", header, list(map(summarize, comparisons)))


def summarize(comparison: Comparison) -> tuple[str, ...]:
    """The line of a work."""
    work, ours, rival = comparison.work, comparison.ours, comparison.best_rival
    return (
        work.title,
        work.format_value(ours.median),
        work.format_value(rival.median),
        rival.model,
        format_figures(comparison.ratio),
        format_limit(work.target.reach_first, work.target),
        format_limit(work.target.goal, work.target),
        comparison.verdict,
        format_metrics(dict(list(ours.metrics.items())[:1])),
        format_metrics(dict(list(rival.metrics.items())[:1])),
    )


def format_limit(limit: float, target: Target) -> str:
    """A limit as the targets state it."""
    return f"<= {limit:g} s" if target.in_seconds else f"<= {limit:g}"


def tabulate_details(comparison: Comparison) -> Table:
    """A line a model, the fastest first."""
    work = comparison.work
    ranked = sorted(comparison.measurements, key=lambda each: each.median)
    rows = [
        (
            each.model,
            work.format_value(each.median),
            work.format_value(min(each.values)),
            work.format_value(max(each.values)),
            format_figures(comparison.ours.median / each.median),
            format_metrics(each.metrics),
            "" if each.warm_up_s is None else format_seconds(each.warm_up_s),
        )
        for each in ranked
    ]
    header = (
        "model",
        "median",
        "min",
        "max",
        "ours / it",
        "test metrics",
        "warm-up",
    )
    return Table(f"{work.title} ({comparison.shape})", header, rows)


def encode(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values."""
    work = comparison.work
    return {
        "name": work.name,
        "title": work.title,
        "shape": comparison.shape,
        "settings": asdict(comparison.settings),
        "target": asdict(work.target),
        "unit": "bytes" if work.measure is measure_memory else "seconds",
        "ratio": comparison.ratio,
        "best_rival": comparison.best_rival.model,
        "verdict": comparison.verdict,
        "measurements": [
            {**asdict(each), "median": each.median} for each in comparison.measurements
        ],
    }


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="works so named, or by part"
    )
    parser.add_argument("--list", action="store_true", help="name the works and end")
    parser.add_argument("--rows", type=int, help="of the dense data")
    parser.add_argument("--trees", type=int)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that all runs")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--markdown", type=Path, metavar="PATH")
    return parser.parse_args(arguments)


def plan_run(arguments: argparse.Namespace) -> Plan:
    """The standard or the quick sizes, each overridden where asked for."""
    plan = QUICK if arguments.quick else Plan()
    return Plan(
        n_rows=arguments.rows or plan.n_rows,
        n_trees=arguments.trees or plan.n_trees,
        n_repeats=arguments.repeat or plan.n_repeats,
    )


def select_works(parts: Sequence[str]) -> list[Work]:
    """The works whose names contain one of the parts."""
    return [work for work in WORKS if any(part in work.name for part in parts)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the works, print the tables, write the files."""
    parsed = parse_arguments(arguments)
    works = select_works(parsed.only)
    if parsed.list:
        print("\n".join(work.name for work in works))
        return
    plan = plan_run(parsed)
    comparisons: list[Comparison] = []
    skipped: dict[str, str] = {}
    for work in works:
        print(f"{work.name} ...", file=sys.stderr, flush=True)
        try:
            comparisons.append(compare(work, plan))
        except MissingDataError as error:
            skipped[work.name] = str(error)

    machine = describe_machine()
    notes = [
        f"{plan.n_trees} trees, 255 bins, medians of {plan.n_repeats} alternating runs",
        "rivals and sumwise use all CPUs where nothing else is said",
        "warm-up: our first, unheeded run, which compiles the kernels or loads them",
        *(f"{name} SKIPPED: {reason}" for name, reason in skipped.items()),
        ", ".join(f"{key} {value}" for key, value in machine.items()),
    ]
    if parsed.quick:
        notes.insert(0, "quick: the sizes are too small to judge by")
    details, summary = list(map(tabulate_details, comparisons)), tabulate_summary(comparisons)
    print("\n\n".join([*map(format_aligned, [*details, summary]), "\n".join(notes)]))
    if parsed.markdown:
        write_markdown(parsed.markdown, "sumwise and its rivals", notes, [summary, *details])
    if parsed.json:
        content = {
            "machine": machine,
            "plan": asdict(plan),
            "skipped": skipped,
            "works": list(map(encode, comparisons)),
        }
        write_json(parsed.json, content)


if __name__ == "__main__":
    main()
