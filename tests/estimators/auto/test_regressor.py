"""The automatic regressor."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from sumwise import AutoEnsembleRegressor
from tests.estimators.auto.samples import make_frame

FEW = {
    "time_limit": None,
    "members": ["leaf_quick", "linear", "extra_trees"],
    "n_folds": 3,
    "n_repeats": 1,
    "random_state": 0,
    "n_jobs": 1,
}


def test_the_ensemble_is_better_than_its_members():
    X, y = load_diabetes(return_X_y=True)
    model = AutoEnsembleRegressor(**FEW).fit(X, y)
    ensemble, *members = model.leaderboard_
    assert ensemble.score < min(entry.score for entry in members)
    assert model.decomposition_.ambiguity > 0
    assert model.diversity_.measure == "correlation of errors"
    assert model.score(X, y) > 0.4


def test_boosting_predicts_medians_for_absolute_errors():
    X, y = make_frame()
    y[::10] += 100.0
    members = ["leaf_quick", "leaf_linear"]
    model = AutoEnsembleRegressor(**{**FEW, "members": members}, metric="mae").fit(X, y)
    names = [entry.name for entry in model.leaderboard_]
    assert names == ["ensemble", "leaf_quick"]  # linear leaves have no medians
    assert model.leaderboard_.metric == "mae"
    assert np.median(model.predict(X)) < 5.0


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_a_constant_target(value):
    X, _ = make_frame(40)
    model = AutoEnsembleRegressor(**FEW).fit(X, np.full(40, value))
    np.testing.assert_allclose(model.predict(X), value, atol=1e-12)
    assert model.leaderboard_[0].score == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_targets_of_any_size(size):
    X, y = make_frame()
    expected = AutoEnsembleRegressor(**FEW).fit(X, y).predict(X)
    found = AutoEnsembleRegressor(**FEW).fit(X, y * size).predict(X)
    np.testing.assert_allclose(found / size, expected, rtol=0.05, atol=0.05)


def test_several_targets_are_refused():
    X, y = make_frame()
    with pytest.raises(ValueError, match="y should be a 1d array"):
        AutoEnsembleRegressor(**FEW).fit(X, np.column_stack([y, y]))
