"""Out-of-bag predictions and scores of forests and bagging."""

import warnings

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import make_classification
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_squared_error,
    r2_score,
)
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    BayesianBootstrap,
    Bootstrap,
    Pasting,
    PoissonBootstrap,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataWarning, ParameterError
from tests.estimators.forests.forest_cases import (
    CLASSIFIERS,
    DIABETES,
    FORESTS,
    IRIS,
    fit,
    get_data,
    predict,
)
from tests.naive import out_of_bag as naive

X, Y = IRIS
X_NUMBER, Y_NUMBER = DIABETES
LABELS = np.array(["no", "perhaps", "yes"])[Y]
OOB = {"oob_score": True, "n_estimators": 30}

# --- forests ---


def average_by_definition(model, X):
    answers = np.array([predict(tree, X) for tree in model.estimators_])
    return naive.average_out_of_bag(answers, naive.find_bags(model, X.shape[0]))


@pytest.mark.parametrize("part", [None, Pasting(0.6), PoissonBootstrap(), Bootstrap(0.5)], ids=repr)
@pytest.mark.parametrize("forest", FORESTS)
def test_out_of_bag_values_by_their_definition(forest, part):
    X, y = get_data(forest)
    model = fit(forest, bootstrap=True, resampling=part, **OOB)
    expected = average_by_definition(model, X)
    if forest in CLASSIFIERS:
        np.testing.assert_allclose(model.oob_decision_function_, expected)
        assert model.oob_score_ == accuracy_score(y, expected.argmax(axis=1))
    else:
        np.testing.assert_allclose(model.oob_prediction_, expected)
        assert model.oob_score_ == pytest.approx(r2_score(y, expected))


def test_out_of_bag_values_of_weighted_rows():
    X, y = DIABETES
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    model = RandomForestRegressor(30, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(X, y, weight)
    expected = average_by_definition(model, X)
    np.testing.assert_allclose(model.oob_prediction_, expected)
    known = ~np.isnan(expected)
    score = r2_score(y[known], expected[known], sample_weight=weight[known])
    assert model.oob_score_ == pytest.approx(score)


def test_out_of_bag_values_of_several_targets():
    X, y = DIABETES
    targets = np.column_stack([y, -2 * y])
    model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, targets)
    expected = average_by_definition(model, X)
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(targets, expected))


def test_rows_that_all_trees_have_seen_have_no_out_of_bag_value():
    X, y = IRIS
    with pytest.warns(DataWarning, match=r"\d+ of 150 rows are in the bag of every member"):
        model = fit(RandomForestClassifier, n_estimators=2, oob_score=True)
    in_all = naive.find_bags(model, 150).all(axis=0)
    assert in_all.any()
    assert np.array_equal(np.isnan(model.oob_decision_function_).all(axis=1), in_all)
    expected = average_by_definition(model, X)[~in_all]
    assert model.oob_score_ == accuracy_score(y[~in_all], expected.argmax(axis=1))


def test_a_score_of_no_rows_at_all_is_not_a_number():
    model = RandomForestRegressor(3, resampling=Pasting(1.0), oob_score=True)
    with pytest.warns(DataWarning, match="4 of 4 rows"):
        model.fit([[1], [2], [3], [4]], [1, 2, 3, 4])
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_prediction_).all()


@pytest.mark.parametrize(
    "score",
    [balanced_accuracy_score, make_scorer(balanced_accuracy_score), "balanced_accuracy"],
    ids=["metric", "scorer", "name"],
)
def test_out_of_bag_scores_by_other_measures(score):
    model = fit(RandomForestClassifier, **{**OOB, "oob_score": score})
    labels = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == balanced_accuracy_score(IRIS[1], labels)


def test_a_scorer_may_need_probabilities():
    model = fit(RandomForestClassifier, **{**OOB, "oob_score": "roc_auc_ovr"})
    assert 0.9 < model.oob_score_ <= 1


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap": False},
        {"resampling": BayesianBootstrap()},
    ],
    ids=str,
)
def test_out_of_bag_scores_need_rows_out_of_the_bag(params):
    with pytest.raises(ParameterError, match="Out of bag estimation only available"):
        fit(RandomForestClassifier, oob_score=True, **params)


@pytest.mark.parametrize("metric", [mean_squared_error, lambda y_true, y_pred: 0.5])
def test_a_metric_scores_as_in_scikit_learn(metric):
    """The value of the metric itself, whether or not lower is better."""
    model = fit(RandomForestRegressor, n_estimators=30, oob_score=metric)
    assert model.oob_score_ == metric(DIABETES[1], model.oob_prediction_)


# --- bagging ---


@pytest.mark.parametrize(
    "parameters",
    [{}, {"votes": "hard"}, {"sampling": Pasting(0.6)}, {"sampling": "poisson", "max_features": 2}],
)
def test_decision_function_is_that_of_the_definition(parameters):
    model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0, **parameters)
    model.fit(X, LABELS)
    votes = model.predict_members(X)
    if model.votes_ == "hard":
        votes = (votes[:, :, np.newaxis] == model.classes_).astype(float)
    expected = naive.average_out_of_bag(votes, naive.find_bags(model, 150))
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    clear = np.sort(expected, axis=1)
    clear = clear[:, -1] > clear[:, -2] + 1e-9
    right = model.classes_[expected.argmax(axis=1)] == LABELS
    assert abs(model.oob_score_ - right.mean()) <= np.mean(~clear) + 1e-12
    assert not model.oob_score_is_optimistic_


def test_predictions_of_numbers_are_those_of_the_definition():
    model = BaggingRegressor(n_estimators=25, oob_score=True, random_state=0)
    model.fit(X_NUMBER, Y_NUMBER)
    bags = naive.find_bags(model, len(Y_NUMBER))
    expected = naive.average_out_of_bag(model.predict_members(X_NUMBER), bags)
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(Y_NUMBER, expected))


def test_arithmetic_is_that_of_sklearn():
    theirs = sklearn.ensemble.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0)
    theirs.fit(X, Y)
    votes = np.stack([member.predict_proba(X) for member in theirs.estimators_])
    found = naive.average_out_of_bag(votes, naive.find_bags(theirs, 150))
    np.testing.assert_allclose(found, theirs.oob_decision_function_)


def test_score_estimates_that_of_new_rows():
    rows, y = make_classification(2000, flip_y=0.2, random_state=0)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0)
    model.fit(rows[:600], y[:600])
    assert model.oob_score_ == pytest.approx(model.score(rows[600:], y[600:]), abs=0.05)
    assert model.score(rows[:600], y[:600]) > model.oob_score_ + 0.1


def test_rows_that_are_never_out_of_bag():
    model = BaggingClassifier(n_estimators=2, oob_score=True, random_state=0)
    with pytest.warns(DataWarning, match="of 150 rows are in the bag of every member") as caught:
        model.fit(X, Y)
    in_all = naive.find_bags(model, 150).all(axis=0)
    n_missing = int(in_all.sum())
    assert f"{n_missing} of 150" in str(caught[0].message)
    np.testing.assert_array_equal(np.isnan(model.oob_decision_function_).all(axis=1), in_all)
    assert 0.7 < model.oob_score_ <= 1


def test_no_row_is_out_of_any_bag():
    model = BaggingRegressor(n_estimators=2, max_samples=5000, oob_score=True, random_state=0)
    with pytest.warns(DataWarning, match="150 of 150 rows"):
        model.fit(X, Y)
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_prediction_).all()


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", get_scorer("roc_auc_ovr"), "accuracy", accuracy_score]
)
def test_scores_of_other_kinds(scoring):
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 30, random_state=0)
    model.set_params(oob_score=scoring).fit(X, LABELS)
    shares = model.oob_decision_function_
    if scoring == "neg_log_loss":
        assert model.oob_score_ == pytest.approx(-log_loss(LABELS, shares))
    else:
        assert 0.85 < model.oob_score_ <= 1


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_scores_of_two_classes_with_names(scoring):
    is_last = Y > 1
    model = BaggingClassifier(n_estimators=25, oob_score=scoring, random_state=0)
    model.fit(X, np.where(is_last, "b", "a"))
    chance = model.oob_decision_function_[:, 1]
    expected = get_scorer(scoring)._score_func(is_last, chance)
    assert abs(model.oob_score_) == pytest.approx(expected)


def test_scores_are_weighted():
    weight = np.where(Y == 2, 5.0, 1.0)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, Y, weight)
    labels = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == pytest.approx(np.average(labels == Y, weights=weight), abs=0.02)
    scored = BaggingRegressor(n_estimators=40, oob_score=make_scorer(r2_score), random_state=0).fit(
        X, Y, weight
    )
    expected = r2_score(Y, scored.oob_prediction_, sample_weight=weight)
    assert scored.oob_score_ == pytest.approx(expected)


def test_old_scores_do_not_stay():
    model = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, Y)
    model.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")


# --- early stopping ---


def test_metrics_are_given_the_weights_that_they_take():
    X, y = DIABETES
    weight = np.random.RandomState(0).uniform(0.5, 2.0, len(y))

    def fit(score):
        return BaggingRegressor(n_estimators=30, oob_score=score, random_state=0).fit(X, y, weight)

    model = fit(mean_squared_error)
    rows = np.isfinite(model.oob_prediction_)
    expected = mean_squared_error(y[rows], model.oob_prediction_[rows], sample_weight=weight[rows])
    assert model.oob_score_ == pytest.approx(expected)
    assert fit("neg_mean_squared_error").oob_score_ == pytest.approx(-expected)
    worst = np.abs(y - model.oob_prediction_)[rows].max()
    for score in ("neg_max_error", lambda y, p: -np.abs(y - p).max()):  # neither takes weights
        assert fit(score).oob_score_ == pytest.approx(-worst)
