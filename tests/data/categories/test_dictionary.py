"""Dictionaries of categories."""

import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sumwise.data.categories.dictionary import CategoryColumn, Dictionary
from sumwise.data.frames.reading import ColumnFrame, read_input
from sumwise.errors import DataError


def read_categories(values):
    """Return the categories of a column, given as a list, array or frame."""
    if isinstance(values, list):
        array = np.empty((len(values), 1), dtype=object)
        array[:, 0] = values
        values = array
    table = ColumnFrame.from_array(values) if isinstance(values, np.ndarray) else read_input(values)
    return CategoryColumn.from_column(table.columns[0])


def encode(values, dictionary, refuse_unknown=False):
    categories = read_categories(values)
    return categories.encode(dictionary, refuse_unknown)(0, categories.rows.size)


def make_dictionary(values):
    return read_categories(values).learn()


LEARNED = {
    "strings": (["b", None, "a", "b", "ü", "Z", ""], ["", "Z", "a", "b", "ü"]),
    "integers": ([7, -3, 7, None], [-3, 7]),
    "integral floats": ([7.0, np.nan, -3.0], [-3, 7]),
    "floats": ([0.5, 2.0, np.inf, None, -np.inf], [-np.inf, 0.5, 2.0, np.inf]),
    "booleans": ([True, False, None], [0, 1]),
    "decimals": ([Decimal("0.5"), Decimal(2)], [0.5, 2.0]),
    "large integers": ([2**53 + 1, 2**53, 2**63 - 1], [2**53, 2**53 + 1, 2**63 - 1]),
    "larger integers": ([2**64 - 1, 2**63], [2**63, 2**64 - 1]),
    "nothing": ([None, np.nan], []),
}


@pytest.mark.parametrize("name", LEARNED)
def test_distinct_values_ascend(name):
    values, expected = LEARNED[name]
    dictionary = make_dictionary(values)
    assert dictionary.values.tolist() == expected
    assert len(dictionary) == len(expected)
    codes = encode(values, dictionary)
    known = [v is not None and v == v for v in values]
    assert codes[known].tolist() == [expected.index(v) for v in values if v is not None and v == v]
    assert np.isnan(codes[np.invert(known)]).all()


@pytest.mark.parametrize("name", LEARNED)
def test_dictionaries_go_through_json_and_pickle(name):
    dictionary = make_dictionary(LEARNED[name][0])
    text = json.dumps(dictionary.to_json(), allow_nan=False)
    dictionary.find(np.array(["a"], dtype=object)) if dictionary.holds == "strings" else None
    for again in (
        Dictionary.from_json(json.loads(text)),
        pickle.loads(pickle.dumps(dictionary)),
    ):
        assert again.values.dtype == dictionary.values.dtype
        assert again.values.tolist() == dictionary.values.tolist()
        assert list(vars(again)) == ["values"]


SAME = {
    "int8": np.array([[3], [1], [3]], dtype=np.int8),
    "uint64": np.array([[3], [1], [3]], dtype=np.uint64),
    "float32": np.array([[3], [1], [3]], dtype=np.float32),
    "objects": [3, 1.0, Decimal(3)],
    "pandas": pd.DataFrame({"a": pd.array([3, 1, 3], dtype="Int64")}),
    "pandas categories": pd.DataFrame({"a": pd.Categorical([3, 1, 3], categories=[9, 3, 1])}),
    "pandas float categories": pd.DataFrame({"a": pd.Categorical([3.0, 1.0, 3.0])}),
    "polars": pl.DataFrame({"a": [3, 1, 3]}),
    "polars decimals": pl.DataFrame({"a": [Decimal(3), Decimal(1), Decimal(3)]}),
    "Arrow": pa.table({"a": [3, 1, 3]}),
    "Arrow dictionary": pa.table({"a": pa.array([3, 1, 3]).dictionary_encode()}),
}


@pytest.mark.parametrize("name", SAME)
def test_the_type_of_numbers_does_not_matter(name):
    dictionary = make_dictionary(SAME[name])
    assert dictionary.to_json() == {"integers": [1, 3]}
    for values in SAME.values():
        assert encode(values, dictionary).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("trained", "values", "expected"),
    [
        ([1, 2], [1.5, 2.0, np.inf, -np.inf, 1e300, None], [-1, 1, -1, -1, -1, -1]),
        ([2**53, 2**53 + 1], [2**53 + 1, float(2**53 + 2)], [0, -1]),  # one float makes all floats
        ([2**53, 2**53 + 1], [2**53 + 1, 2**53 + 2], [1, -1]),
        ([2**63, 2**64 - 1], [-1, 5], [-1, -1]),
        ([1, 2], [2**64 - 1, 2], [-1, 1]),
        ([0.5, 2], [2, 2**60], [1, -1]),
        ([0.5, 2], [True, False], [-1, -1]),
        (["a"], ["b", "a", None], [-1, 0, -1]),
        ([None], ["a", None], [-1, -1]),
        ([None], [1, None], [-1, -1]),
        (["a"], [None, np.nan], [-1, -1]),
        ([1], [None, np.nan], [-1, -1]),
    ],
)
def test_unknown_values_are_missing(trained, values, expected):
    codes = encode(values, make_dictionary(trained))
    assert np.nan_to_num(codes, nan=-1).tolist() == expected


def test_unknown_values_are_an_error_if_asked():
    dictionary = make_dictionary(["a", "b"])
    message = r"column 0 has categories .*: 'c', 'd', 'e', 'f', 'g', \.\.\.; unknown_category="
    with pytest.raises(DataError, match=message):
        encode(list("gahfedcb"), dictionary, refuse_unknown=True)
    assert encode(["b", None], dictionary, refuse_unknown=True)[0] == 1


def test_unused_categories_are_not_unknown():
    frame = pd.DataFrame({"a": pd.Categorical(["a", "a", "b"], categories=["x", "b", "a"])})
    dictionary = make_dictionary(["a", "b"])
    assert encode(frame, dictionary, refuse_unknown=True).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("trained", "values", "message"),
    [
        (["a"], [1], "column 0 held strings as categories in fit, and holds numbers now"),
        ([1], ["1"], "column 0 held numbers as categories in fit, and holds strings now"),
    ],
)
def test_strings_are_no_numbers(trained, values, message):
    with pytest.raises(DataError, match=message):
        encode(values, make_dictionary(trained))


BAD = {
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), "column 0 holds dates, which cannot be"),
    "durations": (np.array([[1]], dtype="m8[D]"), "column 0 holds durations"),
    "intervals": (pd.DataFrame({"a": pd.cut([1, 2], 2)}), "column 'a' has .* type Interval"),
    "categories of dates": (
        pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020-01-01"]))}),
        "column 'a' has categories of type datetime64",
    ),
    "huge integers": ([2**64], "column 0 has integers beyond 64 bits"),
    "negative and huge integers": ([-1, 2**63], "column 0 has integers beyond 64 bits"),
    "far negative integers": ([-(2**64), 1], "column 0 has integers beyond 64 bits"),
}


@pytest.mark.parametrize("name", BAD)
def test_values_that_cannot_be_categories(name):
    values, message = BAD[name]
    with pytest.raises(DataError, match=message):
        make_dictionary(values)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"strings": ["b", "a"]},
        {"strings": ["a", "a"]},
        {"strings": ["a", 1]},
        {"strings": "ab"},
        {"strings": [], "integers": []},
        {"integers": [1, True]},
        {"integers": [1.5]},
        {"integers": [-1, 2**63]},
        {"integers": [2**70]},
        {"floats": [float("nan")]},
        {"floats": ["nan"]},
        {"floats": [[1.5]]},
        {"bytes": ["a"]},
    ],
)
def test_bad_json(data):
    with pytest.raises((ValueError, KeyError, OverflowError)):
        Dictionary.from_json(data)


def test_many_categories():
    names = np.array([f"c{i}" for i in range(50_000)], dtype=object)
    rows = np.random.default_rng(0).permutation(np.arange(100_000) % 50_000)
    frames = [
        pd.DataFrame({"a": names[rows]}),
        pl.DataFrame({"a": names[rows].tolist()}),
        pa.table({"a": names[rows].tolist()}),
        names[rows][:, None],
    ]
    order = np.argsort(np.argsort(names))
    for frame in frames:
        dictionary = make_dictionary(frame)
        assert len(dictionary) == 50_000
        assert np.array_equal(encode(frame, dictionary), order[rows])
