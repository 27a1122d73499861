import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from sumwise import (
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    GradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sumwise.errors import ParameterError

KINDS = [
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
]
X = np.random.default_rng(0).normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_of_members_are_set_by_name(kind):
    is_class = "Classifier" in kind.__name__
    tree = DecisionTreeClassifier() if is_class else DecisionTreeRegressor()
    model = kind([("tree", tree), ("other", clone(tree))])
    model.set_params(tree__max_depth=1)
    assert model.get_params()["tree__max_depth"] == 1
    assert model.named_estimators.tree.max_depth == 1
    model.set_params(tree="drop")
    assert dict(model.estimators)["tree"] == "drop"
    with pytest.raises(ValueError, match="nothing"):
        model.set_params(nothing=1)


def test_members_without_names_are_called_by_their_class():
    model = AveragingRegressor([Ridge(), Ridge(alpha=2.0), LinearRegression()])
    assert list(model.named_estimators) == ["ridge-1", "ridge-2", "linearregression"]
    model.set_params(**{"ridge-2__alpha": 5.0, "linearregression": "drop"})
    assert model.estimators[1].alpha == 5.0
    model.fit(X, Y)
    assert list(model.named_estimators_) == ["ridge-1", "ridge-2"]
    assert clone(model).get_params()["ridge-2__alpha"] == 5.0


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "non-empty list"),
        (LinearRegression(), "non-empty list"),
        ([("a", Ridge()), ("a", Ridge())], "not unique"),
        ([("cv", Ridge())], "conflict"),
        ([("a__b", Ridge())], "must not contain __"),
        ([("a", "drop")], "All estimators are dropped"),
        ([("a", GaussianNB())], "should be a regressor"),
        ([("a", Ridge)], "should be a regressor instance"),
        ([(1, Ridge())], "strings"),
    ],
)
def test_what_is_no_list_of_members_is_refused(members, message):
    with pytest.raises(ParameterError, match=message):
        AveragingRegressor(members).fit(X, Y)
    with pytest.raises(ParameterError, match=message):
        StackingRegressor(members).fit(X, Y)


def test_tags_say_what_all_readers_of_x_can_take():
    """The meta-learner reads X only with passthrough."""
    members = [("ours", GradientBoostingRegressor()), ("hist", HistGradientBoostingRegressor())]
    assert get_tags(AveragingRegressor(members)).input_tags.allow_nan
    assert not get_tags(AveragingRegressor(members)).input_tags.string
    assert get_tags(AveragingRegressor(members[:1])).input_tags.string
    assert not get_tags(AveragingRegressor([*members, ("line", Ridge())])).input_tags.allow_nan
    assert get_tags(StackingRegressor(members)).input_tags.allow_nan
    assert not get_tags(StackingRegressor(members, passthrough=True)).input_tags.allow_nan
    assert not get_tags(StackingRegressor("none")).input_tags.allow_nan


@pytest.mark.parametrize("kind", KINDS)
def test_saving_names_what_can(kind):
    with pytest.raises(TypeError, match=r"use pickle, or skops\.io\.dump"):
        kind([("a", Ridge())]).save("members.sumwise")
