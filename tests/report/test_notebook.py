"""What notebooks show: scikit-learn's diagram with a summary of fitted models, and tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from sumwise import (
    AutoEnsembleRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sumwise.report.notebook import summarize_model
from tests.report.pages import Page

RNG = np.random.default_rng(0)
X = pd.DataFrame({"<size>": RNG.normal(size=80), "noise": RNG.normal(size=80)})
Y = np.where(X["<size>"] > 0, "yes", "no")
FOREST = RandomForestClassifier(5, random_state=0).fit(X, Y)


def read(html):
    return [text for _, text in Page(html).texts]


def test_a_fitted_model_has_the_diagram_and_a_summary():
    html = FOREST._repr_html_()
    # Identifiers in the diagram count up.
    assert html.startswith(estimator_html_repr(FOREST)[:200])
    assert html.endswith(summarize_model(FOREST))
    bundle = FOREST._repr_mimebundle_()
    assert bundle["text/plain"] == repr(FOREST)
    assert bundle["text/html"].endswith(summarize_model(FOREST))


def test_an_unfitted_model_has_the_diagram_alone():
    model = RandomForestClassifier()
    assert "sumwise-summary" not in model._repr_html_()
    assert "sk-estimator" in model._repr_html_()
    assert "sumwise-summary" not in model._repr_mimebundle_()["text/html"]


def test_text_alone_if_scikit_learn_is_set_to_it():
    with config_context(display="text"):
        assert not hasattr(FOREST, "_repr_html_")
        assert set(FOREST._repr_mimebundle_()) == {"text/plain"}


def test_models_inside_of_others_are_in_the_diagram():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, Y)
    assert "RandomForestClassifier" in pipeline._repr_html_()


def test_members_weights_and_importances():
    members = [("<b>forest", FOREST), ("line", LogisticRegression())]
    texts = read(summarize_model(VotingClassifier(members, weights=[1, 3]).fit(X, Y)))
    assert "2 members, 2 features, 2 classes" in texts
    start = texts.index("Members") + 1
    assert texts[start : start + 6] == [
        "line",
        "LogisticRegression",
        "0.750",
        "<b>forest",
        "RandomForestClassifier",
        "0.250",
    ]


def test_a_forest_has_one_line_for_its_trees():
    model = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, X["<size>"])
    texts = read(summarize_model(model))
    assert "40 × DecisionTreeRegressor, equal weights" in texts
    assert f"out-of-bag score {model.oob_score_:.4g}" in texts[1]
    assert texts[texts.index("Importances") + 1] == "<size>"


def test_boosting_has_rounds_and_a_score():
    model = GradientBoostingClassifier(n_estimators=9, early_stopping=True, random_state=0).fit(
        X, Y
    )
    facts = read(summarize_model(model))[1]
    assert facts.startswith(f"{model.best_iteration_} round")
    assert f"validation score {model.best_score_:.4g}" in facts


def test_a_stack_has_members_without_weights():
    members = [("forest", FOREST), ("line", LogisticRegression())]
    texts = read(summarize_model(StackingClassifier(members).fit(X, Y)))
    assert texts[texts.index("Members") :][:3] == ["Members", "forest", "RandomForestClassifier"]
    assert not [text for text in texts if text.startswith("0.")]


def test_the_summary_needs_no_training_data():
    """A report of a loaded model is the same as before."""
    assert summarize_model(FOREST).count("<script") == 0
    assert "http" not in summarize_model(FOREST)


@pytest.fixture(scope="module")
def ensemble():
    model = AutoEnsembleRegressor(
        time_limit=None, members=["linear", "leaf_quick"], preset="fast", random_state=0, n_folds=2
    )
    return model.fit(X, X["noise"])


def test_leaderboards_are_tables(ensemble):
    board = ensemble.leaderboard_
    page = Page(board._repr_html_())
    assert len(page.find("tr")) == len(board) + 1
    texts = page.read("td")
    assert [entry.name for entry in board if entry.name in texts] == [e.name for e in board]
    assert "rmse" in page.read("th")
    assert "rmse" in summarize_model(ensemble)


def test_explanations_are_bars():
    explained = FOREST.explain(X)
    texts = read(explained._repr_html_())
    assert texts[0] == "Explanation of the probability: 80 rows, 2 features"
    assert texts[1:3] == ["Mean size of contributions", "<size>"]
    row = explained[3]
    texts = read(row._repr_html_())
    assert texts[1].startswith("Contributions; base value")
    assert texts[2].startswith("<size> = ")
    assert float(texts[3]) == pytest.approx(row.values[0], rel=1e-3)
    assert texts[3][0] in "+-"


@pytest.mark.parametrize(
    "key", [slice(None), 3, (slice(None), "noise"), (..., "a"), (3, "noise", "a")]
)
def test_any_selection_of_an_explanation_can_be_shown(key):
    labels = np.digitize(X["<size>"], [-0.5, 0.5])
    model = RandomForestClassifier(3, random_state=0).fit(X, np.array(list("abc"))[labels])
    assert read(model.explain(X)[key]._repr_html_())
