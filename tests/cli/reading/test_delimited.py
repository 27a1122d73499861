import numpy as np
import pytest

from sumwise.cli.reading.delimited import read_csv
from sumwise.cli.usage import UsageError

TOUGH = (
    'a,"b, c",d,e,f,g,h\n'
    "1,x,2026-01-01,true,,1e3,007\n"
    '2,"two\nlines",,FALSE,NA,2,12\n'
    '-3,"say ""so""",2026-01-03,,null,-0.5,+3\n'
)


def test_read_alike_with_and_without_arrow(request):
    fast = read_csv(TOUGH, "x")
    request.getfixturevalue("_no_arrow")
    slow = read_csv(TOUGH, "x")
    assert list(fast) == list(slow) == ["a", "b, c", "d", "e", "f", "g", "h"]
    for name, values in slow.items():
        assert fast[name].dtype == values.dtype, name
        np.testing.assert_array_equal(fast[name], values)
    assert slow["b, c"].tolist() == ["x", "two\nlines", 'say "so"']
    assert slow["a"].dtype == np.int64
    assert np.isnan(slow["f"]).all()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_recognized(separator):
    text = f"a{separator}b\n1{separator}2\n3{separator}4\n"
    assert read_csv(text, "x")["b"].tolist() == [2, 4]


def test_one_column_has_no_separator():
    assert read_csv("name\nBern\nChur\n", "x")["name"].tolist() == ["Bern", "Chur"]


def test_names_of_columns_without_one():
    assert list(read_csv("1,2\n3,4\n", "x", header=False)) == ["column_1", "column_2"]
    assert list(read_csv(",b\n3,4\n", "x")) == ["column_1", "b"]


def test_further_missing_values():
    assert np.isnan(read_csv("a\n1\n?\n", "x", missing=("?",))["a"][1])


@pytest.mark.usefixtures("_no_arrow")
def test_header_without_rows_and_without_arrow():
    with pytest.raises(UsageError, match="no rows below"):
        read_csv("a,b\n", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x is empty"),
        ("a,b\n", "x has a header, and no rows below it"),
        ("a,b\n1,2\n3\n", "x, line 3: 1 fields, and the first line has 2"),
        ("1,2\n3,4\n", r"the first line holds numbers \(1, 2\).*--no-header"),
        ("a,a\n1,2\n", "several columns are called 'a'"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(UsageError, match=message):
        read_csv(text, "x")
