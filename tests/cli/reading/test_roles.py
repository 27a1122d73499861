import argparse

import numpy as np
import pytest

from sumwise.cli.reading import roles
from sumwise.cli.reading.table import Table
from sumwise.cli.usage import UsageError


def options(**given):
    names = ("target", "task", "id", "weight", "group", "time", "drop")
    return argparse.Namespace(**{**dict.fromkeys(names), **given})


@pytest.fixture
def table():
    n = 30
    columns = {
        "customer_id": np.arange(n),
        "age": np.arange(n) % 7,
        "day": np.array(["2026-01-01"], "datetime64[us]") - np.arange(n) * np.timedelta64(1, "D"),
        "shop": np.array(["a", "b", "c"] * 10, dtype=object),
        "sample_weight": np.ones(n),
        "y": np.array([0, 1] * 15),
    }
    return Table(columns, "t.csv")


def test_guesses_are_said(table):
    said = []
    found = roles.assign_roles(table, options(), said.append)
    assert (found.target, found.task, found.weight) == ("y", "classification", "sample_weight")
    assert found.ids == ["customer_id"]
    assert found.features == ["age", "day", "shop"]
    assert [line.split(" ")[0] for line in said] == ["target:", "weight:", "id:", "task:", "'day'"]


def test_what_options_name_is_not_guessed(table):
    said = []
    given = {"target": "age", "task": "regression", "id": ["shop"], "group": "customer_id"}
    found = roles.assign_roles(table, options(**given, time="day", weight="y"), said.append)
    expected = roles.Roles(
        "age", "regression", ["sample_weight"], ["shop"], "y", "customer_id", "day"
    )
    assert found == expected
    assert said == []


def test_no_feature_left(table):
    with pytest.raises(UsageError, match="no column left for features"):
        roles.assign_roles(table, options(target="y", drop=list(table.names[:-1])), print)


def test_roles_exclude_each_other(table):
    with pytest.raises(UsageError, match="--group y: this column has another role"):
        roles.assign_roles(table, options(target="y", group="y"), print)


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a", "Target", "z"], "Target"), (["y", "label", "z"], "label"), (["a", "b"], "b")],
)
def test_target_by_name_or_place(names, expected):
    assert roles.guess_target(names) == expected


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 3] * 10, "classification"),
        ([1, 2, 3], "regression"),
        (np.arange(100), "regression"),
        ([0.5, 1.5] * 20, "regression"),
        ([0.0, 1.0, np.nan] * 20, "classification"),
    ],
)
def test_task_by_the_values_of_the_target(values, task):
    array = np.array(values, dtype=object if isinstance(values[0], str) else None)
    assert roles.guess_task(array)[0] == task


def test_rows_are_put_in_the_order_of_time(table):
    found = roles.assign_roles(table, options(target="y", time="day"), lambda line: None)
    rows = roles.label_rows(table, found, False, print)
    assert rows.table.get("customer_id")[0] == 29
    assert rows.y.tolist() == [1, 0] * 15
    assert "day" not in found.features


def test_missing_targets_are_refused_or_left_out():
    table = Table({"a": np.arange(3), "y": np.array([1.5, np.nan, 2.5])}, "t.csv")
    found = roles.Roles("y", "regression", ["a"], [])
    with pytest.raises(UsageError, match=r"missing in 1 of 3 rows of t.csv, first in row 2"):
        roles.label_rows(table, found, False, print)
    said = []
    rows = roles.label_rows(table, found, True, said.append)
    assert rows.y.tolist() == [1.5, 2.5]
    assert said == ["rows without a target, left out: 1"]


def test_targets_that_do_not_fit_the_task():
    table = Table({"y": np.array(["a", "b"], dtype=object), "m": np.array([1, "b"], object)}, "t")
    with pytest.raises(UsageError, match=r"holds no numbers \('a', 'b'\)"):
        roles.read_target(table, "y", "regression")
    with pytest.raises(UsageError, match="target 'm' mixes values of types int, str"):
        roles.read_target(table, "m", "classification")


def test_groups_and_times_have_no_gaps():
    table = Table({"g": np.array(["a", None], object), "y": np.array([1.5, 2.5])}, "t")
    with pytest.raises(
        UsageError, match=r"--group g: the group is missing in 1 rows, first in row 2"
    ):
        roles.label_rows(table, roles.Roles("y", "regression", [], [], group="g"), False, print)
    with pytest.raises(UsageError, match="--time g: the column holds neither dates nor numbers"):
        roles.label_rows(table, roles.Roles("y", "regression", [], [], time="g"), False, print)
