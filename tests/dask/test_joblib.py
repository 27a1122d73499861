"""Ensembles whose jobs joblib sends to a cluster: the same models as without it."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import sumwise as sw
from sumwise.errors import DataError
from sumwise.estimators.input.jobs import uses_cluster

pytestmark = pytest.mark.filterwarnings("ignore::sumwise.errors.DataWarning")

RNG = np.random.default_rng(0)
X = RNG.random((150, 6))
Y = np.digitize(X[:, 0] + X[:, 1] + RNG.random(150) / 2, [0.9, 1.4])
WEIGHT = RNG.integers(1, 4, 150).astype(float)

BOOSTING = sw.GradientBoostingClassifier(n_estimators=5, learning_rate=0.3, random_state=0)
OTHER = clone(BOOSTING).set_params(max_leaves=4)
TREE = sw.DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0)
# What is fitted, and the function that the workers run.
ENSEMBLES = {
    "forest": (
        sw.RandomForestClassifier(
            12, oob_score=True, prune="oob", max_features_per_tree=4, ccp_alpha=0.001
        ),
        "_grow_part",
    ),
    "extra trees": (sw.ExtraTreesClassifier(9, class_weight="balanced"), "_grow_part"),
    "bagged trees": (sw.BaggingClassifier(TREE, 9, oob_score=True, max_features=0.5), "_grow_part"),
    "bagging": (sw.BaggingClassifier(GaussianNB(), 5, oob_score=True), "fit"),
    "stacking": (
        sw.StackingClassifier([("a", BOOSTING), ("b", OTHER), ("c", TREE)], cv=3),
        "_fit_on_table",
    ),
    "stacked folds": (sw.StackingClassifier([("a", BOOSTING)], cv=3, refit=False), "_fit_on_table"),
    "selection": (
        sw.EnsembleSelectionClassifier([("a", BOOSTING), ("b", TREE), ("c", GaussianNB())], cv=3),
        "_fit_alone",
    ),
    "votes": (sw.VotingClassifier([("a", BOOSTING), ("b", TREE)]), "_fit_reported"),
}


def list_functions(dask_scheduler):
    return list(dask_scheduler.task_prefixes)


def ran(client, function):
    """Whether workers have run a function."""
    return any(function in name for name in client.run_on_scheduler(list_functions))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_model_is_that_of_this_process(client, name):
    ensemble, function = ENSEMBLES[name]
    if "random_state" in ensemble.get_params():
        ensemble = clone(ensemble).set_params(random_state=3)
    here = clone(ensemble).fit(X, Y, sample_weight=WEIGHT)
    with joblib.parallel_config("dask"):
        there = clone(ensemble).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
    if hasattr(here, "oob_decision_function_"):
        np.testing.assert_array_equal(there.oob_decision_function_, here.oob_decision_function_)
    assert ran(client, function)


def test_more_trees_on_the_cluster(client):
    here = sw.RandomForestRegressor(11, random_state=0, conformal=True).fit(X, X[:, 0], WEIGHT)
    there = sw.RandomForestRegressor(4, random_state=0, conformal=True, warm_start=True)
    with joblib.parallel_config("dask"):
        there.fit(X, X[:, 0], WEIGHT)
        there.set_params(n_estimators=11).fit(X, X[:, 0], WEIGHT)
    np.testing.assert_array_equal(there.forest_.value, here.forest_.value)
    np.testing.assert_array_equal(there.predict_interval(X), here.predict_interval(X))


def test_cross_validation_on_the_cluster(client):
    expected = cross_val_score(BOOSTING, X, Y, cv=3)
    with joblib.parallel_config("dask"):
        found = cross_val_score(BOOSTING, X, Y, cv=3)
        forest = sw.RandomForestClassifier(6, random_state=0)
        nested = cross_val_score(forest, X, Y, cv=3)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(nested, cross_val_score(forest, X, Y, cv=3))


def test_errors_come_from_the_cluster(client):
    members = [("a", BOOSTING), ("b", clone(BOOSTING).set_params(learning_rate=-1.0))]
    with joblib.parallel_config("dask"), pytest.raises(ValueError, match="member 'b'"):
        sw.StackingClassifier(members, cv=3).fit(X, Y)
    weight = np.zeros(150)
    weight[:2] = 1.0
    bagging = sw.BaggingClassifier(TREE, 30, sampling="pasting", max_samples=0.1, random_state=0)
    with joblib.parallel_config("dask"), pytest.raises(DataError, match="weight of zero"):
        bagging.fit(X, Y, weight)


def test_who_uses_the_cluster(client):
    assert not uses_cluster(None)
    with joblib.parallel_config("dask"):
        assert uses_cluster(None)
        assert uses_cluster(-1)
        assert not uses_cluster(1)
        # A task is one of many; its own trees would only wait for others.
        assert not any(joblib.Parallel()(joblib.delayed(uses_cluster)(None) for _ in range(3)))
    with joblib.parallel_config("threading"):
        assert not uses_cluster(None)
