"""A constant of the user's own to start from."""

import numpy as np
import pytest

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Ordered, load
from sumwise.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = 3 + X[:, 0] + RNG.normal(size=120)
THREE = np.digitize(Y, [2.5, 3.5])
ONE = {"n_estimators": 1, "learning_rate": 1e-12}  # predictions are those before the round


@pytest.mark.parametrize("loss", ["squared_error", "quantile", "poisson", "cross_entropy"])
def test_the_mean_of_a_regressor(loss, tmp_path):
    y = np.abs(Y) / 10
    model = GradientBoostingRegressor(**ONE, loss=loss, base_score=0.25).fit(X, y)
    np.testing.assert_allclose(model.predict(X), 0.25)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.base_score == 0.25
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("base_score", [2.0, [1.0, 3.0]])
def test_one_mean_for_all_targets_or_one_each(base_score):
    model = GradientBoostingRegressor(**ONE, base_score=base_score)
    model.fit(X, np.column_stack([Y, -Y]))
    np.testing.assert_allclose(model.predict(X), np.broadcast_to(base_score, (120, 2)))


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_the_probability_of_the_second_class(loss):
    model = GradientBoostingClassifier(**ONE, loss=loss, base_score=0.2).fit(X, THREE > 1)
    np.testing.assert_allclose(model.predict_proba(X), [[0.8, 0.2]] * 120)


def test_probabilities_of_classes(tmp_path):
    shares = np.array([0.5, 0.2, 0.3])
    model = GradientBoostingClassifier(**ONE, base_score=shares).fit(X, THREE)
    np.testing.assert_allclose(model.predict_proba(X), np.tile(shares, (120, 1)))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").base_score, shares)


def test_the_best_constant_is_the_default_and_files_do_not_tell(bytes_of):
    params = {"n_estimators": 5, "random_state": 0}
    model = GradientBoostingRegressor(**params).fit(X, Y)
    own = GradientBoostingRegressor(**params, base_score=float(model.ensemble_.base_score[0]))
    np.testing.assert_array_equal(own.fit(X, Y).predict(X), model.predict(X))
    assert b'base_score":' not in bytes_of(model).split(b'"arrays"')[0]
    assert b'base_score":' in bytes_of(own).split(b'"arrays"')[0]


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"base_score": "mean"}, Y, "must be None, a finite number"),
        ({"base_score": np.inf}, Y, "finite number"),
        ({"base_score": [[1.0]]}, Y, "finite number"),
        ({"base_score": [1.0, 2.0]}, Y, "must be 1 numbers"),
        ({"base_score": 0.0, "loss": "poisson"}, np.abs(Y), "a positive mean"),
        ({"base_score": 1.0, "loss": "cross_entropy"}, Y > 3, "between 0 and 1"),
        ({"base_score": 1.0, "booster": Ordered(1, "all")}, Y, "leave base_score out"),
    ],
)
def test_what_cannot_be(params, y, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**params).fit(X, y)


def test_scores_of_rows_take_its_place():
    with pytest.raises(ParameterError, match="pass only one of them"):
        GradientBoostingRegressor(base_score=1.0).fit(X, Y, init_score=Y)


def test_classes_need_a_share_each():
    with pytest.raises(ParameterError, match="must be 3 numbers, one per output"):
        GradientBoostingClassifier(base_score=0.5).fit(X, THREE)
