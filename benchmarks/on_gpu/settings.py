"""Settings whose models must have the same bytes on every device.

`SETTINGS` is what a device must be able to do. It may refuse what `LIMITS` names, with an error
that says that ``device="cpu"`` gives the model; if it does not refuse, the bytes count, too.
"""

import io
import warnings
from copy import copy
from itertools import product
from typing import Any, NamedTuple

import sumwise as sw
from benchmarks.on_gpu.tables import (
    N_EVENT_FEATURES,
    N_SPARSE_FEATURES,
    N_VALUES,
    make_argument,
    make_table,
    make_target,
)
from sumwise.errors import DataWarning

# Columns of each table, numbers first.
N_FEATURES = {
    "numbers": 8,
    "events": N_EVENT_FEATURES,
    "ties": 5,
    "extreme": 8,
    "sparse": N_SPARSE_FEATURES,
    "categories": len(N_VALUES),
    "mixed": 4 + len(N_VALUES),
}
GROWTHS = ("leaf", "depth", "symmetric")
# Stopping needs more rounds than other settings.
_MORE_ROUNDS = 6


class Setting(NamedTuple):
    """What to fit: parameters, the names of table and target, and further arguments of ``fit``.

    Besides arguments with an entry per row, ``fit`` may name "validation" (other rows to validate
    on) and "init_model" (a model of half the rounds, which is continued).
    """

    kind: str
    table: str
    target: str
    params: dict[str, Any]
    fit: tuple[str, ...] = ()
    more_rounds: bool = False


def regress(table: str = "numbers", target: str = "number", *fit: str, **params: Any) -> Setting:
    """Return a setting of the regressor."""
    return Setting("GradientBoostingRegressor", table, target, params, fit)


def classify(table: str = "numbers", target: str = "binary", *fit: str, **params: Any) -> Setting:
    """Return a setting of the classifier."""
    return Setting("GradientBoostingClassifier", table, target, params, fit)


def stop(setting: Setting, **params: Any) -> Setting:
    """Return a setting with early stopping."""
    params = {"early_stopping": True, "learning_rate": 0.7, "n_iter_no_change": 2, **params}
    return setting._replace(params={**setting.params, **params}, more_rounds=True)


class CubicLoss:
    """A loss that a user might write: exact operations only, on arrays of any library."""

    def gradient(self, y: Any, raw: Any) -> tuple[Any, Any]:
        """Return the derivatives of ``|raw - y|**3 / 3 + (raw - y)**2 / 2``."""
        error = raw - y
        return error * abs(error) + error, abs(error) * 2.0 + 1.0


# Losses with their target, and whether they are the classifier's.
LOSSES = {
    "squared_error": "number",
    "binomial": "binary",
    "multinomial": "classes",
    "exponential": "binary",
    "poisson": "count",
    "gamma": "positive",
    "tweedie": "count",
    "cross_entropy": "share",
    "absolute_error": "number",
    "quantile": "number",
    "huber": "number",
}
_BY_TARGET = ("binomial", "multinomial")  # the classifier chooses these itself
SAMPLERS: dict[str, Any] = {
    "all": None,
    "subsample": sw.Subsample(0.5),
    "goss": sw.Goss(0.3, 0.2),
    "bayesian": sw.BayesianBootstrap(),
}
CONSTRAINTS = ("free", "monotone", "interaction")


def constrain(table: str, constraint: str) -> dict[str, Any]:
    """Return the parameters of a constraint on the numbers of a table."""
    n_features = N_FEATURES[table]
    if constraint == "interaction":
        return {"interaction_cst": [[0, 1], list(range(2, n_features))]}
    if constraint == "monotone":
        return {"monotonic_cst": [1, -1, 1] + [0] * (n_features - 3)}
    return {}


def list_core() -> dict[str, Setting]:
    """Return every growth with every loss; tables, samplers and constraints take turns."""
    tables = "numbers", "events", "mixed", "sparse", "ties"
    settings = {}
    for (g, growth), (n, (loss, target)) in product(enumerate(GROWTHS), enumerate(LOSSES.items())):
        table = tables[(2 * g + n) % len(tables)]
        sampler = list(SAMPLERS)[(g + n) % len(SAMPLERS)]
        constraint = CONSTRAINTS[(g + n // 2) % len(CONSTRAINTS)]
        if loss == "multinomial" and constraint == "monotone":
            constraint = "free"  # it is for two classes
        make = classify if target in ("binary", "classes") else regress
        params: dict[str, Any] = {"growth": growth, "sampler": SAMPLERS[sampler]}
        if loss not in _BY_TARGET:
            params["loss"] = loss
        name = f"{growth}-{loss}-{table}-{sampler}-{constraint}"
        settings[name] = make(table, target, **params, **constrain(table, constraint))
    return settings


def list_tables() -> dict[str, Setting]:
    """Return every growth with tables that are hard to bin or to split."""
    settings: dict[str, Setting] = {}
    for growth in GROWTHS:
        settings |= {
            f"extreme-{growth}": regress("extreme", growth=growth),
            f"categories-{growth}": classify(
                "categories", categorical_encoding="native", growth=growth
            ),
            f"weights-{growth}": classify("mixed", "binary", "sample_weight", growth=growth),
            f"seven-{growth}": classify("events", "seven", growth=growth),
            f"extra_trees-{growth}": regress("mixed", extra_trees=True, growth=growth),
            f"regularized-{growth}": classify(
                "events", l1=1.0, l2=5.0, max_delta_step=0.5, path_smooth=5.0, growth=growth
            ),
            f"columns-{growth}": regress(
                "events", columns=sw.Columns(by_tree=0.7, by_level=0.7), growth=growth
            ),
        }
    return settings


def list_singles() -> dict[str, Setting]:
    """Return one setting for each of the other options."""
    native = sw.Native(smoothing=2.0, l2=1.0, min_rows=10, onehot_limit=2)
    statistics = sw.TargetStatistics(native_limit=0)
    return {
        "quantile-0.9-weights": regress("ties", "number", "sample_weight", loss=sw.Quantile(0.9)),
        "huber-depth": regress("mixed", loss=sw.Huber(delta=0.5), growth="depth"),
        "absolute_error-goss": regress("events", loss="absolute_error", sampler="goss"),
        "tweedie-1.2": regress("mixed", "count", loss=sw.Tweedie(1.2)),
        "custom": regress(loss=CubicLoss()),
        "custom-depth-subsample": regress(
            "events", loss=CubicLoss(), growth="depth", sampler=sw.Subsample(0.5)
        ),
        "init_score": regress("numbers", "number", "init_score"),
        "init_score-poisson": regress("events", "count", "init_score", loss="poisson"),
        "base_score": regress(base_score=1.25),
        "class_weight": classify(target="classes", class_weight="balanced"),
        "scale_pos_weight": classify(scale_pos_weight=2.5),
        "multinomial-weights-goss": classify("mixed", "classes", "sample_weight", sampler="goss"),
        "multinomial-bayesian": classify("events", "classes", sampler=sw.BayesianBootstrap()),
        "native-options": classify("mixed", categorical_encoding=native),
        "native-multinomial": classify("categories", "classes", categorical_encoding="native"),
        "onehot": classify("categories", categorical_encoding="onehot"),
        "ordered-statistics": classify("mixed", categorical_encoding=statistics),
        "greedy-statistics": regress("mixed", categorical_encoding="greedy"),
        "sparse-missing": regress("sparse", sparse_zeros="missing"),
        "sparse-unbundled": classify("sparse", bundling=None),
        "dart": regress(booster=sw.Dart(drop_rate=0.5, skip_drop=0.0)),
        "dart-binary-depth": classify("mixed", booster=sw.Dart(drop_rate=0.5), growth="depth"),
        "dart-multinomial-symmetric": classify(
            "events", "classes", booster=sw.Dart(drop_rate=0.5), growth="symmetric"
        ),
        "forest": regress(booster=sw.Forest()),
        "forest-per-round": classify(
            "mixed", booster=sw.Forest(trees_per_round=3, bootstrap=False)
        ),
        "trees_per_round": regress("events", booster=sw.Plain(trees_per_round=3)),
        "columns-by_node": classify("mixed", columns=sw.Columns(by_node=0.5)),
        "columns-weights": regress(
            columns=sw.Columns(by_node=0.4, weights=[1, 2, 3, 4, 1, 2, 3, 4])
        ),
        "path_smooth": regress("mixed", path_smooth=10.0),
        "max_delta_step": classify(max_delta_step=0.25),
        "l1": regress(l1=2.0, l2=0.0),
        "min_gain": regress(min_gain=0.5, min_child_weight=30.0),
        "small-leaves": regress("ties", min_samples_leaf=1, max_leaves=200),
        "large-leaves": classify("events", min_samples_leaf=200),
        "deep": classify("events", growth="depth", max_depth=10),
        "deep-leaf": regress("numbers", max_depth=3, max_leaves=6),
        "monotone-path_smooth": regress(
            path_smooth=3.0, growth="depth", **constrain("numbers", "monotone")
        ),
        "both-constraints": classify(
            "events", **constrain("events", "monotone"), **constrain("events", "interaction")
        ),
        "rates": regress(learning_rate=[0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
        "max_bins-15": regress(max_bins=15),
        "max_bins-by-feature": regress(max_bins=[9, 9, 60, 20, 255, 100, 2, 5]),
        "stop": stop(regress()),
        "stop-last-goss": stop(classify("mixed", sampler="goss"), validation_rows="last"),
        "stop-validation": stop(classify("events", "classes", "validation")),
        "stop-refitted": stop(regress("mixed", loss="absolute_error", growth="depth")),
        "stop-groups": stop(regress("events", "number", "groups", growth="symmetric")),
        "training-loss": classify("mixed", track_training_loss=True),
        "continued": regress("numbers", "number", "init_model"),
        "continued-multinomial": classify("mixed", "classes", "init_model", sampler="goss"),
    }


def list_limits() -> dict[str, Setting]:
    """Return what a device may refuse."""
    losses = {
        "mape": "positive",
        "log_cosh": "number",
        "fair": "number",
        "squared_log_error": "positive",
    }
    return {
        **{f"loss-{loss}": regress(target=target, loss=loss) for loss, target in losses.items()},
        "loss-quantiles": regress(loss=sw.Quantile([0.1, 0.5, 0.9])),
        "splits-approx": regress(splits="approx"),
        "splits-exact": regress(splits="exact"),
        "sampler-mvs": classify(sampler=sw.Mvs(0.5)),
        "sampler-class": classify(sampler=sw.ClassSubsample()),
        "sampler-groups": regress("numbers", "number", "groups", sampler=sw.GroupSubsample(0.5)),
        "booster-ordered": regress(booster=sw.Ordered()),
        "booster-linear": regress(booster=sw.Linear(l1=0.01, l2=0.1)),
        "leaves-linear": regress(leaves="linear"),
        "max_bins-1000": regress(max_bins=1000),
        "targets": regress(target="numbers"),
        "targets-vectors": regress(target="numbers", multi_strategy="multi_output_tree"),
        "stop-oob": stop(classify(sampler=sw.Subsample(0.5)), early_stopping="oob"),
    }


SETTINGS = {**list_core(), **list_tables(), **list_singles()}
LIMITS = list_limits()


def fit(setting: Setting, n_rows: int, n_rounds: int, device: str, **params: Any) -> Any:
    """Fit the model of a setting on a device; ``params`` are further parameters."""
    X, score = make_table(setting.table, n_rows)
    y = make_target(setting.target, score)
    arguments: dict[str, Any] = {}
    for name in setting.fit:
        if name == "validation":
            # Fewer rows, and other ones. Several targets and tables of every kind have them.
            arguments["X_val"], other = make_table(setting.table, n_rows // 4 + 1, n_rows)
            arguments["y_val"] = make_target(setting.target, other)
        elif name != "init_model":
            arguments[name] = make_argument(name, n_rows)
    params = {"random_state": 3, **setting.params, **params}
    if device != "cpu":
        params["device"] = device
    if setting.more_rounds:
        n_rounds *= _MORE_ROUNDS
    make = getattr(sw, setting.kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if "init_model" in setting.fit:
            half = make(n_estimators=(n_rounds + 1) // 2, **params).fit(X, y, **arguments)
            arguments["init_model"] = half
        return make(n_estimators=n_rounds, **params).fit(X, y, **arguments)


def dump(model: Any) -> bytes:
    """Return the bytes of a model's file; a loss of one's own is left out."""
    file = io.BytesIO()
    if isinstance(model.loss, CubicLoss):
        model = copy(model).set_params(loss="auto")
    model.save(file)
    return file.getvalue()
