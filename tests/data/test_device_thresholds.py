"""Thresholds of matrices on a GPU are those of the same matrices on the host."""

import numpy as np
import pytest

from sumwise.data import device_thresholds, thresholds
from sumwise.data.binning import BinMapper
from sumwise.data.device_binning import make_device_tables
from sumwise.data.device_reading import read_device_matrix
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from tests.cuda.arrays import FakeArray

TEAM = Team(2)


def draw_matrix(n_rows, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 9))
    X[:, 1] = rng.integers(0, 4, n_rows)
    X[:, 2] = 7.0
    X[rng.random(n_rows) < 0.3, 3] = np.nan
    X[:, 4] = rng.choice([-np.inf, np.inf, 0.0, -0.0], n_rows)
    X[:, 5] = np.nan
    X[:, 6] = rng.integers(0, 20, n_rows)  # as many values as bins
    X[:, 7] = rng.integers(0, 21, n_rows)  # one more
    X[:, 8] = rng.choice([5e-324, -5e-324, 1e308, -1e308, 1e-40], n_rows)
    with np.errstate(over="ignore"):
        return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("rows", ["all", "some"])
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_and_tables(emulated, monkeypatch, dtype, rows, weighted):
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 500)
    monkeypatch.setattr(device_thresholds, "_FIRST_ROWS", 100)
    X, X_val = draw_matrix(1500, dtype), draw_matrix(100, dtype, 1)
    numbers = None
    if rows == "some":
        numbers = np.flatnonzero(np.arange(1500) % 3 > 0).astype(np.uint32)
    weight = np.random.default_rng(1).integers(0, 4, 1500) * 0.5 if weighted else None
    expected = BinMapper.fit(X, 20, weight, numbers, 3, TEAM)
    matrix, own_val = read_device_matrix(FakeArray(X)), read_device_matrix(FakeArray(X_val))
    found = BinMapper.fit(matrix, 20, weight, numbers, 3, TEAM)
    for own, other in zip(found.thresholds, expected.thresholds, strict=True):
        assert np.array_equal(own, other)
    table = expected.transform(X, TEAM, X_val, rows=numbers, min_rows=3)
    devices = [emulated(0), emulated(0)]
    for matrices in ([matrix, own_val], [matrix, X_val]):
        made = make_device_tables(devices, found, matrices, TEAM, numbers, 3)
        columns = np.concatenate([own.columns.to_host() for own in made], axis=1)
        assert np.array_equal(columns, table.table.columns)
        assert np.array_equal(made[0].usable, table.usable)


def test_bins_by_feature(emulated):
    X = draw_matrix(700, np.float32)
    max_bins = np.array([2, 255, 20, 20, 3, 20, 19, 20, 254])
    expected = BinMapper.fit(X, max_bins, team=TEAM)
    found = BinMapper.fit(read_device_matrix(FakeArray(X)), max_bins, team=TEAM)
    for own, other in zip(found.thresholds, expected.thresholds, strict=True):
        assert np.array_equal(own, other)


def test_many_bins_are_refused(emulated):
    matrix = read_device_matrix(FakeArray(draw_matrix(50)))
    with pytest.raises(DataError, match="max_bins=255"):
        BinMapper.fit(matrix, 1000, team=TEAM)


def test_bins_travel_to_other_gpus(emulated):
    X = draw_matrix(150)
    matrix, X_val = read_device_matrix(FakeArray(X)), draw_matrix(30)
    mapper = BinMapper.fit(matrix, 20, team=TEAM)
    tables = make_device_tables([emulated(0), emulated(1)], mapper, [matrix, X_val], TEAM)
    columns = np.concatenate([own.columns.to_host() for own in tables], axis=1)
    assert np.array_equal(columns, mapper.transform(X, TEAM, X_val).table.columns)
