"""Export and ``compile`` of automatic ensembles."""

import json

import numpy as np
import pytest

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor
from sumwise.errors import ExportError
from sumwise.estimators.auto.pooling import LogPool
from sumwise.export import to_json
from tests.estimators.auto.samples import make_classes, make_frame

TREES = {
    "time_limit": None,
    "n_folds": 2,
    "n_repeats": 1,
    "random_state": 0,
    "members": ["leaf_quick", "shallow"],
}


def to_rows(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize("combination", ["greedy", "weights", "stacking"])
def test_a_compiled_regressor_predicts_the_same(combination):
    X, y = make_frame()
    model = AutoEnsembleRegressor(**TREES, combination=combination).fit(X, y)
    predict = model.compile()
    found = [predict(row) for row in to_rows(X[:20])]
    np.testing.assert_allclose(found, model.predict(X[:20]), rtol=1e-12)


def test_a_compiled_classifier_predicts_the_same():
    X, y = make_classes()
    model = AutoEnsembleClassifier(**TREES, combination="weights").fit(X, y)
    predict = model.compile("proba")
    found = [predict(row) for row in to_rows(X[:20])]
    np.testing.assert_allclose(found, model.predict_proba(X[:20]), rtol=1e-12)


def test_forests_on_numbers_are_exported():
    X, y = make_frame(60)
    own = {**TREES, "members": ["leaf_quick", "extra_trees"]}
    model = AutoEnsembleRegressor(**own).fit(X[["a", "b"]], y)
    assert json.loads(to_json(model))["estimator"] == "AutoEnsembleRegressor"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("linear", "member 'linear' is no model of trees"),
        ("extra_trees", "member 'extra_trees' reads codes of categories"),
    ],
)
def test_members_that_cannot_be_exported(name, reason):
    X, y = make_classes(60)
    model = AutoEnsembleClassifier(**{**TREES, "members": [name]}).fit(X, y)
    with pytest.raises(ExportError, match=rf"{reason}.*distill\(\)"):
        model.compile()


def test_products_of_probabilities_cannot_be_exported():
    X, y = make_classes(60)
    model = AutoEnsembleClassifier(**TREES).fit(X, y)
    model._combined = LogPool(np.ones(1), np.zeros(2))
    with pytest.raises(ExportError, match=r"multiplies the probabilities.*distill\(\)"):
        model.compile()
