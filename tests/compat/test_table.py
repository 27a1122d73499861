import warnings

import numpy as np
import pytest

from sumwise.compat.table import Table, direct, ignored, is_same, joint, quiet, refused
from sumwise.errors import IgnoredParameterWarning, ParameterError, UnknownParameterError

TABLE = Table(
    "Other",
    [
        direct("rounds", 100, "n_estimators", "n_rounds"),
        direct("gain", 0.0, "min_gain", convert=lambda value: value / 2),
        joint("rows", 1.0, "`sampler`"),
        quiet("verbose", True, "shows nothing"),
        ignored("speed", 1, "has no effect"),
        refused("magic", None, "use science"),
    ],
)


def test_values_become_ours_under_any_name():
    values = TABLE.resolve("Model", {"n_rounds": 7, "gain": 3.0}, {})
    assert TABLE.convert(values) == {"n_estimators": 7, "min_gain": 1.5}
    assert values["rows"] == 1.0


def test_another_name_goes_before_what_the_constructor_sets():
    initial = {"rounds": 50}
    assert TABLE.resolve("Model", {"rounds": 50}, initial)["rounds"] == 50
    assert TABLE.resolve("Model", {"rounds": 50, "n_rounds": 7}, initial)["rounds"] == 7
    assert TABLE.resolve("Model", {"rounds": None}, initial)["rounds"] == 100


def test_two_values_of_one_parameter_are_an_error():
    with pytest.raises(ParameterError, match="rounds=5 and n_rounds=6 are two names of one"):
        TABLE.resolve("Model", {"rounds": 5, "n_rounds": 6}, {})
    assert TABLE.resolve("Model", {"rounds": 6, "n_rounds": 6}, {})["rounds"] == 6


def test_what_cannot_be_translated_is_said():
    with pytest.raises(ParameterError, match=r"Model: magic=1 cannot be translated: use science"):
        TABLE.resolve("Model", {"magic": 1}, {})
    with pytest.raises(UnknownParameterError, match="did you mean 'rounds'"):
        TABLE.resolve("Model", {"round": 1}, {})
    with pytest.warns(IgnoredParameterWarning, match="speed=2 is ignored: has no effect"):
        TABLE.resolve("Model", {"speed": 2}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TABLE.resolve("Model", {"speed": 1, "verbose": False, "magic": None}, {})


def test_the_documentation_lists_every_row():
    text = TABLE.to_markdown()
    assert "| `rounds`, `n_rounds` | `100` | `n_estimators` |" in text
    assert "| `magic` |  | **refused**: use science |" in text
    assert text.count("\n") == 2 + len(TABLE.rows)


def test_names_of_sumwise_in_a_message_are_explained():
    assert TABLE.explain("Model: n_estimators=0; must be 1") == "n_estimators is set by rounds"
    assert TABLE.explain("use sampler") == "sampler is set by rows"
    assert TABLE.explain("nothing of ours") == ""


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (np.nan, float("nan"), True),
        ([1, 2], np.array([1, 2]), True),
        ([1, 2], [1, 3], False),
        ("a", "a", True),
        (None, 0, False),
    ],
)
def test_is_same(value, other, same):
    assert is_same(value, other) is same
