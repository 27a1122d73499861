"""The summary of the data: what it warns of, and what it does not."""

import numpy as np
import pandas as pd
import pytest

from sumwise.report.blocks import Table, Warnings
from sumwise.report.data_summary import describe_data

N_ROWS = 300


@pytest.fixture
def clean():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS), "b": rng.choice(["u", "v"], N_ROWS)})
    return X, X["a"].to_numpy() + rng.normal(size=N_ROWS)


def warn(X, y, is_class=False, **train):
    section = describe_data(X, y, list(X.columns), is_class, **train)
    found = [block for block in section.blocks if isinstance(block, Warnings)]
    return {subject.rstrip(":"): text for block in found for subject, text in block.items}


def test_clean_data_have_no_warnings(clean):
    X, y = clean
    assert warn(X, y) == {}
    assert warn(X, y > 0, True) == {}
    assert warn(X, y, X_train=X.iloc[:0], y_train=y[:0]).keys() <= {"New categories"}


def test_columns(clean):
    X, y = clean
    X = X.assign(
        leak=2 * y + 1,
        constant=7,
        blank=np.nan,
        mostly=np.where(np.arange(N_ROWS) % 3, np.nan, X["a"]),
        key=np.random.default_rng(1).permutation(N_ROWS),
        twin=X["a"],
    )
    found = warn(X, y)
    assert set(found) == {
        "Possible leak",
        "Constant",
        "Mostly missing",
        "Possible identifiers",
        "Equal columns",
    }
    assert found["Possible leak"].startswith("leak (100.0%)")
    assert found["Constant"].startswith("constant, blank.")
    assert found["Mostly missing"] == "mostly (67%)."
    assert found["Possible identifiers"].startswith("key:")
    assert found["Equal columns"] == "twin = a."


def test_a_leak_of_classes(clean):
    X, y = clean
    labels = np.where(y > 0, "yes", "no")
    found = warn(
        X.assign(outcome=pd.Series(labels).map({"yes": "paid", "no": "open"})), labels, True
    )
    assert found["Possible leak"].startswith("outcome (")


def test_rows_that_repeat(clean):
    X, y = clean
    X, y = pd.concat([X, X[:30]]), np.concatenate([y, y[:20], y[20:30] + 1])
    found = warn(X, y)["Duplicates"]
    assert found.startswith("30 rows (9.1%)")
    # Both rows of a pair are counted.
    assert found.endswith("20 rows have equal features and different targets.")


def test_rare_classes(clean):
    X, _ = clean
    y = np.array(["common"] * (N_ROWS - 9) + ["rare"] * 9)
    assert warn(X, y, True)["Imbalance"].startswith("class rare has 9 of 300 rows (3.0%)")


def test_extreme_targets(clean):
    X, y = clean
    y = y.copy()
    y[:2] = 1e6
    assert warn(X, y)["Extreme targets"].startswith("2 rows")


def test_drift_and_known_rows(clean):
    X, y = clean
    later = X.assign(a=X["a"] + 3, b=X["b"].replace("v", "w"))
    found = warn(later, y + 5, X_train=X, y_train=y)
    assert set(found) == {"Drift", "New categories", "Drift of the target"}
    assert found["New categories"].startswith("b (1)")
    assert warn(X[:50], y[:50], X_train=X)["Known rows"].startswith("50 rows (100.0%)")
    assert "Drift of the target" in warn(
        X, np.full(N_ROWS, "a"), True, X_train=X, y_train=np.full(N_ROWS, "b")
    )


def test_wide_tables_list_what_matters():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 80))).rename(columns="f{}".format)
    y = X["f77"].to_numpy() * 2
    section = describe_data(X, y, list(X.columns), False)
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert table.caption == "The 60 of 80 columns that say most about the target"
    assert "f77" in [row[0] for row in table.rows]


def test_samples_of_many_rows_are_said(monkeypatch, clean):
    X, y = clean
    monkeypatch.setattr("sumwise.report.data_summary._MOST_ROWS", 100)
    section = describe_data(X, y, list(X.columns), False)
    assert section.blocks[-1].text.endswith("From a fixed random sample of 100 of 300 rows.")
