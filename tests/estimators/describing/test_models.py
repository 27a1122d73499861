"""Models in plain terms predict what the models predict."""

import numpy as np
import pytest

import sumwise
from sumwise.errors import ExportError
from sumwise.export.portable import describe
from tests.export.fitted_models import FITTED, fit_model, predict_outputs
from tests.export.random_models import predict_rows
from tests.naive.portable import predict_label, predict_row
from tests.tables import list_rows, make_new_rows


@pytest.mark.parametrize("name", FITTED)
def test_described_model_predicts_the_same(name):
    model, rows = fit_model(name), make_new_rows()
    portable = describe(model)
    found = predict_rows(portable, list_rows(rows))
    np.testing.assert_allclose(found, predict_outputs(model, rows), rtol=1e-14, atol=1e-300)
    if portable.is_classifier:
        labels = [predict_label(portable, row) for row in list_rows(rows)]
        assert labels == model.predict(rows).tolist()


REGRESSORS = [
    sumwise.GradientBoostingRegressor(n_estimators=4, loss=sumwise.Quantile([0.2, 0.5, 0.9])),
    sumwise.GradientBoostingRegressor(n_estimators=4, loss="cross_entropy"),
    sumwise.GradientBoostingRegressor(n_estimators=4, loss="squared_log_error"),
    sumwise.GradientBoostingRegressor(n_estimators=4, booster="dart", random_state=0),
    sumwise.GradientBoostingRegressor(n_estimators=3, booster=sumwise.Forest(trees_per_round=2)),
    sumwise.GradientBoostingRegressor(n_estimators=3, leaves=sumwise.LinearLeaves()),
    sumwise.GradientBoostingRegressor(
        n_estimators=3, leaves=sumwise.LinearLeaves(extrapolate=True)
    ),
    sumwise.GradientBoostingRegressor(n_estimators=4, splits="exact"),
]


def make_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] + X[:, 1] ** 2) / 20.0
    X[rng.random(X.shape) < 0.05] = np.nan
    X[0, 0], X[1, 1], X[2, 2] = np.inf, -np.inf, -0.0
    return X, np.clip(y, 0.0, 1.0)


@pytest.mark.parametrize("model", REGRESSORS)
def test_losses_boosters_and_leaves(model):
    X, y = make_numbers()
    model.fit(X, y)
    found = np.array([predict_row(describe(model), row) for row in X[:30].tolist()])
    np.testing.assert_allclose(found, model.predict(X[:30]).reshape(30, -1), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "model",
    [
        sumwise.GradientBoostingRegressor(n_estimators=3),
        sumwise.GradientBoostingRegressor(n_estimators=3, multi_strategy="multi_output_tree"),
        sumwise.RandomForestRegressor(n_estimators=3, random_state=0),
    ],
)
def test_several_targets(model):
    X, y = make_numbers()
    model.fit(X, np.column_stack([y, -y, y**2]))
    found = np.array([predict_row(describe(model), row) for row in X[:20].tolist()])
    np.testing.assert_allclose(found, model.predict(X[:20]), rtol=1e-13, atol=1e-15)


def test_several_classes_per_row():
    X, y = make_numbers()
    labels = np.column_stack([y > 0.01, (y > 0).astype(int) + (y > 0.05)])
    model = sumwise.RandomForestClassifier(n_estimators=3, random_state=0).fit(X, labels)
    portable = describe(model)
    found = np.array([predict_row(portable, row) for row in X[:20].tolist()])
    np.testing.assert_allclose(found, np.hstack(model.predict_proba(X[:20])), rtol=1e-13)
    assert [own.size for own in portable.classes] == [2, 3]


@pytest.mark.parametrize(
    "model", [sumwise.GradientBoostingClassifier(n_estimators=2), sumwise.AdaBoostClassifier()]
)
def test_a_single_class_has_probability_one(model):
    X, _ = make_numbers()
    model.fit(X, np.full(100, "only"))
    assert predict_row(describe(model), X[0].tolist()) == [1.0]
    assert predict_label(describe(model), X[0].tolist()) == "only"


def test_a_link_of_the_users_own_is_refused():
    class Loss:
        def gradient(self, y, raw):
            return raw - y, np.ones_like(raw)

        def link(self, raw):
            return raw

    X, y = make_numbers()
    model = sumwise.GradientBoostingRegressor(n_estimators=2, loss=Loss()).fit(X, y)
    with pytest.raises(ExportError, match="link function of your own"):
        describe(model)


def test_a_linear_model_is_described():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = sumwise.GradientBoostingRegressor(booster="linear", n_estimators=20)
    model.fit(X, X @ [1.0, 2.0, -1.0])
    X[0, 0] = np.nan
    found = [predict_row(describe(model), row)[0] for row in X.tolist()]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-13)


def test_other_objects_are_refused():
    with pytest.raises(ExportError, match="a list cannot be exported"):
        describe([])
