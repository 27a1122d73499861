"""Models that several tests compile."""

import numpy as np
import pytest

from sumwise import GradientBoostingRegressor


@pytest.fixture(scope="module")
def numbers():
    """A model of numbers, which splits some features by missing values alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(2)
    X[rng.random(300) < 0.4, 3] = np.nan
    y = X[:, 0] * X[:, 1] + 2 * np.isnan(X[:, 3]) + X[:, 2]
    return GradientBoostingRegressor(n_estimators=20, min_samples_leaf=2).fit(X, y)
