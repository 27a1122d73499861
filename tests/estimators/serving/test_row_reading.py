"""Rows of every kind are read as ``predict`` reads them; others are refused."""

import datetime
import sqlite3
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from sumwise import GradientBoostingRegressor
from sumwise.errors import DataError, DataWarning
from tests.tables import CHOSEN, list_rows, make_table, make_target

FEW = {"n_estimators": 5, "min_samples_leaf": 3, "random_state": 0}
TABLE = make_table()


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


@pytest.mark.parametrize(
    "known", [[0.5, 1.0, 2.0**60], [1, 2, 3], [-1, 0, 2**60], [1, 2, 2**64 - 2]], ids=str
)
def test_numbers_as_categories(known):
    """Categories are compared as the model does: by value, and exactly."""
    column = np.repeat(np.array(known), 30)
    table = pd.DataFrame({"code": column, "other": np.arange(90.0)})
    model = GradientBoostingRegressor(categorical_features=["code"], n_estimators=3)
    predict = model.fit(table, np.repeat([1.0, 5.0, -4.0], 30)).compile()
    big = [2**60, 2.0**60, 2**60 + 1, 2**63, 2**64 - 2, 2**64 - 1, float(2**64), -(2**63)]
    small = [True, 0, -0.0, 1, 1.0, 0.5, 2.5, -1, np.int8(1), np.float32(0.5), Decimal("0.5")]
    for value in (*big, *small, Fraction(1, 2), np.uint64(2**64 - 2), None, np.nan, pd.NA):
        frame = pd.DataFrame({"code": pd.Series([value], dtype=object), "other": [1.0]})
        assert predict([value, 1.0]) == model.predict(frame)[0], repr(value)
    with pytest.raises(DataError, match="integers beyond 64 bits"):
        predict([2**64, 1.0])


def test_keys(numbers):
    row = {"x0": 1.0, "x1": 2.0, "x2": 3.0}
    with pytest.raises(DataError, match=r"the row lacks features: 'x3'; compile\(absent='missing'"):
        numbers.compile()(row)
    predict = numbers.compile(absent="missing")
    assert predict(row) == predict([1.0, 2.0, 3.0, None])
    for more in ({"y": 1.0}, {"y": 1.0, "x3": 0.0}, {f"y{k}": 0 for k in range(7)}):
        with pytest.raises(DataError, match="not features of the model: 'y"):
            predict({**row, **more})
    model = GradientBoostingRegressor(**FEW, extra_columns="ignore")
    model.fit(TABLE[["a", "b"]], make_target(TABLE, 0))
    predict = model.compile()
    assert predict({"b": 2.0, "more": "?", "a": 1.0}) == predict([1.0, 2.0])
    with pytest.raises(DataError, match="the row lacks features: 'b'"):
        predict({"more": "?", "a": 1.0})


def test_anything_with_keys(numbers):
    """A row of a database, for example, which is neither a dict nor a Mapping."""
    memory = sqlite3.connect(":memory:")
    memory.row_factory = sqlite3.Row
    row = memory.execute("select 0.5 as x0, null as x1, 3 as x3, -1.5 as x2").fetchone()
    memory.close()
    predict = numbers.compile()
    assert predict(row) == predict([0.5, None, -1.5, 3])
    assert predict(MappingProxyType(dict(row))) == predict(OrderedDict(row)) == predict(row)


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


POOLS = {
    "number": [0, 1, -2.5, True, np.inf, np.float32(0.1), np.int64(3), Decimal("0.3"), 10**30],
    "text": ["red", "blue", "purple", "", "1", "nan", np.str_("green")],
    "missing": [None, np.nan, pd.NA, pd.NaT, float("nan"), np.float64("nan")],
    "odd": [1j, b"red", object(), datetime.date(2024, 1, 1), np.datetime64(0, "s"), 10**400],
}


def draw_row(rng):
    """Two numbers and two categories, for the most part; anything else in between."""
    kinds = ["number", "number", "text", "number"]
    row = []
    for kind in kinds:
        wrong = rng.choice(["missing", *POOLS], p=[0.6, 0.1, 0.1, 0.1, 0.1])
        pool = POOLS[kind if rng.random() < 0.75 else wrong]
        row.append(pool[rng.integers(len(pool))])
    return row


def try_to_predict(predict, row):
    """Return the prediction; for a row that is refused, the type of the error."""
    try:
        return float(predict(row))
    except DataError:
        return DataError


@pytest.mark.parametrize("encoding", ["native", "ordered"])
def test_any_row_is_read_or_refused_as_the_model_does(encoding):
    model = GradientBoostingRegressor(**FEW, **CHOSEN, categorical_encoding=encoding)
    model.fit(TABLE, make_target(TABLE, 0))

    def predict_frame(row):
        columns = {
            name: pd.Series([value], dtype=object)
            for name, value in zip(TABLE.columns, row, strict=True)
        }
        return model.predict(pd.DataFrame(columns))[0]

    rng, compiled = np.random.default_rng(0), model.compile()
    for _ in range(150):
        row = draw_row(rng)
        assert try_to_predict(compiled, row) == try_to_predict(predict_frame, row), row
