"""`sumwise compare`: cross-validated scores and times of sumwise and scikit-learn."""

import argparse
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn import ensemble
from sklearn.compose import ColumnTransformer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

import sumwise
from sumwise import presets
from sumwise.cli.combining import Combination, can_combine, describe_diversity, list_combinations
from sumwise.cli.datasets import NAMES, Dataset, load_dataset
from sumwise.cli.tables import format_table

# HistGradientBoosting* refuse a feature with more categories.
_MOST_CATEGORIES = 255


def encode_categories(model: Any, data: Dataset) -> Any:
    """Encode strings as ordinal codes, which HistGradientBoosting* needs.

    None has its own code; categories that are not in a training fold become NaN. If there are more
    categories than it accepts, the rarest share a code.
    """
    features = data.find_categories()
    if not features:
        return model
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        max_categories=_MOST_CATEGORIES,
    )
    # The encoded columns come first, then the others.
    columns = ColumnTransformer([("codes", encoder, features)], remainder="passthrough")
    model.set_params(categorical_features=list(range(len(features))))
    return make_pipeline(columns, model)


class Competitor(NamedTuple):
    """One line of the comparison: a classifier and a regressor with their parameters."""

    name: str
    classifier: type[Any]
    regressor: type[Any]
    parameters: dict[str, Any]
    rounds_parameter: str | None = "n_estimators"
    rounds_attribute: str | None = "best_iteration_"
    prepare: Callable[[Any, Dataset], Any] = lambda model, data: model

    def build(self, data: Dataset, n_rounds: int, n_jobs: int | None) -> Any:
        """Make an unfitted estimator for `data`; `n_jobs=None` is all CPUs."""
        rounds = {} if self.rounds_parameter is None else {self.rounds_parameter: n_rounds}
        model = (self.classifier if data.task == "classification" else self.regressor)(
            **{**self.parameters, **rounds, "random_state": 0}
        )
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=n_jobs or -1)
        return self.prepare(model, data)

    def count_rounds(self, model: Any) -> int:
        """Return the number of rounds of a fitted estimator; members if the attribute is a list."""
        if self.rounds_attribute is None:
            return 1
        found = getattr(model[-1] if isinstance(model, Pipeline) else model, self.rounds_attribute)
        return len(found) if isinstance(found, Sequence) else found


def _find_pair(family: str, module: ModuleType = sumwise) -> tuple[type[Any], type[Any]]:
    return getattr(module, f"{family}Classifier"), getattr(module, f"{family}Regressor")


_BOOSTING = _find_pair("GradientBoosting")
_MEMBERS: dict[str, Any] = {"rounds_attribute": "estimators_"}

# To add an ensemble, add a line.
COMPETITORS = (
    # All have the same learning rate, because they have the same number of rounds.
    *(
        Competitor(f"sumwise, {rival} style", *_BOOSTING, {**style, "learning_rate": 0.1})
        for rival, style in (
            ("LightGBM", presets.LIGHTGBM),
            ("XGBoost", presets.XGBOOST),
            ("CatBoost", presets.CATBOOST),
        )
    ),
    Competitor("sumwise stops early", *_BOOSTING, {"early_stopping": True}),
    Competitor("sumwise decision tree", *_find_pair("DecisionTree"), {}, None, None),
    Competitor("sumwise bagging", *_find_pair("Bagging"), {}, **_MEMBERS),
    Competitor(
        "sumwise random forest", *_find_pair("RandomForest"), {"max_features": 1 / 3}, **_MEMBERS
    ),
    Competitor("sumwise extra trees", *_find_pair("ExtraTrees"), {}, **_MEMBERS),
    Competitor("sumwise AdaBoost", *_find_pair("AdaBoost"), {}, **_MEMBERS),
    Competitor(
        "HistGradientBoosting",
        *_find_pair("HistGradientBoosting", ensemble),
        {"early_stopping": False},
        "max_iter",
        "n_iter_",
        encode_categories,
    ),
)

_SCORES = {"classification": ("accuracy", accuracy_score), "regression": ("R²", r2_score)}

_WARM_UP_ROUNDS = 2


class Result(NamedTuple):
    """Test scores, rounds, seconds and models of one competitor, one entry per fold."""

    name: str
    scores: list[float]
    rounds: list[int]
    fit_seconds: list[float]
    predict_seconds: list[float]
    models: list[Any]


def split_folds(data: Dataset, n_folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split the rows into shuffled folds, the same for every competitor."""
    splitter = StratifiedKFold if data.task == "classification" else KFold
    return list(splitter(n_folds, shuffle=True, random_state=0).split(data.X, data.y))


def cross_validate(
    competitor: Competitor | Combination,
    data: Dataset,
    n_folds: int,
    n_rounds: int,
    n_jobs: int | None,
) -> Result:
    """Fit and score `competitor` on every fold."""
    result = Result(competitor.name, [], [], [], [], [])
    _, score = _SCORES[data.task]
    for train, test in split_folds(data, n_folds):
        model = competitor.build(data, n_rounds, n_jobs)
        X_train, y_train, X_test = data.X[train], data.y[train], data.X[test]
        start = perf_counter()
        model.fit(X_train, y_train)
        fitted = perf_counter()
        predicted = model.predict(X_test)
        result.predict_seconds.append(perf_counter() - fitted)
        result.fit_seconds.append(fitted - start)
        result.rounds.append(competitor.count_rounds(model))
        result.scores.append(score(data.y[test], predicted))
        result.models.append(model)
    return result


def warm_up(datasets: Sequence[Dataset], n_jobs: int | None) -> float:
    """Run every competitor briefly, so that timings include no compilation; return seconds.

    `sumwise warmup` compiles more kernels than a comparison needs; this compiles exactly those.
    """
    start = perf_counter()
    for data in datasets:
        combined = list_combinations(data) if can_combine(data) else []
        competitors: list[Competitor | Combination] = [*COMPETITORS, *combined]
        for competitor in competitors:
            model = competitor.build(data, _WARM_UP_ROUNDS, n_jobs)
            model.fit(data.X, data.y).predict(data.X)
    return perf_counter() - start


def format_results(data: Dataset, results: Sequence[Result], counted: str = "rounds") -> str:
    """Format the table of one data set."""
    score_name, _ = _SCORES[data.task]
    rows = [
        (
            result.name,
            f"{np.mean(result.scores):.4f} ± {np.std(result.scores):.4f}",
            f"{np.mean(result.rounds):.0f}",
            f"{np.mean(result.fit_seconds):.3f}",
            f"{1e3 * np.mean(result.predict_seconds):.2f}",
        )
        for result in results
    ]
    return format_table(("method", score_name, counted, "fit (s)", "predict (ms)"), rows)


def compare_dataset(data: Dataset, n_folds: int, n_rounds: int, n_jobs: int | None) -> str:
    """Run the comparison on one data set; return its section."""

    def run_all(competitors: Sequence[Competitor | Combination]) -> list[Result]:
        return [cross_validate(each, data, n_folds, n_rounds, n_jobs) for each in competitors]

    parts = [f"## {data.name}", describe_dataset(data)]
    parts.append(format_results(data, run_all(COMPETITORS)))
    if can_combine(data):
        combined = list_combinations(data)
        results = run_all(combined)
        tests = [test for _, test in split_folds(data, n_folds)]
        n_members = sum(each.make is None for each in combined)
        parts += [
            f"### {data.name}: four learners and their combinations",
            format_results(data, results, "members"),
            *describe_diversity(data, tests, results[n_members].models),
        ]
    return "\n\n".join(parts) + "\n"


def describe_dataset(data: Dataset) -> str:
    """Describe the size of a data set, its categories, and how each competitor gets them."""
    n_rows, n_features = data.X.shape
    text = f"{n_rows:,} rows, {n_features} features, {data.task}"
    features = data.find_categories()
    if not features:
        return text
    counts = [len({v for v in data.X[:, f] if isinstance(v, str)}) for f in features]
    missing = ", missing values" if data.has_missing() else ""
    text += (
        f"; categories ({', '.join(map(str, counts))} of them){missing}\n\n"
        "sumwise gets the table as it is; HistGradientBoosting gets categories as ordinal codes"
    )
    if max(counts) > _MOST_CATEGORIES:
        text += f", the rarest sharing one where there are more than {_MOST_CATEGORIES}"
    return text


def format_heading(n_folds: int, n_rounds: int, n_jobs: int | None, warm_up_seconds: float) -> str:
    """Format the information that all data sets share: settings, versions, machine."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn"))
    return (
        "# sumwise compare\n\n"
        f"- {n_folds} folds, {n_rounds} rounds, {n_jobs or 'all'} of {os.cpu_count()} CPUs\n"
        f"- sumwise {sumwise.__version__}, Python {platform.python_version()}, {libraries}, "
        f"{platform.system()} {platform.machine()}\n"
        "- score: mean ± standard deviation over the folds, higher is better\n"
        "- rounds and times: means; early stopping grows leaf-wise, holds out 10 % of its "
        "training rows and keeps the best round; for bagging, forests and AdaBoost, rounds are "
        "members\n"
        f"- kernels warmed up before timing: {warm_up_seconds:.1f} s\n"
    )


def compare(names: Sequence[str], n_folds: int, n_rounds: int, n_jobs: int | None) -> Iterator[str]:
    """Run the comparison; yield the heading, then the section of each data set when it is done."""
    datasets = [load_dataset(name) for name in names]
    for data in datasets:
        try:
            split_folds(data, n_folds)
        except ValueError as error:
            raise argparse.ArgumentError(None, f"--folds {n_folds}: {error}") from error
    with threadpool_limits(n_jobs, user_api="openmp"):  # for competitors without `n_jobs`
        yield format_heading(n_folds, n_rounds, n_jobs, warm_up(datasets, n_jobs))
        for data in datasets:
            yield compare_dataset(data, n_folds, n_rounds, n_jobs)


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` in one step, creating its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _count(text: str, minimum: int = 1) -> int:
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        raise argparse.ArgumentTypeError(f"expected an integer of at least {minimum}, got {text!r}")
    return value


def _fold_count(text: str) -> int:
    return _count(text, minimum=2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `sumwise compare`."""
    parser.add_argument(
        "--data",
        action="append",
        choices=NAMES,
        help="data set, may be repeated: %(choices)s (default: all but digits)",
        metavar="NAME",
    )
    parser.add_argument("--folds", type=_fold_count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--rounds", type=_count, default=100, metavar="N", help="default: 100")
    parser.add_argument("--jobs", type=_count, metavar="N", help="threads (default: all CPUs)")
    parser.add_argument("--report", type=Path, metavar="PATH", help="also write a Markdown report")


def run(args: argparse.Namespace) -> None:
    """Print the comparison, and write it to `--report`."""
    if args.report is not None and args.report.is_dir():
        raise argparse.ArgumentError(None, f"--report {args.report}: a directory, not a file")
    names = args.data or [name for name in NAMES if name != "digits"]
    sections = []
    for section in compare(names, args.folds, args.rounds, args.jobs):
        print(section, flush=True)
        sections.append(section)
    if args.report is not None:
        write_atomically(args.report, "\n".join(sections))
        print(f"Report: {args.report}")
