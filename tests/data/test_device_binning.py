"""Tables on devices against the tables of the CPU."""

import numpy as np
import pytest

from sumwise.data import device_binning, device_sending
from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import CategoryBins
from sumwise.data.device_binning import make_device_tables
from sumwise.data.matrix import ColumnMatrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team

TEAM = Team(2)
N_ROWS = 900


def draw_matrix(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    X[:, 1] = rng.integers(0, 4, n_rows)
    X[:, 2] = 7.0
    X[rng.random(n_rows) < 0.3, 3] = np.nan
    X[:, 4] = rng.choice([-np.inf, np.inf, 0.0, -0.0], n_rows)
    X[:, 5] = 0.0
    X[3, 5] = 1.0
    return X


def check_tables(tables, expected):
    """Compare tables of devices with a dense table of the host."""
    columns = np.concatenate([table.columns.to_host() for table in tables], axis=1)
    assert np.array_equal(columns, expected.table.columns)
    for table in tables:
        assert np.array_equal(table.usable, expected.usable)
        assert np.array_equal(table.n_value_bins.to_host(), expected.table.n_value_bins)


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, np.bool_, "F", "columns"])
def test_dense_matrices(device, kind, is_sent, monkeypatch):
    monkeypatch.setattr(device_binning, "_PART_BYTES", 2000)
    monkeypatch.setattr(device_binning, "is_better_sent", lambda *_: is_sent)
    monkeypatch.setattr(device_sending, "_PIECE_BYTES", 3000)
    monkeypatch.setattr(device_sending, "_BATCH_BYTES", 8000)
    X = draw_matrix()
    if kind == "F":
        X = np.asfortranarray(X)
    elif kind == "columns":
        readers = [lambda first, last, own=own: own[first:last] for own in X.T]
        X = ColumnMatrix(readers, N_ROWS, np.dtype(np.float64))
    else:
        with np.errstate(invalid="ignore"):
            X = X.astype(kind)
    X_val = draw_matrix(100, 1)
    rows = np.flatnonzero(np.arange(N_ROWS) % 4 > 0).astype(np.uint32)
    mapper = BinMapper.fit(X, 20, rows=rows, team=TEAM)
    expected = mapper.transform(X, TEAM, X_val, rows=rows, min_rows=3)
    check_tables(make_device_tables([device], mapper, [X, X_val], TEAM, rows, 3), expected)
    check_tables(make_device_tables(3 * [device], mapper, [X, X_val], TEAM, rows, 3), expected)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows(device, n_rows):
    whole = draw_matrix()
    X, mapper = whole[:n_rows], BinMapper.fit(whole, 20, team=TEAM)
    expected = mapper.transform(X, TEAM)
    check_tables(make_device_tables([device], mapper, [X], TEAM), expected)
    check_tables(make_device_tables(3 * [device], mapper, [X], TEAM), expected)


def test_categories(device):
    X = draw_matrix()
    n_categories = np.array([0, 4, 0, 0, 0, 0])
    X[::7, 1] = np.nan
    mapper = BinMapper.fit(X, 20, team=TEAM, n_categories=n_categories)
    expected = mapper.transform(X, TEAM, min_rows=40)
    check_tables(make_device_tables([device], mapper, [X], TEAM, None, 40), expected)


def test_sparse_matrices(device, monkeypatch):
    monkeypatch.setattr(device_binning, "_PART_BYTES", 2000)
    X = np.nan_to_num(draw_matrix(), posinf=3.0, neginf=-3.0)
    X[np.random.default_rng(2).random(X.shape) < 0.7] = 0.0
    X_val = np.nan_to_num(draw_matrix(100, 1), posinf=3.0, neginf=-3.0)
    sparse = SparseMatrix.from_dense(X, 0.0)
    rows = np.arange(0, N_ROWS - 100, dtype=np.uint32)
    mapper = BinMapper.fit(sparse, 20, rows=rows, team=TEAM)
    alone = np.empty(0, dtype=np.int64)
    expected = mapper.transform(X, TEAM, X_val, rows=rows, min_rows=3, alone=alone)
    tables = make_device_tables(2 * [device], mapper, [sparse, X_val], TEAM, rows, 3)
    check_tables(tables, expected)


def test_features_of_many_bins_are_refused(device):
    mapper = BinMapper([np.arange(300.0)])
    with pytest.raises(DataError, match=r"301 bins.*device='cpu'"):
        make_device_tables([device], mapper, [np.zeros((3, 1))], TEAM)
    wide = CategoryBins.from_counts(np.full(400, 50), BinMapper([]).native)
    mapper = BinMapper([np.empty(0)], {0: wide})
    with pytest.raises(DataError, match="target statistics, or use device='cpu'"):
        make_device_tables([device], mapper, [np.zeros((3, 1))], TEAM)
