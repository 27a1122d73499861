"""The mapping of common settings to the parameters of each library.

Libraries are imported when a model is built, so that a fresh process imports only one of them.

Some settings have no counterpart:

- XGBoost has no minimum number of rows per leaf, only a minimum of hessians.
- CatBoost has no minimum of hessians, and a minimum of rows only for trees that are not symmetric.
- scikit-learn's minimum of hessians is fixed at 1e-3. Its number of threads is that of OpenMP, by
  default one per physical core.
- sumwise, LightGBM and XGBoost split categories by sets. Only LightGBM and sumwise regularize these
  splits.
- Ordered statistics and ordered boosting exist in CatBoost and sumwise only. CatBoost combines
  features while it grows trees, sumwise before. CatBoost must be told which features are
  categorical.
- GOSS keeps 20 % of the rows and draws 10 % here and in LightGBM, which starts with it after the
  first 1 / learning_rate trees.
- With several classes XGBoost uses the hessian 2p(1-p), scikit-learn p(1-p), LightGBM and sumwise
  K/(K-1) p(1-p). So equal learning rates are not quite equal steps.

`min_gain` is 0 everywhere. (Our gain has the factor 1/2 of XGBoost's paper; the gains that XGBoost
and LightGBM compare with their limits are twice as large.)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, NamedTuple

Task = Literal["binary", "multiclass", "regression"]
Growth = Literal["leaf", "depth", "symmetric"]
Sampling = Literal["none", "goss"]
Boosting = Literal["plain", "ordered"]
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The settings that all libraries share."""

    task: Task = "binary"
    growth: Growth = "leaf"
    n_trees: int = 100
    learning_rate: float = 0.1
    max_leaves: int = 31
    max_depth: int = 6
    max_bins: int = 255
    l2: float = 1.0
    min_rows: int = 20
    min_hessian: float = 1e-3
    sampling: Sampling = "none"
    boosting: Boosting = "plain"
    categories: tuple[str, ...] = ()  # features that are encoded by ordered statistics
    n_jobs: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Model:
    """A library in one of its modes: `options` override its parameters."""

    name: str
    library: str
    options: Mapping[str, Any] = field(default_factory=dict)
    n_jobs: int | None = None


SUMWISE = Model("sumwise", "sumwise")
SUMWISE_ALL_ROWS = Model("sumwise, all rows", "sumwise", {"sampler": None})
LIGHTGBM = Model("LightGBM", "lightgbm")
LIGHTGBM_ALL_ROWS = Model("LightGBM, all rows", "lightgbm", {"data_sample_strategy": "bagging"})
LIGHTGBM_QUANTIZED = Model("LightGBM quantized", "lightgbm", {"use_quantized_grad": True})
XGBOOST = Model("XGBoost", "xgboost")
CATBOOST = Model("CatBoost", "catboost")
SCIKIT_LEARN = Model("scikit-learn", "scikit-learn")


def with_one_thread(model: Model) -> Model:
    """Return the same model with one thread, which is often faster for small data."""
    return replace(model, name=f"{model.name}, 1 thread", n_jobs=1)


# The names of these settings in each library, "-" where it has none.
SHARED = ("n_trees", "max_bins", "l2", "min_rows", "min_hessian", "n_jobs", "seed")
NAMES = {
    "sumwise": "n_estimators max_bins l2 min_samples_leaf min_child_weight n_jobs random_state",
    "lightgbm": "n_estimators max_bin reg_lambda min_child_samples min_child_weight n_jobs "
    "random_state",
    "xgboost": "n_estimators max_bin reg_lambda - min_child_weight n_jobs random_state",
    "catboost": "n_estimators - l2_leaf_reg - - thread_count random_seed",
    "scikit-learn": "max_iter max_bins l2_regularization min_samples_leaf - - random_state",
}


def map_sumwise(settings: Settings) -> Parameters:
    """Return the other parameters of sumwise."""
    growth: Parameters = {
        "leaf": {"max_leaves": settings.max_leaves},
        "depth": {"max_depth": settings.max_depth},
        "symmetric": {"max_depth": settings.max_depth},
    }[settings.growth]
    return growth | {
        "growth": settings.growth,
        # Where CatBoost is no rival, sets of categories, as in the other libraries.
        "categorical_encoding": "ordered" if settings.categories else "native",
        "booster": settings.boosting,
        "sampler": "goss" if settings.sampling == "goss" else None,
    }


def map_lightgbm(settings: Settings) -> Parameters:
    """Return other parameters of LightGBM; trees of limited depth still grow leaf by leaf."""
    depth = settings.max_depth
    growth: Parameters = {
        "leaf": {"num_leaves": settings.max_leaves, "max_depth": -1},
        "depth": {"num_leaves": 2**depth, "max_depth": depth},
    }[settings.growth]
    return growth | {
        "data_sample_strategy": "goss" if settings.sampling == "goss" else "bagging",
        "verbosity": -1,
    }


def map_xgboost(settings: Settings) -> Parameters:
    """Return the other parameters of XGBoost with histograms."""
    growth: Parameters = {
        "leaf": {"grow_policy": "lossguide", "max_leaves": settings.max_leaves, "max_depth": 0},
        "depth": {"grow_policy": "depthwise", "max_depth": settings.max_depth},
    }[settings.growth]
    return growth | {"tree_method": "hist", "enable_categorical": True, "verbosity": 0}


def map_catboost(settings: Settings) -> Parameters:
    """Return other parameters, with one Newton step per leaf, as in the others.

    Noise on scores and bootstrap are off. CatBoost counts borders, one fewer than bins. With
    several classes it cannot start from the average.
    """
    rows = {"min_data_in_leaf": settings.min_rows}
    growth: Parameters = {
        "leaf": {"grow_policy": "Lossguide", "max_leaves": settings.max_leaves, **rows},
        "depth": {"grow_policy": "Depthwise", "depth": settings.max_depth, **rows},
        "symmetric": {"grow_policy": "SymmetricTree", "depth": settings.max_depth},
    }[settings.growth]
    if settings.task != "multiclass":
        growth["boost_from_average"] = True
    if settings.categories:
        growth["cat_features"] = list(settings.categories)
    return growth | {
        "boosting_type": settings.boosting.capitalize(),
        "bootstrap_type": "No",
        "random_strength": 0,
        "leaf_estimation_method": "Newton",
        "leaf_estimation_iterations": 1,
        "border_count": settings.max_bins - 1,
        "logging_level": "Silent",
        "allow_writing_files": False,
    }


def map_scikit_learn(settings: Settings) -> Parameters:
    """Return the other parameters of scikit-learn's histogram gradient boosting."""
    growth: Parameters = {
        "leaf": {"max_leaf_nodes": settings.max_leaves, "max_depth": None},
        "depth": {"max_leaf_nodes": None, "max_depth": settings.max_depth},
    }[settings.growth]
    return growth | {"early_stopping": False}


class Library(NamedTuple):
    """The estimators of a library, and the mapping of settings to their parameters."""

    module: str
    prefix: str  # of the names of its estimators
    map_settings: Callable[[Settings], Parameters]


LIBRARIES = {
    "sumwise": Library("sumwise", "GradientBoosting", map_sumwise),
    "lightgbm": Library("lightgbm", "LGBM", map_lightgbm),
    "xgboost": Library("xgboost", "XGB", map_xgboost),
    "catboost": Library("catboost", "CatBoost", map_catboost),
    "scikit-learn": Library("sklearn.ensemble", "HistGradientBoosting", map_scikit_learn),
}


def map_settings(model: Model, settings: Settings) -> Parameters:
    """Return the parameters of a model for these settings."""
    settings = replace(settings, n_jobs=model.n_jobs or settings.n_jobs)
    names = zip(NAMES[model.library].split(), SHARED, strict=True)
    shared = {name: getattr(settings, setting) for name, setting in names if name != "-"}
    shared["learning_rate"] = settings.learning_rate
    return {**shared, **LIBRARIES[model.library].map_settings(settings), **model.options}


def build(model: Model, settings: Settings) -> Any:
    """Return an unfitted estimator; this imports the library."""
    library = LIBRARIES[model.library]
    suffix = "Regressor" if settings.task == "regression" else "Classifier"
    estimator = getattr(import_module(library.module), library.prefix + suffix)
    return estimator(**map_settings(model, settings))
