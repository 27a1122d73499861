"""Writes golden model files: ``python -m tests.golden.write [NAME ...]``.

A golden file is a small model as some version of the library saved it; ``expected.json`` holds
what that version predicted for the rows of :func:`read_rows`, bit for bit. Later versions must read
the file and predict the same (``tests/export/test_golden.py``). A file is therefore never written
again: the command refuses names whose file exists; without names it writes all files that are
still missing. To add a file, for example for a new format version, add an entry to ``MODELS`` with
a new name that ends in the version of the format, run the command, and commit what it wrote.

Names in ``WRITTEN_BEFORE`` are files from the time before a later change of the library: they were
written by running this command with the ``src`` folder of an older commit on ``PYTHONPATH``. The
current code would write other bytes for them. (``regressor_v1`` is even older than this command.)
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import sumwise as sw

FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.json"
WRITTEN_BEFORE = (
    "regressor_v1",
    "binary_v1",
    "multiclass_v1",
    "frame_v1",
    "old_categories_v2",
    "old_dart_v2",
    "old_encoder_v3",
    "old_linear_v3",
    "old_forest_v3",
    "old_linear_leaves_v4",
)

# Their members multiply matrices, and the last bits of that depend on the processor.
ROUNDED = ("ensemble_numeric_v6",)
_N_DIGITS = 10

# The rows to predict. Training data has the same columns. None is a missing value; "gray" and
# "cube" are categories that no training row has.
NUMBERS = [
    [0.0, 0.0, 0.0, 0.0],
    [0.25, 1.75, 3.0, 0.5],
    [2.0, 0.5, 1.25, 1.0],
    [None, 1.0, None, 1.5],
    [3.75, None, 2.0, None],
    [-5.0, 100.0, 0.125, 2.25],
    [None, None, None, None],
]
MIXED = {
    "size": [0.0, 1.25, 3.5, None, 2.0, 0.75, None],
    "color": ["red", "blue", None, "green", "gray", "black", None],
    "shape": ["ball", "cone", "disk", None, "ball", "cube", None],
}
COLORS = np.array(["red", "blue", "green", "black", "white", "pink", "gold"])
SHAPES = np.array(["ball", "cone", "disk"])
N_ROWS = 240


def read_rows(table: str) -> Any:
    """Return the rows to predict; "first" is the table of ``regressor_v1``."""
    if table == "first":
        rows = [[0, 0, 0], [3, 5, 1], [8, 8, 8], [None, 2, None], [4, None, 7]]
        return np.array(rows, dtype=np.float64)
    if table == "mixed":
        return pd.DataFrame({**MIXED, "size": np.array(MIXED["size"], dtype=np.float64)})
    rows = np.array(NUMBERS, dtype=np.float64)
    return csr_array(rows) if table == "sparse" else rows


def make_training_rows(table: str) -> Any:
    """Return X: few distinct values, so that forests store few thresholds."""
    rng = np.random.default_rng(20)
    X = rng.integers(0, 16, size=(N_ROWS, 4)) / 4
    is_missing = rng.random(X.shape) < 0.1
    colors = COLORS[rng.integers(0, COLORS.size, N_ROWS)].astype(object)
    shapes = SHAPES[rng.integers(0, SHAPES.size, N_ROWS)].astype(object)
    if table == "sparse":
        return csr_array(np.where(rng.random(X.shape) < 0.7, 0.0, X))
    X[is_missing] = np.nan
    if table == "numbers":
        return X
    colors[is_missing[:, 1]] = None
    shapes[is_missing[:, 2]] = None
    return pd.DataFrame({"size": X[:, 0], "color": colors, "shape": shapes})


def make_target(table: str) -> np.ndarray:
    """Return a score that depends on every column of the table."""
    X = make_training_rows(table)
    noise = np.random.default_rng(21).integers(0, 8, N_ROWS) / 16
    if table == "mixed":
        by_color = pd.factorize(X["color"], sort=True)[0] * 5 % 7
        by_shape = pd.factorize(X["shape"], sort=True)[0]
        return np.nan_to_num(X["size"].to_numpy(), nan=1.5) + by_color + by_shape / 2 + noise
    filled = np.nan_to_num(X.toarray() if table == "sparse" else X, nan=1.0)
    return filled[:, 0] * 2 - filled[:, 1] + filled[:, 2] * filled[:, 3] / 2 + noise


def make_labels(table: str, n_classes: int) -> np.ndarray:
    """Return names of classes: thirds or halves of the target."""
    target = make_target(table)
    order = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return np.array(["cat", "dog", "eel"])[order * n_classes // N_ROWS]


def make_targets(table: str) -> np.ndarray:
    """Return two columns of targets."""
    target = make_target(table)
    return np.column_stack([target, np.abs(target - 3)])


def boost(table: str = "numbers", n_classes: int = 0, **params: Any) -> Any:
    """Fit a small boosted model."""
    params = {"n_estimators": 3, "max_leaves": 5, "random_state": 7, "n_jobs": 1} | params
    X = make_training_rows(table)
    if n_classes:
        return sw.GradientBoostingClassifier(**params).fit(X, make_labels(table, n_classes))
    return sw.GradientBoostingRegressor(**params).fit(X, make_target(table))


def fit_trees(kind: str, y: np.ndarray, table: str = "numbers", **params: Any) -> Any:
    """Fit a small decision tree or forest, given the name of its class."""
    params = {"max_leaf_nodes": 5, "random_state": 7} | params
    if not kind.startswith("Decision"):
        params = {"n_estimators": 3, "n_jobs": 1} | params
    return getattr(sw, kind)(**params).fit(make_training_rows(table), y)


def fit_ensemble(kind: str, members: list[str], y: np.ndarray, table: str, **params: Any) -> Any:
    """Fit an automatic ensemble, given the name of its class; keep one round of boosting."""
    options: dict[str, Any] = {"n_folds": 2, "n_repeats": 1, "random_state": 7, "n_jobs": 1}
    model = getattr(sw, kind)(time_limit=None, members=members, **options | params)
    model.fit(make_training_rows(table), y)
    for bag in model.estimators_:
        bag.models = [own.truncate(1) if hasattr(own, "truncate") else own for own in bag.models]
        for own in bag.models:
            own.history_ = {}
    return model


def make_model(name: str) -> tuple[str, Any]:
    """Return a model and the name of its table."""
    table, make = MODELS[name]
    return table, make()


def _classes(n: int, table: str = "numbers") -> np.ndarray:
    return make_labels(table, n)


def _two_outputs() -> np.ndarray:
    return np.column_stack([_classes(3), _classes(2)])


_ENCODED = {"categorical_encoding": "ordered", "n_estimators": 2, "max_leaves": 4}

MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    # boosted trees
    "binary_v1": ("numbers", lambda: boost(n_classes=2)),
    "multiclass_v1": ("numbers", lambda: boost(n_classes=3, n_estimators=2, max_leaves=3)),
    "frame_v1": ("mixed", lambda: boost("mixed")),
    "old_categories_v2": ("mixed", lambda: boost("mixed", n_classes=2)),
    "old_dart_v2": ("numbers", lambda: boost(booster=sw.Dart(drop_rate=0.5))),
    "regressor_v2": ("numbers", boost),
    "binary_v2": ("numbers", lambda: boost(n_classes=2)),
    "multiclass_v2": (
        "numbers",
        lambda: boost(n_classes=3, n_estimators=2, max_leaves=3, class_weight="balanced"),
    ),
    "poisson_v2": (
        "sparse",
        lambda: sw.GradientBoostingRegressor(
            loss="poisson", n_estimators=3, max_leaves=4, n_jobs=1
        ).fit(make_training_rows("sparse"), np.abs(make_target("sparse"))),
    ),
    "categories_v2": ("mixed", lambda: boost("mixed")),
    "categories_multiclass_v2": (
        "mixed",
        lambda: boost("mixed", n_classes=3, n_estimators=2, categorical_encoding=sw.Native(l2=2.0)),
    ),
    "sparse_v2": ("sparse", lambda: boost("sparse", bundling=sw.Bundling(0.1))),
    "sparse_missing_v2": ("sparse", lambda: boost("sparse", n_classes=2, sparse_zeros="missing")),
    "symmetric_v2": ("numbers", lambda: boost(growth="symmetric", max_leaves=None, max_depth=2)),
    "depth_v2": ("numbers", lambda: boost(growth="depth", max_leaves=None, max_depth=2)),
    "exact_v2": ("numbers", lambda: boost(splits="exact")),
    "many_bins_v2": ("numbers", lambda: boost(max_bins=1000, path_smooth=2.0, extra_trees=True)),
    "dart_v2": ("numbers", lambda: boost(booster=sw.Dart(drop_rate=0.5))),
    "forest_booster_v2": ("numbers", lambda: boost(booster=sw.Forest(trees_per_round=2))),
    "trees_per_round_v2": (
        "numbers",
        lambda: boost(
            booster=sw.Plain(trees_per_round=2),
            sampler=sw.Goss(),
            columns=sw.Columns(by_tree=0.5, weights=[1.0, 2.0, 3.0, 4.0]),
        ),
    ),
    "ordered_v2": ("numbers", lambda: boost(booster="ordered")),
    "constraints_v2": (
        "numbers",
        lambda: boost(monotonic_cst=[1, -1, 0, 0], interaction_cst=[{0, 1}, {2, 3}]),
    ),
    "early_stopping_v2": (
        "numbers",
        lambda: boost(early_stopping=True, n_iter_no_change=2, scoring="r2", n_estimators=4),
    ),
    "quantiles_v2": (
        "numbers",
        lambda: boost(loss=sw.Quantile([0.25, 0.75]), n_estimators=2, max_leaves=4),
    ),
    "targets_v2": (
        "numbers",
        lambda: sw.GradientBoostingRegressor(
            n_estimators=2, max_leaves=4, random_state=7, n_jobs=1
        ).fit(make_training_rows("numbers"), make_targets("numbers")),
    ),
    "vector_leaves_v2": (
        "numbers",
        lambda: sw.GradientBoostingRegressor(
            n_estimators=2,
            max_leaves=4,
            random_state=7,
            n_jobs=1,
            multi_strategy="multi_output_tree",
        ).fit(make_training_rows("numbers"), make_targets("numbers")),
    ),
    # target statistics, linear models and linear leaves
    "old_encoder_v3": (
        "mixed",
        lambda: boost(
            "mixed", n_classes=2, categorical_encoding=sw.TargetStatistics(combinations=2)
        ),
    ),
    "encoder_v3": (
        "mixed",
        lambda: boost("mixed", categorical_encoding=sw.TargetStatistics(combinations=2)),
    ),
    "encoder_multiclass_v3": (
        "mixed",
        lambda: boost(
            "mixed", n_classes=3, n_estimators=2, max_leaves=3, categorical_encoding="ordered"
        ),
    ),
    "encoder_priors_v3": (
        "mixed",
        lambda: boost(
            "mixed",
            n_classes=2,
            categorical_encoding=sw.TargetStatistics(prior=[0, 0.5, 1], native_limit=0),
        ),
    ),
    "old_linear_v3": ("numbers", lambda: boost(booster="linear")),
    "linear_v3": ("numbers", lambda: boost(booster="linear", n_classes=2)),
    "linear_multiclass_v3": ("sparse", lambda: boost("sparse", 3, booster=sw.Linear(l2=0.5))),
    "old_linear_leaves_v4": ("numbers", lambda: boost(leaves="linear")),
    "linear_leaves_v4": ("numbers", lambda: boost(n_classes=2, leaves=sw.LinearLeaves(l2=0.5))),
    "linear_leaves_encoder_v4": (
        "mixed",
        lambda: boost("mixed", leaves="linear", categorical_encoding="ordered", max_leaves=4),
    ),
    # decision trees and forests
    "old_forest_v3": (
        "mixed",
        lambda: fit_trees("RandomForestClassifier", _classes(2, "mixed"), "mixed"),
    ),
    "decision_tree_classifier_v3": (
        "numbers",
        lambda: fit_trees("DecisionTreeClassifier", _classes(3), ccp_alpha=0.001),
    ),
    "decision_tree_regressor_v3": (
        "mixed",
        lambda: fit_trees("DecisionTreeRegressor", make_target("mixed"), "mixed"),
    ),
    "random_forest_classifier_v3": (
        "mixed",
        lambda: fit_trees("RandomForestClassifier", _classes(3, "mixed"), "mixed"),
    ),
    "random_forest_regressor_v3": (
        "numbers",
        lambda: fit_trees(
            "RandomForestRegressor",
            make_target("numbers"),
            max_features=2,
            max_leaf_nodes=3,
            n_estimators=10,
            oob_score=True,
        ),
    ),
    "random_forest_sparse_v3": (
        "sparse",
        lambda: fit_trees("RandomForestRegressor", make_target("sparse"), "sparse"),
    ),
    "random_forest_outputs_v3": (
        "numbers",
        lambda: fit_trees("RandomForestClassifier", _two_outputs()),
    ),
    "random_forest_targets_v3": (
        "numbers",
        lambda: fit_trees("RandomForestRegressor", make_targets("numbers")),
    ),
    "extra_trees_classifier_v3": (
        "numbers",
        lambda: fit_trees("ExtraTreesClassifier", _classes(2)),
    ),
    "extra_trees_regressor_v3": (
        "mixed",
        lambda: fit_trees("ExtraTreesRegressor", make_target("mixed"), "mixed"),
    ),
    # calibration and conformal scores
    "isotonic_v5": ("numbers", lambda: boost(n_classes=2, calibrate="isotonic")),
    "logistic_multiclass_v5": (
        "numbers",
        lambda: boost(
            n_classes=3, n_estimators=1, max_leaves=3, calibrate="logistic", conformal=True
        ),
    ),
    "temperature_encoder_v5": (
        "mixed",
        lambda: boost("mixed", n_classes=2, calibrate="temperature", **_ENCODED),
    ),
    "intervals_v5": (
        "numbers",
        lambda: sw.GradientBoostingRegressor(
            loss="poisson", conformal=True, n_estimators=3, max_leaves=4, n_jobs=1, random_state=7
        ).fit(
            make_training_rows("numbers"),
            np.abs(make_target("numbers")),
            sample_weight=np.arange(N_ROWS) % 3,
        ),
    ),
    "quantile_intervals_v5": (
        "numbers",
        lambda: boost(
            loss=sw.Quantile([0.25, 0.75]),
            n_estimators=2,
            max_leaves=4,
            conformal=True,
            calibration_rows="holdout",
        ),
    ),
    "isotonic_forest_v5": (
        "numbers",
        lambda: fit_trees(
            "RandomForestClassifier", _classes(3), n_estimators=8, calibrate="isotonic"
        ),
    ),
    "intervals_forest_v5": (
        "numbers",
        lambda: fit_trees(
            "RandomForestRegressor", make_target("numbers"), n_estimators=8, conformal=True
        ),
    ),
    # forests with target statistics
    "forest_encoder_v6": (
        "mixed",
        lambda: fit_trees(
            "RandomForestClassifier",
            _classes(3, "mixed"),
            "mixed",
            categorical_encoding="statistics",
        ),
    ),
    # automatic ensembles
    "ensemble_v6": (
        "mixed",
        lambda: fit_ensemble(
            "AutoEnsembleRegressor", ["shallow"], make_target("mixed"), "mixed", metric="mae"
        ),
    ),
    "ensemble_numeric_v6": (
        "mixed",
        lambda: fit_ensemble(
            "AutoEnsembleClassifier",
            ["linear"],
            _classes(3, "mixed"),
            "mixed",
        ),
    ),
}


def record_predictions(model: Any, table: str, is_rounded: bool = False) -> dict[str, Any]:
    """Return what a model predicts for the rows of a table, exactly, ready for JSON."""
    rows = read_rows(table)
    names = ["predict", "predict_proba"]
    names += ["predict_interval", "predict_set"] if getattr(model, "conformal", False) else []
    methods = [name for name in names if hasattr(model, name)]
    found = {name: getattr(model, name)(rows) for name in methods}
    if is_rounded:
        found["predict_proba"] = found["predict_proba"].round(_N_DIGITS)
    return {"table": table} | {name: _spell(value) for name, value in found.items()}


def _spell(value: Any) -> Any:
    if isinstance(value, (list, np.ndarray)):
        return [_spell(item) for item in value]
    return float(value).hex() if isinstance(value, float) else str(value)


def write(name: str, folder: Path = FOLDER) -> None:
    """Write a model file and what the model predicts; raise FileExistsError rather than replace."""
    path = folder / f"{name}.sumwise"
    if path.exists():
        raise FileExistsError(f"{path} exists; golden files are never written again")
    expected_path = folder / EXPECTED.name
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else {}
    table, model = make_model(name)
    model.save(path)
    expected[name] = record_predictions(model, table, name in ROUNDED)
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(expected.items()))
    expected_path.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    missing = [name for name in MODELS if not (FOLDER / f"{name}.sumwise").exists()]
    for chosen in sys.argv[1:] or missing:
        write(chosen)
        print(chosen)
