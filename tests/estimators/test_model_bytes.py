"""Hashes of fitted models: a change of the code that should keep models the same does so.

``tests/golden/model_hashes.json`` maps the name of each setting to the first 16 hexadecimal digits
of the SHA-256 of what ``save`` writes (it holds no version of the library, no time and no
``n_jobs``). Ensembles without ``save`` are hashed by their predictions. A hash that changes means
that users get other models: that must be intended, and belongs in the changelog. Then run

    python -m tests.estimators.test_model_bytes --write

which writes all hashes again and prints the names of those that changed.

Models must not depend on the CPU either. The data is made without functions whose last bit NumPy
rounds differently from CPU to CPU: no exp, no sums, no matrix products.
"""

import hashlib
import io
import json
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sumwise as sw
from sumwise import presets
from sumwise.errors import DataWarning

HASHES = Path(__file__).parents[1] / "golden" / "model_hashes.json"
N_ROWS = {"small": 1200, "large": 6000, "wide": 300}


class Setting(NamedTuple):
    """What to fit: the class, its parameters, and the names of table, target and fit arguments."""

    kind: str
    table: str
    target: str
    params: dict[str, Any]
    fit: tuple[str, ...] = ()


# Data


@cache
def make_table(name: str) -> tuple[Any, np.ndarray]:
    """Return X and a score from about 0 to 4 that depends on some columns of X.

    Names are "numbers", "categories", "mixed", "sparse", "ties" or "wide", with "_large" for more
    rows than the packed histograms hold.
    """
    kind, _, size = name.partition("_")
    n_rows = N_ROWS[size or ("wide" if kind == "wide" else "small")]
    rng = np.random.default_rng([len(kind), n_rows])
    noise = rng.random(n_rows)
    if kind == "wide":
        X = rng.integers(0, 4, size=(n_rows, 600)).astype(np.float64)
        return X, (X[:, 0] + X[:, 1]) / 2 + noise
    if kind == "ties":
        X = rng.integers(0, 5, size=(n_rows, 5)).astype(np.float64)
        return X, X[:, 0] / 4 + X[:, 1] * X[:, 2] / 8 + noise
    if kind == "sparse":
        X = rng.random((n_rows, 30))
        X[rng.random(X.shape) < 0.85] = 0.0
        return csr_array(X), X[:, 0] + X[:, 1] * 2 + X[:, 2] * X[:, 3] + noise
    X = rng.random((n_rows, 8))
    score = X[:, 0] * 2 + X[:, 1] * X[:, 2] + np.abs(X[:, 3] - 0.5) + noise / 2
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 7] = np.round(X[:, 7] * 8)
    if kind == "numbers":
        return X, score
    codes = [rng.integers(0, n, n_rows) for n in (3, 12, 40)]
    columns = {f"c{n}": _name_categories(own, rng) for n, own in enumerate(codes)}
    by_category = codes[0] / 2 + codes[1] * 5 % 12 / 12 + codes[2] * 7 % 40 / 40
    if kind == "categories":
        return pd.DataFrame(columns), by_category + noise
    numbers = {f"x{n}": X[:, n] for n in range(4)}
    return pd.DataFrame({**numbers, **columns}), score / 2 + by_category / 2


def _name_categories(codes: np.ndarray, rng: np.random.Generator) -> pd.Series:
    names = np.array([f"k{code:02d}" for code in range(40)], dtype=object)[codes]
    names[rng.random(codes.size) < 0.05] = None
    return pd.Series(names, dtype=object)


def make_target(name: str, score: np.ndarray) -> np.ndarray:
    """Return a target made of a score."""
    levels = np.floor(score).astype(np.int64)
    makers = {
        "number": lambda: score,
        "positive": lambda: score + 0.125,
        "count": lambda: levels,
        "share": lambda: np.clip(score / 4, 0.0, 1.0),
        "binary": lambda: np.where(score > 1.5, "yes", "no"),
        "classes": lambda: np.clip(levels, 0, 2),
        "numbers": lambda: np.column_stack([score, np.abs(score - 1.5), 1 / (score + 1)]),
        "outputs": lambda: np.column_stack([np.clip(levels, 0, 2), score > 1.5]),
    }
    return makers[name]()


def make_fit_argument(name: str, n_rows: int) -> Any:
    rng = np.random.default_rng(9)
    makers = {
        "sample_weight": lambda: rng.integers(0, 4, n_rows) / 2,
        "groups": lambda: rng.integers(0, 30, n_rows),
        "init_score": lambda: rng.random(n_rows),
    }
    return makers[name]()


# Settings


def list_settings() -> dict[str, Setting]:
    """Return all settings by name."""
    lists = list_growth(), list_boosting(), list_categories(), list_trees(), list_ensembles()
    return {name: setting for settings in lists for name, setting in settings.items()}


def list_growth() -> dict[str, Setting]:
    """Return growth, splits, tables and constraints: any two values of two of them meet."""
    growths = "leaf", "depth", "symmetric"
    splits = "histogram", "approx", "exact"
    tables = "numbers", "categories", "sparse", "mixed"
    constraints = "free", "monotone", "interaction"
    settings = {}
    for g, growth in enumerate(growths):
        for t, table in enumerate(tables):
            for size, shift in (("", 0), ("_large", 1)):
                split = splits[(g + t + shift) % 3]
                constraint = constraints[(g + 2 * t + 2 * shift) % 3]
                if table == "categories" and constraint == "monotone":
                    constraint = "free"  # categories have no order
                params = {"growth": growth, "splits": split, **_constrain(table, constraint)}
                kind, target = ("Classifier", "binary") if size else ("Regressor", "number")
                name = f"{growth}-{split}-{table}{size}-{constraint}"
                settings[name] = Setting(f"GradientBoosting{kind}", table + size, target, params)
    return settings


def _constrain(table: str, constraint: str) -> dict[str, Any]:
    n_features = {"numbers": 8, "categories": 3, "sparse": 30, "mixed": 7}[table]
    if constraint == "interaction":
        return {"interaction_cst": [[0, 1], list(range(2, n_features))]}
    if constraint == "monotone":
        return {"monotonic_cst": [1, -1, 1] + [0] * (n_features - 3)}
    return {}


def list_boosting() -> dict[str, Setting]:
    """Return losses, samplers, boosters, regularization, stopping and several outputs."""

    def regress(
        table: str = "numbers", target: str = "number", *fit: str, **params: Any
    ) -> Setting:
        return Setting("GradientBoostingRegressor", table, target, params, fit)

    def classify(
        table: str = "numbers", target: str = "binary", *fit: str, **params: Any
    ) -> Setting:
        return Setting("GradientBoostingClassifier", table, target, params, fit)

    losses = {
        "absolute_error": "number",
        "huber": "number",
        "quantile": "number",
        "mape": "positive",
        "log_cosh": "number",
        "fair": "number",
        "squared_log_error": "positive",
        "poisson": "count",
        "gamma": "positive",
        "tweedie": "count",
        "cross_entropy": "share",
    }
    samplers = {
        "subsample": sw.Subsample(0.5),
        "goss": sw.Goss(),
        "mvs": sw.Mvs(0.5),
        "bayesian": sw.BayesianBootstrap(),
        "class_subsample": sw.ClassSubsample(),
    }
    boosters = {
        "dart": sw.Dart(drop_rate=0.5, skip_drop=0.0),
        "dart_forest": sw.Dart(drop_rate=0.5, normalize="forest"),
        "forest": sw.Forest(),
        "forest_per_round": sw.Forest(trees_per_round=3, bootstrap=False),
        "trees_per_round": sw.Plain(trees_per_round=3),
        "ordered": sw.Ordered(),
        "ordered_one": sw.Ordered(permutations=1),
        "linear": sw.Linear(l1=0.01, l2=0.1),
    }
    vectors = {"multi_strategy": "multi_output_tree"}
    return {
        **{f"loss-{loss}": regress("numbers", y, loss=loss) for loss, y in losses.items()},
        "loss-huber-large": regress("mixed_large", loss=sw.Huber(delta=0.5), growth="depth"),
        "loss-quantile-large": regress("numbers_large", loss=sw.Quantile(0.8), growth="symmetric"),
        "loss-quantiles": regress(loss=sw.Quantile([0.1, 0.5, 0.9])),
        "loss-tweedie-1.2": regress(target="count", loss=sw.Tweedie(1.2)),
        "loss-exponential": classify(loss="exponential"),
        "weights": regress("numbers", "number", "sample_weight"),
        "weights-large-binary": classify("mixed_large", "binary", "sample_weight"),
        "weights-absolute_error": regress("ties", "number", "sample_weight", loss="absolute_error"),
        "init_score": regress("numbers", "number", "init_score"),
        "base_score": regress(base_score=1.25),
        "class_weight": classify(target="classes", class_weight="balanced"),
        "scale_pos_weight": classify(scale_pos_weight=2.5),
        "multiclass": classify(target="classes"),
        "multiclass-large": classify("mixed_large", "classes", growth="depth"),
        "multiclass-symmetric": classify("numbers_large", "classes", growth="symmetric"),
        "multiclass-sparse": classify("sparse", "classes", splits="approx"),
        **{f"sampler-{name}": classify(sampler=part) for name, part in samplers.items()},
        **{
            f"sampler-{name}-large": classify("mixed_large", sampler=part, growth="depth")
            for name, part in samplers.items()
        },
        "sampler-groups": regress("numbers", "number", "groups", sampler=sw.GroupSubsample(0.5)),
        "sampler-goss-multiclass": classify(target="classes", sampler=sw.Goss(0.3, 0.2)),
        **{f"booster-{name}": regress(booster=part) for name, part in boosters.items()},
        "booster-dart-binary": classify("numbers_large", booster=sw.Dart(drop_rate=0.5)),
        "booster-ordered-multiclass": classify(target="classes", booster="ordered"),
        "booster-ordered-symmetric": classify(booster="ordered", growth="symmetric", max_depth=4),
        "booster-linear-binary": classify("numbers_large", booster="linear"),
        "booster-linear-sparse": classify("sparse", "classes", booster="linear"),
        "columns-by_tree": regress(columns=sw.Columns(by_tree=0.5)),
        "columns-by_level": regress(growth="depth", columns=sw.Columns(by_level=0.5)),
        "columns-by_node": classify("mixed_large", columns=sw.Columns(by_node=0.5)),
        "columns-symmetric": regress(growth="symmetric", columns=sw.Columns(0.8, 0.7)),
        "columns-weights": regress(
            columns=sw.Columns(by_node=0.4, weights=[1, 2, 3, 4, 1, 2, 3, 4])
        ),
        "extra_trees": regress(extra_trees=True),
        "extra_trees-symmetric": classify("mixed_large", extra_trees=True, growth="symmetric"),
        "path_smooth": regress(path_smooth=10.0),
        "path_smooth-depth": classify("mixed_large", path_smooth=5.0, growth="depth"),
        "max_delta_step": classify(max_delta_step=0.25),
        "l1": regress(l1=2.0, l2=0.0),
        "l2": classify(l2=20.0),
        "min_gain": regress(min_gain=0.5, min_child_weight=30.0),
        "small_leaves": regress("ties", min_samples_leaf=1, max_leaves=200),
        "max_depth": regress(max_depth=3, max_leaves=6),
        "rates": regress(learning_rate=[0.5, 0.4, 0.3, 0.2, 0.1]),
        "early_stopping": regress(early_stopping=True, n_estimators=40, learning_rate=0.5),
        "early_stopping-last": classify(
            "mixed", early_stopping=True, validation_rows="last", n_estimators=40, learning_rate=0.5
        ),
        "early_stopping-oob": classify(
            early_stopping="oob", sampler=sw.Subsample(0.5), n_estimators=40, learning_rate=0.5
        ),
        "leaves-linear": regress(leaves="linear"),
        "leaves-linear-large": classify("mixed_large", leaves=sw.LinearLeaves(0.1, True)),
        "leaves-linear-multiclass": classify(target="classes", leaves="linear", growth="depth"),
        "leaves-linear-symmetric": regress("ties", leaves="linear", growth="symmetric"),
        "max_bins-15": regress(max_bins=15),
        "max_bins-1000": regress(max_bins=1000),
        "max_bins-5000-large": classify("numbers_large", max_bins=5000, growth="depth"),
        "max_bins-by-feature": regress(max_bins=[9, 9, 300, 20, 255, 1000, 2, 5]),
        "targets": regress(target="numbers"),
        "targets-vectors": regress(target="numbers", **vectors),
        "targets-vectors-depth": regress("numbers_large", "numbers", growth="depth", **vectors),
        "targets-vectors-symmetric": regress("ties", "numbers", growth="symmetric", **vectors),
        "targets-vectors-mixed": regress(
            "mixed_large",
            "numbers",
            "sample_weight",
            categorical_encoding=sw.TargetStatistics(native_limit=0),
            **vectors,
        ),
        "targets-huber": regress(target="numbers", loss="huber"),
        "sparse-missing": regress("sparse_large", sparse_zeros="missing"),
        "sparse-unbundled": classify("sparse_large", bundling=None),
        "sparse-conflicts": regress("sparse", bundling=sw.Bundling(0.2), min_samples_leaf=5),
        "wide": classify("wide", n_estimators=2),
        **{
            f"preset-{name.lower()}": classify("mixed", **{**getattr(presets, name), **params})
            for name, params in (
                ("XGBOOST", {"n_estimators": 3}),
                ("LIGHTGBM", {"n_estimators": 3}),
                ("CATBOOST", {"n_estimators": 3}),
            )
        },
    }


def list_categories() -> dict[str, Setting]:
    """Return ways to use categories."""
    encodings = {
        "onehot": "onehot",
        "native": sw.Native(smoothing=2.0, l2=1.0, min_rows=10, onehot_limit=2),
        "greedy": "greedy",
        "holdout": "holdout",
        "leave_one_out": "leave_one_out",
        "ordered": "ordered",
        "combinations": sw.TargetStatistics(combinations=4, permutations=2, native_limit=0),
        "few_counts": sw.TargetStatistics(counts=False, prior=0.5, prior_weight=3.0),
    }
    settings = {}
    for name, encoding in encodings.items():
        params = {"categorical_encoding": encoding}
        regressor = Setting("GradientBoostingRegressor", "categories", "number", params)
        classifier = Setting("GradientBoostingClassifier", "mixed_large", "binary", params)
        settings |= {f"encoding-{name}": regressor, f"encoding-{name}-large": classifier}
    params = {"categorical_encoding": "ordered", "booster": "ordered"}
    for name, target in (("binary", "binary"), ("multiclass", "classes")):
        settings[f"encoding-ordered-booster-{name}"] = Setting(
            "GradientBoostingClassifier", "mixed", target, params
        )
    return settings


def list_trees() -> dict[str, Setting]:
    """Return decision trees and forests."""

    def tree(kind: str, table: str, target: str, *fit: str, **params: Any) -> Setting:
        return Setting(f"DecisionTree{kind}", table, target, params, fit)

    def forest(kind: str, table: str, target: str, *fit: str, **params: Any) -> Setting:
        return Setting(f"RandomForest{kind}", table, target, params, fit)

    def extra(kind: str, table: str, target: str, *fit: str, **params: Any) -> Setting:
        return Setting(f"ExtraTrees{kind}", table, target, params, fit)

    c, r = "Classifier", "Regressor"
    by_rest = {"oob_score": True, "n_estimators": 20, "max_leaf_nodes": 8}
    return {
        "tree": tree(c, "numbers", "binary"),
        "tree-entropy": tree(c, "mixed", "classes", criterion="entropy", min_samples_leaf=5),
        "tree-random": tree(c, "numbers", "classes", splitter="random", max_features=3),
        "tree-ccp_alpha": tree(c, "numbers_large", "classes", ccp_alpha=0.002),
        "tree-max_leaf_nodes": tree(r, "mixed", "number", max_leaf_nodes=20),
        "tree-monotone": tree(r, "numbers", "number", monotonic_cst=[1, -1] + [0] * 6, max_depth=5),
        "tree-ties": tree(r, "ties", "number", "sample_weight"),
        "tree-large": tree(r, "numbers_large", "number", min_samples_leaf=10),
        "tree-poisson": tree(r, "numbers", "count", criterion="poisson", max_depth=6),
        "tree-outputs": tree(c, "numbers", "outputs", max_depth=6),
        "tree-targets": tree(r, "numbers", "numbers", max_depth=6),
        "tree-impurity": tree(c, "numbers", "binary", min_impurity_decrease=0.002),
        "forest-binary": forest(c, "numbers", "binary"),
        "forest-classes": forest(c, "mixed", "classes", criterion="entropy"),
        "forest-categories": forest(c, "categories", "binary", max_features=2),
        "forest-native": forest(c, "mixed", "classes", categorical_encoding="native"),
        "forest-large": forest(c, "numbers_large", "classes", max_depth=8),
        "forest-weights": forest(c, "numbers", "binary", "sample_weight"),
        "forest-balanced": forest(c, "numbers", "classes", class_weight="balanced_subsample"),
        "forest-no-bootstrap": forest(c, "ties", "binary", bootstrap=False),
        "forest-max_samples": forest(c, "numbers", "binary", max_samples=0.3),
        "forest-pasting": forest(c, "numbers", "binary", resampling=sw.Pasting(0.5)),
        "forest-poisson-bootstrap": forest(
            c, "numbers", "binary", resampling=sw.PoissonBootstrap()
        ),
        "forest-bayesian": forest(c, "numbers", "binary", resampling=sw.BayesianBootstrap()),
        "forest-features-per-tree": forest(c, "numbers", "binary", max_features_per_tree=4),
        "forest-prune": forest(c, "numbers", "binary", prune="oob"),
        "forest-leaf_posterior": forest(c, "numbers", "classes", leaf_posterior="oob"),
        "forest-oob": forest(c, "numbers", "binary", **by_rest),
        "forest-outputs": forest(c, "numbers", "outputs"),
        "forest-sparse": forest(c, "sparse", "classes"),
        "forest-wide": forest(c, "wide", "classes"),
        "forest-wide-regressor": forest(r, "wide", "number", max_features="sqrt"),
        "forest-max_leaf_nodes": forest(c, "mixed", "binary", max_leaf_nodes=15),
        "forest-ccp_alpha": forest(r, "numbers", "number", ccp_alpha=0.005),
        "forest-monotone": forest(r, "numbers", "number", monotonic_cst=[1, -1] + [0] * 6),
        "forest-regressor": forest(r, "numbers", "number"),
        "forest-regressor-third": forest(r, "mixed", "number", "sample_weight", max_features=0.3),
        "forest-regressor-large": forest(r, "numbers_large", "number", min_samples_leaf=20),
        "forest-regressor-sparse": forest(r, "sparse", "number", max_features="log2"),
        "forest-regressor-poisson": forest(r, "numbers", "count", criterion="poisson"),
        "forest-regressor-prune": forest(r, "numbers", "number", prune="oob"),
        "forest-regressor-oob": forest(r, "numbers", "number", **by_rest),
        "forest-targets": forest(r, "numbers", "numbers"),
        "forest-few-bins": forest(r, "numbers", "number", max_bins=16),
        "extra-binary": extra(c, "numbers", "binary"),
        "extra-classes": extra(c, "mixed_large", "classes", max_depth=8),
        "extra-sparse": extra(c, "sparse", "binary"),
        "extra-regressor": extra(r, "numbers", "number"),
        "extra-regressor-bootstrap": extra(r, "mixed", "number", bootstrap=True, max_features=0.5),
        "extra-targets": extra(r, "ties", "numbers", min_samples_leaf=3),
        "extra-outputs": extra(c, "numbers", "outputs"),
    }


def list_ensembles() -> dict[str, Setting]:
    """Return ensembles without ``save``, which are hashed by their predictions."""

    def tree(kind: str, max_depth: int | None, **params: Any) -> Any:
        return getattr(sw, f"DecisionTree{kind}")(max_depth=max_depth, random_state=5, **params)

    def ensemble(name: str, table: str, target: str, *fit: str, **params: Any) -> Setting:
        return Setting(name, table, target, params, fit)

    boosted = sw.GradientBoostingClassifier(n_estimators=3, random_state=5, n_jobs=1)
    regressors = [tree("Regressor", depth) for depth in (2, 4)]
    classifiers = [tree("Classifier", depth) for depth in (2, 4)]
    settings = {
        "adaboost-resample": ensemble(
            "AdaBoostClassifier", "numbers", "binary", method="resample", n_estimators=10
        ),
        "adaboost-weights": ensemble("AdaBoostClassifier", "ties", "binary", "sample_weight"),
        "adaboost-mixed": ensemble(
            "AdaBoostClassifier", "mixed", "binary", n_estimators=10, random_state=0
        ),
        "bagging-trees": ensemble(
            "BaggingClassifier", "numbers", "classes", estimator=tree("Classifier", None)
        ),
        "bagging-features": ensemble(
            "BaggingClassifier",
            "numbers",
            "binary",
            estimator=tree("Classifier", 5),
            max_features=0.5,
            max_samples=0.5,
        ),
        "bagging-regressor": ensemble(
            "BaggingRegressor", "ties", "number", "sample_weight", estimator=tree("Regressor", 6)
        ),
        "bagging-pasting": ensemble(
            "BaggingRegressor",
            "mixed",
            "number",
            estimator=tree("Regressor", 6),
            sampling=sw.Pasting(0.5),
        ),
        "bagging-boosting": ensemble(
            "BaggingClassifier", "mixed", "binary", estimator=boosted, n_estimators=3
        ),
        "output-smearing": ensemble(
            "OutputSmearingRegressor", "numbers", "number", estimator=tree("Regressor", 5)
        ),
        "output-flipping": ensemble(
            "OutputFlippingClassifier", "numbers", "binary", estimator=tree("Classifier", 5)
        ),
        "output-codes": ensemble("OutputCodeClassifier", "numbers", "classes", estimator=boosted),
        "voting": ensemble("VotingClassifier", "numbers", "classes", estimators=classifiers),
        "averaging": ensemble("AveragingRegressor", "numbers", "number", estimators=regressors),
    }
    for depth in (1, 2, 3):
        for target in ("binary", "classes"):
            settings[f"adaboost-{target}-{depth}"] = ensemble(
                "AdaBoostClassifier", "numbers", target, estimator=tree("Classifier", depth)
            )
    for loss in ("linear", "square", "exponential"):
        settings[f"adaboost-regressor-{loss}"] = ensemble(
            "AdaBoostRegressor", "numbers", "number", estimator=tree("Regressor", 3), loss=loss
        )
    return settings


SETTINGS = list_settings()
# Rounds or trees where a setting does not say.
N_ESTIMATORS = {
    "AdaBoost": 8,
    "Bagging": 5,
    "ExtraTrees": 4,
    "GradientBoosting": 5,
    "OutputFlipping": 5,
    "OutputSmearing": 5,
    "RandomForest": 4,
}
SAVED = ("GradientBoosting", "DecisionTree", "RandomForest", "ExtraTrees")


def fit(name: str, n_jobs: int = 1) -> Any:
    """Fit the model of a setting."""
    setting = SETTINGS[name]
    X, score = make_table(setting.table)
    params = {"n_jobs": n_jobs, **setting.params}
    stem = setting.kind.removesuffix("Classifier").removesuffix("Regressor")
    if stem in N_ESTIMATORS:
        params.setdefault("n_estimators", N_ESTIMATORS[stem])
    model = getattr(sw, setting.kind)(**params)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=3)
    arguments = {key: make_fit_argument(key, score.size) for key in setting.fit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return model.fit(X, make_target(setting.target, score), **arguments)


def hash_model(name: str, model: Any) -> str:
    """Return 16 digits of the hash of the file of a model, or of its predictions."""
    file = io.BytesIO()
    if SETTINGS[name].kind.startswith(SAVED):
        model.save(file)
    else:
        X, _ = make_table(SETTINGS[name].table)
        predict = getattr(model, "predict_proba", model.predict)
        file.write(np.ascontiguousarray(predict(X)).tobytes())
    return hashlib.sha256(file.getvalue()).hexdigest()[:16]


# Tests


@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_the_same_as_ever(name):
    assert hash_model(name, fit(name)) == json.loads(HASHES.read_text())[name]


@pytest.mark.parametrize(
    "name",
    [
        "leaf-approx-numbers_large-interaction",
        "max_bins-5000-large",
        "sampler-goss-large",
        "sampler-subsample-large",
        "sampler-class_subsample-large",
        "forest-large",
        "adaboost-classes-2",
    ],
)
def test_the_model_is_the_same_for_two_threads(name):
    assert hash_model(name, fit(name, n_jobs=2)) == json.loads(HASHES.read_text())[name]


def test_every_hash_has_a_setting():
    assert sorted(json.loads(HASHES.read_text())) == sorted(SETTINGS)


def write_hashes() -> None:
    """Write the hashes of all settings, and print which changed."""
    old = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    new = {name: hash_model(name, fit(name)) for name in sorted(SETTINGS)}
    HASHES.write_text(json.dumps(new, indent=0) + "\n")
    changed = [name for name in new if new[name] != old.get(name)]
    print(f"{len(changed)} of {len(new)} hashes changed", *changed, sep="\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.estimators.test_model_bytes --write")
    write_hashes()
