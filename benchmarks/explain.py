"""Shapley values: time of explaining rows, compared with LightGBM, XGBoost, CatBoost and shap.

`python -m benchmarks.explain` prints one table per case; see `--help`. Each library explains its
own model of the same shape, fitted on simulated collisions. `error` is the largest difference
between a raw score and the sum of its values, relative to the largest raw score.

shap explains models of scikit-learn: it passes those of the other libraries on to them. It uses a
single thread; so compare CPU times, too.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.datasets import make_higgs_like
from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_figures, format_seconds
from benchmarks.side_by_side import OURS, make_tree_parser, print_heading
from sumwise import GradientBoostingClassifier, RandomForestRegressor
from sumwise.inspection.shap import shap_interactions, shap_values
from sumwise.kernels.runtime.threads import Team

N_TRAIN = 20_000
N_BACKGROUND = 100
LEAVES, DEPTH, LEAF_ROWS = 31, 6, 20


class Task(NamedTuple):
    """What is explained, and how."""

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    background: np.ndarray
    n_trees: int
    n_jobs: int


class Explainer(NamedTuple):
    """A fitted model: how it explains rows, the sums of the result, and the raw scores."""

    explain: Callable[[], Any]
    add_up: Callable[[Any], np.ndarray]
    raw: np.ndarray


def _fit_sumwise(task: Task, kind: str = "values", **params: Any) -> Explainer:
    model = GradientBoostingClassifier(
        n_estimators=task.n_trees, min_samples_leaf=LEAF_ROWS, n_jobs=task.n_jobs, **params
    ).fit(task.X, task.y)
    return _explain_ours(model.ensemble_, task, kind)


def _fit_forest(task: Task, kind: str = "values") -> Explainer:
    model = RandomForestRegressor(
        task.n_trees, min_samples_leaf=LEAF_ROWS, random_state=0, n_jobs=task.n_jobs
    ).fit(task.X, task.y.astype(float))
    return _explain_ours(model.forest_, task, kind)


def _explain_ours(model: Any, task: Task, kind: str) -> Explainer:
    team = Team(task.n_jobs)
    explain = {
        "values": partial(shap_values, model, task.rows, team),
        "background": partial(shap_values, model, task.rows, team, task.background),
        "interactions": partial(shap_interactions, model, task.rows, team),
    }[kind]
    n_axes = 2 if kind == "interactions" else 1

    def add_up(found: Any) -> np.ndarray:
        values, expected = found
        return (values.sum(axis=tuple(range(1, 1 + n_axes))) + expected)[:, 0]

    return Explainer(explain, add_up, model.predict_raw(task.rows, team)[:, 0])


def _fit_lightgbm(task: Task, **params: Any) -> Explainer:
    import lightgbm

    fixed = {"objective": "binary", "min_data_in_leaf": LEAF_ROWS, "verbose": -1}
    known = {**fixed, "num_threads": task.n_jobs, **params}
    booster = lightgbm.train(known, lightgbm.Dataset(task.X, task.y), task.n_trees)
    ask = partial(booster.predict, task.rows, num_threads=task.n_jobs)
    return Explainer(partial(ask, pred_contrib=True), _add_columns, ask(raw_score=True))


def _fit_xgboost(task: Task, kind: str = "pred_contribs", **params: Any) -> Explainer:
    import xgboost

    known = {"objective": "binary:logistic", "eta": 0.1, "nthread": task.n_jobs, **params}
    booster = xgboost.train(known, xgboost.DMatrix(task.X, task.y), task.n_trees)

    def explain() -> np.ndarray:
        data = xgboost.DMatrix(task.rows, nthread=task.n_jobs)
        return booster.predict(data, **{kind: True})

    raw = booster.predict(xgboost.DMatrix(task.rows), output_margin=True)
    return Explainer(explain, _add_columns, raw)


def _fit_catboost(task: Task, **params: Any) -> Explainer:
    import catboost

    fixed = {"n_estimators": task.n_trees, "thread_count": task.n_jobs, "learning_rate": 0.1}
    model = catboost.CatBoostClassifier(
        **fixed, verbose=0, allow_writing_files=False, boosting_type="Plain", **params
    ).fit(task.X, task.y)

    def explain() -> np.ndarray:
        pool = catboost.Pool(task.rows)
        return model.get_feature_importance(pool, type="ShapValues", thread_count=task.n_jobs)

    raw = model.predict(task.rows, prediction_type="RawFormulaVal")
    return Explainer(explain, _add_columns, raw)


def _fit_shap(task: Task, kind: str = "values", forest: bool = False) -> Explainer:
    import shap
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.ensemble import RandomForestRegressor as Forest

    if forest:
        model = Forest(task.n_trees, min_samples_leaf=LEAF_ROWS, max_features=1 / 3, n_jobs=-1)
        raw = model.fit(task.X, task.y).predict(task.rows)
    else:
        model = HistGradientBoostingClassifier(
            max_iter=task.n_trees, min_samples_leaf=LEAF_ROWS, early_stopping=False
        )
        raw = model.fit(task.X, task.y).decision_function(task.rows)
    if kind == "background":
        explainer = shap.TreeExplainer(model, task.background)
    else:
        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    expected = np.ravel(explainer.expected_value)[-1]
    if kind == "interactions":
        explain = partial(explainer.shap_interaction_values, task.rows)
        return Explainer(explain, lambda values: values.sum(axis=(1, 2)) + expected, raw)
    explain = partial(explainer.shap_values, task.rows, check_additivity=False)
    return Explainer(explain, lambda values: values.sum(axis=1) + expected, raw)


def _add_columns(values: np.ndarray) -> np.ndarray:
    return values.reshape(values.shape[0], -1).astype(np.float64).sum(axis=1)


class Case(NamedTuple):
    """Models that explain the same rows, and the share of the rows that are explained."""

    makers: Mapping[str, Callable[[Task], Explainer]]
    share: float = 1.0


_LOSSGUIDE = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES}
CASES: dict[str, Case] = {
    "leaf": Case(
        {
            OURS: partial(_fit_sumwise, max_leaves=LEAVES),
            "LightGBM": partial(_fit_lightgbm, num_leaves=LEAVES),
            "XGBoost": partial(_fit_xgboost, **_LOSSGUIDE),
            "CatBoost": partial(_fit_catboost, grow_policy="Lossguide", max_leaves=LEAVES),
            "shap": _fit_shap,
        }
    ),
    "depth": Case(
        {
            OURS: partial(_fit_sumwise, growth="depth", max_depth=DEPTH, max_leaves=None),
            "XGBoost": partial(_fit_xgboost, max_depth=DEPTH),
            "LightGBM": partial(_fit_lightgbm, max_depth=DEPTH, num_leaves=2**DEPTH),
        }
    ),
    "symmetric": Case(
        {
            OURS: partial(_fit_sumwise, growth="symmetric", max_depth=DEPTH, max_leaves=None),
            "CatBoost": partial(_fit_catboost, depth=DEPTH),
        }
    ),
    "forest": Case({OURS: _fit_forest, "shap": partial(_fit_shap, forest=True)}, 0.02),
    "interactions": Case(
        {
            OURS: partial(_fit_sumwise, kind="interactions", max_leaves=LEAVES),
            "XGBoost": partial(_fit_xgboost, kind="pred_interactions", **_LOSSGUIDE),
            "shap": partial(_fit_shap, kind="interactions"),
        },
        0.02,
    ),
    "interventional": Case(
        {
            OURS: partial(_fit_sumwise, kind="background", max_leaves=LEAVES),
            "shap": partial(_fit_shap, kind="background"),
        },
        0.1,
    ),
    "interventional forest": Case(
        {
            OURS: partial(_fit_forest, kind="background"),
            "shap": partial(_fit_shap, kind="background", forest=True),
        },
        0.02,
    ),
}


def compare(
    name: str, n_rows: int, n_trees: int, n_jobs: int, n_repeats: int, models: Sequence[str]
) -> Table:
    """Return a table of wall and CPU times, and of the errors of the sums."""
    case = CASES[name]
    n_explained = max(1, round(case.share * n_rows))
    X, y = make_higgs_like(N_TRAIN + n_explained)
    background, X, y, rows = X[:N_BACKGROUND], X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]
    task = Task(X, y, rows, background, n_trees, n_jobs)
    makers = {own: make for own, make in case.makers.items() if own in models}
    fitted = {own: make(task) for own, make in makers.items()}
    errors = {}
    for own, explainer in fitted.items():  # also the warm-up
        error = np.abs(explainer.add_up(explainer.explain()) - explainer.raw).max()
        errors[own] = error / np.abs(explainer.raw).max()
    spent: dict[str, list[float]] = {own: [] for own in fitted}

    def run(own: str) -> float:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        fitted[own].explain()
        spent[own].append(time.process_time() - cpu)
        return time.perf_counter() - wall

    walls = {
        own: statistics.median(v) for own, v in alternate(run, list(fitted), n_repeats).items()
    }
    cpus = {own: statistics.median(values) for own, values in spent.items()}
    lines = [
        [
            own,
            format_seconds(walls[own]),
            format_seconds(cpus[own]),
            format_figures(cpus[OURS] / cpus[own]) if OURS in cpus else "",
            f"{errors[own]:.0e}",
        ]
        for own in fitted
    ]
    title = f"{name}: {n_explained:,} rows x {rows.shape[1]}, {n_trees} trees"
    return Table(title, ["", "time", "CPU time", "ours / theirs", "error"], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models of each case and print a table for it."""
    parser = make_tree_parser("explain", __doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    every = sorted({own for case in CASES.values() for own in case.makers})
    parser.add_argument("--models", nargs="+", choices=every, default=every)
    parsed = parser.parse_args(arguments)
    print_heading(f"{parsed.jobs} threads; medians of {parsed.repeat} runs; ratios of CPU times")
    for name in parsed.cases:
        known = parsed.rows, parsed.trees, parsed.jobs, parsed.repeat, parsed.models
        print(f"\n{format_aligned(compare(name, *known))}", flush=True)


if __name__ == "__main__":
    main()
