"""Small fits of the training loop, for tests of boosters."""

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Squared
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable, boost
from sumwise.tree import GrowthSettings
from tests.naive import grow as naive

N_ROWS = 240
LEARNING_RATE = 0.3
NAIVE = {
    "max_leaves": 7,
    "min_samples_leaf": 5,
    "min_child_weight": 1e-3,
    "l2": 1.0,
    "wide": True,
}


def make_data(seed=0, n_rows=N_ROWS):
    """Return X, y and the rows that train and that validate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    rows = rng.permutation(n_rows).astype(np.uint32)
    return X, y, np.sort(rows[: 3 * n_rows // 4]), np.sort(rows[3 * n_rows // 4 :])


def fit(booster, n_threads=1, loss=None, n_rounds=8, seed=0, **settings):
    """Return the result, and the binned table."""
    X, y, train, valid = make_data(seed)
    if loss is not None and loss.n_outputs > 1:
        y = np.digitize(y, np.quantile(y, np.arange(1, 3) / 3)).astype(float)
    growth = GrowthSettings(max_leaves=7, min_samples_leaf=5, learning_rate=LEARNING_RATE)
    rows = TrainingRows(y, np.empty(0), train, valid)
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X)
        data = mapper.transform(X, team)
        settings = BoostingSettings(
            loss or Squared(), growth, n_rounds, booster=booster, seed=seed, **settings
        )
        return boost(TrainingTable([X], data, mapper), rows, settings, team), data


def grow_naive(data, gradient, hessian, rows, learning_rate=LEARNING_RATE):
    """The slow twin of a tree of such a fit."""
    table = data.table
    options = naive.GrowOptions(growth="leaf", learning_rate=learning_rate, **NAIVE)
    rows = rows.astype(np.int64)
    return naive.grow_tree(table.columns, table.n_value_bins, gradient, hessian, rows, options)


def predict(ensemble, X, n_rounds=None):
    with Team(1) as team:
        return ensemble.predict_raw(X, team)
