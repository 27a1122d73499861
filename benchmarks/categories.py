"""Categories encoded by ordered statistics: log loss and time, compared with CatBoost.

`python -m benchmarks.categories` prints a line for each data set and mode; see `--help`. `adult`,
`amazon_employee` and `kick` are split as in CatBoost's own quality benchmark, and its published log
loss (default parameters, rounds chosen on folds) is printed for comparison. `census_income_kdd` is
split into folds. Both libraries grow symmetric trees of depth 6, with the same numbers of rounds,
learning rate and L2. For everything else CatBoost keeps its defaults: bootstrap, noise on scores,
combinations.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.datasets import Dataset, find_table, read_frame
from benchmarks.measure import time_call
from benchmarks.report import count_cpus, format_figures, format_seconds
from benchmarks.rivals import Model, Settings, build
from benchmarks.side_by_side import make_parser, print_heading

PUBLISHED = {"adult": 0.272978, "amazon_employee": 0.138114, "kick": 0.284912}
FOLDED = "census_income_kdd"
MODES = ("Plain", "Ordered")
GOAL = 0.6
RATE, DEPTH, L2 = 0.05, 6, 3.0


@dataclass(frozen=True)
class Comparison:
    """The mean log loss and the median seconds of both libraries over the splits."""

    name: str
    mode: str
    loss: dict[str, float]
    seconds: dict[str, float]

    def describe(self) -> str:
        """Return one line, with the ratio of times and the published loss."""
        ratio = self.seconds["sumwise"] / self.seconds["CatBoost"]
        published = f", published {PUBLISHED[self.name]:.4f}" if self.name in PUBLISHED else ""
        return (
            f"{self.name} {self.mode}: log loss sumwise {self.loss['sumwise']:.5f}, "
            f"CatBoost {self.loss['CatBoost']:.5f}{published}; "
            f"{format_seconds(self.seconds['sumwise'])} and "
            f"{format_seconds(self.seconds['CatBoost'])}, ratio {format_figures(ratio)}"
        )


def make_ours(mode: str, n_rounds: int) -> Any:
    """Return our model with ordered statistics, and with ordered boosting in that mode."""
    shape = Settings(growth="symmetric", max_depth=DEPTH, l2=L2, min_rows=1, n_jobs=count_cpus())
    options = {"categorical_encoding": "ordered", "booster": mode.lower()}
    settings = replace(shape, n_trees=n_rounds, learning_rate=RATE)
    return build(Model("sumwise", "sumwise", options), settings)


def make_rival(mode: str, n_rounds: int, categories: list[str]) -> Any:
    """Return CatBoost with its defaults, except for the settings that both share."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=n_rounds,
        learning_rate=RATE,
        depth=DEPTH,
        l2_leaf_reg=L2,
        boosting_type=mode,
        cat_features=categories,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    )


def fill_missing(X: pd.DataFrame) -> pd.DataFrame:
    """Return categories as strings: CatBoost does not accept missing categories."""
    categorical = X.select_dtypes("category").columns
    return X.assign(**{c: X[c].astype(object).fillna("missing").astype(str) for c in categorical})


def load_splits(name: str, n_folds: int, max_rows: int) -> Iterator[Dataset]:
    """Yield the published split, or folds."""
    X, y = read_frame(name, "binary", max_rows)
    if name == FOLDED:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y)
    else:
        rows = pd.read_parquet(find_table(f"splits/{name}_catboost_paper"))
        is_train = X.index.isin(rows.row[rows.part == "train"])
        folds = iter([(np.flatnonzero(is_train), np.flatnonzero(~is_train))])
    for train, test in folds:
        yield Dataset("binary", X.iloc[train], y[train], X.iloc[test], y[test])


def compare(
    name: str, mode: str, n_rounds: int, n_folds: int, max_rows: int, n_repeats: int
) -> Comparison:
    """Fit both on every split, and score them on its test rows."""
    losses: dict[str, list[float]] = {"sumwise": [], "CatBoost": []}
    seconds: dict[str, list[float]] = {"sumwise": [], "CatBoost": []}
    for part in load_splits(name, n_folds, max_rows):
        make_ours(mode, 2).fit(part.X_train, part.y_train)  # compiles or loads kernels
        filled = fill_missing(part.X_train), fill_missing(part.X_test)
        categories = list(part.X_train.select_dtypes("category"))
        for repeat in range(n_repeats):
            ours, rival = make_ours(mode, n_rounds), make_rival(mode, n_rounds, categories)
            seconds["sumwise"].append(time_call(ours.fit, part.X_train, part.y_train))
            seconds["CatBoost"].append(time_call(rival.fit, filled[0], part.y_train))
            if repeat == 0:
                losses["sumwise"].append(log_loss(part.y_test, ours.predict_proba(part.X_test)))
                losses["CatBoost"].append(log_loss(part.y_test, rival.predict_proba(filled[1])))
    return Comparison(
        name,
        mode,
        {model: float(np.mean(values)) for model, values in losses.items()},
        {model: statistics.median(values) for model, values in seconds.items()},
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare on each data set and in each mode, and print a line for it."""
    parser = make_parser("categories", __doc__)
    names = (*PUBLISHED, FOLDED)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000, help="the most rows of a data set")
    parser.add_argument("--repeat", type=int, default=1)
    parsed = parser.parse_args(arguments)
    print_heading(f"{parsed.rounds} rounds; goals: log loss no higher, ratio of times <= {GOAL}")
    for name in parsed.only:
        for mode in parsed.modes:
            found = compare(name, mode, parsed.rounds, parsed.folds, parsed.rows, parsed.repeat)
            print(found.describe(), flush=True)


if __name__ == "__main__":
    main()
