"""The contestants of the accuracy suite: libraries at their defaults, and with early stopping.

Each gets a frame whose categorical columns have the dtype "category", and the number of threads.
Everything else is what its documentation makes of that: native categories where a library has
them, otherwise ordinal codes. Libraries are imported when they are asked for.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.rivals import Task

# Trains on (X, y) and returns what predicts.
Contestant = Callable[[Task, pd.DataFrame, NDArray[Any], int], Any]
SEED = 0
# With early stopping: at most so many rounds, a tenth of the rows to validate on, and patience.
BUDGET = {"n_rounds": 2000, "rate": 0.05, "patience": 50}
VALID_SHARE = 0.1
# scikit-learn's gradient boosting has at most so many categories in a column.
MOST_HIST_CATEGORIES = 255


def _name_class(task: Task, regressor: str, classifier: str) -> str:
    return regressor if task == "regression" else classifier


def list_categories(X: pd.DataFrame) -> list[str]:
    """Return the names of the categorical columns."""
    return list(X.select_dtypes("category").columns)


def hold_out(task: Task, X: pd.DataFrame, y: NDArray[Any]) -> tuple[Any, ...]:
    """Return rows to train and to validate on; stratified where every class can be."""
    strata = None
    if task != "regression" and np.bincount(y).min() >= 2:
        strata = y
    return tuple(train_test_split(X, y, test_size=VALID_SHARE, stratify=strata, random_state=SEED))


class Encoded:
    """A model on columns that were prepared, in training and in prediction alike."""

    def __init__(self, model: Any, prepare: Callable[[pd.DataFrame], Any]) -> None:
        self.model, self.prepare = model, prepare

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return predicted values."""
        return np.asarray(self.model.predict(self.prepare(X))).reshape(len(X))

    def predict_proba(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return probabilities of the classes."""
        return np.asarray(self.model.predict_proba(self.prepare(X)))


def to_codes(X: pd.DataFrame, columns: list[str] | None = None) -> pd.DataFrame:
    """Replace categories by their numbers, and missing ones by nan."""
    X = X.copy()
    for name in list_categories(X) if columns is None else columns:
        codes = X[name].cat.codes.astype(np.float32)
        X[name] = codes.where(codes >= 0)
    return X


def to_strings(X: pd.DataFrame) -> pd.DataFrame:
    """Replace missing categories by a value of their own, as CatBoost asks."""
    X = X.copy()
    for name in list_categories(X):
        X[name] = X[name].cat.add_categories(["(missing)"]).fillna("(missing)").astype(str)
    return X


# --- sumwise ---


def fit_sumwise(
    options: Mapping[str, Any], task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int
) -> Any:
    """Train our gradient boosting, or another of our estimators named by "estimator"."""
    import sumwise

    options = dict(options)
    name = options.pop("estimator", "GradientBoosting")
    kind = getattr(sumwise, name + _name_class(task, "Regressor", "Classifier"))
    return kind(n_jobs=n_jobs, random_state=SEED, **options).fit(X, y)


# --- rivals ---


def fit_xgboost(stops: bool, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train XGBoost with its native categories."""
    import xgboost

    kind = getattr(xgboost, _name_class(task, "XGBRegressor", "XGBClassifier"))
    shared = {"enable_categorical": True, "n_jobs": n_jobs, "random_state": SEED, "verbosity": 0}
    if not stops:
        return kind(**shared).fit(X, y)
    own, valid, y_own, y_valid = hold_out(task, X, y)
    more = {
        "n_estimators": BUDGET["n_rounds"],
        "learning_rate": BUDGET["rate"],
        "early_stopping_rounds": BUDGET["patience"],
    }
    return kind(**shared, **more).fit(own, y_own, eval_set=[(valid, y_valid)], verbose=False)


def fit_lightgbm(stops: bool, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train LightGBM with its native categories."""
    import lightgbm

    kind = getattr(lightgbm, _name_class(task, "LGBMRegressor", "LGBMClassifier"))
    shared = {"n_jobs": n_jobs, "random_state": SEED, "verbosity": -1}
    if not stops:
        return kind(**shared).fit(X, y)
    own, valid, y_own, y_valid = hold_out(task, X, y)
    more = {"n_estimators": BUDGET["n_rounds"], "learning_rate": BUDGET["rate"]}
    stopping = lightgbm.early_stopping(BUDGET["patience"], verbose=False)
    return kind(**shared, **more).fit(own, y_own, eval_set=[(valid, y_valid)], callbacks=[stopping])


def fit_catboost(stops: bool, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train CatBoost; it must be told which columns are categories."""
    import catboost

    kind = getattr(catboost, _name_class(task, "CatBoostRegressor", "CatBoostClassifier"))
    shared = {
        "cat_features": list_categories(X),
        "thread_count": n_jobs,
        "random_seed": SEED,
        "logging_level": "Silent",
        "allow_writing_files": False,
    }
    X = to_strings(X)
    if not stops:
        return Encoded(kind(**shared).fit(X, y), to_strings)
    own, valid, y_own, y_valid = hold_out(task, X, y)
    more = {"iterations": BUDGET["n_rounds"], "learning_rate": BUDGET["rate"]}
    model = kind(**shared, **more).fit(
        own, y_own, eval_set=(valid, y_valid), early_stopping_rounds=BUDGET["patience"]
    )
    return Encoded(model, to_strings)


def fit_hist(stops: bool, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train scikit-learn's histogram gradient boosting; columns of many categories are coded.

    Its threads are those of OpenMP. At its defaults, it stops early on more than 10,000 rows.
    """
    from sklearn import ensemble
    from threadpoolctl import threadpool_limits

    name = _name_class(task, "Regressor", "Classifier")
    kind = getattr(ensemble, f"HistGradientBoosting{name}")
    wide = [c for c in list_categories(X) if X[c].cat.categories.size > MOST_HIST_CATEGORIES]
    prepare = partial(to_codes, columns=wide)
    shared = {"random_state": SEED, "categorical_features": "from_dtype"}
    more = {}
    if stops:
        more = {
            "max_iter": BUDGET["n_rounds"],
            "learning_rate": BUDGET["rate"],
            "early_stopping": True,
            "n_iter_no_change": BUDGET["patience"],
            "validation_fraction": VALID_SHARE,
        }
    with threadpool_limits(n_jobs):
        return Encoded(kind(**shared, **more).fit(prepare(X), y), prepare)


def fit_forest(name: str, task: Task, X: pd.DataFrame, y: NDArray[Any], n_jobs: int) -> Any:
    """Train a forest of scikit-learn on ordinal codes."""
    from sklearn import ensemble

    kind = getattr(ensemble, name + _name_class(task, "Regressor", "Classifier"))
    return Encoded(kind(n_jobs=n_jobs, random_state=SEED).fit(to_codes(X), y), to_codes)


OURS = "sumwise"
# As a user gets them who changes nothing.
DEFAULTS: dict[str, Contestant] = {
    OURS: partial(fit_sumwise, {}),
    "XGBoost": partial(fit_xgboost, False),
    "LightGBM": partial(fit_lightgbm, False),
    "CatBoost": partial(fit_catboost, False),
    "scikit-learn HGB": partial(fit_hist, False),
}
FORESTS: dict[str, Contestant] = {
    "sumwise forest": partial(fit_sumwise, {"estimator": "RandomForest"}),
    "sumwise extra trees": partial(fit_sumwise, {"estimator": "ExtraTrees"}),
    "scikit-learn forest": partial(fit_forest, "RandomForest"),
    "scikit-learn extra trees": partial(fit_forest, "ExtraTrees"),
}
# The same number of rounds at most, learning rate, patience and share of validation rows for all.
STOPPED: dict[str, Contestant] = {
    f"{OURS}, stopped": partial(
        fit_sumwise,
        {
            "n_estimators": BUDGET["n_rounds"],
            "learning_rate": BUDGET["rate"],
            "n_iter_no_change": BUDGET["patience"],
            "early_stopping": True,
            "validation_fraction": VALID_SHARE,
        },
    ),
    "XGBoost, stopped": partial(fit_xgboost, True),
    "LightGBM, stopped": partial(fit_lightgbm, True),
    "CatBoost, stopped": partial(fit_catboost, True),
    "scikit-learn HGB, stopped": partial(fit_hist, True),
}
GROUPS: dict[str, dict[str, Contestant]] = {
    "defaults": DEFAULTS,
    "forests": FORESTS,
    "stopped": STOPPED,
}
CONTESTANTS = {name: own for group in GROUPS.values() for name, own in group.items()}
