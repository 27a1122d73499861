"""Access to the members of an ensemble."""

import pickle

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)
from sumwise.estimators.forests.parameters import draw_seed

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
MODELS = [
    AdaBoostClassifier(n_estimators=4),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4),
    AdaBoostClassifier(sklearn.tree.DecisionTreeClassifier(max_depth=1), n_estimators=4),
    AdaBoostRegressor(n_estimators=4),
    BaggingClassifier(n_estimators=4),
    BaggingClassifier(sklearn.tree.DecisionTreeClassifier(), n_estimators=4),
    BaggingRegressor(n_estimators=4),
    OutputFlippingClassifier(n_estimators=4),
    OutputSmearingRegressor(sklearn.tree.DecisionTreeRegressor(), n_estimators=4),
]
EACH = pytest.mark.parametrize("model", MODELS, ids=str)


@EACH
def test_ensembles_are_sequences_of_members(model):
    X, y = IRIS if "Classifier" in type(model).__name__ else DIABETES
    model = model.set_params(random_state=0).fit(X, y)
    members = model.estimators_
    assert len(model) == len(members) == 4
    assert model[0].get_params() == members[0].get_params()
    assert [type(member) for member in model] == [type(member) for member in members]
    assert len(model[1:3]) == 2
    answers = [member.predict(X) for member in members]
    np.testing.assert_array_equal([member.predict(X) for member in model], answers)
    if hasattr(model, "classes_"):
        assert model.n_classes_ == 3
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(
                model.predict_log_proba(X), np.log(model.predict_proba(X))
            )


@pytest.mark.parametrize("kind", [AdaBoostClassifier, BaggingRegressor])
def test_before_fit_there_are_no_members(kind):
    model = kind()
    assert model  # as an estimator that is not there would not be
    assert not hasattr(model, "estimators_")
    with pytest.raises(AttributeError):
        len(model)


def test_pickles_from_before_members_were_a_property():
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    state = dict(model.__getstate__())
    state["estimators_"] = state.pop("_members")
    old = AdaBoostClassifier.__new__(AdaBoostClassifier)
    old.__setstate__(state)
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    assert len(pickle.loads(pickle.dumps(old)).estimators_) == 3
    state = dict(BaggingClassifier(n_estimators=2).fit(X, y).__getstate__())
    old = BaggingClassifier.__new__(BaggingClassifier)
    old.__setstate__({**state, "estimators_features_": [np.arange(4)] * 2})
    assert len(old.fit(X[:, :2], y).estimators_features_[0]) == 2


def test_seeds_are_those_that_an_estimator_draws():
    expected = np.random.RandomState(7).randint(np.iinfo(np.int32).max)
    assert draw_seed(7) == draw_seed(np.random.RandomState(7)) == expected


@EACH
def test_a_fit_that_fails_leaves_nothing(model):
    X, y = IRIS if "Classifier" in type(model).__name__ else DIABETES
    model = model.set_params(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        model.fit(X[:, :2], y, sample_weight=-np.ones(len(y)))
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert len(model.fit(X, y)) == 4
