"""shap's TreeExplainer reads our trees, and agrees with ``explain``."""

import numpy as np
import pytest

from sumwise import (
    AdaBoostClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    RandomForestClassifier,
    TargetStatistics,
)
from sumwise.errors import ExplanationError
from sumwise.inspection import to_tree_explainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
NUMBER = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.isnan(X[:, 2])
TWO, THREE = NUMBER > 0.2, np.digitize(NUMBER, [-0.2, 0.4])
SMALL = {"n_estimators": 6, "max_leaves": 6, "min_samples_leaf": 2, "n_jobs": 1}

MODELS = [
    GradientBoostingRegressor(**SMALL).fit(X, NUMBER),
    GradientBoostingClassifier(**SMALL).fit(X, TWO),
    GradientBoostingClassifier(**SMALL).fit(X, THREE),
    RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, TWO),
    RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, THREE),
    DecisionTreeRegressor(max_depth=4).fit(X, NUMBER),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_both_give_the_same_values(model):
    ours, explainer = model.explain(X), to_tree_explainer(model)
    np.testing.assert_allclose(explainer.shap_values(X), ours.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, ours.base_values[0], rtol=0, atol=1e-9)
    theirs = to_tree_explainer(model, X[:10], feature_perturbation="interventional")
    ours = model.explain(X[20:40], background=X[:10])
    np.testing.assert_allclose(theirs.shap_values(X[20:40]), ours.values, rtol=0, atol=1e-7)


def test_probabilities_of_boosting():
    model = MODELS[1]
    explainer = to_tree_explainer(model, X[:10], model_output="probability")
    total = explainer.shap_values(X[20:30]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict_proba(X[20:30])[:, 1], atol=1e-6)


def test_what_their_form_cannot_hold():
    words = np.array([["a", "b", "c"][k % 3] for k in range(90)], dtype=object).reshape(-1, 1)
    sets = GradientBoostingRegressor(**SMALL, categorical_encoding="native").fit(
        words, np.arange(90) % 3
    )
    leaves = GradientBoostingRegressor(**SMALL, leaves=LinearLeaves()).fit(X, NUMBER)
    encoding = TargetStatistics(native_limit=0)
    statistics = GradientBoostingRegressor(**SMALL, categorical_encoding=encoding)
    statistics.fit(words, np.arange(90) % 3)
    votes = AdaBoostClassifier(n_estimators=2).fit(X, TWO)
    for model, part in [
        (sets, "sets of categories"),
        (leaves, "linear models"),
        (statistics, "statistics"),
        (votes, r"explain\(X\)"),
    ]:
        with pytest.raises(ExplanationError, match=part):
            to_tree_explainer(model)
