"""Explanations of ensembles whose members add up, and errors where they do not."""

import numpy as np
import pytest

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor
from sumwise.errors import ExplanationError
from sumwise.estimators.auto.pooling import LinearPool
from tests.estimators.auto.samples import make_classes, make_frame

FEW = {"time_limit": None, "n_folds": 2, "n_repeats": 1, "random_state": 0, "n_jobs": 1}
TREES = ["leaf_quick", "symmetric_ordered", "extra_trees"]


@pytest.mark.parametrize("combination", ["greedy", "weights", "stacking"])
def test_contributions_add_up_to_predictions(combination):
    X, y = make_frame()
    model = AutoEnsembleRegressor(members=TREES, combination=combination, **FEW).fit(X, y)
    if combination == "stacking":  # whatever was chosen
        model._combined = LinearPool(np.linspace(0.2, 0.7, len(model.estimators_)), 0.3)
    explanation = model.explain(X[:9])
    np.testing.assert_allclose(explanation.outputs, model.predict(X[:9]))
    assert explanation.feature_names == ("a", "b", "c", "nothing")
    assert explanation.scale == "prediction"
    assert np.abs(explanation.values[:, 3]).max() == 0.0
    interventional = model.explain(X[:3], background=X[50:60])
    np.testing.assert_allclose(interventional.outputs, model.predict(X[:3]))
    np.testing.assert_allclose(
        interventional.base_values, model.predict(X[50:60]).mean(), rtol=1e-9
    )


def test_forests_add_up_to_probabilities():
    X, y = make_classes()
    members = ["extra_trees", "forest"]
    model = AutoEnsembleClassifier(members=members, combination="weights", **FEW).fit(X, y)
    explanation = model.explain(X[:9])
    np.testing.assert_allclose(explanation.outputs, model.predict_proba(X[:9])[:, 1])
    assert explanation.scale == "probability"


def test_what_does_not_add_up_is_refused():
    X, y = make_classes()
    boosted = AutoEnsembleClassifier(members=["leaf_quick"], **FEW).fit(X, y)
    with pytest.raises(ExplanationError, match=r"'leaf_quick'.*log odds"):
        boosted.explain(X[:3])
    linear = AutoEnsembleClassifier(members=["linear"], **FEW).fit(X, y)
    with pytest.raises(ExplanationError, match=r"'linear'.*not a model of sumwise"):
        linear.explain(X[:3])
    members = ["extra_trees", "forest"]
    stacked = AutoEnsembleClassifier(members=members, combination="stacking", **FEW).fit(X, y)
    if stacked.combination_ == "best":
        pytest.fail("the sample must be one that stacking is good for")
    with pytest.raises(ExplanationError, match="multiplies probabilities"):
        stacked.explain(X[:3])
