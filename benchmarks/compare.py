"""sumwise compared with other libraries: training, prediction, memory, first fit.

`python -m benchmarks.compare` runs every case of `CASES`; see `--help`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from benchmarks.datasets import (
    MANY_CATEGORIES,
    Dataset,
    MissingDataError,
    load_categorical,
    load_covertype,
    load_higgs_like,
    load_iris_flowers,
    load_many_categories,
)
from benchmarks.measure import (
    Measurement,
    Run,
    measure_batch_prediction,
    measure_cold_first_fit,
    measure_memory,
    measure_single_prediction,
    measure_training,
    measure_warm_first_fit,
)
from benchmarks.report import (
    Table,
    add_outputs,
    choose_cpu,
    count_cpus,
    describe_machine,
    format_aligned,
    format_bytes,
    format_figures,
    format_metrics,
    format_seconds,
    write_outputs,
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
from benchmarks.side_by_side import make_parser


@dataclass(frozen=True)
class Plan:
    """The size of a run."""

    n_rows: int = 1_000_000
    n_trees: int = 100
    n_repeats: int = 3


QUICK = Plan(n_rows=5_000, n_trees=5, n_repeats=1)


@dataclass(frozen=True)
class Target:
    """Limits for the ratio of ours to the best rival, or for our seconds."""

    reach_first: float
    goal: float
    in_seconds: bool = False

    def judge(self, value: float) -> str:
        if value <= self.goal:
            return "goal"
        return "reached" if value <= self.reach_first else "not yet"


@dataclass(frozen=True)
class Case:
    """A case of the comparison: what is measured, on which data, and against which rivals."""

    measure: Callable[[Run], list[Measurement]]
    name: str
    title: str
    load: Callable[[int], Dataset]  # takes the number of training rows
    settings: Settings
    rivals: Sequence[Model]
    target: Target

    @property
    def format_value(self) -> Callable[[float], str]:
        return format_bytes if self.measure is measure_memory else format_seconds


@dataclass(frozen=True)
class Comparison:
    """All measurements of a case."""

    case: Case
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
        target = self.case.target
        return target.judge(self.ours.median if target.in_seconds else self.ratio)


def load_collisions(n_train: int, n_test: int, n_rows: int) -> Dataset:
    """Return dense data of at most these sizes, and of at most ``n_rows`` training rows."""
    return load_higgs_like(min(n_rows, n_train), min(n_rows, n_test))


load_dense = partial(load_collisions, sys.maxsize, 200_000)
# Prediction depends on the shape of the trees only.
load_predicted = partial(load_collisions, 100_000, 200_000)
# Half of the features of adult have categories, up to 41 each; all of amazon's, up to 7,518.
load_adult = partial(load_categorical, "adult")
load_amazon = partial(load_categorical, "amazon_employee")


def load_1k(n_rows: int) -> Dataset:
    """Return small data, where overhead counts."""
    return load_higgs_like(min(n_rows, 1_000), 20_000)


def load_10k(n_rows: int) -> Dataset:
    """Return ten times as many rows."""
    return load_higgs_like(min(n_rows, 10_000), 20_000)


def load_100k(n_rows: int) -> Dataset:
    """Return rows enough for many threads, but not for many barriers."""
    return load_higgs_like(min(n_rows, 100_000), 20_000)


def load_mixed(n_rows: int) -> Dataset:
    """Return numbers and categories, which ordered statistics encode."""
    return load_many_categories(min(n_rows, 10_000), 5_000)


# XGBoost and CatBoost have no minimum number of rows per leaf. Cases with these rivals turn it off
# for all libraries.
LEAF = Settings(growth="leaf")
DEPTH = Settings(growth="depth", min_rows=1)
SYMMETRIC = Settings(growth="symmetric", min_rows=1)
CLASSES = Settings(task="multiclass")
GOSS = Settings(growth="leaf", sampling="goss")
STATISTICS = replace(SYMMETRIC, categories=tuple(MANY_CATEGORIES))
ORDERED = replace(STATISTICS, boosting="ordered")

LEAF_RIVALS = (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST, SCIKIT_LEARN)
CATEGORICAL_RIVALS = (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST)
DEPTH_RIVALS = (XGBOOST, LIGHTGBM, LIGHTGBM_QUANTIZED)
SMALL_RIVALS = (*LEAF_RIVALS, *map(with_one_thread, (LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST)))
PREDICTING_RIVALS = (LIGHTGBM, XGBOOST, SCIKIT_LEARN)
ROW_RIVALS = (*PREDICTING_RIVALS, *map(with_one_thread, (LIGHTGBM, XGBOOST)))
CATBOOSTS = (CATBOOST, with_one_thread(CATBOOST))
GOSS_RIVALS = (SUMWISE_ALL_ROWS, LIGHTGBM, LIGHTGBM_ALL_ROWS)
FRESH_RIVALS = (LIGHTGBM, XGBOOST, CATBOOST, SCIKIT_LEARN)

COVERTYPE = "covertype, 7 classes, 31 leaves"
ADULT = "adult, native categories, 31 leaves"
AMAZON = "amazon_employee, native categories, 31 leaves"
MIXED = "20 of 68 features by ordered statistics, symmetric 6"
MIXED_ORDERED = f"{MIXED}, ordered boosting"
SYMMETRIC_P50 = "symmetric 6, p50"


def _group(measure: Any, prefix: str, *cases: tuple[Any, ...]) -> list[Case]:
    """Return cases with the same measure; the prefix and a part make the title."""
    return [
        Case(measure, name, prefix + title, *rest, Target(reach_first, goal))
        for name, title, *rest, reach_first, goal in cases
    ]


CASES = (
    *_group(
        measure_training,
        "train ",
        ("train-leaf", "dense, 31 leaves", load_dense, LEAF, LEAF_RIVALS, 0.45, 0.30),
        ("train-depth", "dense, depth 6", load_dense, DEPTH, DEPTH_RIVALS, 0.45, 0.28),
        ("train-symmetric", "dense, symmetric 6", load_dense, SYMMETRIC, (CATBOOST,), 0.30, 0.15),
        ("train-goss", "dense, 31 leaves, GOSS", load_dense, GOSS, GOSS_RIVALS, 0.9, 0.7),
        ("train-1k", "1,000 rows, 31 leaves", load_1k, LEAF, SMALL_RIVALS, 0.5, 0.3),
        ("train-10k", "10,000 rows, 31 leaves", load_10k, LEAF, SMALL_RIVALS, 0.5, 0.3),
        ("train-100k", "100,000 rows, 31 leaves", load_100k, LEAF, LEAF_RIVALS, 0.5, 0.4),
        ("train-classes", COVERTYPE, load_covertype, CLASSES, LEAF_RIVALS, 0.5, 0.3),
        ("categories-adult", ADULT, load_adult, LEAF, CATEGORICAL_RIVALS, 0.6, 0.4),
        ("categories-amazon", AMAZON, load_amazon, LEAF, CATEGORICAL_RIVALS, 0.6, 0.4),
        ("categories-statistics", MIXED, load_mixed, STATISTICS, CATBOOSTS, 0.8, 0.5),
        ("categories-ordered", MIXED_ORDERED, load_mixed, ORDERED, CATBOOSTS, 0.8, 0.5),
    ),
    *_group(
        measure_batch_prediction,
        "predict a batch, ",
        ("predict-leaf", "31 leaves", load_predicted, LEAF, PREDICTING_RIVALS, 0.3, 0.12),
        ("predict-depth", "depth 6", load_predicted, DEPTH, PREDICTING_RIVALS, 0.3, 0.15),
        ("predict-symmetric", "symmetric 6", load_predicted, SYMMETRIC, (CATBOOST,), 0.6, 0.25),
    ),
    *_group(
        measure_single_prediction,
        "predict one row, ",
        ("predict-one-leaf", "31 leaves, p50", load_predicted, LEAF, ROW_RIVALS, 1.0, 0.3),
        ("predict-one-symmetric", SYMMETRIC_P50, load_predicted, SYMMETRIC, CATBOOSTS, 1.0, 0.3),
    ),
    *_group(
        measure_memory,
        "peak memory above the input, ",
        ("memory-leaf", "31 leaves", load_dense, LEAF, LEAF_RIVALS, 0.8, 0.5),
        ("memory-depth", "depth 6", load_dense, DEPTH, DEPTH_RIVALS, 0.8, 0.5),
        ("memory-symmetric", "symmetric 6", load_dense, SYMMETRIC, (CATBOOST,), 0.8, 0.5),
    ),
    Case(
        measure_cold_first_fit,
        "first-fit-cold",
        "first fit, nothing compiled yet (iris)",
        lambda n_rows: load_iris_flowers(),
        CLASSES,
        FRESH_RIVALS,
        Target(15.0, 6.0, in_seconds=True),
    ),
    Case(
        measure_warm_first_fit,
        "first-fit-warm",
        "first fit of a process, compiled before (iris)",
        lambda n_rows: load_iris_flowers(),
        CLASSES,
        FRESH_RIVALS,
        Target(1.5, 0.8, in_seconds=True),
    ),
)


def compare(case: Case, plan: Plan) -> Comparison:
    """Load the data of a case and measure all its models."""
    data = case.load(plan.n_rows)
    settings = replace(case.settings, n_trees=plan.n_trees, n_jobs=count_cpus())
    models = {model.name: model for model in (SUMWISE, *case.rivals)}
    measurements = case.measure(Run(models, settings, data, plan.n_repeats))
    return Comparison(case, settings, data.shape, measurements)


def tabulate_summary(comparisons: Sequence[Comparison]) -> Table:
    """Return one line per case: ours against the best rival, and the limits."""
    header = ["case", "ours", "best rival", "rival", "ratio", "reach first", "goal", "verdict"]
    header += ["metric, ours", "metric, rival"]
    return Table("Summary (ratio: ours / best rival)", header, list(map(summarize, comparisons)))


def summarize(comparison: Comparison) -> tuple[str, ...]:
    """Return the line of a case."""
    case, ours, rival = comparison.case, comparison.ours, comparison.best_rival
    return (
        case.title,
        case.format_value(ours.median),
        case.format_value(rival.median),
        rival.model,
        format_figures(comparison.ratio),
        format_limit(case.target.reach_first, case.target),
        format_limit(case.target.goal, case.target),
        comparison.verdict,
        format_metrics(dict(list(ours.metrics.items())[:1])),
        format_metrics(dict(list(rival.metrics.items())[:1])),
    )


def format_limit(limit: float, target: Target) -> str:
    """Format a limit with its unit."""
    return f"<= {limit:g} s" if target.in_seconds else f"<= {limit:g}"


def tabulate_details(comparison: Comparison) -> Table:
    """Return one line per model, the fastest first."""
    case = comparison.case
    ranked = sorted(comparison.measurements, key=lambda each: each.median)
    rows = [
        (
            each.model,
            case.format_value(each.median),
            case.format_value(min(each.values)),
            case.format_value(max(each.values)),
            format_figures(comparison.ours.median / each.median),
            format_metrics(each.metrics),
            "" if each.warm_up_s is None else format_seconds(each.warm_up_s),
        )
        for each in ranked
    ]
    header = ("model", "median", "min", "max", "ours / it", "test metrics", "warm-up")
    return Table(f"{case.title} ({comparison.shape})", header, rows)


def encode(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values."""
    case = comparison.case
    return {
        "name": case.name,
        "title": case.title,
        "shape": comparison.shape,
        "settings": asdict(comparison.settings),
        "target": asdict(case.target),
        "unit": "bytes" if case.measure is measure_memory else "seconds",
        "ratio": comparison.ratio,
        "best_rival": comparison.best_rival.model,
        "verdict": comparison.verdict,
        "measurements": [
            {**asdict(each), "median": each.median} for each in comparison.measurements
        ],
    }


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("compare", __doc__)
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="names of cases, or parts of them"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--rows", type=int, help="of the dense data")
    parser.add_argument("--trees", type=int)
    parser.add_argument("--repeat", type=int)
    parser.add_argument(
        "--cpu", metavar="NAME", help="compile our kernels for it, such as haswell for AVX2"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: check that all cases run")
    add_outputs(parser)
    return parser.parse_args(arguments)


def plan_run(arguments: argparse.Namespace) -> Plan:
    """Return the standard or the quick sizes, with those given on the command line."""
    plan = QUICK if arguments.quick else Plan()
    return Plan(
        n_rows=arguments.rows or plan.n_rows,
        n_trees=arguments.trees or plan.n_trees,
        n_repeats=arguments.repeat or plan.n_repeats,
    )


def select_cases(parts: Sequence[str]) -> list[Case]:
    """Return the cases whose names contain one of the parts."""
    return [case for case in CASES if any(part in case.name for part in parts)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases, print the tables, write the files."""
    parsed = parse_arguments(arguments)
    cases = select_cases(parsed.only)
    if parsed.list:
        print("\n".join(case.name for case in cases))
        return
    if parsed.cpu:
        choose_cpu(parsed.cpu)
    machine = describe_machine()
    print("{processor}, {cpus} CPUs, kernels {kernels}\n".format_map(machine), flush=True)
    plan = plan_run(parsed)
    comparisons: list[Comparison] = []
    skipped: dict[str, str] = {}
    for case in cases:
        print(f"{case.name} ...", file=sys.stderr, flush=True)
        try:
            comparisons.append(compare(case, plan))
        except MissingDataError as error:
            skipped[case.name] = str(error)

    notes = [
        f"{plan.n_trees} trees, 255 bins, medians of {plan.n_repeats} alternating runs",
        "all libraries use all CPUs unless noted",
        "warm-up: our first run, which compiles or loads the kernels and is not counted",
        *(f"{name} SKIPPED: {reason}" for name, reason in skipped.items()),
        ", ".join(f"{key} {value}" for key, value in machine.items()),
    ]
    if parsed.quick:
        notes.insert(0, "quick: these sizes are too small for conclusions")
    details, summary = list(map(tabulate_details, comparisons)), tabulate_summary(comparisons)
    print("\n\n".join([*map(format_aligned, [*details, summary]), "\n".join(notes)]))
    content = {
        "machine": machine,
        "plan": asdict(plan),
        "skipped": skipped,
        "cases": list(map(encode, comparisons)),
    }
    tables = [summary, *details]
    write_outputs(parsed, "sumwise compared with other libraries", notes, tables, content)


if __name__ == "__main__":
    main()
