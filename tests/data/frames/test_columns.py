"""Columns of any frame: kinds, numbers and distinct values."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sumwise.data.frames.columns import is_missing
from sumwise.data.frames.reading import ColumnFrame, read_input
from sumwise.errors import DataError

DAY = 86_400.0
DATE = dt.date(1970, 1, 11)
NOON = dt.datetime(1970, 1, 2, 12)
INT128 = getattr(pl, "Int128", pl.Int64)  # since polars 1.18
TOKYO = dt.timezone(dt.timedelta(hours=9))


def as_objects(values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return array


def only_column(X):
    """The only column of a frame."""
    table = read_input(X)
    assert isinstance(table, ColumnFrame)
    (column,) = table.columns
    return column


def arrow(values, kind=None):
    return pa.table({"a": pa.array(values, kind)})


def pandas(values, kind=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=kind)})


def polars(values, kind=None):
    return pl.DataFrame({"a": pl.Series(values, dtype=kind)})


# Kinds and numbers

NAN = np.nan
NUMBERS = {
    "pandas Int64": (pandas([1, None, 3], "Int64"), [1, NAN, 3]),
    "pandas UInt8": (pandas([1, None, 255], "UInt8"), [1, NAN, 255]),
    "pandas Float64": (pandas([1.5, None, -0.5], "Float64"), [1.5, NAN, -0.5]),
    "pandas boolean": (pandas([True, None, False], "boolean"), [1, NAN, 0]),
    "pandas Arrow integers": (pandas([1, None, 2**60], "int64[pyarrow]"), [1, NAN, 2.0**60]),
    "pandas Arrow booleans": (pandas([True, None], "bool[pyarrow]"), [1, NAN]),
    "pandas Arrow decimals": (
        pandas([Decimal("1.5"), None], pd.ArrowDtype(pa.decimal128(3, 1))),
        [1.5, NAN],
    ),
    "pandas object": (pandas([1, 2.5, None, True], object), [1, 2.5, NAN, 1]),
    "pandas object with NA": (pandas([1, pd.NA, pd.NaT, NAN], object), [1, NAN, NAN, NAN]),
    "pandas decimals": (pandas([Decimal("1.5"), None]), [1.5, NAN]),
    "pandas nothing": (pandas([None, None], object), [NAN, NAN]),
    "pandas sparse": (pandas(pd.arrays.SparseArray([0.0, 1.5])), [0, 1.5]),
    "polars integers": (polars([1, None, 3]), [1, NAN, 3]),
    "polars whole integers": (polars([1, 2**60, 3]), [1, 2.0**60, 3]),
    "polars 128 bits": (polars([1, None], INT128), [1, NAN]),
    "polars floats": (polars([1.5, None, NAN]), [1.5, NAN, NAN]),
    "polars booleans": (polars([True, None, False]), [1, NAN, 0]),
    "polars decimals": (polars([Decimal("1.5"), None]), [1.5, NAN]),
    "polars nothing": (polars([None, None]), [NAN, NAN]),
    "polars lazy": (polars([1, None, 3]).lazy(), [1, NAN, 3]),
    "narwhals": (nw.from_native(polars([1, None, 3])), [1, NAN, 3]),
    "Arrow integers": (arrow([1, None, 3]), [1, NAN, 3]),
    "Arrow large integers": (arrow([1, None, 2**60]), [1, NAN, 2.0**60]),
    "Arrow halves": (arrow([np.float16(1.5), None], pa.float16()), [1.5, NAN]),
    "Arrow booleans": (arrow([True, None]), [1, NAN]),
    "Arrow decimals": (arrow([Decimal("1.5"), None]), [1.5, NAN]),
    "Arrow nothing": (arrow([None, None]), [NAN, NAN]),
    "objects": (as_objects([1, 2.5, None, NAN, True, np.float32(3)]), [1, 2.5, NAN, NAN, 1, 3]),
    "fractions": (as_objects([Fraction(1, 2), Decimal("0.25"), np.bool_(1)]), [0.5, 0.25, 1]),
    "list": ([[1], [None]], [1, NAN]),
}
DATES = {
    "pandas dates": (pandas([DATE, None]), [10 * DAY, NAN]),
    "pandas datetimes": (pandas([NOON, None]), [1.5 * DAY, NAN]),
    "pandas with zone": (pandas([NOON.replace(tzinfo=TOKYO), None]), [1.125 * DAY, NAN]),
    "pandas objects with zone": (
        pandas([NOON.replace(tzinfo=TOKYO), DATE], object),
        [1.125 * DAY, 10 * DAY],
    ),
    "pandas Arrow dates": (pandas([DATE, None], pd.ArrowDtype(pa.date32())), [10 * DAY, NAN]),
    "polars dates": (polars([DATE, None]), [10 * DAY, NAN]),
    "polars datetimes": (polars([NOON, None]), [1.5 * DAY, NAN]),
    "polars nanoseconds": (polars([NOON, None], pl.Datetime("ns")), [1.5 * DAY, NAN]),
    "Arrow dates": (arrow([DATE, None]), [10 * DAY, NAN]),
    "Arrow dates in milliseconds": (arrow([DATE, None], pa.date64()), [10 * DAY, NAN]),
    "Arrow datetimes": (arrow([NOON, None]), [1.5 * DAY, NAN]),
    "objects": (as_objects([DATE, None, NOON]), [10 * DAY, NAN, 1.5 * DAY]),
    "objects with NaN": (as_objects([DATE, NAN]), [10 * DAY, NAN]),
    "NumPy": (np.array([["1970-01-11"], ["NaT"]], dtype="M8[D]"), [10 * DAY, NAN]),
    "objects of NumPy": (
        as_objects([np.datetime64("1970-01-11"), np.datetime64("NaT"), NOON, NAN]),
        [10 * DAY, NAN, 1.5 * DAY, NAN],
    ),
    "list": ([[NOON], [None]], [1.5 * DAY, NAN]),
}
TWO_DAYS = dt.timedelta(2)
DURATIONS = {
    "pandas": (pandas([TWO_DAYS, None]), [2 * DAY, NAN]),
    "polars": (polars([TWO_DAYS, None]), [2 * DAY, NAN]),
    "Arrow": (arrow([TWO_DAYS, None]), [2 * DAY, NAN]),
    "objects": (as_objects([TWO_DAYS, None]), [2 * DAY, NAN]),
    "NumPy": (np.array([[2], ["NaT"]], dtype="m8[D]"), [2 * DAY, NAN]),
    "objects of NumPy": (
        as_objects([np.timedelta64(2, "D"), TWO_DAYS, None]),
        [2 * DAY, 2 * DAY, NAN],
    ),
}
ALL = {
    f"{kind} {name}": (kind, *case)
    for kind, cases in (("number", NUMBERS), ("date", DATES), ("duration", DURATIONS))
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", ALL)
def test_columns_as_numbers(name):
    kind, X, expected = ALL[name]
    column = only_column(X)
    assert column.kind == kind
    n_rows = len(expected)
    np.testing.assert_array_equal(column.read(0, n_rows).astype(np.float64), expected)
    np.testing.assert_array_equal(column.read(1, n_rows).astype(np.float64), expected[1:])


CATEGORIES = {
    "pandas strings": pandas(["b", None, "a", "b"]),
    "pandas objects": pandas(["b", None, "a", "b"], object),
    "pandas objects with NaN": pandas(["b", NAN, "a", "b"], object),
    "pandas string dtype": pandas(["b", None, "a", "b"], "string"),
    "pandas categories": pandas(pd.Categorical(["b", None, "a", "b"], categories=list("xab"))),
    "pandas Arrow strings": pandas(["b", None, "a", "b"], pd.ArrowDtype(pa.string())),
    "polars strings": polars(["b", None, "a", "b"]),
    "polars categories": polars(["b", None, "a", "b"], pl.Categorical),
    "polars enum": polars(["b", None, "a", "b"], pl.Enum(["x", "b", "a"])),
    "polars objects": polars(["b", None, "a", "b"], pl.Object),
    "Arrow strings": arrow(["b", None, "a", "b"]),
    "Arrow large strings": arrow(["b", None, "a", "b"], pa.large_string()),
    "Arrow dictionary": pa.table({"a": pa.array(["b", None, "a", "b"]).dictionary_encode()}),
    "Arrow chunks": pa.table({"a": pa.chunked_array([["b", None], ["a", "b"]])}),
    "Arrow chunks of dictionaries": pa.table(
        {
            "a": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (["b", None], ["a", "b"])]
            )
        }
    ),
    "objects": as_objects(["b", None, "a", "b"]),
    "objects with NaN": as_objects(["b", NAN, "a", "b"]),
    "list": [["b"], [None], ["a"], ["b"]],
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_columns_as_categories(name):
    column = only_column(CATEGORIES[name])
    assert column.kind == "category"
    rows, values = column.factorized
    found = [None if row < 0 or is_missing(values[row]) else values[row] for row in rows]
    assert found == ["b", None, "a", "b"]


def test_strings_of_numpy():
    column = only_column(np.array([["b"], ["a"], ["b"]]))
    rows, values = column.factorized
    assert column.kind == "category"
    assert values[rows].tolist() == ["b", "a", "b"]
    if hasattr(np.dtypes, "StringDType"):
        strings = np.array([["b"], ["a"]], dtype=np.dtypes.StringDType())
        assert only_column(strings).kind == "category"


@pytest.mark.parametrize(
    "make", [lambda values: pandas(values).convert_dtypes(), polars, arrow, as_objects]
)
@pytest.mark.parametrize("values", [[7, 2, 7], [1.5, 2.0, 1.5], [True, False, True]])
def test_numbers_can_be_factorized(make, values):
    table = ColumnFrame.from_array(np.array(values)[:, None])
    for column in (table.columns[0], only_column(make([*values, None]))):
        rows, distinct = column.factorized
        assert [distinct[row] for row in rows[:3]] == values
        assert all(row < 0 or is_missing(distinct[row]) for row in rows[3:])


def test_a_few_rows_do_not_read_a_large_dictionary():
    names = [f"c{i}" for i in range(1000)]
    frames = [
        pandas(pd.Categorical(["c5", None, "c5"], categories=names)),
        pa.table({"a": pa.DictionaryArray.from_arrays([5, None, 5], names)}),
        polars(["c5", None, "c5"], pl.Enum(names)),
    ]
    for frame in frames:
        rows, values = only_column(frame).factorized
        assert rows.tolist() == [0, -1, 0]
        assert list(values) == ["c5"]


@pytest.mark.parametrize("make", [pandas, polars])
@pytest.mark.parametrize(
    ("dtype", "is_single"), [("float32", True), ("float64", False), ("int8", False)]
)
def test_single_precision(make, dtype, is_single):
    values = np.array([1, 2], dtype=dtype)
    frame = make(values).with_columns(b=pl.lit("x")) if make is polars else make(values)
    frame = frame.assign(b="x") if make is pandas else frame
    assert read_input(frame).columns[0].is_single is is_single


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**53, None], False),
        ([2**53 + 1, None], True),
        ([-(2**53) - 1], True),
        ([None], False),
        ([1.5e300], False),
    ],
)
def test_integers_that_float64_rounds(values, expected):
    frames = [polars(values), arrow(values)]
    if isinstance(values[0], int):
        frames += [polars(values, INT128), pandas(values, "Int64")]
    for frame in frames:
        assert only_column(frame).rounds_integers() is expected


# Columns that are refused

BAD = {
    "lists": (polars([[1]]), r"column 'a' has type List\(Int64\), which is neither numbers"),
    "structs": (polars([{"x": 1}]), r"column 'a' has type Struct"),
    "binary": (arrow([b"x"]), "column 'a' has type binary"),
    "times of day": (polars([dt.time(1)]), "column 'a' has type Time"),
    "periods": (pandas(pd.PeriodIndex(["2020"], freq="Y")), r"column 'a' has type period"),
    "intervals": (pandas(pd.interval_range(0, 2)), "column 'a' has type interval"),
    "complex": (pandas([1j]), "Complex data not supported: column 'a' has type complex128"),
    "complex objects": (as_objects([1j, 1]), "Complex data not supported: column 0"),
    "dictionaries": (as_objects([{}, {}]), "column 0 has type dict"),
    "bytes": (pandas([b"x"]), "column 'a' has type bytes"),
    "strings and numbers": (
        pandas(["x", 1]),
        r"column 'a' mixes values of types int, str \('x' in row 0, 1 in row 1\); make them",
    ),
    "strings and floats": (as_objects(["x", 1.5, NAN]), "column 0 mixes .* float, str"),
    "strings and booleans": ([["x"], [True]], "column 0 mixes values of types bool, str"),
    "dates and numbers": (
        as_objects([DATE, 1]),
        "column 0 mixes values of types date, int .* dates",
    ),
    "NumPy's dates and numbers": (
        as_objects([np.datetime64(DATE), 1.5]),
        "datetime64, float .* dates",
    ),
    "NumPy's durations and numbers": (as_objects([1, np.timedelta64(1, "D")]), "int, timedelta64"),
}


@pytest.mark.parametrize("name", BAD)
def test_columns_that_are_refused(name):
    X, message = BAD[name]
    with pytest.raises(DataError, match=message):
        read_input(X)


def test_integers_beyond_floats_are_refused_when_they_are_read():
    column = read_input([[10**400], [1]]).columns[0]
    with pytest.raises(DataError, match="column 0 has integers beyond the range of float64"):
        column.read(0, 2)
