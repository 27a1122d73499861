"""Test metrics at equal settings, fold by fold, compared with one rival per growth strategy.

`python -m benchmarks.accuracy` reads its data sets from the folder in the environment variable
`SUMWISE_DATA`; see `--help`. With `--suite`, libraries are compared at their defaults on many data
sets: see :mod:`benchmarks.suite`.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    add_outputs,
    count_cpus,
    describe_machine,
    format_aligned,
    write_outputs,
)
from benchmarks.rivals import CATBOOST, LIGHTGBM, SUMWISE, XGBOOST, Model, Settings, Task, build
from benchmarks.side_by_side import make_parser

MAX_ROWS = 100_000

NUMERIC: dict[str, Task] = {
    "california_housing": "regression",
    "bike_sharing_hour": "regression",
    "kin8nm": "regression",
    "higgs_21k": "binary",
    "covertype": "multiclass",
    "letter": "multiclass",
}
# Frames with categories. Both libraries of a duel split by sets of categories.
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
    """One growth strategy, and the rival that grows trees in the same way.

    Minimum sizes that the rival does not have are turned off in both libraries.
    """

    title: str
    settings: Settings
    rival: Model
    informative: bool = False


DUELS = (
    Duel("31 leaves", Settings(growth="leaf"), LIGHTGBM),
    Duel("depth 6", Settings(growth="depth", min_rows=1), XGBOOST),
    Duel("symmetric 6", Settings(growth="symmetric", min_rows=1), CATBOOST, informative=True),
)
# For data with categories and for sparse data.
LEAF_DUELS = DUELS[:1]


@dataclass(frozen=True)
class Difference:
    """One metric of a duel on one data set, with one value per fold."""

    source: str
    growth: str
    rival: str
    metric: str
    ours: Sequence[float]
    theirs: Sequence[float]
    informative: bool = False

    @property
    def gains(self) -> list[float]:
        """How much better ours is, relative to the rival; negative if it is worse."""
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
        # There are few folds, so Student's t instead of the normal distribution.
        width = float(student_t.ppf(0.975, df=len(self.gains) - 1))
        if abs(self.mean_gain) <= width * self.standard_error:
            return "within noise"
        return "better" if self.mean_gain > 0.0 else "worse"


def split_folds(
    task: Task, X: Features, y: NDArray[Any], n_folds: int, n_repeats: int = 1
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield shuffled folds, the same at every call, stratified for classes."""
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
    """Return the metrics of each fold."""
    scores = []
    for train, test in split_folds(settings.task, X, y, n_folds, n_repeats):
        estimator = build(model, settings).fit(take(X, train), y[train])
        prediction = predict(estimator, take(X, test), settings.task)
        scores.append(score(settings.task, y[test], prediction))
    return scores


def take(X: Features, rows: NDArray[np.intp]) -> Features:
    """Return some rows of an array, a frame or a sparse matrix."""
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
    """Compare both libraries on the same folds; return one difference per metric."""
    settings = replace(duel.settings, task=SOURCES[source], n_trees=n_trees, n_jobs=count_cpus())
    ours = cross_validate(SUMWISE, settings, X, y, n_folds, n_repeats)
    theirs = cross_validate(duel.rival, settings, X, y, n_folds, n_repeats)
    names = (source, duel.title, duel.rival.name)
    return pair_metrics(*names, ours, theirs, duel.informative)


def pair_metrics(
    source: str,
    growth: str,
    rival: str,
    ours: Sequence[Mapping[str, float]],
    theirs: Sequence[Mapping[str, float]],
    informative: bool = False,
) -> list[Difference]:
    """Return one difference per metric, from the metrics of each fold."""
    return [
        Difference(
            source,
            growth,
            rival,
            metric,
            [fold[metric] for fold in ours],
            [fold[metric] for fold in theirs],
            informative,
        )
        for metric in ours[0]
    ]


def tabulate(differences: Sequence[Difference]) -> Table:
    """Return one line per difference."""
    header = ["data set", "growth", "rival", "metric", "ours", "rival's", "better by"]
    header += ["std. error", "verdict"]
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
    """Return the difference as plain values."""
    return {
        **asdict(difference),
        "mean_gain": difference.mean_gain,
        "standard_error": difference.standard_error,
        "verdict": difference.verdict,
    }


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = make_parser("accuracy", __doc__)
    parser.add_argument("--repeats", type=int, default=1, help="shufflings of the folds")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="NAME")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="at most, per data set")
    add_outputs(parser)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the duels, print the table, write the files; or (``--suite``) run the suite."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if "--suite" in arguments:
        from benchmarks import suite

        suite.main([argument for argument in arguments if argument != "--suite"])
        return
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
        f"{parsed.trees} trees, learning rate 0.1, 255 bins, l2 1, {parsed.folds} shuffled folds"
        f" x {parsed.repeats}, at most {parsed.rows:,} rows",
        "better by: mean over folds of the paired difference, relative to the rival;"
        " negative if ours is worse",
        "within noise: the 95 % interval of Student's t contains zero",
        "multiclass: the hessian is K/(K-1) p(1-p) here and in LightGBM, 2p(1-p) in XGBoost",
        *(f"{source} SKIPPED: {reason}" for source, reason in skipped.items()),
        ", ".join(f"{key} {value}" for key, value in machine.items()),
    ]
    print("\n\n".join([format_aligned(table), "\n".join(notes)]))
    content = {
        "machine": machine,
        "folds": parsed.folds,
        "repeats": parsed.repeats,
        "trees": parsed.trees,
        "skipped": skipped,
        "differences": list(map(encode, differences)),
    }
    write_outputs(parsed, "Accuracy compared with other libraries", notes, [table], content)


if __name__ == "__main__":
    main()
