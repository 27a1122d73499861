import argparse

import numpy as np
import pytest

from sumwise.cli import compare
from sumwise.cli.comparing.datasets import NAMES, from_rows, load_dataset, make_friedman
from sumwise.cli.reading.roles import LabeledRows, Roles
from sumwise.cli.reading.table import Table
from sumwise.cli.usage import UsageError


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_are_complete(name):
    data = load_dataset(name)
    assert data.name == name
    assert data.X.shape == (len(data.y), len(data.names))
    assert data.X.dtype == object or np.isfinite(data.X).all()
    assert np.isfinite(data.y).all()
    assert (data.task == "classification") == (len(np.unique(data.y)) <= 10)


def test_the_options_name_all_data_sets():
    """They are declared without importing scikit-learn's data."""
    parser = argparse.ArgumentParser()
    compare.add_arguments(parser)
    (action,) = [each for each in parser._actions if each.dest == "data"]
    assert tuple(action.choices) == NAMES


def test_friedman_follows_its_formula():
    X, y = make_friedman(n_rows=5_000, seed=1)
    signal = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    noise = y - signal
    assert abs(noise.mean()) < 0.06  # four standard errors
    assert abs(noise.std() - 1) < 0.05


def test_friedman_repeats_with_its_seed():
    np.testing.assert_array_equal(make_friedman(10, seed=3)[1], make_friedman(10, seed=3)[1])
    assert (make_friedman(10, seed=3)[1] != make_friedman(10, seed=4)[1]).all()


def read(columns, **roles):
    table = Table(columns, "t.csv")
    given = Roles("y", "regression", [name for name in columns if name != "y"], [], **roles)
    return LabeledRows(given, table, table.get("y"), None, None)


def test_tables_become_numbers_and_strings():
    columns = {
        "day": np.array(["1970-01-02", "NaT"], "datetime64[us]"),
        "flag": np.array([True, None], object),
        "y": np.array([1.5, 2.5]),
    }
    data = from_rows(read(columns), "t")
    np.testing.assert_array_equal(data.X, [[86400.0, 1.0], [np.nan, np.nan]])
    columns["text"] = np.array(["a", np.nan], object)
    data = from_rows(read(columns, time="day"), "t")
    assert data.X[:, 2].tolist() == ["a", None]
    assert data.names == ("day", "flag", "text")
    assert data.in_time
    assert data.find_categories() == [2]
    assert data.has_missing()


def test_mixed_columns_are_refused():
    with pytest.raises(UsageError, match="column 'a' holds values of types int, str"):
        from_rows(read({"a": np.array([1, "b"], object), "y": np.array([1.5, 2.5])}), "t")


def test_taken_rows_keep_their_groups():
    data = load_dataset("diabetes")._replace(group=np.arange(442) // 2)
    assert data.take(np.array([5, 0])).group.tolist() == [2, 0]
