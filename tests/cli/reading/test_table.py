from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sumwise.cli.reading.table import Table, is_missing
from sumwise.cli.usage import UsageError


@pytest.fixture
def table():
    columns = {
        "number": np.array([1.0, np.nan, 3.0]),
        "flag": np.array([True, False, True]),
        "text": np.array(["a", None, "b"], dtype=object),
        "coded": pa.chunked_array([["x", "y", "x"]]).dictionary_encode(),
        "day": pa.chunked_array([pa.array(np.array(["2026-01-01"] * 3, "datetime64[D]"))]),
        "exact": pa.chunked_array([pa.array([Decimal(k) for k in "123"])]),
    }
    return Table(columns, "pets.csv")


def test_columns_are_arrays(table):
    assert table.n_rows == 3
    assert table.get("coded").tolist() == ["x", "y", "x"]
    assert table.get("day").dtype == "datetime64[us]"
    assert table.get("exact").tolist() == [1.0, 2.0, 3.0]


def test_select_is_a_frame_or_a_matrix(table, request):
    names = ["text", "number", "coded"]
    assert table.select(names).column_names == names
    request.getfixturevalue("_no_arrow")
    assert table.select(names).dtype == object
    np.testing.assert_array_equal(table.select(["number", "flag"])[:, 1], [1.0, 0.0, 1.0])


def test_take_keeps_the_order_asked_for(table):
    taken = table.take(np.array([2, 0]))
    assert taken.get("text").tolist() == ["b", "a"]
    assert taken.get("coded").tolist() == ["x", "x"]


def test_unknown_columns_are_named(table):
    with pytest.raises(UsageError, match=r"--id numbers: pets.csv has no column 'numbers'"):
        table.get("numbers", "--id")
    with pytest.raises(UsageError, match="no columns 'p', 'q'"):
        table.select(["p", "q"])


@pytest.mark.parametrize("method", ["select", "to_matrix"])
def test_mixed_columns_are_named(method):
    mixed = Table({"a": np.array([1, "b", None], dtype=object)}, "x")
    with pytest.raises(UsageError, match=r"column 'a' of x mixes .*1 in row 1, 'b' in row 2"):
        getattr(mixed, method)(["a"])


def test_missing_values_of_all_types():
    assert is_missing(np.array([1.0, np.nan])).tolist() == [False, True]
    assert is_missing(np.array(["a", None, np.nan], dtype=object)).tolist() == [False, True, True]
    assert is_missing(np.array(["NaT", "2026-01-01"], "datetime64[us]")).tolist() == [True, False]
    assert is_missing(np.array([0, 1])).tolist() == [False, False]
