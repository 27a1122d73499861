"""Weights and importances."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import sumwise
from sumwise.errors import DataError, ParameterError
from sumwise.plotting import (
    LabeledValues,
    ensemble_weights,
    feature_importances,
    plot_importances,
    plot_weights,
)

X, Y = load_iris(return_X_y=True, as_frame=True)


def test_weights_of_boosting():
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=9).fit(X, Y)
    weights = ensemble_weights(model)
    assert len(weights.labels) == len(model.estimators_)
    np.testing.assert_array_equal(
        weights.values, model.estimator_weights_[: len(model.estimators_)]
    )


def test_weights_of_a_vote():
    members = [("bayes", GaussianNB()), ("gone", "drop"), ("tree", DecisionTreeClassifier())]
    weights = ensemble_weights(VotingClassifier(members, weights=[3, 1, 2]).fit(X, Y))
    assert weights.labels == ("bayes", "tree")
    np.testing.assert_array_equal(weights.values, [3, 2])
    equal = ensemble_weights(VotingClassifier(members).fit(X, Y))
    np.testing.assert_array_equal(equal.values, [0.5, 0.5])


def test_weights_of_chosen_members():
    """A selection has weights of all candidates, and fits the chosen ones."""
    members = [
        ("poor", DummyClassifier()),
        ("bayes", GaussianNB()),
        ("gone", "drop"),
        ("tree", DecisionTreeClassifier(random_state=0)),
    ]
    model = sumwise.EnsembleSelectionClassifier(members, method="reduced_error", n_selected=2)
    model.fit(X, Y)
    assert model.weights_.size == 3
    weights = ensemble_weights(model)
    assert weights.labels == ("bayes", "tree")
    np.testing.assert_array_equal(weights.values, [0.5, 0.5])
    unnamed = sumwise.VotingClassifier([m for _, m in members if m != "drop"]).fit(X, Y)
    assert ensemble_weights(unnamed).labels[1] == "gaussiannb"


def test_importances_are_sorted():
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    data = feature_importances(forest, n_features=3)
    order = np.argsort(-forest.feature_importances_)[:3]
    assert data.labels == tuple(X.columns[order])
    np.testing.assert_array_equal(data.values, forest.feature_importances_[order])
    plain = feature_importances(RandomForestClassifier(5).fit(X.to_numpy(), Y), n_features=None)
    assert sorted(plain.labels) == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("plot", [plot_weights, plot_importances])
def test_bars_come_in_order_from_the_top(plot):
    ax = plot(LabeledValues(("a", "b"), np.array([3.0, -1.0])))
    assert [bar.get_width() for bar in ax.patches] == [3, -1]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.yaxis_inverted()


def test_many_bars_have_some_names():
    ax = plot_weights(LabeledValues(tuple(map(str, range(100))), np.ones(100)))
    assert len(ax.get_yticklabels()) == 34


def test_inputs_are_checked():
    with pytest.raises(DataError, match="GaussianNB has no feature_importances_"):
        feature_importances(GaussianNB().fit(X, Y))
    with pytest.raises(ParameterError, match="n_features=0"):
        feature_importances(RandomForestClassifier(2).fit(X, Y), n_features=0)
    with pytest.raises(DataError, match="a meta-learner combines them"):
        ensemble_weights(sumwise.StackingClassifier([("a", GaussianNB())], cv=2).fit(X, Y))
    broken = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())]).fit(X, Y)
    broken.weights = [1.0]
    with pytest.raises(DataError, match="2 members have weights of shape"):
        ensemble_weights(broken)
