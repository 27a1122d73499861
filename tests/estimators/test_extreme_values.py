"""Values near the limits of floating point: no warning of NumPy's, and finite results."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sumwise import (
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)

RNG = np.random.default_rng(0)
LARGEST = np.finfo(np.float64).max
EXTREME = [np.inf, -np.inf, LARGEST, -LARGEST, 1e308, -1e308, 5e-324, -5e-324, 0.0, np.nan]
X = np.stack([RNG.permutation(np.tile(EXTREME, 20)) for _ in range(3)], axis=1)
Y = RNG.normal(size=200) + (X[:, 0] > 0)
SMALL = {"n_estimators": 3, "min_samples_leaf": 5}
MODELS = {
    "histogram": GradientBoostingRegressor(**SMALL),
    "few bins": GradientBoostingRegressor(**SMALL, max_bins=4),
    "symmetric": GradientBoostingRegressor(**SMALL, growth="symmetric"),
    "exact": GradientBoostingRegressor(**SMALL, splits="exact"),
    "approx": GradientBoostingRegressor(**SMALL, splits="approx"),
    "forest": RandomForestRegressor(3, random_state=0),
    "extra trees": ExtraTreesRegressor(3, random_state=0),
    "tree": DecisionTreeRegressor(),
}
TABLES = {
    "array": X,
    "objects": X.astype(object),
    "pandas": pd.DataFrame(X, columns=list("abc")),
    "polars": pl.DataFrame(dict(zip("abc", X.T, strict=True))),
    "mixed": pd.DataFrame(X, columns=list("abc")).assign(word="same"),
}


@pytest.fixture(autouse=True)
def _no_runtime_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", TABLES)
def test_extreme_features(name, table):
    model = MODELS[name].fit(TABLES[table], Y)
    assert np.isfinite(model.predict(TABLES[table])).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_extreme_features_of_a_sparse_matrix():
    table = sparse.csr_matrix(np.nan_to_num(X, posinf=1e308, neginf=-1e308))
    model = MODELS["histogram"].fit(table, Y)
    assert np.isfinite(model.predict(table)).all()


@pytest.mark.parametrize("scale", [1e300, 1e200, 1e-300, 5e-324])
def test_extreme_targets_of_forests(scale):
    model = MODELS["forest"].fit(X, Y * scale)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.parametrize("scale", [1e139, 1e-200])
def test_extreme_targets_of_boosting(scale):
    model = GradientBoostingRegressor(**SMALL, min_child_weight=0.0).fit(X, Y * scale)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_targets_whose_sum_is_infinite(loss):
    y = np.where(Y > 0, 1.0, -1.0) * 1e301
    model = GradientBoostingRegressor(**SMALL, loss=loss).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
