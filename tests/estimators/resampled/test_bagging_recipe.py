"""The rows, features and parameters that members of bagging get."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    BayesianBootstrap,
    Bootstrap,
    Pasting,
    PoissonBootstrap,
)
from sumwise.errors import ParameterError
from tests.estimators.resampled.learners import Recorder

X, Y = load_iris(return_X_y=True)

X_NUMBER, Y_NUMBER = load_diabetes(return_X_y=True)

SAMPLINGS = ["bootstrap", "pasting", "poisson", "bayesian"]


class Unweighted(Recorder):
    def fit(self, X, y):
        return super().fit(X, y)


NUMBERED = np.column_stack([np.arange(60.0), np.arange(60.0) + 100])

TARGET = np.arange(60.0) * 2


# --- what members see ---


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_members_see_the_rows_that_are_drawn_with_their_weights(sampling):
    model = BaggingRegressor(Recorder(), 4, sampling=sampling, random_state=0)
    model.fit(NUMBERED, TARGET)
    part = {
        "bootstrap": Bootstrap(),
        "pasting": Pasting(),
        "poisson": PoissonBootstrap(),
        "bayesian": BayesianBootstrap(),
    }[sampling]
    for number, member in enumerate(model.estimators_):
        expected = part.draw_member(model._seed, number, 60)
        rows, y, weight = member.seen_
        in_bag = np.flatnonzero(expected)
        np.testing.assert_array_equal(rows[:, 0], in_bag)
        np.testing.assert_array_equal(y, 2 * rows[:, 0])
        if sampling == "pasting":
            assert weight is None
            assert in_bag.size == 30
        else:
            np.testing.assert_array_equal(weight, expected[in_bag])


@pytest.mark.parametrize("sampling", ["bootstrap", "pasting", "poisson"])
def test_rows_come_twice_where_members_cannot_take_weights(sampling):
    model = BaggingRegressor(Unweighted(), 3, sampling=sampling, random_state=0)
    model.fit(NUMBERED, TARGET)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        np.testing.assert_array_equal(member.seen_[0][:, 0], rows)


def test_sample_weights_are_drawn_by():
    weight = np.r_[np.zeros(30), np.ones(30)]
    for learner in (Recorder(), Unweighted()):
        model = BaggingRegressor(learner, 5, random_state=0).fit(NUMBERED, TARGET, weight)
        for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
            assert member.seen_[0][:, 0].min() >= 30
            assert rows.size == 60


def test_sample_weights_multiply_without_replacement():
    weight = np.linspace(0.5, 3, 60)
    model = BaggingRegressor(Recorder(), 3, sampling=Pasting(0.3)).fit(NUMBERED, TARGET, weight)
    for member in model.estimators_:
        rows, _, given = member.seen_
        np.testing.assert_array_equal(given, weight[rows[:, 0].astype(int)])
    with pytest.raises(ParameterError, match="Unweighted cannot take sample weights"):
        clone(model).set_params(estimator=Unweighted()).fit(NUMBERED, TARGET, weight)


@pytest.mark.parametrize("bootstrap_features", [False, True])
def test_features_are_drawn_for_each_member(bootstrap_features):
    model = BaggingClassifier(
        n_estimators=8, max_features=0.5, bootstrap_features=bootstrap_features, random_state=0
    ).fit(X, Y)
    assert {features.size for features in model.estimators_features_} == {2}
    assert len({tuple(features) for features in model.estimators_features_}) > 2
    doubled = any(np.unique(features).size < 2 for features in model.estimators_features_)
    assert doubled == bootstrap_features
    assert model.score(X, Y) > 0.8
    by_hand = np.mean(
        [
            member.predict_proba(X[:, features])
            for member, features in zip(model.estimators_, model.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.predict_proba(X), by_hand)


def test_parameters_are_drawn_for_each_member():
    perturb = {"max_depth": [2, 4, 8], "min_impurity_decrease": stats.uniform(0, 0.01)}
    model = BaggingRegressor(n_estimators=12, perturb=perturb, random_state=0)
    model.fit(X_NUMBER, Y_NUMBER)
    for member, drawn in zip(model.estimators_, model.estimators_parameters_, strict=True):
        assert member.max_depth == drawn["max_depth"]
        assert member.min_impurity_decrease == drawn["min_impurity_decrease"]
    assert {drawn["max_depth"] for drawn in model.estimators_parameters_} == {2, 4, 8}
    assert len({drawn["min_impurity_decrease"] for drawn in model.estimators_parameters_}) == 12
    assert model.estimator_.max_depth is None


def test_members_have_seeds_of_their_own_in_pipelines_too():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    model = BaggingClassifier(pipeline, 4, random_state=0).fit(X, Y)
    seeds = [member[-1].random_state for member in model.estimators_]
    assert len(set(seeds)) == 4
    assert all(isinstance(seed, int) for seed in seeds)
