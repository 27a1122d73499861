"""Reports of single models: sections, options and every kind of model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier as SklearnForest

import sumwise
from sumwise.errors import DataError, ParameterError
from sumwise.report import report_model
from tests.report.pages import Page

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + 0.3 * RNG.normal(size=120)
LABELS = np.where(Y > 0, "yes", "no")
KINDS = {True: "Classifier", False: "Regressor"}


def build(name, is_class, **params):
    return getattr(sumwise, name + KINDS[is_class])(random_state=0, **params)


def list_members(is_class):
    tree = build("DecisionTree", is_class, max_depth=2)
    return [("tree", tree), ("forest", build("RandomForest", is_class, n_estimators=5))]


FAMILIES = {
    "boosting": lambda c: build("GradientBoosting", c, n_estimators=5),
    "forest": lambda c: build("RandomForest", c, n_estimators=5),
    "extra trees": lambda c: build("ExtraTrees", c, n_estimators=5),
    "tree": lambda c: build("DecisionTree", c, max_depth=3),
    "adaboost": lambda c: build("AdaBoost", c, n_estimators=5),
    "bagging": lambda c: build("Bagging", c, n_estimators=5),
    "stacking": lambda c: getattr(sumwise, "Stacking" + KINDS[c])(list_members(c)),
    "bayesian": lambda c: getattr(sumwise, "BayesianAveraging" + KINDS[c])(list_members(c)),
    "selection": lambda c: getattr(sumwise, "EnsembleSelection" + KINDS[c])(list_members(c)),
}
OTHERS = [
    sumwise.VotingClassifier(list_members(True)),
    sumwise.AveragingRegressor(list_members(False)),
    sumwise.OutputCodeClassifier(sumwise.DecisionTreeClassifier(max_depth=2), random_state=0),
    sumwise.OutputFlippingClassifier(n_estimators=3, random_state=0),
    sumwise.OutputSmearingRegressor(n_estimators=3, random_state=0),
    sumwise.MultiResponseLinear(),
]


def check(report):
    Page(report.to_html())
    titles = [section.title for section in report.sections]
    assert titles[0] == "Scores"
    assert titles[-2:] == ["Data", "How to reproduce it"]
    assert ("Confusion" in titles) != ("Residuals" in titles)
    return titles


@pytest.mark.parametrize("is_class", [True, False], ids=["classifier", "regressor"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_report(family, is_class):
    y = LABELS if is_class else Y
    model = FAMILIES[family](is_class).fit(X[:80], y[:80])
    titles = check(model.report(X[80:], y[80:]))
    has_members = family not in ("boosting", "tree")
    assert ("Gain over the members" in titles) == has_members


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)
def test_every_other_ensemble_has_a_report(model):
    y = LABELS if hasattr(model, "predict_proba") else Y
    check(model.fit(X[:80], y[:80]).report(X[80:], y[80:]))


def test_imported_models_and_models_of_scikit_learn():
    forest = SklearnForest(5, random_state=0).fit(X[:80], LABELS[:80])
    check(sumwise.from_sklearn(forest).report(X[80:], LABELS[80:]))
    assert "Gain over the members" in check(report_model(forest, X[80:], LABELS[80:]))


def test_automatic_ensembles_show_what_they_have_tried():
    model = sumwise.AutoEnsembleRegressor(
        time_limit=None, members=["linear", "leaf_quick"], preset="fast", random_state=0, n_folds=2
    )
    report = model.fit(X[:80], Y[:80]).report(X[80:], Y[80:])
    assert "What was tried" in check(report)
    scores = report.to_dict()["figures"]["tried-scores"]
    assert scores["models"] == [entry.name for entry in model.leaderboard_]
    expected = [entry.score for entry in model.leaderboard_]
    assert scores["score"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.tolist(),
        csr_matrix,
        lambda X: pd.DataFrame(X, columns=list("abc")),
        lambda X: pl.DataFrame(X, schema=list("abc")),
        lambda X: pl.DataFrame(X, schema=list("abc")).lazy(),
        lambda X: pl.DataFrame(X, schema=list("abc")).to_arrow(),
    ],
    ids=["list", "sparse", "pandas", "polars", "lazy", "arrow"],
)
def test_any_table_has_the_same_scores(convert):
    model = build("GradientBoosting", False, n_estimators=5)
    expected = model.fit(X, Y).report(X, Y).to_dict()
    report = model.fit(convert(X), Y).report(convert(X), Y, X_train=convert(X), y_train=Y)
    check(report)
    assert report.to_dict()["facts"] == expected["facts"]


def test_training_rows_add_drift_and_scores():
    model = build("RandomForest", False, n_estimators=5).fit(X, Y)
    report = model.report(X + np.array([9, 0, 0]), Y, X_train=X, y_train=Y, title="Shifted <rows>")
    content = report.to_dict()
    assert content["title"] == "Shifted <rows>"
    scores, data = content["sections"][0], content["sections"][-2]
    assert "Training rows" in scores["blocks"][0]["columns"]
    subjects = [item["subject"] for item in data["blocks"][0]["items"]]
    assert subjects == ["Drift:"]
    assert "X_train=X_train" in report.to_html()


def test_the_report_is_the_same_each_time():
    model = build("RandomForest", True, n_estimators=5).fit(X, LABELS)
    assert model.report(X, LABELS).to_html() == model.report(X, LABELS).to_html()


def test_the_model_stays_as_it_was():
    model = build("GradientBoosting", True, n_estimators=5).fit(X, LABELS)
    before = {name: id(value) for name, value in vars(model).items()}
    model.report(X, LABELS)
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_large_data_make_a_small_page():
    rows = RNG.normal(size=(12_000, 12))
    y = rows[:, 0] + RNG.normal(size=12_000)
    model = build("GradientBoosting", False, n_estimators=10).fit(rows[:2000], y[:2000])
    html = model.report(rows, y).to_html()
    assert len(html) < 1_500_000
    assert "1,000 of 12,000 rows" in html


def test_bad_input_is_refused():
    model = build("GradientBoosting", True, n_estimators=2).fit(X, LABELS)
    with pytest.raises(ParameterError, match="y_train needs X_train"):
        model.report(X, LABELS, y_train=LABELS)
    with pytest.raises(DataError, match="at least 2 rows, got 1"):
        model.report(X[:1], LABELS[:1])
    with pytest.raises(DataError, match="expected rows of the 3 features x0, x1, x2; got"):
        model.report(X, LABELS, X_train=X[:, :2])
    with pytest.raises(DataError, match="looks at rows in memory, got str"):
        model.report("rows.parquet", LABELS)
    with pytest.raises(ValueError, match="not fitted yet"):
        build("GradientBoosting", True).report(X, LABELS)
