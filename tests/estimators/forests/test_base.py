"""What trees and forests share: weights, targets, features, bad inputs, extreme numbers."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import make_regression

import sumwise
from sumwise import (
    BayesianBootstrap,
    Pasting,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataError, ParameterError
from tests.estimators.forests.forest_cases import (
    CLASSIFIERS,
    DIABETES,
    FORESTS,
    IRIS,
    REGRESSORS,
    fit,
    get_data,
    predict,
)

# --- weights ---


def test_trees_without_resampling_take_weights_as_repetition():
    X, y = IRIS
    count = np.random.default_rng(0).integers(0, 3, y.size)
    params = {"n_estimators": 5, "random_state": 0}
    weighted = RandomForestClassifier(bootstrap=False, **params).fit(X, y, count)
    repeated = RandomForestClassifier(bootstrap=False, **params)
    repeated.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(predict(weighted, X), predict(repeated, X))


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**-100, 2.0**100, 2.0**660])
@pytest.mark.parametrize("forest", FORESTS)
def test_the_scale_of_weights_does_not_matter(forest, scale):
    X, y = get_data(forest)
    weight = np.random.default_rng(0).random(y.size)
    params = {"n_estimators": 5, "random_state": 0}
    plain, scaled = (forest(**params).fit(X, y, w) for w in (weight, weight * scale))
    np.testing.assert_allclose(predict(plain, X), predict(scaled, X))
    np.testing.assert_allclose(plain.feature_importances_, scaled.feature_importances_)


def test_a_class_of_weight_zero_is_never_predicted():
    model = fit(RandomForestClassifier, class_weight={1: 0.0})
    assert not predict(model, IRIS[0])[:, 1].any()


# --- targets ---


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("X", [np.ones((6, 2)), np.full((6, 2), np.nan)], ids=["ones", "missing"])
def test_constant_features_give_the_mean(forest, X):
    model = forest(50, bootstrap=False).fit(X, [0, 0, 1, 1, 1, 0])
    assert np.allclose(predict(model, X), 0.5)
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_one_class_is_predicted(forest):
    model = forest(3).fit(IRIS[0], np.full(150, "only"))
    assert model.predict_proba(IRIS[0]).tolist() == [[1.0]] * 150
    assert set(model.predict(IRIS[0])) == {"only"}
    assert model.n_classes_ == 1


@pytest.mark.parametrize(("scale", "shift"), [(2.0**990, 0), (2.0**-1000, 0), (1, 1e12)])
def test_large_and_small_targets(scale, shift):
    X, y = DIABETES
    plain = RandomForestRegressor(10, random_state=0).fit(X, y)
    other = RandomForestRegressor(10, random_state=0).fit(X, y * scale + shift)
    expected = plain.predict(X) * scale + shift
    np.testing.assert_allclose(other.predict(X), expected, rtol=1e-12)
    np.testing.assert_allclose(other.feature_importances_, plain.feature_importances_, atol=1e-6)


def test_the_largest_targets_are_refused():
    with pytest.raises(DataError, match="in row 1: sums of such numbers are too large"):
        RandomForestRegressor(3).fit([[1], [2], [3]], [1.0, -1.7e308, 0.0])


@pytest.mark.parametrize("forest", REGRESSORS)
def test_several_targets_of_equal_columns(forest):
    X, y = DIABETES
    one = forest(5, random_state=0).fit(X, y)
    many = forest(5, random_state=0).fit(X, np.column_stack([y, y, y]))
    assert many.n_outputs_ == 3
    np.testing.assert_allclose(many.predict(X), np.column_stack([one.predict(X)] * 3))


def test_counts():
    X, y = make_regression(500, 4, random_state=0)
    y = np.random.default_rng(0).poisson(np.exp(y / y.std()))
    ours, theirs = (
        kind(50, criterion="poisson", min_samples_leaf=5, random_state=0).fit(X, y).score(X, y)
        for kind in (RandomForestRegressor, sklearn.ensemble.RandomForestRegressor)
    )
    assert ours == pytest.approx(theirs, abs=0.03)


# --- features ---


def make_frame():
    generator = np.random.default_rng(0)
    color = generator.choice(["red", "green", "blue", "gray"], 400)
    number = generator.normal(size=400)
    number[::7] = np.nan
    y = np.isin(color, ["red", "gray"]) ^ (np.nan_to_num(number, nan=3.0) > 0.5)
    return pd.DataFrame({"color": pd.Categorical(color), "number": number}), y


@pytest.mark.parametrize("forest", FORESTS)
def test_categories_and_missing_values(forest, tmp_path):
    X, y = make_frame()
    model = forest(40, random_state=0).fit(X[:300], y[:300].astype(float))
    assert model.score(X[300:], y[300:].astype(float)) > 0.9
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert np.array_equal(predict(again, X), predict(model, X))
    unknown = X[:2].assign(color=["pink", "red"])
    assert np.isfinite(predict(again, unknown)).all()
    with pytest.raises(DataError, match="pink"):
        again.set_params(unknown_category="error").predict(unknown)


def test_more_categories_than_bins():
    generator = np.random.default_rng(0)
    code = generator.integers(0, 400, 6000)
    good = generator.random(400) > 0.5
    X = pd.DataFrame({"code": code.astype(str)})
    model = RandomForestClassifier(10, max_features=None, random_state=0).fit(X, good[code])
    assert model.score(X, good[code]) > 0.7


def test_names_are_checked():
    X, y = make_frame()
    model = RandomForestClassifier(3).fit(X, y)
    assert list(model.feature_names_in_) == ["color", "number"]
    with pytest.raises(ValueError, match="number"):
        model.predict(X[["color"]])


@pytest.mark.parametrize("forest", FORESTS)
def test_monotone_predictions(forest):
    generator = np.random.default_rng(0)
    X = generator.random((500, 2))
    y = X[:, 0] + generator.normal(size=500) - X[:, 1]
    y = y > 0 if forest in CLASSIFIERS else y
    model = forest(20, monotonic_cst=[1, -1], random_state=0).fit(X, y)
    line = np.linspace(0, 1, 200)
    for feature, sign in ((0, 1), (1, -1)):
        grid = np.full((200, 2), 0.5)
        grid[:, feature] = line
        answer = predict(model, grid)
        answer = answer[:, 1] if answer.ndim == 2 else answer
        assert (sign * np.diff(answer) >= 0).all()


# --- bad inputs ---


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"criterion": "friedman_mse"}, "must be one of 'gini', 'entropy', 'log_loss'"),
        ({"max_features": 5}, "there are 4 features"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 1.5}, "max_features"),
        ({"max_features": "all"}, "max_features"),
        ({"max_features_per_tree": 9}, "there are 4 features"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 10, "bootstrap": False}, "max_samples=10 is for bootstrap=True"),
        ({"max_samples": 10, "resampling": Pasting()}, "rate instead"),
        ({"resampling": "jackknife"}, "resampling"),
        ({"oob_score": "r3"}, "oob_score"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"min_samples_leaf": 1.5}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"min_impurity_decrease": -1}, "min_impurity_decrease"),
        ({"ccp_alpha": -1}, "ccp_alpha"),
        ({"class_weight": "equal"}, "class_weight"),
        ({"max_bins": 256}, "max_bins"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "two classes"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        fit(RandomForestClassifier, **params)


def test_a_constraint_on_several_targets_is_refused():
    X, y = DIABETES
    model = RandomForestRegressor(3, monotonic_cst=[1] + 9 * [0])
    with pytest.raises(ParameterError, match="multiple outputs"):
        model.fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], "NaN"),
        ([1.0, np.inf, 2.0], "infinity"),
        ([[1.0, 2.0], [1.0, np.nan], [1.0, 1.0]], "NaN"),
        ([1.0, 2.0], "inconsistent"),
    ],
    ids=str,
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        RandomForestRegressor(2).fit([[1], [2], [3]], y)


def test_bad_counts_are_refused():
    model = RandomForestRegressor(2, criterion="poisson")
    with pytest.raises(DataError, match="negative"):
        model.fit([[1], [2]], [1, -1])
    with pytest.raises(DataError, match="not positive"):
        model.fit([[1], [2]], [0, 0])


def test_a_failed_fit_leaves_no_model():
    model = fit(RandomForestClassifier)
    with pytest.raises(ParameterError):
        model.set_params(max_features=9).fit(*IRIS)
    assert not hasattr(model, "forest_")


# --- extreme numbers ---


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("temperature", [10, 100])
def test_extreme_bayesian_weights_predict_numbers(forest, temperature, tmp_path):
    X, _ = get_data(forest)
    model = fit(forest, resampling=BayesianBootstrap(temperature))
    assert np.isfinite(predict(model, X)).all()
    assert np.isfinite(model.forest_.gain).all()
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert all(np.isfinite(tree.tree_.value).all() for tree in model)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(predict(sumwise.load(tmp_path / "model"), X), predict(model, X))


def test_weights_beyond_the_range_of_numbers_are_refused():
    with pytest.raises(ParameterError, match=r"temperature=101.* at most 100"):
        fit(RandomForestRegressor, resampling=BayesianBootstrap(101))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("class_weight", [None, {0: 1e-300, 1: 1e300}])
def test_extreme_weights_predict_numbers(forest, class_weight):
    X, y = get_data(forest)
    params = {}
    if class_weight is not None:
        if forest in REGRESSORS:
            return
        params = {"class_weight": class_weight}
    model = forest(5, random_state=0, bootstrap=False, **params)
    model.fit(X, y, None if class_weight else np.logspace(-300, 300, len(y)))
    assert np.isfinite(predict(model, X)).all()
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.filterwarnings("error")
def test_gains_of_large_targets_and_weights_are_finite():
    X, y = DIABETES
    model = RandomForestRegressor(3, bootstrap=False, random_state=0)
    model.fit(X, (y - y.mean()) * 1e9, np.full(len(y), 1e12))
    expected = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, y - y.mean())
    np.testing.assert_allclose(model.predict(X), 1e9 * expected.predict(X), rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(model.feature_importances_, expected.feature_importances_, atol=0.05)


@pytest.mark.parametrize("forest", REGRESSORS)
@pytest.mark.filterwarnings("error")
def test_targets_near_the_limits(forest):
    X, y = DIABETES
    with pytest.raises(DataError, match=r"y has .* in row \d+: .* The limit is 1e\+301; scale y"):
        forest(3).fit(X, y * 1e305)
    params = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    expected = forest(**params).fit(X, y)
    for factor in (2.0**990, 2.0**-1000):
        model = forest(**params).fit(X, y * factor)
        np.testing.assert_allclose(model.predict(X), expected.predict(X) * factor)
        assert model.oob_score_ == pytest.approx(expected.oob_score_)
