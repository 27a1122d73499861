import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from sumwise import AveragingRegressor
from sumwise.errors import DataError, ParameterError

X, Y = load_diabetes(return_X_y=True)
MEMBERS = [
    ("tree", DecisionTreeRegressor(random_state=0)),
    ("line", LinearRegression()),
    ("near", KNeighborsRegressor()),
]
LEARNED = ["inverse_error", "least_squares", "covariance"]


@pytest.mark.parametrize("weights", [None, [1, 2, 3]])
def test_predictions_equal_scikit_learns_voting_regressor(weights):
    theirs = VotingRegressor(MEMBERS, weights=weights).fit(X, Y)
    ours = AveragingRegressor(MEMBERS, weights="uniform" if weights is None else weights).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-13)
    np.testing.assert_array_equal(ours.predict_members(X).T, theirs.transform(X))


@pytest.mark.parametrize("weights", LEARNED)
def test_learned_weights_sum_to_one_and_are_no_worse_than_equal_ones(weights):
    model = AveragingRegressor(MEMBERS, weights=weights).fit(X, Y)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert weights == "covariance" or model.weights_.min() >= 0.0
    held_out = np.stack([cross_val_predict(member, X, Y) for _, member in MEMBERS])
    np.testing.assert_allclose(model.member_errors_, ((held_out - Y) ** 2).mean(axis=1))
    learned = np.mean((model.weights_ @ held_out - Y) ** 2)
    assert learned <= np.mean((held_out.mean(axis=0) - Y) ** 2)


def test_inverse_errors_are_out_of_fold():
    model = AveragingRegressor(MEMBERS, weights="inverse_error").fit(X, Y)
    np.testing.assert_allclose(
        model.weights_ * model.member_errors_ * 3,
        np.full(3, 3.0) / (1.0 / model.member_errors_).sum(),
    )
    assert model.weights_[0] < 0.3  # a full tree has no error on rows it has seen


def test_nonnegative_covariance_is_least_squares():
    fits = [
        AveragingRegressor(MEMBERS, weights=weights, nonnegative=nonnegative).fit(X, Y).weights_
        for weights, nonnegative in [("least_squares", False), ("covariance", True)]
    ]
    np.testing.assert_array_equal(*fits)


def test_weights_of_dropped_members_are_left_out():
    model = AveragingRegressor([*MEMBERS[:2], ("mean", "drop")], weights=[1, 3, 5]).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, [0.25, 0.75])


def test_decomposition_is_exact():
    model = AveragingRegressor(MEMBERS, weights="least_squares").fit(X[::2], Y[::2])
    split = model.decompose(X, Y)
    assert split.error == pytest.approx(np.mean((model.predict(X) - Y) ** 2))
    assert split.error == pytest.approx(split.mean_error - split.ambiguity, rel=1e-12)
    weighted = model.decompose(X, Y, sample_weight=np.arange(len(Y)))
    assert weighted.error != split.error


@pytest.mark.parametrize(
    "weights", [[1, 2], [1, 2, -1], [0, 0, 0], [1, 2, np.nan], "best", [1, 2, "x"], 1.0]
)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ParameterError, match="weights="):
        AveragingRegressor(MEMBERS, weights=weights).fit(X, Y)


def test_useless_members_get_no_weight():
    members = [
        ("line", LinearRegression()),
        ("far", DummyRegressor(strategy="constant", constant=9e3)),
    ]
    model = AveragingRegressor(members, weights="least_squares").fit(X, Y)
    assert model.weights_[1] < 0.01


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", LEARNED)
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e290])
def test_extreme_targets_get_the_weights_of_ordinary_ones(weights, scale):
    members = [(f"near{k}", KNeighborsRegressor(k)) for k in (3, 20, 50)]
    usual = AveragingRegressor(members, weights=weights).fit(X, Y)
    extreme = AveragingRegressor(members, weights=weights).fit(X, Y * scale)
    np.testing.assert_allclose(extreme.weights_, usual.weights_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(extreme.predict(X) / scale, usual.predict(X), rtol=1e-9)
    assert set(extreme.member_errors_) == {np.inf if scale > 1.0 else 0.0}


def test_members_that_predict_nan_are_refused_where_weights_are_learned():
    class Lost(DummyRegressor):
        def predict(self, X):
            return np.full(len(X), np.nan)

    members = [("line", LinearRegression()), ("lost", Lost())]
    with pytest.raises(DataError, match="member 'lost' predicts nan"):
        AveragingRegressor(members, weights="inverse_error").fit(X, Y)


def test_weights_too_large_to_add_up_are_refused():
    with pytest.raises(DataError, match="sum of sample_weight"):
        AveragingRegressor(MEMBERS[:2]).fit(X, Y, sample_weight=np.full(len(Y), 1e308))


def test_transform_equals_scikit_learns_voting_regressor():
    theirs = VotingRegressor(MEMBERS).fit(X, Y)
    ours = AveragingRegressor(MEMBERS).fit(X, Y)
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    names = [name.replace("voting", "averaging") for name in theirs.get_feature_names_out()]
    assert ours.get_feature_names_out().tolist() == names
