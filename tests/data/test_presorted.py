import numpy as np
import pytest

from sumwise.data.categories.set_splits import Native
from sumwise.data.presorted import presort
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import BEYOND, CATEGORICAL, NO_CATEGORIES, PRESORTED


def make(X, rows=None, n_threads=1, **options):
    rows = np.arange(X.shape[0]) if rows is None else np.asarray(rows)
    with Team(n_threads) as team:
        return presort(X, rows.astype(np.uint32), team, **options)[0]


def list_order(data, f):
    """Return the entries of a feature as (rank, row)."""
    order = data.table.presorted.order[f]
    return [(int(entry) >> 32, int(entry) % 2**32) for entry in order]


def test_rows_in_the_order_of_ranks():
    X = np.array([[3.0, 1.0], [np.nan, 1.0], [-2.0, np.nan], [3.0, 0.5]])
    data = make(X)
    assert list_order(data, 0) == [(0, 1), (1, 2), (2, 0), (2, 3)]
    assert list_order(data, 1) == [(0, 2), (1, 3), (2, 0), (2, 1)]
    assert (data.table.storage == PRESORTED).all()
    assert data.table.categories is NO_CATEGORIES
    assert data.table.n_value_bins.tolist() == [BEYOND, BEYOND]
    assert data.table.bin_start.tolist() == [0, 0, 0]  # no histograms
    assert data.table.tile_start.size == 0
    features, ranks = np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2])
    assert data.find_values(features, ranks).tolist() == [-2.0, 3.0, 0.5, 1.0]


def test_some_rows_train():
    X = np.array([[5.0], [1.0], [3.0], [4.0]])
    data = make(X, rows=[0, 2], X_val=np.array([[2.0], [np.nan]]))
    assert list_order(data, 0) == [(1, 2), (2, 0)]
    assert data.distinct.tolist() == [3.0, 5.0]
    assert data.n_rows == 6
    np.testing.assert_array_equal(data.table.presorted.values, [[5.0, 1.0, 3.0, 4.0, 2.0, np.nan]])


@pytest.mark.parametrize(
    ("column", "usable"),
    [([1, 1, 1], 0), ([1, 2, 1], 1), ([1, np.nan, 1], 1), ([np.nan] * 3, 0), ([0.0, -0.0, 0.0], 0)],
)
def test_usable_features(column, usable):
    assert make(np.array(column, dtype=float)[:, None]).usable.tolist() == [usable]


def test_categories_keep_their_bins():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 4, 500), rng.integers(0, 400, 500)])
    X[:5, 1] = np.nan
    n_categories = np.array([0, 4, 400])
    native = Native(smoothing=0)
    data = make(X, n_categories=n_categories, native=native)
    categories = data.table.categories
    assert (data.table.storage == CATEGORICAL).any()
    assert data.table.presorted.is_ranked.tolist() == [1, 0, 0]
    assert data.table.columns[1].tolist() == np.nan_to_num(X[:, 1] + 1).astype(int).tolist()
    assert categories.wide_place.tolist() == [-1, 0]
    assert categories.codes[categories.code_start[1] + categories.wide[0]].tolist() == (
        X[:, 2].astype(int).tolist()
    )
    assert np.diff(data.table.bin_start).tolist()[0] == 0


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_any_matrix_gives_the_same_table(n_threads):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 50, (300, 4)) * (rng.random((300, 4)) < 0.4).astype(float)
    expected = make(X)
    sparse = SparseMatrix.from_dense(X, 0.0)
    for other in (np.asfortranarray(X), X.astype(np.float32), X.astype(np.int16), sparse):
        found = make(other, n_threads=n_threads)
        np.testing.assert_array_equal(found.table.presorted.order, expected.table.presorted.order)
        np.testing.assert_array_equal(found.table.presorted.values, expected.table.presorted.values)
        np.testing.assert_array_equal(found.distinct, expected.distinct)
