"""scikit-learn's own checks of the estimators with the names of other libraries."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sumwise.compat.catboost import CatBoostClassifier, CatBoostRegressor
from sumwise.compat.lightgbm import LGBMClassifier, LGBMRegressor
from sumwise.compat.xgboost import XGBClassifier, XGBRegressor, XGBRFRegressor
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)


# A leaf counts rows, not weights, unless it may have a single row.
@parametrize_with_checks(
    [
        LGBMClassifier(n_estimators=5, min_child_samples=1),
        LGBMRegressor(n_estimators=5, min_child_samples=1),
        XGBClassifier(n_estimators=5),
        XGBRegressor(n_estimators=5),
        CatBoostClassifier(iterations=5, bootstrap_type="No"),
        CatBoostRegressor(iterations=5, bootstrap_type="No"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# Rows at random tell a weight of two from two rows.
@parametrize_with_checks([XGBRFRegressor(n_estimators=5)])
def test_sklearn_checks_with_sampling(estimator, check):
    run_check(estimator, check, failures=WEIGHTS_ARE_REPETITIONS)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LGBMClassifier(n_estimators=5), "num_leaf"),
        (XGBClassifier(n_estimators=5), "max_leaves"),
        (CatBoostClassifier(iterations=5), "depth"),
    ],
    ids=["LightGBM", "XGBoost", "CatBoost"],
)
def test_a_grid_search_in_a_pipeline_uses_their_names(estimator, name):
    X, y = load_iris(return_X_y=True)
    key = f"{type(estimator).__name__.lower()}__{name}"
    search = GridSearchCV(make_pipeline(StandardScaler(), estimator), {key: [2, 4]}, cv=2)
    search.fit(X, y)
    assert search.best_params_.keys() == {key}
    assert search.best_score_ > 0.85
    copied = clone(estimator).set_params(**{name: 3})
    assert copied.get_params()[name] == 3
    assert estimator.get_params().get(name) != 3
    assert isinstance(repr(copied), str)
    assert np.isfinite(copied.fit(X, y).predict_proba(X)).all()
