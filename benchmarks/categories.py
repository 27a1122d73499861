"""Categories encoded by ordered statistics: log loss and time, compared with CatBoost.

`python -m benchmarks.categories` prints a line for each data set and mode; see `--help`. `adult`,
`amazon_employee` and `kick` are split as in CatBoost's own quality benchmark, and its published log
loss (default parameters, rounds chosen on folds) is printed for comparison. `census_income_kdd` is
split into folds. With `--inner`, a random fifth of the training rows takes the place of the test
rows: choices are made there, and the test rows are for the final table only. Both libraries grow
symmetric trees of depth 6, with the same numbers of rounds, learning rate and L2. For everything
else CatBoost keeps its defaults: bootstrap, noise on scores, combinations.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

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
    """The log losses and seconds of both libraries, one per split and seed."""

    name: str
    mode: str
    losses: dict[str, list[float]]
    seconds: dict[str, list[float]]

    def describe(self) -> str:
        """Return one line: means with standard errors, the ratio of times, the published loss."""
        ours, rival = (statistics.median(self.seconds[n]) for n in ("sumwise", "CatBoost"))
        published = f", published {PUBLISHED[self.name]:.4f}" if self.name in PUBLISHED else ""
        return (
            f"{self.name} {self.mode}: log loss sumwise {describe_mean(self.losses['sumwise'])}, "
            f"CatBoost {describe_mean(self.losses['CatBoost'])}{published}; "
            f"{format_seconds(ours)} and {format_seconds(rival)}, "
            f"ratio {format_figures(ours / rival)}"
        )


def describe_mean(values: Sequence[float]) -> str:
    """Return a mean, with its standard error if there are several values."""
    mean = f"{statistics.fmean(values):.5f}"
    if len(values) == 1:
        return mean
    return f"{mean} +- {statistics.stdev(values) / len(values) ** 0.5:.5f}"


def make_ours(mode: str, n_rounds: int, seed: int) -> Any:
    """Return our model with ordered statistics, and with ordered boosting in that mode."""
    shape = Settings(growth="symmetric", max_depth=DEPTH, l2=L2, min_rows=1, n_jobs=count_cpus())
    options = {"categorical_encoding": "ordered", "booster": mode.lower()}
    settings = replace(shape, n_trees=n_rounds, learning_rate=RATE, seed=seed)
    return build(Model("sumwise", "sumwise", options), settings)


def make_rival(mode: str, n_rounds: int, seed: int, categories: list[str]) -> Any:
    """Return CatBoost with its defaults, except for the settings that both share."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=n_rounds,
        learning_rate=RATE,
        depth=DEPTH,
        l2_leaf_reg=L2,
        boosting_type=mode,
        cat_features=categories,
        random_seed=seed,
        thread_count=count_cpus(),
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


def leave_test_rows_out(part: Dataset, seed: int) -> Dataset:
    """Return the training rows of a split, of which a fifth is to be predicted."""
    rows = np.arange(part.y_train.size)
    train, held = train_test_split(rows, test_size=0.2, stratify=part.y_train, random_state=seed)
    X, y = part.X_train, part.y_train
    return Dataset("binary", X.iloc[train], y[train], X.iloc[held], y[held])


def compare(
    name: str, mode: str, n_rounds: int, splits: Sequence[Dataset], seeds: int, inner: bool
) -> Comparison:
    """Fit both on every split with every seed, and score them on rows they have not seen."""
    losses: dict[str, list[float]] = {"sumwise": [], "CatBoost": []}
    seconds: dict[str, list[float]] = {"sumwise": [], "CatBoost": []}
    for split in splits:
        make_ours(mode, 2, 0).fit(split.X_train, split.y_train)  # compiles or loads kernels
        for seed in range(seeds):
            part = leave_test_rows_out(split, seed) if inner else split
            categories = list(part.X_train.select_dtypes("category"))
            filled = fill_missing(part.X_train), fill_missing(part.X_test)
            ours = make_ours(mode, n_rounds, seed)
            rival = make_rival(mode, n_rounds, seed, categories)
            seconds["sumwise"].append(time_call(ours.fit, part.X_train, part.y_train))
            seconds["CatBoost"].append(time_call(rival.fit, filled[0], part.y_train))
            losses["sumwise"].append(log_loss(part.y_test, ours.predict_proba(part.X_test)))
            losses["CatBoost"].append(log_loss(part.y_test, rival.predict_proba(filled[1])))
    return Comparison(name, mode, losses, seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare on each data set and in each mode, and print a line for it."""
    parser = make_parser("categories", __doc__)
    names = (*PUBLISHED, FOLDED)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000, help="the most rows of a data set")
    parser.add_argument("--seeds", type=int, default=1, help="fits of each split")
    parser.add_argument("--inner", action="store_true", help="predict training rows, for choices")
    parsed = parser.parse_args(arguments)
    print_heading(f"{parsed.rounds} rounds; goals: log loss no higher, ratio of times <= {GOAL}")
    for name in parsed.only:
        splits = list(load_splits(name, parsed.folds, parsed.rows))
        for mode in parsed.modes:
            found = compare(name, mode, parsed.rounds, splits, parsed.seeds, parsed.inner)
            print(found.describe(), flush=True)


if __name__ == "__main__":
    main()
