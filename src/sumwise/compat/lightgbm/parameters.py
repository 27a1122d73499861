"""The parameters of LightGBM as a table, and as parameters of sumwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from sumwise.compat.conversions import find_seed, find_threads, read_names
from sumwise.compat.table import Table, direct, ignored, joint, quiet, refused
from sumwise.data.categories.set_splits import Native
from sumwise.errors import IgnoredParameterWarning, ParameterError
from sumwise.estimators.warn import warn_user
from sumwise.presets import convert_min_gain
from sumwise.sampling import ClassSubsample, Columns, Goss, Subsample
from sumwise.training.boosters import Dart, Forest
from sumwise.tree import LinearLeaves

ONE_SEED = "one seed draws everything; set `random_state`"
CLUSTER = "for clusters, see `sumwise.dask` and `sumwise.mpi`"
COMMAND = "belongs to LightGBM's command line"
RANKING = "ranking is not supported"
PREDICTION = "belongs to `predict`"
GENERAL = "has no counterpart; remove it"
SPEED = "concerns LightGBM's speed or memory only"

TABLE = Table(
    "LightGBM",
    [
        # rounds
        direct(
            "num_iterations",
            100,
            "n_estimators",
            "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round "
            "n_estimators max_iter",
        ),
        direct("learning_rate", 0.1, "learning_rate", "shrinkage_rate eta"),
        joint(
            "objective",
            None,
            "`loss`; see the losses below",
            "objective_type app application loss",
        ),
        joint(
            "boosting",
            "gbdt",
            '`booster`: "gbdt", "dart", "rf"; "goss" is a `sampler`',
            "boosting_type boost",
        ),
        joint("boost_from_average", True, "`base_score`"),
        # trees
        joint("num_leaves", 31, "`max_leaves`", "num_leaf max_leaves max_leaf max_leaf_nodes"),
        joint("max_depth", -1, "`max_depth` (None for 0 or less)"),
        direct(
            "min_data_in_leaf",
            20,
            "min_samples_leaf",
            "min_data_per_leaf min_data min_child_samples min_samples_leaf",
            lambda n: max(int(n), 1),
        ),
        direct(
            "min_sum_hessian_in_leaf",
            1e-3,
            "min_child_weight",
            "min_sum_hessian_per_leaf min_sum_hessian min_hessian min_child_weight",
        ),
        direct(
            "min_gain_to_split",
            0.0,
            "min_gain",
            "min_split_gain",
            convert_min_gain,
            "`min_gain`, half of theirs",
        ),
        direct("extra_trees", False, "extra_trees", "extra_tree"),
        joint("linear_tree", False, "`leaves=LinearLeaves(...)`", "linear_trees"),
        joint("linear_lambda", 0.0, "`LinearLeaves(l2)`, of standardized features"),
        direct("lambda_l1", 0.0, "l1", "reg_alpha l1_regularization"),
        direct("lambda_l2", 0.0, "l2", "reg_lambda lambda l2_regularization"),
        direct("max_delta_step", 0.0, "max_delta_step", "max_tree_output max_leaf_output"),
        direct("path_smooth", 0.0, "path_smooth"),
        # sampling
        joint("data_sample_strategy", "bagging", '`sampler`: "bagging" or "goss"'),
        joint(
            "bagging_fraction",
            1.0,
            "`sampler=Subsample(rate)`, if `bagging_freq` is not 0",
            "sub_row subsample bagging",
        ),
        joint("bagging_freq", 0, "rows are drawn anew in every round", "subsample_freq"),
        joint(
            "pos_bagging_fraction",
            1.0,
            "`sampler=ClassSubsample(rates)`",
            "pos_sub_row pos_subsample pos_bagging",
        ),
        joint(
            "neg_bagging_fraction",
            1.0,
            "`sampler=ClassSubsample(rates)`",
            "neg_sub_row neg_subsample neg_bagging",
        ),
        joint("top_rate", 0.2, "`Goss(top_rate)`"),
        joint("other_rate", 0.1, "`Goss(other_rate)`"),
        joint(
            "feature_fraction", 1.0, "`columns=Columns(by_tree)`", "sub_feature colsample_bytree"
        ),
        joint(
            "feature_fraction_bynode",
            1.0,
            "`columns=Columns(by_node)`",
            "sub_feature_bynode colsample_bynode",
        ),
        joint("drop_rate", 0.1, "`Dart(drop_rate)`", "rate_drop"),
        joint("max_drop", 50, "`Dart(max_drop)`"),
        joint("skip_drop", 0.5, "`Dart(skip_drop)`"),
        # bins and features
        joint("max_bin", 255, "`max_bins`", "max_bins"),
        joint("max_bin_by_feature", None, "`max_bins` as an array"),
        joint(
            "categorical_feature",
            "auto",
            "`categorical_features`",
            "cat_feature categorical_column cat_column categorical_features",
        ),
        joint("max_cat_threshold", 32, "`Native(max_categories)`"),
        joint("cat_l2", 10.0, "`Native(l2)`"),
        joint("cat_smooth", 10.0, "`Native(smoothing)`"),
        joint("max_cat_to_onehot", 4, "`Native(onehot_limit)`"),
        joint("min_data_per_group", 100, "`Native(min_rows)`"),
        joint(
            "monotone_constraints",
            None,
            "`monotonic_cst`",
            "mc monotone_constraint monotonic_cst",
        ),
        joint("interaction_constraints", None, "`interaction_cst`; list every feature"),
        # losses
        joint("alpha", 0.9, "`Quantile(level)` or `Huber(delta)`"),
        joint("fair_c", 1.0, "`Fair(c)`"),
        joint("tweedie_variance_power", 1.5, "`Tweedie(power)`"),
        joint("is_unbalance", False, "`class_weight`", "unbalance unbalanced_sets"),
        joint("scale_pos_weight", 1.0, "weights of the second of two classes"),
        # validation
        joint("metric", None, "`scoring`", "metrics metric_types"),
        joint(
            "early_stopping_round",
            0,
            "`n_iter_no_change`",
            "early_stopping_rounds early_stopping n_iter_no_change",
        ),
        joint("early_stopping_min_delta", 0.0, "`tol`"),
        joint("first_metric_only", False, "which metric stops training"),
        # running
        joint("seed", None, "`random_state`, 0 for None", "random_seed random_state"),
        joint("num_threads", None, "`n_jobs`", "num_thread nthread nthreads n_jobs"),
        joint("device_type", "cpu", '`device`; "gpu" is "cuda"', "device"),
        joint("gpu_device_id", -1, '`device="cuda:1"`'),
        joint("gpu_device_id_list", "", '`device="cuda:0,1"`'),
        # nothing to do
        quiet("verbosity", 1, "a fit shows nothing but what callbacks show", "verbose"),
        quiet("deterministic", False, "every fit is deterministic"),
        quiet("metric_freq", 1, "metrics are measured after every round", "output_freq"),
        quiet("num_class", 1, "read from y", "num_classes"),
        # no effect
        *(
            ignored(name, default, SPEED, aliases)
            for name, default, aliases in (
                ("force_col_wise", False, ""),
                ("force_row_wise", False, ""),
                ("histogram_pool_size", -1.0, "hist_pool_size"),
                ("is_enable_sparse", True, "is_sparse enable_sparse sparse"),
                ("enable_bundle", True, "is_enable_bundle bundle"),
                ("feature_pre_filter", True, ""),
                ("two_round", False, "two_round_loading use_two_round_loading"),
                ("pre_partition", False, "is_pre_partition"),
                ("gpu_platform_id", -1, ""),
                ("gpu_use_dp", False, ""),
                ("num_gpu", 1, ""),
                ("precise_float_parser", False, ""),
            )
        ),
        *(
            ignored(name, default, ONE_SEED, aliases)
            for name, default, aliases in (
                ("bagging_seed", 3, "bagging_fraction_seed"),
                ("feature_fraction_seed", 2, ""),
                ("extra_seed", 6, ""),
                ("drop_seed", 4, ""),
                ("data_random_seed", 1, "data_seed"),
                ("objective_seed", 5, ""),
            )
        ),
        ignored(
            "bin_construct_sample_cnt",
            200_000,
            "thresholds come from a sample of 200,000 rows",
            "subsample_for_bin",
        ),
        ignored("min_data_in_bin", 3, "bins have no minimum number of rows"),
        ignored("uniform_drop", False, "`Dart` drops every round with the same probability"),
        ignored(
            "monotone_constraints_method",
            "basic",
            'constraints hold exactly, by the "basic" method',
            "monotone_constraining_method mc_method",
        ),
        *(
            ignored(name, default, "histograms are always sums of integers of 14 bits per row")
            for name, default in (
                ("use_quantized_grad", False),
                ("num_grad_quant_bins", 4),
                ("quant_train_renew_leaf", False),
                ("stochastic_rounding", True),
            )
        ),
        ignored(
            "poisson_max_delta_step",
            0.7,
            "the Poisson loss needs no safeguard; `max_delta_step` limits leaf values",
        ),
        ignored("saved_feature_importance_type", 0, "model files are those of sumwise"),
        ignored(
            "is_provide_training_metric",
            False,
            "pass the training rows as one of `eval_set`",
            "training_metric is_training_metric train_metric",
        ),
        # another model
        refused("tree_learner", "serial", CLUSTER, "tree tree_type tree_learner_type"),
        refused("num_machines", 1, CLUSTER, "num_machine"),
        refused("local_listen_port", 12400, CLUSTER, "local_port port"),
        refused("time_out", 120, CLUSTER),
        refused("machine_list_filename", "", CLUSTER, "machine_list_file machine_list mlist"),
        refused("machines", "", CLUSTER, "workers nodes"),
        refused("top_k", 20, "`sumwise.dask` has voting among workers", "topk"),
        refused("bagging_by_query", False, "use `sumwise.GroupSubsample`"),
        refused("sigmoid", 1.0, "probabilities are those of log odds"),
        refused("reg_sqrt", False, "transform the target yourself"),
        refused("use_missing", True, "replace missing values before `fit`"),
        refused(
            "zero_as_missing",
            False,
            'replace zeros by NaN; of sparse tables, see `sparse_zeros="missing"`',
        ),
        refused("xgboost_dart_mode", False, "use `sumwise.compat.xgboost` with `booster='dart'`"),
        refused(
            "monotone_penalty",
            0.0,
            GENERAL,
            "monotone_splits_penalty ms_penalty mc_penalty",
        ),
        refused("feature_contri", None, GENERAL, "feature_contrib fc fp feature_penalty"),
        refused(
            "forcedsplits_filename",
            "",
            GENERAL,
            "fs forced_splits_filename forced_splits_file forced_splits",
        ),
        refused("forcedbins_filename", "", GENERAL),
        refused("refit_decay_rate", 0.9, "use `model_.refit(X, y, decay=...)`"),
        *(
            refused(name, default, GENERAL)
            for name, default in (
                ("cegb_tradeoff", 1.0),
                ("cegb_penalty_split", 0.0),
                ("cegb_penalty_feature_lazy", None),
                ("cegb_penalty_feature_coupled", None),
                ("auc_mu_weights", None),
                ("multi_error_top_k", 1),
            )
        ),
        *(
            refused(name, default, RANKING, aliases)
            for name, default, aliases in (
                ("lambdarank_truncation_level", 30, ""),
                ("lambdarank_norm", True, ""),
                ("lambdarank_position_bias_regularization", 0.0, ""),
                ("label_gain", None, ""),
                ("eval_at", None, "ndcg_eval_at ndcg_at map_eval_at map_at"),
            )
        ),
        *(
            refused(name, default, PREDICTION, aliases)
            for name, default, aliases in (
                ("start_iteration_predict", 0, ""),
                ("num_iteration_predict", -1, ""),
                (
                    "predict_raw_score",
                    False,
                    "is_predict_raw_score predict_rawscore raw_score",
                ),
                ("predict_leaf_index", False, "is_predict_leaf_index leaf_index"),
                ("predict_contrib", False, "is_predict_contrib contrib"),
                ("predict_disable_shape_check", False, ""),
                ("pred_early_stop", False, ""),
                ("pred_early_stop_freq", 10, ""),
                ("pred_early_stop_margin", 10.0, ""),
            )
        ),
        *(
            refused(name, None, COMMAND, aliases)
            for name, aliases in (
                ("config", "config_file"),
                ("task", "task_type"),
                ("data", "train train_data train_data_file data_filename"),
                (
                    "valid",
                    "test valid_data valid_data_file test_data test_data_file valid_filenames",
                ),
                ("input_model", "model_input model_in"),
                ("output_model", "model_output model_out"),
                ("snapshot_freq", "save_period"),
                ("header", "has_header"),
                ("label_column", "label"),
                ("weight_column", "weight"),
                ("group_column", "group group_id query_column query query_id"),
                ("ignore_column", "ignore_feature blacklist"),
                ("save_binary", "is_save_binary is_save_binary_file"),
                ("parser_config_file", ""),
                (
                    "output_result",
                    "predict_result prediction_result predict_name prediction_name pred_name "
                    "name_pred",
                ),
                ("convert_model_language", ""),
                ("convert_model", "convert_model_file"),
            )
        ),
    ],
)

# Parameters of the constructor, in LightGBM's order.
SIGNATURE: Mapping[str, Any] = MappingProxyType(
    {
        "boosting_type": "gbdt",
        "num_leaves": 31,
        "max_depth": -1,
        "learning_rate": 0.1,
        "n_estimators": 100,
        "subsample_for_bin": 200_000,
        "objective": None,
        "class_weight": None,
        "min_split_gain": 0.0,
        "min_child_weight": 1e-3,
        "min_child_samples": 20,
        "subsample": 1.0,
        "subsample_freq": 0,
        "colsample_bytree": 1.0,
        "reg_alpha": 0.0,
        "reg_lambda": 0.0,
        "random_state": None,
        "n_jobs": None,
        "importance_type": "split",
    }
)


def translate(owner: str, values: Mapping[str, Any], is_class: bool) -> dict[str, Any]:
    """Return the parameters of sumwise, except loss and base score.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    values : mapping of str to Any
        By main name, see :meth:`Table.resolve`.
    is_class : bool
        Whether it is a classifier.
    """
    depth = values["max_depth"]
    params = TABLE.convert(values) | {
        "growth": "leaf",
        "max_leaves": values["num_leaves"],
        "max_depth": depth if depth is not None and depth > 0 else None,
        "max_bins": values["max_bin"],
        "categorical_encoding": Native(
            smoothing=values["cat_smooth"],
            l2=values["cat_l2"],
            max_categories=values["max_cat_threshold"],
            min_rows=values["min_data_per_group"],
            onehot_limit=values["max_cat_to_onehot"],
        ),
        "columns": _find_columns(values),
        "sampler": _find_sampler(owner, values, is_class),
        "device": _find_device(owner, values),
        "n_jobs": find_threads(values["num_threads"]),
        "random_state": find_seed(values["seed"]),
    }
    if values["max_bin_by_feature"] is not None:
        params["max_bins"] = np.asarray(values["max_bin_by_feature"])
    if values["linear_tree"]:
        params["leaves"] = LinearLeaves(l2=values["linear_lambda"], extrapolate=True)
    if values["monotone_constraints"] is not None:
        params["monotonic_cst"] = read_names(values["monotone_constraints"])
    params["booster"] = _find_booster(owner, values)
    return params


def _find_columns(values: Mapping[str, Any]) -> Columns | None:
    by_tree, by_node = values["feature_fraction"], values["feature_fraction_bynode"]
    return None if by_tree == by_node == 1.0 else Columns(by_tree=by_tree, by_node=by_node)


def _find_sampler(owner: str, values: Mapping[str, Any], is_class: bool) -> Any:
    strategy, boosting = values["data_sample_strategy"], values["boosting"]
    if strategy not in ("bagging", "goss"):
        raise ParameterError(
            f"{owner}: data_sample_strategy={strategy!r}; must be 'bagging' or 'goss'"
        )
    if strategy == "goss" or boosting == "goss":
        return Goss(top_rate=values["top_rate"], other_rate=values["other_rate"])
    every = values["bagging_freq"]
    if every <= 0:
        return None
    by_class = values["neg_bagging_fraction"], values["pos_bagging_fraction"]
    rate = values["bagging_fraction"]
    if rate >= 1.0 and by_class == (1.0, 1.0):
        return None
    if every > 1:
        warn_user(
            f"{owner}: bagging_freq={every} draws rows every {every} rounds; sumwise draws them "
            "anew in every round",
            IgnoredParameterWarning,
        )
    if by_class != (1.0, 1.0):
        if not is_class:
            raise ParameterError(
                f"{owner}: pos_bagging_fraction and neg_bagging_fraction are for two classes"
            )
        return ClassSubsample(rates=list(by_class))
    return Subsample(rate=rate)


def _find_booster(owner: str, values: Mapping[str, Any]) -> Any:
    boosting = values["boosting"]
    if boosting in ("gbdt", "gbrt", "goss"):
        return "plain"
    if boosting == "dart":
        most = values["max_drop"]
        return Dart(
            drop_rate=values["drop_rate"],
            max_drop=most if most > 0 else None,
            skip_drop=values["skip_drop"],
        )
    if boosting in ("rf", "random_forest"):
        draws = values["bagging_freq"] > 0 and values["bagging_fraction"] < 1.0
        if not draws and _find_columns(values) is None:
            raise ParameterError(
                f"{owner}: boosting_type='rf' needs rows or features at random: subsample below 1 "
                "with subsample_freq=1, or colsample_bytree below 1"
            )
        return Forest(bootstrap=False, feature_rate=1.0)
    raise ParameterError(
        f"{owner}: boosting_type={boosting!r}; must be 'gbdt', 'dart', 'rf' or 'goss'"
    )


def _find_device(owner: str, values: Mapping[str, Any]) -> str:
    device = values["device_type"]
    if device == "cpu":
        return "cpu"
    if device not in ("gpu", "cuda"):
        raise ParameterError(f"{owner}: device_type={device!r}; must be 'cpu', 'gpu' or 'cuda'")
    if values["gpu_device_id_list"]:
        return f"cuda:{values['gpu_device_id_list']}"
    number = values["gpu_device_id"]
    return "cuda" if number < 0 else f"cuda:{number}"
