import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from sumwise import (
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    GradientBoostingRegressor,
)
from sumwise.errors import ParameterError

X_IRIS, Y_IRIS = load_iris(return_X_y=True)


def make_line(n_rows=300, noise=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    return X, 1.0 + X @ [1.0, -2.0] + noise * rng.normal(size=n_rows)


def test_bic_by_hand():
    X, y = make_line()
    line = LinearRegression()
    square = make_pipeline(PolynomialFeatures(3, include_bias=False), LinearRegression())
    model = BayesianAveragingRegressor([("line", line), ("cubic", square)], weights="bic")
    model.fit(X, y)
    np.testing.assert_array_equal(model.n_parameters_, [2 + 1 + 1, 9 + 1 + 1])
    for member, k, bic in zip(model.estimators_, model.n_parameters_, model.bic_, strict=True):
        variance = np.mean((member.predict(X) - y) ** 2)
        likelihood = -150 * (np.log(2 * np.pi * variance) + 1)
        assert bic == pytest.approx(k * np.log(300) - 2 * likelihood)
    odds = np.exp(-0.5 * (model.bic_[1] - model.bic_[0]))
    assert model.weights_[1] / model.weights_[0] == pytest.approx(odds)
    assert model.weights_[0] > 0.99


@pytest.mark.parametrize("weights", ["bic", "pseudo_bma", "pseudo_bma+"])
def test_the_true_model_gets_the_weight(weights):
    X, y = make_line()
    members = [LinearRegression(), DecisionTreeRegressor(max_depth=4, random_state=0)]
    model = BayesianAveragingRegressor(members, weights=weights, random_state=0).fit(X, y)
    assert model.weights_[0] > 0.99
    assert model.weights_.sum() == pytest.approx(1.0)


def test_out_of_fold_scores():
    X, y = make_line(100)
    members = [LinearRegression(), KNeighborsRegressor()]
    model = BayesianAveragingRegressor(members, weights="pseudo_bma").fit(X, y)
    errors = np.stack([cross_val_predict(m, X, y) for m in members]) - y
    variances = (errors**2).mean(axis=1)
    np.testing.assert_allclose(model.variances_, variances)
    np.testing.assert_allclose(model.log_scores_, -50 * (np.log(2 * np.pi * variances) + 1))


def test_scores_of_classes_are_log_losses():
    members = [("line", LogisticRegression(max_iter=1000)), ("bayes", GaussianNB())]
    model = BayesianAveragingClassifier(members, weights="pseudo_bma").fit(X_IRIS, Y_IRIS)
    for (_, member), score in zip(members, model.log_scores_, strict=True):
        held_out = cross_val_predict(member, X_IRIS, Y_IRIS, method="predict_proba")
        assert score == pytest.approx(-log_loss(Y_IRIS, held_out, normalize=False))
    expected = np.tensordot(model.weights_, model.predict_members(X_IRIS), axes=1)
    np.testing.assert_allclose(model.predict_proba(X_IRIS), expected)


def test_bic_of_classes():
    members = [LogisticRegression(max_iter=1000), LogisticRegression(C=1e-3)]
    model = BayesianAveragingClassifier(members, weights="bic").fit(X_IRIS, Y_IRIS)
    assert model.n_parameters_.tolist() == [15.0, 15.0]
    score = -log_loss(Y_IRIS, model.estimators_[0].predict_proba(X_IRIS), normalize=False)
    assert model.log_scores_[0] == pytest.approx(score)


def test_a_weight_of_two_is_a_row_twice():
    X, y = make_line(60)
    weight = np.arange(60) % 3
    members = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)]
    weighted = BayesianAveragingRegressor(members, weights="bic").fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(60), weight)
    repeated = BayesianAveragingRegressor(members, weights="bic").fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.bic_, repeated.bic_)


def test_number_of_parameters():
    X, y = make_line()
    booster = GradientBoostingRegressor(n_estimators=3, max_leaves=4)
    members = {
        "tree": DecisionTreeRegressor(max_depth=2),
        "scaled": make_pipeline(StandardScaler(), Lasso(alpha=1.5)),
        "booster": booster,
    }
    model = BayesianAveragingRegressor(list(members.items()), weights="bic").fit(X, y)
    assert model.n_parameters_.tolist() == [4 + 1, 2 + 1, 3 * 4 + 1 + 1]
    near = [("near", KNeighborsRegressor())]
    with pytest.raises(ParameterError, match="'near': the number of parameters"):
        BayesianAveragingRegressor(near, weights="bic").fit(X, y)
    for given in (lambda model: 7, {"near": 7}, [7]):
        model = BayesianAveragingRegressor(near, weights="bic", n_parameters=given).fit(X, y)
        assert model.n_parameters_.tolist() == [8.0]
    for given in ("none", {"far": 1}, [1, 2], [-1], lambda model: None):
        with pytest.raises(ParameterError, match="n_parameters="):
            BayesianAveragingRegressor(near, weights="bic", n_parameters=given).fit(X, y)


def test_prior_probabilities():
    X, y = make_line()
    members = [LinearRegression(), LinearRegression()]
    model = BayesianAveragingRegressor(members, weights="bic", prior=[3, 1]).fit(X, y)
    np.testing.assert_allclose(model.weights_, [0.75, 0.25])


def test_standard_deviation_is_that_of_the_mixture():
    X, y = make_line(noise=0.5)
    members = [LinearRegression(), DecisionTreeRegressor(max_depth=2)]
    model = BayesianAveragingRegressor(members, weights="bic").fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_allclose(std, 0.5, rtol=0.1)
    model.weights_ = np.array([0.5, 0.5])
    first, second = model.predict_members(X)
    std = model.predict(X, return_std=True)[1]
    expected = model.variances_.mean() + (first - second) ** 2 / 4
    np.testing.assert_allclose(std**2, expected)


def test_bootstrap_is_seeded():
    X, y = make_line(80)
    members = [LinearRegression(), Lasso(alpha=0.05)]
    first, again, other = (
        BayesianAveragingRegressor(members, random_state=seed).fit(X, y).weights_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_classifiers_need_probabilities():
    with pytest.raises(ParameterError, match="CalibratedClassifierCV"):
        BayesianAveragingClassifier([LinearSVC()]).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ParameterError, match="weights="):
        BayesianAveragingClassifier([GaussianNB()], weights="aic").fit(X_IRIS, Y_IRIS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{"weights": "bic", "n_parameters": [3, 1, 2]}, {}])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e290])
def test_extreme_targets_get_the_weights_of_ordinary_ones(options, scale):
    X, y = make_line()
    members = [KNeighborsRegressor(k) for k in (20, 3, 50)]
    usual, extreme = (
        BayesianAveragingRegressor(members, random_state=0, **options).fit(X, y * factor)
        for factor in (1.0, scale)
    )
    np.testing.assert_allclose(extreme.weights_, usual.weights_, rtol=1e-6)
    assert np.isfinite(extreme.log_scores_).all()
    pairs = zip(extreme.predict(X, return_std=True), usual.predict(X, return_std=True), strict=True)
    for scaled, plain in pairs:
        np.testing.assert_allclose(scaled / scale, plain, rtol=1e-6)


def test_logarithms_of_probabilities():
    model = BayesianAveragingClassifier([GaussianNB()], n_draws=5).fit(X_IRIS, Y_IRIS)
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(X_IRIS))
    np.testing.assert_array_equal(model.predict_log_proba(X_IRIS), expected)
    names = model.get_feature_names_out().tolist()
    assert names == [f"bayesianaveragingclassifier_gaussiannb{k}" for k in range(3)]
