"""Test metrics at equal settings, fold by fold, beside the rival of each growth.

`python -m benchmarks.accuracy` reads its data sets from the folder that the
environment variable `SUMWISE_DATA` names; `--help` tells the rest.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.stats import t as student_t
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.datasets import Features, MissingDataError, read_frame, read_table
from benchmarks.metrics import LARGER_IS_BETTER, predict, score
from benchmarks.report import (
    Table,
    count_cpus,
    describe_machine,
    format_aligned,
    write_json,
    write_markdown,
)
from benchmarks.rivals import (
    CATBOOST,
    LIGHTGBM,
    SUMWISE,
    XGBOOST,
    Model,
    Settings,
    Task,
    build,
)

MAX_ROWS = 100_000

NUMERIC: dict[str, Task] = {
    "california_housing": "regression",
    "bike_sharing_hour": "regression",
    "kin8nm": "regression",
    "higgs_21k": "binary",
    "covertype": "multiclass",
    "letter": "multiclass",
}
# Frames with categories, which both sides of a duel split by sets of categories.
CATEGORICAL: dict[str, Task] = {
    "adult": "binary",
    "bank_marketing": "binary",
    "telco_churn": "binary",
    "titanic": "binary",
    "diamonds": "regression",
    "ames_housing": "regression",
    "nyc_flights13": "regression",
}
# Passed as sparse matrices.
SPARSE: dict[str, Task] = {"a9a": "binary", "w8a": "binary", "agaricus_onehot": "binary"}
SOURCES = NUMERIC | CATEGORICAL | SPARSE


@dataclass(frozen=True)
class Duel:
    """A growth of ours and the rival that grows its trees alike.

    Minima that the rival lacks are off on both sides.
    """

    title: str
    settings: Settings
    rival: Model
    informative: bool = False


DUELS = (
    Duel("31 leaves", Settings(growth="leaf"), LIGHTGBM),
    Duel("depth 6", Settings(growth="depth", min_rows=1), XGBOOST),
    Duel(
        "symmetric 6",
        Settings(growth="symmetric", min_rows=1),
        CATBOOST,
        informative=True,
    ),
)


# Of sets with categories, and of sparse ones.
LEAF_DUELS = DUELS[:1]


@dataclass(frozen=True)
class Difference:
    """One metric of a duel on one data set, a value a fold."""

    source: str
    growth: str
    rival: str
    metric: str
    ours: Sequence[float]
    theirs: Sequence[float]
    informative: bool = False

    @property
    def gains(self) -> list[float]:
        """How much better ours is, relative to the rival; negative where worse."""
        sign = 1.0 if self.metric in LARGER_IS_BETTER else -1.0
        return [
            sign * (ours - theirs) / abs(theirs)
            for ours, theirs in zip(self.ours, self.theirs, strict=True)
        ]

    @property
    def mean_gain(self) -> float:
        return statistics.fmean(self.gains)

    @property
    def standard_error(self) -> float:
        return statistics.stdev(self.gains) / len(self.gains) ** 0.5

    @property
    def verdict(self) -> str:
        # Few folds estimate their own spread badly: Student's t, not the normal distribution.
        width = float(student_t.ppf(0.975, df=len(self.gains) - 1))
        if abs(self.mean_gain) <= width * self.standard_error:
            return "within noise"
        return "better" if self.mean_gain > 0.0 else "worse"


def split_folds(
    task: Task, X: Features, y: NDArray[Any], n_folds: int, n_repeats: int = 1
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Shuffled folds, the same at every call; classes keep their shares."""
    folds = KFold if task == "regression" else StratifiedKFold
    for seed in range(n_repeats):
        yield from folds(n_folds, shuffle=True, random_state=seed).split(X, y)


def cross_validate(
    model: Model,
    settings: Settings,
    X: Features,
    y: NDArray[Any],
    n_folds: int,
    n_repeats: int = 1,
) -> list[dict[str, float]]:
    """The metrics of each fold."""
    scores = []
    for train, test in split_folds(settings.task, X, y, n_folds, n_repeats):
        estimator = build(model, settings).fit(take(X, train), y[train])
        prediction = predict(estimator, take(X, test), settings.task)
        scores.append(score(settings.task, y[test], prediction))
    return scores


def take(X: Features, rows: NDArray[np.intp]) -> Features:
    """Some rows of an array, a frame or a sparse matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def run_duel(
    duel: Duel,
    source: str,
    X: Features,
    y: NDArray[Any],
    n_folds: int,
    n_trees: int,
    n_repeats: int = 1,
) -> list[Difference]:
    """Both sides on the same folds; a difference a metric."""
    settings = replace(duel.settings, task=SOURCES[source], n_trees=n_trees, n_jobs=count_cpus())
    ours = cross_validate(SUMWISE, settings, X, y, n_folds, n_repeats)
    theirs = cross_validate(duel.rival, settings, X, y, n_folds, n_repeats)
    return [
        Difference(
            source,
            duel.title,
            duel.rival.name,
            metric,
            [fold[metric] for fold in ours],
            [fold[metric] for fold in theirs],
            duel.informative,
        )
        for metric in ours[0]
    ]


def tabulate(differences: Sequence[Difference]) -> Table:
    """A line a difference."""
    header = (
        "data set",
        "growth",
        "rival",
        "metric",
        "ours",
        "rival's",
        "better by",
        "std. error",
        "verdict",
    )
    rows = [
        (
            each.source,
            each.growth,
            each.rival,
            each.metric,
            f"{statistics.fmean(each.ours):.5f}",
            f"{statistics.fmean(each.theirs):.5f}",
            f"{100 * each.mean_gain:+.3f} %",
            f"{100 * each.standard_error:.3f} %",
            each.verdict + (" (information)" if each.informative else ""),
        )
        for each in differences
    ]
    return Table("Held-out metrics, paired by fold", header, rows)


def encode(difference: Difference) -> dict[str, Any]:
    """The difference as plain values."""
    return {
        **asdict(difference),
        "mean_gain": difference.mean_gain,
        "standard_error": difference.standard_error,
        "verdict": difference.verdict,
    }


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="NAME")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1, help="shufflings of the folds")
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="at most, a data set")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--markdown", type=Path, metavar="PATH")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the duels, print the table, write the files."""
    parsed = parse_arguments(arguments)
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    for source in parsed.only:
        print(f"{source} ...", file=sys.stderr, flush=True)
        read = read_frame if source in CATEGORICAL else read_table
        try:
            X, y = read(source, SOURCES[source], parsed.rows)
        except MissingDataError as error:
            skipped[source] = str(error)
            continue
        if source in SPARSE:
            X = csr_matrix(X)
        for duel in DUELS if source in NUMERIC else LEAF_DUELS:
            differences += run_duel(duel, source, X, y, parsed.folds, parsed.trees, parsed.repeats)

    machine = describe_machine()
    table = tabulate(differences)
    notes = [
        f"{parsed.trees} trees, rate 0.1, 255 bins, l2 1, {parsed.folds} shuffled folds"
        f" x {parsed.repeats},"
        f" at most {parsed.rows:,} rows",
        "better by: mean over folds of the paired difference, relative to the rival;"
        " negative where ours is worse",
        "within noise: zero lies in the 95 % interval of Student's t",
        "multiclass: the hessian is K/(K-1) p(1-p) here and in LightGBM, 2p(1-p) in XGBoost",
        *(f"{source} SKIPPED: {reason}" for source, reason in skipped.items()),
        ", ".join(f"{key} {value}" for key, value in machine.items()),
    ]
    print("\n\n".join([format_aligned(table), "\n".join(notes)]))
    if parsed.markdown:
        write_markdown(parsed.markdown, "Accuracy beside the rivals", notes, [table])
    if parsed.json:
        content = {
            "machine": machine,
            "folds": parsed.folds,
            "repeats": parsed.repeats,
            "trees": parsed.trees,
            "skipped": skipped,
            "differences": list(map(encode, differences)),
        }
        write_json(parsed.json, content)


if __name__ == "__main__":
    main()
