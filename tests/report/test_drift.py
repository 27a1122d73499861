"""Drift: distances, and how seldom chance looks like drift."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from sumwise.report.columns import read_columns
from sumwise.report.drift import find_drift


def read(X):
    X = pd.DataFrame(X)
    return read_columns(X, list(X.columns), np.arange(len(X)))


def test_distance_of_numbers_is_that_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=200), rng.normal(0.8, 1.0, size=150)
    (drift,) = find_drift(read({"x": a}), read({"x": b}))
    assert drift.distance == pytest.approx(ks_2samp(a, b).statistic)
    assert drift.is_certain


def test_distance_of_categories_and_new_ones():
    train = read({"x": ["a"] * 50 + ["b"] * 50})
    test = read({"x": ["a"] * 50 + ["c"] * 50})
    (drift,) = find_drift(train, test)
    assert drift.distance == 0.5
    assert drift.n_new == 1
    assert drift.is_certain


def test_missing_values_drift_too():
    values = np.random.default_rng(0).normal(size=400)
    (drift,) = find_drift(read({"x": values}), read({"x": np.where(values > 0, np.nan, values)}))
    assert drift.is_certain
    assert drift.missing[0] == 0.0
    assert drift.missing[1] > 0.4


def test_the_same_distribution_is_no_drift():
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        make = lambda n, rng=rng: read(  # noqa: E731
            {"n": rng.normal(size=n), "c": rng.choice(list("abcdefgh"), n)}
        )
        found += sum(drift.is_certain for drift in find_drift(make(60), make(40)))
    assert found <= 1


def test_the_largest_is_first():
    rng = np.random.default_rng(0)
    train = {"a": rng.normal(size=100), "b": rng.normal(size=100)}
    drifts = find_drift(read(train), read({"a": train["a"], "b": train["b"] + 9}))
    assert [drift.name for drift in drifts] == ["b", "a"]
    assert [drift.distance for drift in drifts] == [1.0, 0.0]
