"""Models of scikit-learn predict the same after import, at thresholds and next to them, too."""

import io
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, tree
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import sumwise
from sumwise.errors import ModelFileError
from sumwise.export.portable import describe
from tests.estimators.imported.hard_rows import draw_rows
from tests.naive.portable import predict_row

N_FEATURES = 4


@cache
def make_data(n_classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, N_FEATURES))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=150)
    if n_classes == 0:
        return X, score
    names = np.array(["low", "middle", "high"])
    return X, names[np.digitize(score, [-0.5, 0.5] if n_classes == 3 else [0.0])]


def list_thresholds(model):
    if hasattr(model, "_predictors"):
        return np.concatenate([p.nodes["num_threshold"] for ps in model._predictors for p in ps])
    members = [model] if hasattr(model, "tree_") else np.ravel(model.estimators_)
    return np.concatenate([m.tree_.threshold[m.tree_.feature >= 0] for m in members])


def predict(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


REGRESSORS = [
    tree.DecisionTreeRegressor(random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
    ensemble.RandomForestRegressor(5, random_state=0),
    ensemble.ExtraTreesRegressor(5, random_state=0),
    ensemble.BaggingRegressor(n_estimators=4, max_features=0.6, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=6, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=4, loss="quantile", alpha=0.3, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=4, loss="huber", init="zero", random_state=0),
    ensemble.HistGradientBoostingRegressor(max_iter=6),
    ensemble.HistGradientBoostingRegressor(max_iter=4, loss="quantile", quantile=0.7),
]
CLASSIFIERS = [
    tree.DecisionTreeClassifier(random_state=0),
    tree.ExtraTreeClassifier(max_depth=4, random_state=0),
    ensemble.RandomForestClassifier(5, random_state=0),
    ensemble.ExtraTreesClassifier(5, max_depth=5, random_state=0),
    ensemble.BaggingClassifier(n_estimators=4, max_features=0.6, random_state=0),
    ensemble.AdaBoostClassifier(n_estimators=4, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
    ensemble.HistGradientBoostingClassifier(max_iter=4),
]
CASES = [
    *((model, 0) for model in REGRESSORS),
    *((model, n) for model in CLASSIFIERS for n in (2, 3)),
    (ensemble.GradientBoostingClassifier(n_estimators=4, loss="exponential"), 2),
]


@pytest.mark.parametrize(("model", "n_classes"), CASES)
def test_predictions_are_those_of_the_origin(model, n_classes):
    X, y = make_data(n_classes)
    theirs = model.fit(X, y)
    ours = sumwise.from_sklearn(theirs)
    # scikit-learn's trees refuse what single precision cannot hold.
    is_double = hasattr(theirs, "_predictors")
    rows = draw_rows(list_thresholds(theirs), N_FEATURES, missing=is_double, infinite=is_double)
    expected = predict(theirs, rows)
    np.testing.assert_allclose(predict(ours, rows), expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(predict(ours, rows[:5]), expected[:5], rtol=1e-14, atol=1e-15)
    if n_classes:
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    if hasattr(theirs, "feature_importances_") and not isinstance(
        theirs, ensemble.AdaBoostClassifier
    ):
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    np.testing.assert_allclose(predict(ours, single), predict(theirs, single), rtol=1e-14)
    file = io.BytesIO()
    ours.save(file)
    np.testing.assert_array_equal(predict(sumwise.load(file.getvalue()), rows), predict(ours, rows))
    portable = describe(ours)
    found = np.array([predict_row(portable, row) for row in rows[:20].tolist()])
    np.testing.assert_allclose(np.squeeze(found), predict(ours, rows[:20]), rtol=1e-13, atol=1e-15)


def test_scores_of_gradient_boosting_have_the_same_bits():
    X, y = make_data(3)
    for model in (
        ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=5),
    ):
        theirs = model.fit(X, y)
        ours = sumwise.from_sklearn(theirs)
        np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.parametrize("loss", ["poisson", "gamma", "absolute_error"])
def test_losses_of_histogram_boosting(loss):
    X, y = make_data(0)
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=3, loss=loss).fit(X, np.exp(y))
    ours = sumwise.from_sklearn(theirs)
    assert ours.loss == loss
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-14)


def test_missing_values_go_where_the_tree_sends_them():
    X, y = make_data(2)
    X = X.copy()
    X[::3, 0] = np.nan
    for model in (tree.DecisionTreeClassifier(), ensemble.RandomForestClassifier(4)):
        theirs = model.fit(X, y)
        rows = draw_rows(list_thresholds(theirs), N_FEATURES, infinite=False)
        np.testing.assert_allclose(
            sumwise.from_sklearn(theirs).predict_proba(rows), theirs.predict_proba(rows)
        )


@pytest.mark.parametrize("chosen", ["from_dtype", ["color", "shop"]])
def test_categories_of_frames(chosen):
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue"], 200)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=200),
            "color": pd.Categorical(np.where(rng.random(200) < 0.1, None, color)),
            "shop": rng.integers(3, 12, 200),
        }
    )
    y = table["a"] + 2 * (color == "red") + table["shop"] % 3
    theirs = ensemble.HistGradientBoostingRegressor(
        max_iter=8, categorical_features=chosen, min_samples_leaf=5
    ).fit(table, y)
    ours = sumwise.from_sklearn(theirs)
    rows = table.astype({"color": object})
    rows.loc[::9, "color"] = "purple"
    rows.loc[::8, "shop"] = 77
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert ours.feature_names_in_.tolist() == ["a", "color", "shop"]
    file = io.BytesIO()
    ours.save(file)
    np.testing.assert_array_equal(sumwise.load(file.getvalue()).predict(rows), ours.predict(rows))


def test_categories_that_are_never_there_and_booleans():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "empty": pd.Categorical([None] * 60, categories=["x"]),
            "flag": pd.Series(rng.random(60) < 0.5),
            "number": pd.Categorical(rng.choice([0.5, 2.0, -1.0], 60)),
        }
    )
    y = table["flag"] + table["number"].astype(float)
    theirs = ensemble.HistGradientBoostingRegressor(
        max_iter=3, categorical_features=[True] * 3, min_samples_leaf=5
    ).fit(table, y)
    ours = sumwise.from_sklearn(theirs)
    np.testing.assert_array_equal(ours.predict(table), theirs.predict(table))


def test_several_targets():
    X, score = make_data(0)
    labels = np.column_stack([make_data(3)[1], make_data(2)[1]])
    theirs = ensemble.RandomForestClassifier(4, random_state=0).fit(X, labels)
    ours = sumwise.from_sklearn(theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for a, b in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
    file = io.BytesIO()
    ours.save(file)
    np.testing.assert_array_equal(sumwise.load(file.getvalue()).predict(X), theirs.predict(X))
    theirs = tree.DecisionTreeRegressor(random_state=0).fit(X, np.column_stack([score, -score]))
    np.testing.assert_array_equal(sumwise.from_sklearn(theirs).predict(X), theirs.predict(X))


def test_leaves_are_those_of_the_origin():
    X, y = make_data(2)
    theirs = ensemble.RandomForestClassifier(4, random_state=0).fit(X, y)
    ours = sumwise.from_sklearn(theirs)
    for own, origin in zip(ours.apply(X).T, theirs.apply(X).T, strict=True):
        assert len(set(zip(own, origin, strict=True))) == len(set(own)) == len(set(origin))


def test_boosting_can_be_continued():
    X, y = make_data(2)
    theirs = ensemble.HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    ours = sumwise.from_sklearn(theirs)
    longer = sumwise.GradientBoostingClassifier(n_estimators=8, early_stopping=False)
    longer.fit(X, y, init_model=ours)
    assert longer.best_iteration_ == 8
    first = next(iter(longer.truncate(5).staged_predict_proba(X)))
    np.testing.assert_array_equal(first, next(iter(ours.staged_predict_proba(X))))


def test_imported_models_cannot_be_fitted():
    X, y = make_data(0)
    ours = sumwise.from_sklearn(tree.DecisionTreeRegressor(max_depth=2).fit(X, y))
    with pytest.raises(ValueError, match="only predicts"):
        ours.fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ensemble.IsolationForest(n_estimators=3), "IsolationForest cannot be imported"),
        (ensemble.AdaBoostRegressor(n_estimators=2), "weighted median"),
        (ensemble.BaggingRegressor(LinearRegression(), 2), "LinearRegression as member"),
        (ensemble.GradientBoostingRegressor(init=LinearRegression()), "no constants"),
        (ensemble.GradientBoostingClassifier(init=LogisticRegression()), "no constants"),
        (
            ensemble.GradientBoostingClassifier(init=DummyClassifier(strategy="stratified")),
            "no constants",
        ),
    ],
)
def test_models_that_cannot_be_imported(model, message):
    X, y = make_data(2 if is_classifier(model) else 0)
    with pytest.raises(ModelFileError, match=message):
        sumwise.from_sklearn(model.fit(X, y))
