"""Times of training on a GPU, beside XGBoost and CatBoost in the same run."""

import gc
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from benchmarks.compare import Target
from benchmarks.metrics import score
from benchmarks.on_gpu import contestants as own
from benchmarks.on_gpu.large_tables import Rows, make_cover, make_events, split
from benchmarks.on_gpu.outcome import Outcome, join
from benchmarks.report import Table, count_cpus, format_figures, format_metrics, format_seconds
from benchmarks.rivals import Settings

ROWS = (1_000_000, 10_000_000)
N_TEST = 200_000
N_COVER_ROWS = 500_000
_WARM_UP_ROWS = 100_000
# From so many rows on, slow contestants run once; from so many on, not at all.
_MANY_ROWS, _TOO_MANY_ROWS = 5_000_000, 50_000_000


class Case(NamedTuple):
    """Settings, the rivals that grow trees in this way, and the limits of the ratio of times."""

    title: str
    settings: Settings
    rivals: Sequence[str]
    target: Target


# XGBoost and CatBoost have no minimum number of rows per leaf.
CASES = {
    "depth": Case("depth 6", Settings(growth="depth", min_rows=1), own.XGBOOSTS, Target(0.5, 0.25)),
    "leaf": Case("31 leaves", Settings(growth="leaf", min_rows=1), own.XGBOOSTS, Target(0.5, 0.25)),
    "symmetric": Case(
        "symmetric 6",
        Settings(growth="symmetric", min_rows=1),
        (own.CATBOOST_GPU,),
        Target(0.3, 0.25),
    ),
}


class Lap(NamedTuple):
    """One training of one contestant; the first one has metrics on the test rows, too."""

    contestant: str
    seconds: float
    construction: float
    metrics: dict[str, float]


@dataclass(frozen=True)
class Result:
    """All laps of one contestant in one case."""

    case: str
    contestant: str
    n_rows: int
    seconds: Sequence[float]
    construction: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def choose(case: Case, n_rows: int, chosen: Sequence[str]) -> list[str]:
    """Return the contestants of a case that can take part."""
    names = [own.OURS, own.OURS_ON_GPU, own.OURS_ON_CPU, *case.rivals]
    absent = {*own.list_missing(), *(own.SLOW if n_rows >= _TOO_MANY_ROWS else ())}
    return [name for name in names if name in chosen and name not in absent]


def measure(label: str, case: Case, rows: Rows, n_repeats: int, chosen: Sequence[str]) -> Outcome:
    """Train all contestants in turn, each after a warm-up; one that fails is a problem."""
    names = choose(case, len(rows.X), chosen)
    laps: list[Lap] = []
    problems: list[str] = []
    for repeat_idx in range(n_repeats):
        for name in list(names) if repeat_idx % 2 == 0 else list(reversed(names)):
            if repeat_idx and name in own.SLOW and len(rows.X) >= _MANY_ROWS:
                continue
            try:
                laps.append(run_lap(name, case.settings, rows, is_first=repeat_idx == 0))
            except Exception as error:  # the others shall be measured nevertheless
                problems.append(f"{label}, {name}: {type(error).__name__}: {error!s:.300}")
                names.remove(name)
    results = [
        summarize(label, len(rows.X), [lap for lap in laps if lap.contestant == name])
        for name in names
    ]
    table = tabulate(label, results, case.target)
    print(table.title, *problems, sep="\n", file=sys.stderr, flush=True)
    return Outcome([table], [asdict(each) for each in results], problems)


def run_lap(name: str, settings: Settings, rows: Rows, is_first: bool) -> Lap:
    """Train a contestant; the first time after a warm-up that compiles what it compiles."""
    if is_first:
        few = replace(settings, n_trees=2)
        train(name, few, rows.X[:_WARM_UP_ROWS], rows.y[:_WARM_UP_ROWS])
    trained = train(name, settings, rows.X, rows.y)
    metrics = {}
    if is_first:
        X_test = own.put_on_gpu(rows.X_test) if name in own.ON_GPU else rows.X_test
        prediction = own.as_probabilities(trained.predict(X_test))
        metrics = score(settings.task, rows.y_test, prediction)
    return Lap(name, trained.seconds, trained.construction, metrics)


def train(name: str, settings: Settings, X: Any, y: Any) -> own.Trained:
    """Train a contestant on arrays that lie where it wants them."""
    if name in own.ON_GPU:
        X = own.put_on_gpu(X)
    gc.collect()
    own.synchronize()
    return own.CONTESTANTS[name](settings, X, y)


def summarize(label: str, n_rows: int, laps: Sequence[Lap]) -> Result:
    """Return the laps of one contestant as one result."""
    construction = statistics.median(lap.construction for lap in laps)
    seconds = [lap.seconds for lap in laps]
    return Result(label, laps[0].contestant, n_rows, seconds, construction, laps[0].metrics)


def tabulate(title: str, results: Sequence[Result], target: Target) -> Table:
    """Return all contestants of a case, and the verdict on ours."""
    by_name = {each.contestant: each for each in results}
    ours = by_name.get(own.OURS)
    lines = []
    for each in sorted(results, key=lambda each: each.median):
        base = by_name.get(own.OURS_ON_GPU, ours) if each.contestant in own.ON_GPU else ours
        lines.append(
            (
                each.contestant,
                format_seconds(each.median),
                format_seconds(min(each.seconds)),
                format_seconds(each.construction) if each.construction else "",
                format_figures(base.median / each.median) if base else "",
                format_metrics(each.metrics),
            )
        )
    rivals = [each for each in results if each.contestant in own.RIVALS]
    rivals = [each for each in rivals if each.contestant not in own.ON_GPU]
    verdict = ""
    if ours and rivals:
        best = min(rivals, key=lambda rival: rival.median)
        ratio = ours.median / best.median
        verdict = f": {format_figures(ratio)} of {best.contestant}, {target.judge(ratio)} "
        verdict += f"(<= {target.reach_first:g}, goal {target.goal:g})"
    header = ("", "median", "min", "own data structure", "ours / it", "test metrics")
    return Table(f"{title}{verdict}", header, lines)


def time_training(
    cases: Sequence[str],
    sizes: Sequence[int],
    n_trees: int,
    n_repeats: int,
    chosen: Sequence[str] = tuple(own.CONTESTANTS),
) -> Outcome:
    """Time the training of every case at every size."""
    outcomes = []
    for n_rows in sizes:
        rows = split(*make_events(n_rows + N_TEST), n_rows)
        for name in cases:
            case = set_size(CASES[name], n_trees)
            label = f"train {case.title}, {n_rows:,} x {rows.X.shape[1]}, {n_trees} trees"
            outcomes.append(measure(label, case, rows, n_repeats, chosen))
    return join(outcomes)


def time_multiclass(
    n_trees: int,
    n_repeats: int,
    n_rows: int = N_COVER_ROWS,
    chosen: Sequence[str] = tuple(own.CONTESTANTS),
) -> Outcome:
    """Time the training of 7 classes."""
    rows = split(*make_cover(n_rows + n_rows // 5), n_rows)
    outcomes = []
    for name in ("depth", "leaf"):
        case = set_size(CASES[name], n_trees)
        case = case._replace(settings=replace(case.settings, task="multiclass"))
        label = f"train 7 classes, {case.title}, {n_rows:,} x {rows.X.shape[1]}, {n_trees} rounds"
        outcomes.append(measure(label, case, rows, n_repeats, chosen))
    return join(outcomes)


def set_size(case: Case, n_trees: int) -> Case:
    """Return a case with so many trees, and all CPUs for what runs on them."""
    return case._replace(settings=replace(case.settings, n_trees=n_trees, n_jobs=count_cpus()))
