"""The parameters of XGBoost as a table, and as parameters of sumwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sumwise.compat.conversions import find_seed, find_threads, read_names
from sumwise.compat.table import Table, direct, ignored, joint, quiet, refused
from sumwise.data.categories.set_splits import Native
from sumwise.errors import ParameterError
from sumwise.presets import convert_min_gain
from sumwise.sampling import Columns, Mvs, Subsample
from sumwise.training.boosters import Dart, Linear, Plain

RANKING = "ranking is not supported"
SPEED = "concerns XGBoost's speed or memory only"
GENERAL = "has no counterpart; remove it"


def _find_max_bins(given: int) -> int:
    """Return the number of bins: 255, which fit into a byte, for XGBoost's default of 256."""
    return 255 if given == 256 else given


TABLE = Table(
    "XGBoost",
    [
        # rounds
        direct("n_estimators", 100, "n_estimators", "num_boost_round"),
        direct(
            "learning_rate",
            0.3,
            "learning_rate",
            "eta",
            text="`learning_rate`; of a linear model 0.5 by default",
        ),
        joint("objective", None, "`loss`; see the losses below"),
        joint("booster", "gbtree", '`booster`: "gbtree", "dart", "gblinear"'),
        joint("base_score", None, "`base_score`"),
        joint("num_parallel_tree", 1, "`booster=Plain(trees_per_round)`"),
        # trees
        joint("max_depth", 6, "`max_depth` (None for 0)"),
        joint("max_leaves", 0, "`max_leaves` (None for 0)"),
        joint("grow_policy", "depthwise", '`growth`: "depth", or "leaf" for "lossguide"'),
        direct("min_child_weight", 1.0, "min_child_weight"),
        direct(
            "gamma",
            0.0,
            "min_gain",
            "min_split_loss",
            convert_min_gain,
            "`min_gain`, half of theirs",
        ),
        direct("reg_alpha", 0.0, "l1", "alpha"),
        joint("reg_lambda", 1.0, "`l2`; of a linear model 0 by default", "lambda"),
        joint("max_delta_step", 0.0, "`max_delta_step`"),
        direct(
            "max_bin", 256, "max_bins", "", _find_max_bins, "`max_bins`; 255 for the default of 256"
        ),
        joint("tree_method", "auto", '`splits`: "histogram", "approx", "exact"'),
        # sampling
        joint("subsample", 1.0, "`sampler=Subsample(rate)`"),
        joint("sampling_method", "uniform", '"gradient_based" is `sampler=Mvs(rate)`'),
        joint("colsample_bytree", 1.0, "`columns=Columns(by_tree)`"),
        joint("colsample_bylevel", 1.0, "`columns=Columns(by_level)`"),
        joint("colsample_bynode", 1.0, "`columns=Columns(by_node)`"),
        joint("feature_weights", None, "`columns=Columns(weights)`"),
        joint("rate_drop", 0.0, "`Dart(drop_rate)`"),
        joint("skip_drop", 0.0, "`Dart(skip_drop)`"),
        joint("normalize_type", "tree", "`Dart(normalize)`"),
        # features
        joint("missing", np.nan, "replaced by NaN in arrays"),
        joint("enable_categorical", False, '`categorical_features`: None or "auto"'),
        joint("feature_types", None, '`categorical_features`: those of type "c"'),
        joint("max_cat_to_onehot", 4, "`Native(onehot_limit)`"),
        joint("max_cat_threshold", 64, "`Native(max_categories)`"),
        joint("monotone_constraints", None, "`monotonic_cst`"),
        joint("interaction_constraints", None, "`interaction_cst`; others are alone"),
        # losses
        joint("scale_pos_weight", 1.0, "weights of the second of two classes"),
        joint("quantile_alpha", None, "`Quantile(level)`"),
        joint("tweedie_variance_power", 1.5, "`Tweedie(power)`"),
        joint("multi_strategy", "one_output_per_tree", "`multi_strategy`, of a regressor"),
        # validation
        joint("eval_metric", None, "`scoring`"),
        joint("early_stopping_rounds", None, "`n_iter_no_change`"),
        joint("callbacks", None, "`callbacks`"),
        joint("disable_default_eval_metric", False, "whether `eval_metric` is all"),
        # running
        joint("random_state", None, "`random_state`, 0 for None", "seed"),
        joint("n_jobs", None, "`n_jobs`", "nthread"),
        joint("device", "cpu", '`device`: "cpu", "cuda", "cuda:1"; "gpu" is "cuda"'),
        joint("importance_type", None, "of `feature_importances_`: gain, weight, total_gain"),
        # nothing to do
        quiet("verbosity", 1, "a fit shows nothing unless `fit(verbose=...)` asks for it"),
        quiet("validate_parameters", None, "parameters are always checked"),
        quiet("num_class", 0, "read from y"),
        quiet("seed_per_iteration", False, "draws depend on seed and round"),
        # no effect
        *(
            ignored(name, default, SPEED)
            for name, default in (
                ("max_cached_hist_node", None),
                ("debug_synchronize", False),
                ("sparse_threshold", 0.2),
                ("opt_dense_col", 1.0),
                ("max_row_perbatch", None),
                ("fail_on_invalid_gpu_id", False),
                ("extmem_single_page", False),
            )
        ),
        ignored("tolerance", 0.0, "linear models take `n_estimators` rounds"),
        ignored("feature_selector", "cyclic", "linear models go through the coefficients in order"),
        ignored("refresh_leaf", True, "belongs to an updater that is not there"),
        # of former versions, and still in many programs
        quiet("use_label_encoder", None, "labels may be numbers or strings"),
        ignored("predictor", None, SPEED),
        ignored("single_precision_histogram", None, SPEED),
        # another model
        refused("sample_type", "uniform", "rounds are dropped with equal probability"),
        refused("one_drop", False, "a round may drop nothing"),
        refused("updater", None, "use `tree_method`, or `booster='gblinear'`"),
        refused("process_type", "default", "use `model_.refit(X, y)` to update leaves"),
        refused("default_direction", None, GENERAL),
        refused("gpu_id", None, "use `device='cuda:0'`"),
        refused("huber_slope", 1.0, "belongs to a loss that is not there; use 'reg:absoluteerror'"),
        refused("aft_loss_distribution", None, "survival models are not supported"),
        refused("aft_loss_distribution_scale", None, "survival models are not supported"),
        *(
            refused(name, None, RANKING)
            for name in (
                "lambdarank_pair_method",
                "lambdarank_num_pair_per_sample",
                "lambdarank_normalization",
                "lambdarank_score_normalization",
                "lambdarank_unbiased",
                "lambdarank_bias_norm",
                "ndcg_exp_gain",
            )
        ),
    ],
)

# Parameters of the constructor, in XGBoost's order.
SIGNATURE: Mapping[str, Any] = MappingProxyType(
    {
        "max_depth": None,
        "max_leaves": None,
        "max_bin": None,
        "grow_policy": None,
        "learning_rate": None,
        "n_estimators": None,
        "verbosity": None,
        "objective": None,
        "booster": None,
        "tree_method": None,
        "n_jobs": None,
        "gamma": None,
        "min_child_weight": None,
        "max_delta_step": None,
        "subsample": None,
        "sampling_method": None,
        "colsample_bytree": None,
        "colsample_bylevel": None,
        "colsample_bynode": None,
        "reg_alpha": None,
        "reg_lambda": None,
        "scale_pos_weight": None,
        "base_score": None,
        "random_state": None,
        "missing": np.nan,
        "num_parallel_tree": None,
        "monotone_constraints": None,
        "interaction_constraints": None,
        "importance_type": None,
        "device": None,
        "validate_parameters": None,
        "enable_categorical": False,
        "feature_types": None,
        "feature_weights": None,
        "max_cat_to_onehot": None,
        "max_cat_threshold": None,
        "multi_strategy": None,
        "eval_metric": None,
        "early_stopping_rounds": None,
        "callbacks": None,
    }
)

_SPLITS = {
    "auto": "histogram",
    "hist": "histogram",
    "gpu_hist": "histogram",
    "approx": "approx",
    "exact": "exact",
}
_BOOSTERS = ("gbtree", "dart", "gblinear")


def translate(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of sumwise, except loss and what depends on the table.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    values : mapping of str to Any
        By main name, see :meth:`Table.resolve`.
    """
    booster = choose(owner, values, "booster", _BOOSTERS)
    method = choose(owner, values, "tree_method", tuple(_SPLITS))
    policy = choose(owner, values, "grow_policy", ("depthwise", "lossguide"))
    params = TABLE.convert(values) | {
        "growth": "depth" if policy == "depthwise" else "leaf",
        "max_depth": values["max_depth"] or None,
        "max_leaves": _find_max_leaves(values, policy),
        "l2": values["reg_lambda"],
        "max_delta_step": values["max_delta_step"],
        "min_samples_leaf": 1,
        "splits": _SPLITS[method],
        "sampler": _find_sampler(owner, values),
        "columns": _find_columns(values),
        "sparse_zeros": "missing",
        "categorical_encoding": Native(
            smoothing=0.0,
            l2=0.0,
            max_categories=values["max_cat_threshold"],
            min_rows=0,
            onehot_limit=max(values["max_cat_to_onehot"] - 1, 0),
        ),
        "categorical_features": _find_categories(values),
        "device": _find_device(owner, values["device"], method),
        "n_jobs": find_threads(values["n_jobs"]),
        "random_state": find_seed(values["random_state"]),
    }
    if values["monotone_constraints"] is not None:
        params["monotonic_cst"] = read_names(values["monotone_constraints"])
    params["booster"] = "plain"
    if values["num_parallel_tree"] > 1:
        if booster != "gbtree":
            raise ParameterError(f"{owner}: num_parallel_tree is for booster='gbtree'")
        params["booster"] = Plain(trees_per_round=values["num_parallel_tree"])
    elif booster == "dart":
        params["booster"] = Dart(
            drop_rate=values["rate_drop"],
            max_drop=None,
            skip_drop=values["skip_drop"],
            normalize=values["normalize_type"],
        )
    elif booster == "gblinear":
        params["booster"] = Linear(l1=values["reg_alpha"], l2=values["reg_lambda"])
        params |= {"columns": None, "categorical_features": None, "sampler": None}
        params["sparse_zeros"] = "value"
    return params


def choose(owner: str, values: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    """Return a value that must be one of those known."""
    value: str = values[name]
    if value not in known:
        raise ParameterError(
            f"{owner}: {name}={value!r}; must be one of {', '.join(map(repr, known))}"
        )
    return value


def _find_max_leaves(values: Mapping[str, Any], policy: str) -> int | None:
    if values["max_leaves"]:
        return int(values["max_leaves"])
    if policy == "depthwise":
        return None
    # Growth by leaves has a default here, and none there: as many as the depth allows.
    depth = values["max_depth"]
    return 2 ** min(depth, 20) if depth else 2**20


def _find_sampler(owner: str, values: Mapping[str, Any]) -> Any:
    method = choose(owner, values, "sampling_method", ("uniform", "gradient_based"))
    rate = values["subsample"]
    if rate == 1.0:
        return None
    return Mvs(rate=rate) if method == "gradient_based" else Subsample(rate=rate)


def _find_columns(values: Mapping[str, Any]) -> Columns | None:
    rates = {
        place: values[f"colsample_{place.replace('_', '')}"]
        for place in ("by_tree", "by_level", "by_node")
    }
    weights = values["feature_weights"]
    if all(rate == 1.0 for rate in rates.values()):
        return None
    return Columns(**rates, weights=None if weights is None else np.asarray(weights))


def _find_categories(values: Mapping[str, Any]) -> Any:
    types = values["feature_types"]
    if types is not None:
        return [place for place, kind in enumerate(types) if kind == "c"] or None
    return "auto" if values["enable_categorical"] else None


def _find_device(owner: str, device: str, method: str) -> str:
    if method == "gpu_hist" and device == "cpu":
        return "cuda"
    device = device.replace("gpu", "cuda")
    if device != "cpu" and not device.startswith("cuda"):
        raise ParameterError(
            f"{owner}: device={device!r}; must be 'cpu', 'cuda' or 'cuda:<number>'"
        )
    return device
