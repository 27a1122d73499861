"""Compiled models return the bits of the models."""

import pickle
import threading

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

import sumwise
from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RowPredictor,
    TargetStatistics,
)
from sumwise.errors import DataError, ExportError, ParameterError
from sumwise.estimators.serving.row_predictor import compile_model
from tests.export.fitted_models import FITTED, fit_model
from tests.tables import CHOSEN, list_rows, make_new_rows, make_table, make_target

FEW = {"n_estimators": 5, "min_samples_leaf": 3, "random_state": 0}
TABLE, ROWS = make_table(), make_new_rows()


def name_model(value):
    """Return the name of a test's parameter: the class of a model, otherwise what pytest makes."""
    return type(value).__name__ if hasattr(value, "fit") else None


@pytest.mark.parametrize("name", [name for name, (_, n) in FITTED.items() if n == 0])
def test_regressors(name):
    model, predict = fit_model(name), fit_model(name).compile()
    assert [predict(row) for row in list_rows(ROWS)] == model.predict(ROWS).tolist()
    if isinstance(model, GradientBoostingRegressor):
        predict = model.compile("raw")
        assert [predict(row) for row in list_rows(ROWS)] == model.predict(ROWS, raw=True).tolist()


@pytest.mark.parametrize("name", [name for name, (_, n) in FITTED.items() if n > 0])
def test_classifiers(name):
    check_classifier(fit_model(name))


def test_a_forest_of_one_class():
    check_classifier(RandomForestClassifier(**FEW, **CHOSEN).fit(TABLE, make_target(TABLE, 1)))


def check_classifier(model):
    """Compare labels, probabilities, by name too, and scores."""
    rows, labels, shares = list_rows(ROWS), model.predict(ROWS), model.predict_proba(ROWS)
    predict, find_shares, name_shares = map(model.compile, ("predict", "proba", "proba_dict"))
    assert [predict(row) for row in rows] == labels.tolist()
    assert [find_shares(row) for row in rows] == shares.tolist()
    named = [dict(zip(model.classes_.tolist(), own, strict=True)) for own in shares.tolist()]
    assert [name_shares(row) for row in rows] == named
    if isinstance(model, GradientBoostingClassifier):
        score = model.compile("raw")
        assert [score(row) for row in rows] == model.decision_function(ROWS).tolist()


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(**FEW),
        GradientBoostingRegressor(**FEW, multi_strategy="multi_output_tree"),
        RandomForestRegressor(**FEW),
        DecisionTreeRegressor(random_state=0),
    ],
    ids=name_model,
)
def test_several_targets(model):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(100, 3)), rng.normal(size=(20, 3)).tolist()
    model.fit(X, np.column_stack([X[:, 0], X[:, 1] * X[:, 2]]))
    predict = model.compile()
    assert [predict(row) for row in rows] == model.predict(rows).tolist()


def test_several_targets_of_classes():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(100, 3)), rng.normal(size=(20, 3)).tolist()
    y = np.column_stack([np.digitize(X[:, 0], (-0.5, 0.5)), X[:, 1] > 0])
    model = RandomForestClassifier(**FEW).fit(X, y)
    predict, find_shares, name_shares = map(model.compile, ("predict", "proba", "proba_dict"))
    assert predict.classes == [[0, 1, 2], [0, 1]]
    assert [predict(row) for row in rows] == model.predict(rows).tolist()
    first, second = model.predict_proba(rows)
    expected = [list(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
    assert [find_shares(row) for row in rows] == expected
    assert [[list(own.values()) for own in name_shares(row)] for row in rows] == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(**FEW, early_stopping=True, calibrate="isotonic"),
        GradientBoostingClassifier(**FEW, early_stopping=True, calibrate="temperature"),
        GradientBoostingClassifier(**FEW, early_stopping=True, calibrate="logistic"),
        RandomForestClassifier(**FEW, calibrate="isotonic"),
    ],
    ids=name_model,
)
def test_calibrated_classifiers(model, n_classes):
    X, y, rows = make_numbers(300)
    model.fit(X, np.digitize(y, (-0.5, 0.5)[: n_classes - 1]))
    predict, find_shares = model.compile(), model.compile("proba")
    assert [predict(row) for row in rows.tolist()] == model.predict(rows).tolist()
    found = [find_shares(row) for row in rows.tolist()]
    np.testing.assert_allclose(found, model.predict_proba(rows), rtol=1e-13)


def test_imported_models():
    X, y, rows = make_numbers()
    source = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y > 0)
    model = sumwise.from_sklearn(source)
    find_shares = model.compile("proba")
    assert [find_shares(row) for row in rows.tolist()] == model.predict_proba(rows).tolist()


TREE, SEED = {"max_depth": 3}, {"random_state": 0}
CLASS_MEMBERS = [
    GradientBoostingClassifier(n_estimators=3),
    DecisionTreeClassifier(**TREE),
    LogisticRegression(),
]
NUMBER_MEMBERS = [GradientBoostingRegressor(n_estimators=3), DecisionTreeRegressor(**TREE)]


def make_numbers(n_rows=80):
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(n_rows, 3)).round(1), rng.normal(size=(40, 3)).round(1)
    return X, X[:, 0] + X[:, 1] * X[:, 2], rows


@pytest.mark.parametrize(
    "model",
    [
        sumwise.AdaBoostRegressor(n_estimators=4, **SEED),
        sumwise.AdaBoostRegressor(DecisionTreeRegressor(**TREE), n_estimators=4, **SEED),
        sumwise.BaggingRegressor(n_estimators=4, max_features=2, **SEED),
        sumwise.OutputSmearingRegressor(n_estimators=4, **SEED),
        sumwise.AveragingRegressor([*NUMBER_MEMBERS, Ridge()]),
        sumwise.StackingRegressor(NUMBER_MEMBERS, Ridge(), cv=2, passthrough=True),
        sumwise.StackingRegressor(NUMBER_MEMBERS, NUMBER_MEMBERS[1], cv=2),
    ],
    ids=name_model,
)
def test_ensembles_of_regressors(model):
    """Sums of members may be taken in another order: equal up to rounding."""
    X, y, rows = make_numbers()
    predict = model.fit(X, y).compile()
    found = [predict(row) for row in rows.tolist()]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        sumwise.AdaBoostClassifier(n_estimators=4),
        sumwise.AdaBoostClassifier(DecisionTreeClassifier(**TREE), n_estimators=4),
        sumwise.BaggingClassifier(n_estimators=4, **SEED),
        sumwise.BaggingClassifier(n_estimators=5, votes="hard", **SEED),
        sumwise.VotingClassifier(CLASS_MEMBERS, votes="soft"),
        sumwise.StackingClassifier(CLASS_MEMBERS, cv=2),
    ],
    ids=name_model,
)
def test_ensembles_of_classifiers(model, n_classes):
    X, y, rows = make_numbers()
    classes = np.digitize(y, (-0.5, 0.5)[: n_classes - 1])
    predict = model.fit(X, classes).compile()
    shares = model.predict_proba(rows)
    # Ties are broken at random by some models, and go to the first class here.
    ends = np.sort(shares, axis=1)
    is_clear = ends[:, -1] > ends[:, -2] + 1e-9
    found = np.array([predict(row) for row in rows.tolist()])
    np.testing.assert_array_equal(found[is_clear], model.predict(rows)[is_clear])
    find_shares = model.compile("proba")
    found = [find_shares(row) for row in rows.tolist()]
    np.testing.assert_allclose(found, shares, rtol=1e-12, atol=1e-12)


def test_votes_with_labels():
    X, y, rows = make_numbers()
    model = sumwise.VotingClassifier(
        CLASS_MEMBERS, votes="hard", rule="weighted", weights=[4, 2, 1]
    )
    predict = model.fit(X, y > 0).compile()
    assert [predict(row) for row in rows.tolist()] == model.predict(rows).tolist()
    with pytest.raises(ParameterError, match="vote with labels, and only the label"):
        model.compile("proba")


def test_members_say_how_rows_are_read():
    model = sumwise.BaggingRegressor(
        DecisionTreeRegressor(**CHOSEN, unknown_category="error", extra_columns="ignore"), 2, **SEED
    )
    predict = model.fit(TABLE, make_target(TABLE, 0)).compile()
    row = {"a": 1.0, "b": None, "color": "red", "shop": 3}
    assert predict({**row, "more": 1}) == predict(row)
    with pytest.raises(DataError, match="purple"):
        predict({**row, "color": "purple"})


@pytest.mark.parametrize("loss", ["squared_error", "cross_entropy"])
def test_linear_models(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = 1 / (1 + np.exp(-X @ [1.0, 2.0, 0.0, -1.0]))
    model = GradientBoostingRegressor(booster="linear", n_estimators=20, loss=loss, l1=1.0)
    model.fit(X, y)
    X[::3, 0], X[::4, 2] = np.nan, np.inf
    predict = model.compile()
    assert [predict(row) for row in X.tolist()] == model.predict(X).tolist()


def test_boundaries(numbers):
    """Values at thresholds, next to them, and of every unusual kind."""
    trees = numbers.ensemble_
    of_splits = trees.threshold[trees.feature >= 0]
    finite = of_splits[np.isfinite(of_splits)]
    odd = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, np.inf, -np.inf, np.nan]
    beside = [np.nextafter(finite, np.inf), np.nextafter(finite, -np.inf)]
    pool = np.concatenate([finite, *beside, odd, odd])
    X = np.random.default_rng(1).choice(pool, size=(400, 4))
    predict = numbers.compile()
    expected = numbers.predict(X).tolist()
    assert [predict(row) for row in X.tolist()] == expected
    assert [predict(row) for row in X] == expected
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    assert [predict(row) for row in single] == numbers.predict(single).tolist()


def test_deep_trees():
    """Trees that are deeper than the steps that are taken without a test, of different depths."""
    X = np.arange(200.0)[:, None]
    model = RandomForestRegressor(20, random_state=0).fit(X, 1.5 ** np.arange(200))
    assert model.forest_.find_depths().max() > 20
    predict = model.compile()
    rows = np.linspace(-1, 201, 150)[:, None]
    assert [predict(row) for row in rows.tolist()] == model.predict(rows).tolist()


def test_many_categories():
    """Sets of more than 64 categories, of which some are in no set."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, 3000).astype(float)
    X = np.column_stack([codes, rng.normal(size=3000)])
    y = np.sin(codes) + X[:, 1]
    rows = np.column_stack([np.arange(-3, 310), np.zeros(313)])
    for kind in (GradientBoostingRegressor, RandomForestRegressor):
        model = kind(n_estimators=4, categorical_features=[0]).fit(X, y)
        predict = model.compile()
        assert [predict(row) for row in rows.tolist()] == model.predict(rows).tolist()


def test_a_single_leaf_and_a_single_feature():
    X = np.zeros((30, 1))
    for model in (GradientBoostingRegressor(n_estimators=2), DecisionTreeRegressor()):
        predict = model.fit(X, np.arange(30.0)).compile()
        assert predict([1.0]) == predict({"x0": None}) == model.predict([[1.0]])[0]


# --- the predictor ---


def test_threads_share_a_predictor():
    model = GradientBoostingClassifier(**FEW, **CHOSEN).fit(TABLE, make_target(TABLE, 3))
    predict, rows = model.compile("proba"), list_rows(ROWS)
    expected, found = model.predict_proba(ROWS).tolist(), {}

    def work(number):
        own = rows[number:] + rows[:number]
        found[number] = [[predict(row) for row in own] for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert found[number] == [expected[number:] + expected[:number]] * 5


def test_memory_is_not_shared_between_calls(numbers):
    """A row that is read while another is predicted, as by a signal handler or a generator."""
    predict = numbers.compile()

    class Inner(float):
        def __float__(self):
            predict([9.0, 9.0, 9.0, 9.0])
            return 4.0

    assert predict([1.0, 2.0, 3.0, Inner(4.0)]) == predict([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("output", ["predict", "proba", "proba_dict", "raw"])
def test_pickling(output):
    model = GradientBoostingClassifier(
        **FEW, **CHOSEN, categorical_encoding=TargetStatistics(), extra_columns="ignore"
    )
    predict = model.fit(TABLE, make_target(TABLE, 2)).compile(output, absent="missing")
    copied = pickle.loads(pickle.dumps(predict))
    assert repr(copied) == repr(predict)
    assert copied.feature_names == ["a", "b", "color", "shop"]
    assert copied.classes == ["x", "y"]
    rows = [*list_rows(ROWS), {"color": "red", "more": 1}]
    assert [copied(row) for row in rows] == [predict(row) for row in rows]


def test_it_describes_itself(numbers):
    predict = numbers.compile()
    assert isinstance(predict, RowPredictor)
    text = "<RowPredictor of GradientBoostingRegressor: 20 trees, 4 features, output 'predict'>"
    assert repr(predict) == text


def test_later_fits_do_not_change_it():
    X = np.arange(60.0)[:, None]
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    predict = model.compile()
    before = predict([30.0])
    model.fit(X, -X[:, 0])
    assert predict([30.0]) == before != model.predict([[30.0]])[0]


def test_truncated_models(numbers):
    row = [1.0, 2.0, 3.0, 4.0]
    assert numbers.truncate(3).compile()(row) == numbers.predict([row], rounds=3)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "probability"}, "output='probability': must be one of 'predict', 'proba'"),
        ({"absent": "nan"}, "absent='nan': must be one of 'error', 'missing'"),
        ({"output": "proba"}, "output='proba': a GradientBoostingRegressor has no classes"),
    ],
)
def test_parameters_that_are_refused(numbers, arguments, message):
    with pytest.raises(ParameterError, match=message):
        numbers.compile(**arguments)


def test_models_that_are_refused():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ParameterError, match="a RandomForestClassifier has no raw scores"):
        forest.compile("raw")
    with pytest.raises(ExportError, match="a list cannot be exported"):
        compile_model([])
    with pytest.raises(NotFittedError):
        GradientBoostingRegressor().compile()
