"""Trees of noisy targets on one table: the same as one by one."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)
from sumwise.estimators.input import jobs
from tests.estimators.resampled.learners import OneByOne, OneByOneRegressor

IRIS, CANCER = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SEVERAL = DIABETES[0], np.column_stack([DIABETES[1], -(DIABETES[1] ** 2)])
SEEDED = {"n_estimators": 6, "random_state": 3}


def check_same(ensemble, bases, data, weight=None, **options):
    X, y = data
    shared, single = (ensemble(base(**options), **SEEDED).fit(X, y, weight) for base in bases)
    assert "_trees" in vars(shared)
    assert "_trees" not in vars(single)
    for own, other in zip(shared.estimators_, single.estimators_, strict=True):
        assert own.random_state == other.random_state
        np.testing.assert_array_equal(own.predict(X), other.predict(X))
    if hasattr(shared, "classes_"):
        np.testing.assert_allclose(shared.predict_proba(X), single.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(shared.predict(X), single.predict(X), rtol=1e-12)
    return shared


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_features", [None, 2])
@pytest.mark.parametrize("data", [DIABETES, SEVERAL], ids=["one", "several"])
def test_smeared_trees_are_those_of_one_by_one(data, max_features, weighted):
    weight = np.random.RandomState(0).uniform(0.5, 2.0, len(data[1])) if weighted else None
    bases = DecisionTreeRegressor, OneByOneRegressor
    check_same(OutputSmearingRegressor, bases, data, weight, max_features=max_features)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0}])
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_flipped_trees_are_those_of_one_by_one(data, class_weight):
    bases = DecisionTreeClassifier, OneByOne
    options = {"class_weight": class_weight, "min_samples_leaf": 3}
    model = check_same(OutputFlippingClassifier, bases, data, **options)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


def test_models_do_not_depend_on_jobs(monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    one, four = (
        OutputSmearingRegressor(n_jobs=n_jobs, **SEEDED).fit(*DIABETES) for n_jobs in (1, 4)
    )
    X = DIABETES[0]
    np.testing.assert_array_equal(one.predict(X), four.predict(X))
    np.testing.assert_array_equal(one.predict_members(X), four.predict_members(X))


def test_counts_with_noise_are_for_each_member_to_refuse():
    X, y = DIABETES
    tree = DecisionTreeRegressor(criterion="poisson", max_depth=3)
    with pytest.raises(ValueError, match=r"member \d \(DecisionTreeRegressor\) failed to fit"):
        OutputSmearingRegressor(tree, noise=5.0, **SEEDED).fit(X, y)


def test_progress(capsys):
    OutputSmearingRegressor(**SEEDED).fit(*DIABETES)
    assert capsys.readouterr() == ("", "")
    OutputSmearingRegressor(verbose=1, **SEEDED).fit(*DIABETES)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "round 6/6" in shown.err
