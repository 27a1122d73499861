import numpy as np
import pytest

from sumwise.cli.reading.lines import read_json_lines
from sumwise.cli.usage import UsageError


def test_columns_have_the_types_of_their_values():
    text = '{"a": 1, "b": "x", "c": true, "d": 1}\n\n{"b": null, "a": 2, "c": false, "d": 2.5}\n'
    found = read_json_lines(text, "x")
    assert list(found) == ["a", "b", "c", "d"]
    assert found["a"].dtype == np.int64
    assert found["b"].tolist() == ["x", None]
    assert found["c"].dtype == np.bool_
    assert found["d"].tolist() == [1.0, 2.5]


def test_absent_keys_are_missing():
    found = read_json_lines('{"a": 1}\n{"b": 2}\n', "x")
    np.testing.assert_array_equal(found["a"], [1.0, np.nan])


def test_codes_can_stay_text():
    assert read_json_lines('{"a": 1}\n', "x", as_text={"a"})["a"].tolist() == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "is empty"),
        ('{"a": 1}\n{oops\n', "x, line 2: no JSON"),
        ("[1]\n", "x, line 1: expected an object"),
        ('{"a": [1]}\n', "x, line 1: 'a' holds a list"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(UsageError, match=message):
        read_json_lines(text, "x")
