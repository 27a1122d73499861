"""Compiled models return the bits of the models."""

import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Quantile,
    RandomForestClassifier,
    RandomForestRegressor,
    RowPredictor,
    TargetStatistics,
)
from sumwise.errors import DataError, DataWarning, ExportError, ParameterError
from sumwise.estimators.serving.row_predictor import compile_model

CHOSEN = {"categorical_features": ["color", "shop"]}
FEW = {"n_estimators": 5, "min_samples_leaf": 3, "random_state": 0}


def make_table(n_rows=150, seed=0):
    """Numbers with missing values, infinities and ties, and categories of two kinds."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows).round(1), rng.normal(size=n_rows)
    a[rng.random(n_rows) < 0.1] = np.nan
    b[rng.random(n_rows) < 0.05] = np.inf
    color = pd.Series(rng.choice(["red", "green", "blue", "black"], n_rows), dtype=object)
    color[rng.random(n_rows) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b, "color": color, "shop": rng.integers(0, 30, n_rows)})


def make_rows(n_rows=60):
    """Rows with unknown categories too."""
    table = make_table(n_rows, seed=1)
    table.loc[::7, "color"] = "purple"
    table.loc[::9, "shop"] = 77
    return table


def make_target(table, n_classes):
    score = table["a"].fillna(1.0) + (table["color"] == "red") + 0.1 * (table["shop"] % 5)
    if n_classes == 0:
        return (score - score.min()).to_numpy()
    return np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False, duplicates="drop")]


def list_rows(table):
    """Return rows as lists of Python values; missing values are None or NaN."""
    return [list(row) for row in table.astype(object).itertuples(index=False)]


TABLE, ROWS = make_table(), make_rows()

REGRESSORS = [
    GradientBoostingRegressor(**FEW, **CHOSEN),
    GradientBoostingRegressor(**FEW, **CHOSEN, growth="symmetric"),
    GradientBoostingRegressor(**FEW, **CHOSEN, growth="depth"),
    GradientBoostingRegressor(**FEW, **CHOSEN, loss="poisson"),
    GradientBoostingRegressor(**FEW, **CHOSEN, loss="squared_log_error"),
    GradientBoostingRegressor(**FEW, **CHOSEN, loss=Quantile([0.1, 0.5, 0.9])),
    GradientBoostingRegressor(**FEW, **CHOSEN, leaves="linear"),
    GradientBoostingRegressor(**FEW, **CHOSEN, categorical_encoding=TargetStatistics()),
    GradientBoostingRegressor(**FEW, **CHOSEN, categorical_encoding="native", booster="dart"),
    RandomForestRegressor(**FEW, **CHOSEN),
    ExtraTreesRegressor(**FEW, **CHOSEN),
    DecisionTreeRegressor(random_state=0, **CHOSEN),
]
CLASSIFIERS = [
    (GradientBoostingClassifier(**FEW, **CHOSEN), 2),
    (GradientBoostingClassifier(**FEW, **CHOSEN, loss="exponential"), 2),
    (GradientBoostingClassifier(**FEW, **CHOSEN, categorical_encoding="native"), 3),
    (GradientBoostingClassifier(**FEW, **CHOSEN, categorical_encoding=TargetStatistics()), 3),
    (GradientBoostingClassifier(**FEW, **CHOSEN), 1),
    (RandomForestClassifier(**FEW, **CHOSEN), 2),
    (RandomForestClassifier(**FEW, **CHOSEN), 3),
    (RandomForestClassifier(**FEW, **CHOSEN), 1),
    (DecisionTreeClassifier(random_state=0, **CHOSEN), 3),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors(model):
    model.fit(TABLE, make_target(TABLE, 0))
    predict = model.compile()
    assert [predict(row) for row in list_rows(ROWS)] == model.predict(ROWS).tolist()
    if isinstance(model, GradientBoostingRegressor):
        predict = model.compile("raw")
        assert [predict(row) for row in list_rows(ROWS)] == model.predict(ROWS, raw=True).tolist()


@pytest.mark.parametrize(("model", "n_classes"), CLASSIFIERS, ids=str)
def test_classifiers(model, n_classes):
    model.fit(TABLE, make_target(TABLE, n_classes))
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
    ids=str,
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


@pytest.fixture(scope="module")
def numbers():
    """A model of numbers, which splits some features by missing values alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).round(2)
    X[rng.random(300) < 0.4, 3] = np.nan
    y = X[:, 0] * X[:, 1] + 2 * np.isnan(X[:, 3]) + X[:, 2]
    return GradientBoostingRegressor(n_estimators=20, min_samples_leaf=2).fit(X, y)


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


# --- rows ---


def test_kinds_of_rows(numbers):
    predict = numbers.compile()
    row = [0.5, -1.25, 3.0, None]
    expected = numbers.predict([[0.5, -1.25, 3.0, np.nan]])[0]
    assert type(predict(row)) is float
    named = dict(zip(["x0", "x1", "x2", "x3"], row, strict=True))
    array = np.array(row, dtype=np.float64)
    for own in (
        row,
        tuple(row),
        named,
        array,
        array.astype(np.float16),
        array.astype(object),
        array[::-1][::-1],
        np.repeat(array, 2)[::2],
        pd.Series(named),
        iter(row),
        dict(reversed(named.items())),
        [np.float32(0.5), Decimal("-1.25"), np.int8(3), pd.NA],
        [Fraction(1, 2), -1.25, 3, float("nan")],
    ):
        assert predict(own) == expected


def test_dates_and_durations():
    days = pd.date_range("2024-01-01", periods=90, freq="D")
    table = pd.DataFrame({"day": days, "length": pd.to_timedelta(np.arange(90) % 7, "h")})
    table.loc[::8, "day"] = pd.NaT
    model = GradientBoostingRegressor(n_estimators=5, min_samples_leaf=2)
    with pytest.warns(DataWarning, match="dates and durations are read as numbers"):
        model.fit(table, np.arange(90) + np.arange(90) % 7)
    predict = model.compile()
    expected = model.predict(table).tolist()
    assert [predict(row) for row in list_rows(table)] == expected
    plain = [
        [day.to_pydatetime(), length.to_pytimedelta()] for day, length in list_rows(table)[1:5]
    ]
    assert [predict(row) for row in plain] == expected[1:5]
    nothing = pd.DataFrame({"day": [pd.NaT], "length": [pd.NaT]})
    assert predict([None, None]) == model.predict(nothing)[0]
    assert predict([plain[0][0].date(), plain[0][1]]) == expected[1]
    with pytest.raises(DataError, match="'day' held dates in fit, and holds numbers now"):
        predict([5.0, None])


def test_unknown_categories_can_be_an_error():
    model = GradientBoostingRegressor(**FEW, **CHOSEN, unknown_category="error")
    predict = model.fit(TABLE, make_target(TABLE, 0)).compile()
    assert predict([0.0, 0.0, "red", 3]) == predict([0.0, 0.0, "red", 3.0])
    with pytest.raises(DataError, match="purple"):
        predict([0.0, 0.0, "purple", 3])


def test_keys(numbers):
    row = {"x0": 1.0, "x1": 2.0, "x2": 3.0}
    with pytest.raises(DataError, match=r"the row lacks features: 'x3'; compile\(absent='missing'"):
        numbers.compile()(row)
    predict = numbers.compile(absent="missing")
    assert predict(row) == predict([1.0, 2.0, 3.0, None])
    with pytest.raises(DataError, match="not features of the model: 'y'"):
        predict({**row, "y": 1.0})
    model = GradientBoostingRegressor(**FEW, extra_columns="ignore")
    model.fit(TABLE[["a", "b"]], make_target(TABLE, 0))
    predict = model.compile()
    assert predict({"b": 2.0, "more": "?", "a": 1.0}) == predict([1.0, 2.0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0, 2.0, 3.0], "the row has 3 values, and the model has 4 features"),
        ([1.0] * 5, "the row has 5 values"),
        ([], "the row has 0 values"),
        (np.zeros(3), "the row has 3 values"),
        (np.zeros((1, 4)), "a row has one dimension, and this array has 2"),
        ([[1.0, 2.0, 3.0, 4.0]], "a flat list of values, and one of them is a list"),
        ([1.0, 2.0, 3.0, "four"], "'x3' held numbers in fit, and holds categories now"),
        ([1.0, 2.0, 3.0, 4j], "Complex data not supported: column 'x3' has type complex"),
        (np.zeros(4, dtype=complex), "Complex data not supported"),
        ([1.0, 2.0, 3.0, 10**400], "'x3' has integers beyond the range of float64"),
        ([1.0, 2.0, 3.0, object()], "'x3' has type object"),
        ([1.0, 2.0, 3.0, {1}], "'x3' has type set"),
        ("1234", "a row must be a list, a tuple, a dict by feature name or a 1-D array; it is a s"),
        (None, "it is a NoneType"),
        (3.0, "it is a float"),
    ],
)
def test_rows_that_are_refused(numbers, row, message):
    predict = numbers.compile()
    with pytest.raises(DataError, match=message) as caught:
        predict(row)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert predict([1.0, 2.0, 3.0, 4.0]) == numbers.predict([[1.0, 2.0, 3.0, 4.0]])[0]


def test_categories_of_another_type_are_refused():
    model = GradientBoostingRegressor(**FEW, **CHOSEN).fit(TABLE, make_target(TABLE, 0))
    predict = model.compile()
    for value in (3, 2.5, True):
        with pytest.raises(DataError, match="'color' held strings as categories in fit, and holds"):
            predict([0.0, 0.0, value, 3])
    with pytest.raises(DataError, match="'shop' held numbers as categories in fit, and holds str"):
        predict([0.0, 0.0, "red", "3"])


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


def test_many_trees_release_the_lock(monkeypatch, numbers):
    monkeypatch.setattr("sumwise.estimators.serving.row_predictor._MOST_TREES_WITH_LOCK", 3)
    row = [1.0, 2.0, 3.0, 4.0]
    assert numbers.compile()(row) == numbers.predict([row])[0]


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
