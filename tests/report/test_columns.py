"""Columns: what they hold, equal rows, and what a column says of the target."""

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError
from sumwise.report.columns import hash_rows, measure_skill, read_columns, to_target

RNG = np.random.default_rng(0)


def read(X, names=None):
    names = list(X.columns) if names is None else names
    return read_columns(X, names, np.arange(len(X)))


@pytest.fixture
def mixed():
    return pd.DataFrame(
        {
            "whole": [1, 2, 2],
            "number": [0.5, np.nan, 2.0],
            "text": ["a", None, "a"],
            "day": pd.to_datetime(["2020-01-01", "2020-03-01", None]),
            "flag": [True, False, True],
        }
    )


def test_kinds_and_counts(mixed):
    columns = read(mixed)
    assert [c.kind for c in columns] == ["whole number", "number", "category", "date", "boolean"]
    assert [c.n_missing for c in columns] == [0, 1, 1, 1, 0]
    assert [c.n_distinct for c in columns] == [2, 2, 1, 2, 2]
    assert [c.describe_range() for c in columns[:4]] == [
        "1 to 2",
        "0.5 to 2",
        "a",
        "2020-01-01 to 2020-03-01",
    ]


def test_bars_count_all_known_values(mixed):
    for column in read(mixed):
        assert column.count_bars().sum() == 3 - column.n_missing


def test_columns_of_a_frame_are_found_by_name(mixed):
    turned = mixed[mixed.columns[::-1]]
    assert [c.name for c in read(turned, list(mixed.columns))] == list(mixed.columns)
    assert read(turned, list(mixed.columns))[0].kind == "whole number"


def test_other_columns_are_refused():
    with pytest.raises(DataError, match=r"the 3 features a, b, c; got an array of shape \(2, 2\)"):
        read(np.zeros((2, 2)), ["a", "b", "c"])


def test_equal_rows_have_equal_hashes():
    X = pd.DataFrame(
        {"a": [0.0, -0.0, 1.0, np.nan, np.nan], "b": ["x", "x", "x", "y", "y"], "c": 1}
    )
    hashes = hash_rows(read(X))
    assert hashes[0] == hashes[1]
    assert hashes[3] == hashes[4]
    assert np.unique(hashes).size == 3


def test_hashes_of_different_rows_differ():
    X = RNG.integers(0, 40, size=(5000, 3)).astype(float)
    n_different = np.unique(X, axis=0).shape[0]
    assert np.unique(hash_rows(read(X, list("abc")))).size == n_different


def test_hashes_do_not_depend_on_the_other_rows():
    X = pd.DataFrame({"a": ["x", "y", "z"], "b": [1.0, 2.0, 3.0]})
    assert hash_rows(read(X))[2] == hash_rows(read(X.iloc[2:]))[0]


def test_skill_of_noise_and_of_the_target_itself():
    y = RNG.normal(size=600)
    columns = read(np.column_stack([y * 3 + 1, RNG.normal(size=600), np.abs(y)]), list("abc"))
    skills = [measure_skill(column, to_target(y, False)) for column in columns]
    assert skills[0] == pytest.approx(1.0)
    assert skills[1] < 0.05
    assert skills[2] < 0.3


def test_skill_for_classes_is_measured_in_unseen_rows():
    y = RNG.choice(["a", "b", "c"], 400)
    X = pd.DataFrame({"same": y, "identifier": [f"row {k}" for k in range(400)]})
    same, identifier = (measure_skill(column, to_target(y, True)) for column in read(X))
    assert same > 0.97
    assert identifier == 0.0


def test_a_constant_target_has_nothing_to_predict():
    (column,) = read(RNG.normal(size=(20, 1)), ["a"])
    assert measure_skill(column, to_target(np.ones(20), False)) == 0.0


def test_classes_become_indicators():
    assert to_target(np.array(["b", "a"]), True).tolist() == [[0.0, 1.0], [1.0, 0.0]]
