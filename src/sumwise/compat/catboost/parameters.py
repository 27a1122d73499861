"""The parameters of CatBoost as a table, and as parameters of sumwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sumwise.compat.conversions import find_seed, find_threads, read_names
from sumwise.compat.table import Table, direct, ignored, joint, quiet, refused
from sumwise.data.categories.target_statistics import TargetStatistics
from sumwise.errors import IgnoredParameterWarning, ParameterError
from sumwise.estimators.warn import warn_user
from sumwise.sampling import BayesianBootstrap, Columns, Mvs, Subsample

FILES = "no files are written"
SPEED = "concerns CatBoost's speed or memory only"
GENERAL = "has no counterpart; remove it"
STATISTICS = "statistics of categories are set by `sumwise.TargetStatistics`"
TEXTS = "text and embeddings are not supported; make numbers of them before"
SNAPSHOT = "use the callback `sumwise.Snapshot` with an estimator of sumwise"
LANGEVIN = "stochastic gradient Langevin boosting is not supported"

TABLE = Table(
    "CatBoost",
    [
        # rounds
        direct("iterations", 1000, "n_estimators", "n_estimators num_boost_round num_trees"),
        joint("learning_rate", None, "`learning_rate`; without one, CatBoost's own rule", "eta"),
        joint("loss_function", None, "`loss`; see the losses below", "objective"),
        joint("boosting_type", "Plain", '`booster`: "plain" or "ordered"'),
        joint("boost_from_average", None, "`base_score`"),
        # trees
        joint(
            "grow_policy",
            "SymmetricTree",
            '`growth`: "symmetric", "depth" for "Depthwise", "leaf" for "Lossguide"',
        ),
        direct("depth", 6, "max_depth", "max_depth"),
        joint("max_leaves", 31, '`max_leaves`, with "Lossguide"', "num_leaves"),
        joint(
            "min_data_in_leaf",
            1,
            "`min_samples_leaf`, except with symmetric trees",
            "min_child_samples",
        ),
        direct("l2_leaf_reg", 3.0, "l2", "reg_lambda"),
        direct(
            "border_count", 254, "max_bins", "max_bin", lambda n: n + 1, "`max_bins`, one more"
        ),
        # sampling
        joint(
            "bootstrap_type",
            None,
            '`sampler`: "MVS", "Bernoulli", "Bayesian", "No"; by default "MVS", "Bayesian" for '
            "several classes",
        ),
        joint("subsample", None, "`Mvs(rate)` or `Subsample(rate)`; 0.8 by default"),
        joint("mvs_reg", None, "`Mvs(reg)`"),
        joint("bagging_temperature", 1.0, "`BayesianBootstrap(temperature)`"),
        joint("rsm", 1.0, "`columns=Columns(by_level)`", "colsample_bylevel"),
        joint("random_strength", 1.0, "no noise on scores: only 0 is the same"),
        # categories
        joint("cat_features", None, "`categorical_features`"),
        joint("one_hot_max_size", 2, "`TargetStatistics(native_limit)`"),
        joint("max_ctr_complexity", None, "`TargetStatistics(max_combined)`, 3 by default"),
        joint("monotone_constraints", None, "`monotonic_cst`"),
        # classes
        joint("class_weights", None, "`class_weight`"),
        joint("auto_class_weights", None, '`class_weight`: "Balanced", "SqrtBalanced"'),
        joint("scale_pos_weight", 1.0, "`class_weight`"),
        joint("class_names", None, "order of `class_weights`; `classes_` are sorted"),
        # validation
        joint("eval_metric", None, "`scoring`: watched"),
        joint("custom_metric", None, "`scoring`: only measured", "custom_loss"),
        joint("od_type", None, '"Iter" is early stopping'),
        joint("od_wait", None, "`n_iter_no_change`", "early_stopping_rounds"),
        joint("use_best_model", None, "whether the model ends with its best round"),
        joint("best_model_min_trees", 1, "rounds that the best model has at least"),
        joint("callback", None, "as `fit(callbacks=...)`"),
        # running
        joint("random_seed", None, "`random_state`, 0 for None", "random_state"),
        joint("thread_count", None, "`n_jobs`"),
        joint("task_type", "CPU", '`device`: "GPU" is "cuda"'),
        joint("devices", None, '`device="cuda:0,1"`', "device_config"),
        joint("verbose", None, "whether rounds are written to standard output"),
        joint("silent", None, "as `verbose`"),
        joint("logging_level", None, "as `verbose`"),
        joint("metric_period", 1, "rounds from one line of output to the next"),
        # nothing to do
        quiet("allow_writing_files", True, FILES),
        quiet("train_dir", None, FILES),
        quiet("name", None, "names nothing"),
        quiet("allow_const_label", False, "a constant target is allowed"),
        quiet("classes_count", None, "read from y"),
        # no effect
        *(
            ignored(name, None, SPEED)
            for name in (
                "used_ram_limit",
                "gpu_ram_part",
                "pinned_memory_size",
                "gpu_cat_features_storage",
                "data_partition",
                "dev_score_calc_obj_block_size",
                "dev_efb_max_buckets",
                "sparse_features_conflict_fraction",
                "fold_permutation_block",
                "fold_len_multiplier",
                "approx_on_full_history",
                "final_ctr_computation_mode",
                "store_all_simple_ctr",
                "ctr_leaf_count_limit",
                "model_size_reg",
            )
        ),
        ignored("feature_border_type", "GreedyLogSum", "bins have about equal weight"),
        joint("leaf_estimation_iterations", None, "leaves take one step: only 1 is the same"),
        joint("leaf_estimation_method", None, 'always "Newton", or "Exact" for medians'),
        ignored("leaf_estimation_backtracking", None, "leaves take one Newton step"),
        ignored("score_function", None, "splits maximize the second-order gain, with `l2`"),
        ignored("random_score_type", None, "scores have no noise"),
        ignored("sampling_frequency", "PerTree", "rows are drawn once per tree"),
        ignored("nan_mode", "Min", "missing values go where they fit best"),
        ignored("metadata", None, "files have no metadata of users"),
        # another model
        refused("od_pval", None, "use `od_type='Iter'` with `od_wait`"),
        refused("eval_fraction", None, "pass `eval_set`"),
        refused("has_time", False, "statistics use random permutations; sort and use time splits"),
        refused("target_border", None, "make y of two classes before"),
        refused("ignored_features", None, "drop these columns"),
        refused("sampling_unit", "Object", "use `sumwise.GroupSubsample`"),
        refused("per_float_feature_quantization", None, "`max_bins` may be an array in sumwise"),
        *(refused(name, None, SNAPSHOT) for name in (
            "save_snapshot", "snapshot_file", "snapshot_interval",
        )),
        *(refused(name, None, STATISTICS) for name in (
            "simple_ctr", "combinations_ctr", "per_feature_ctr", "ctr_description",
            "ctr_target_border_count", "ctr_history_unit", "counter_calc_method",
        )),
        *(refused(name, None, TEXTS) for name in (
            "text_features", "tokenizers", "dictionaries", "feature_calcers", "text_processing",
            "embedding_features",
        )),
        *(refused(name, None, LANGEVIN) for name in (
            "langevin", "diffusion_temperature", "posterior_sampling", "model_shrink_rate",
            "model_shrink_mode",
        )),
        *(refused(name, None, GENERAL) for name in (
            "input_borders", "output_borders", "feature_weights", "penalties_coefficient",
            "first_feature_use_penalties", "per_object_feature_penalties", "fixed_binary_splits",
        )),
    ],
)  # fmt: skip

# Parameters of the constructor of a regressor, in CatBoost's order: the first may go by position.
_NAMES = [
    "iterations",
    "learning_rate",
    "depth",
    "l2_leaf_reg",
    "model_size_reg",
    "rsm",
    "loss_function",
    "border_count",
    "feature_border_type",
    "per_float_feature_quantization",
    "input_borders",
    "output_borders",
    "fold_permutation_block",
    "od_pval",
    "od_wait",
    "od_type",
    "nan_mode",
    "counter_calc_method",
    "leaf_estimation_iterations",
    "leaf_estimation_method",
    "thread_count",
    "random_seed",
    "use_best_model",
    "best_model_min_trees",
    "verbose",
    "silent",
    "logging_level",
    "metric_period",
    "ctr_leaf_count_limit",
    "store_all_simple_ctr",
    "max_ctr_complexity",
    "has_time",
    "allow_const_label",
    "target_border",
    "one_hot_max_size",
    "random_strength",
    "random_score_type",
    "name",
    "ignored_features",
    "train_dir",
    "custom_metric",
    "eval_metric",
    "bagging_temperature",
    "save_snapshot",
    "snapshot_file",
    "snapshot_interval",
    "fold_len_multiplier",
    "used_ram_limit",
    "gpu_ram_part",
    "pinned_memory_size",
    "allow_writing_files",
    "final_ctr_computation_mode",
    "approx_on_full_history",
    "boosting_type",
    "simple_ctr",
    "combinations_ctr",
    "per_feature_ctr",
    "ctr_description",
    "ctr_target_border_count",
    "task_type",
    "device_config",
    "devices",
    "bootstrap_type",
    "subsample",
    "mvs_reg",
    "sampling_frequency",
    "sampling_unit",
    "dev_score_calc_obj_block_size",
    "dev_efb_max_buckets",
    "sparse_features_conflict_fraction",
    "max_depth",
    "n_estimators",
    "num_boost_round",
    "num_trees",
    "colsample_bylevel",
    "random_state",
    "reg_lambda",
    "objective",
    "eta",
    "max_bin",
    "gpu_cat_features_storage",
    "data_partition",
    "metadata",
    "early_stopping_rounds",
    "cat_features",
    "grow_policy",
    "min_data_in_leaf",
    "min_child_samples",
    "max_leaves",
    "num_leaves",
    "score_function",
    "leaf_estimation_backtracking",
    "ctr_history_unit",
    "monotone_constraints",
    "feature_weights",
    "penalties_coefficient",
    "first_feature_use_penalties",
    "per_object_feature_penalties",
    "model_shrink_rate",
    "model_shrink_mode",
    "langevin",
    "diffusion_temperature",
    "posterior_sampling",
    "boost_from_average",
    "text_features",
    "tokenizers",
    "dictionaries",
    "feature_calcers",
    "text_processing",
    "embedding_features",
    "eval_fraction",
    "fixed_binary_splits",
]
_OF_CLASSES = [
    "classes_count",
    "class_weights",
    "auto_class_weights",
    "class_names",
    "custom_loss",
    "scale_pos_weight",
    "callback",
]
REGRESSOR: Mapping[str, Any] = MappingProxyType({**dict.fromkeys(_NAMES), "loss_function": "RMSE"})
CLASSIFIER: Mapping[str, Any] = MappingProxyType(dict.fromkeys([*_NAMES, *_OF_CLASSES]))

_GROWTH = {"SymmetricTree": "symmetric", "Depthwise": "depth", "Lossguide": "leaf"}
_BOOTSTRAPS = ("MVS", "Bernoulli", "Bayesian", "No")
# Fewer rows are not sampled by default.
_FEWEST_ROWS = 100


def translate(
    owner: str, values: Mapping[str, Any], n_rows: int, has_many_classes: bool
) -> dict[str, Any]:
    """Return the parameters of sumwise, except loss, rates and what depends on classes.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    values : mapping of str to Any
        By main name, see :meth:`Table.resolve`.
    n_rows : int
        Number of training rows.
    has_many_classes : bool
        Whether there are more than two classes.
    """
    policy = _choose(owner, values, "grow_policy", tuple(_GROWTH))
    boosting = _choose(owner, values, "boosting_type", ("Plain", "Ordered"))
    is_symmetric = policy == "SymmetricTree"
    _warn_of_differences(owner, values)
    combined = values["max_ctr_complexity"]
    statistics = TargetStatistics(native_limit=values["one_hot_max_size"])
    if combined is not None:
        few = {"combinations": 0} if combined <= 1 else {"max_combined": combined}
        statistics.set_params(**few)
    params = TABLE.convert(values) | {
        "growth": _GROWTH[policy],
        "max_leaves": values["max_leaves"] if policy == "Lossguide" else None,
        "min_samples_leaf": 1 if is_symmetric else values["min_data_in_leaf"],
        "min_child_weight": 0.0,
        "booster": boosting.lower(),
        "sampler": _find_sampler(owner, values, n_rows, has_many_classes),
        "columns": None if values["rsm"] == 1.0 else Columns(by_level=values["rsm"]),
        "categorical_encoding": statistics,
        "device": _find_device(owner, values),
        "n_jobs": find_threads(values["thread_count"]),
        "random_state": find_seed(values["random_seed"]),
    }
    if values["monotone_constraints"] is not None:
        params["monotonic_cst"] = read_names(values["monotone_constraints"])
    return params


def _choose(owner: str, values: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value: str = values[name]
    if value not in known:
        raise ParameterError(
            f"{owner}: {name}={value!r}; must be one of {', '.join(map(repr, known))}"
        )
    return value


def _warn_of_differences(owner: str, values: Mapping[str, Any]) -> None:
    """Warn of values that CatBoost would use and sumwise does not."""
    same: tuple[tuple[str, tuple[Any, ...], str], ...] = (
        ("random_strength", (0, 1), "splits have no noise on their scores"),
        ("leaf_estimation_iterations", (None, 1), "leaves take one Newton step per round"),
        (
            "leaf_estimation_method",
            (None, "Newton", "Exact"),
            "leaves take Newton steps; medians and quantiles are exact",
        ),
    )
    for name, fine, reason in same:
        if values[name] not in fine:
            warn_user(
                f"{owner}: {name}={values[name]!r} is ignored: {reason}", IgnoredParameterWarning
            )


def _find_sampler(
    owner: str, values: Mapping[str, Any], n_rows: int, has_many_classes: bool
) -> Any:
    kind, rate = values["bootstrap_type"], values["subsample"]
    if kind is None:
        kind = "Bayesian" if has_many_classes and rate is None else "MVS"
    if kind not in _BOOTSTRAPS:
        raise ParameterError(
            f"{owner}: bootstrap_type={kind!r}; must be one of {', '.join(map(repr, _BOOTSTRAPS))}"
        )
    if kind in ("Bayesian", "No") and rate is not None:
        raise ParameterError(f"{owner}: bootstrap_type={kind!r} has no subsample")
    if kind == "No":
        return None
    if kind == "Bayesian":
        temperature = values["bagging_temperature"]
        return BayesianBootstrap(temperature=temperature) if temperature > 0 else None
    if rate is None:
        rate = 0.8 if n_rows >= _FEWEST_ROWS else 1.0
    if rate >= 1.0:
        return None
    return Mvs(rate=rate, reg=values["mvs_reg"]) if kind == "MVS" else Subsample(rate=rate)


def _find_device(owner: str, values: Mapping[str, Any]) -> str:
    if _choose(owner, values, "task_type", ("CPU", "GPU")) == "CPU":
        return "cpu"
    devices = values["devices"]
    if devices is None:
        return "cuda"
    if isinstance(devices, str):
        first, dash, last = devices.partition("-")
        numbers = [str(k) for k in range(int(first), int(last) + 1)] if dash else devices.split(":")
    else:
        numbers = [str(number) for number in devices]
    return f"cuda:{','.join(numbers)}"
