import numpy as np
import pandas as pd
import pytest
from dask.sizeof import sizeof
from scipy.sparse import csr_array, issparse

from sumwise import RandomForestRegressor
from sumwise.dask import forest_tasks
from sumwise.dask.forest_tasks import Rows, _check_lengths, _count_threads, _join
from sumwise.errors import DataError
from sumwise.estimators.forests.ranges import BinnedSet
from sumwise.estimators.input.parts import Part


def join(*values):
    return _join([Part(number, own, None) for number, own in enumerate(values)], "X")


def test_frames_are_joined_as_dask_joins_them():
    """Categories that differ would make pandas forget that they are some."""
    parts = [pd.DataFrame({"c": pd.Categorical(own), "x": 1.0}) for own in (["b"], [], ["a", "b"])]
    joined = join(*parts)
    assert list(joined.c) == ["b", "a", "b"]
    assert sorted(joined.c.cat.categories) == ["a", "b"]
    assert list(join(*(own.x for own in parts))) == [1.0, 1.0, 1.0]


def test_arrays_are_joined():
    np.testing.assert_array_equal(
        join(np.ones((2, 3)), np.zeros((0, 3)), np.zeros((1, 3)))[:, 0], [1, 1, 0]
    )
    sparse = join(csr_array(np.eye(2)), csr_array((0, 2)), csr_array(np.ones((1, 2))))
    assert issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), [[1, 0], [0, 1], [1, 1]])
    assert join(None, None) is None
    alone = np.ones((2, 2))
    assert join(np.empty((0, 2)), alone) is alone
    assert join(np.empty((0, 2)), np.empty((0, 2))).shape == (0, 2)


def test_lengths_that_differ_are_refused():
    X, y = np.ones((3, 1)), pd.Series([1.0, 2.0])
    with pytest.raises(DataError, match="partition 4 has 3 rows in X, and 2 in y"):
        _check_lengths(Part(4, X, y))
    with pytest.raises(DataError, match="partition 0 has 3 rows in X, and 2 in sample_weight"):
        _check_lengths(Part(0, csr_array(X), [1, 2, 3], sample_weight=y))
    _check_lengths(Part(0, X, [1, 2, 3]))


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 8), (3, 3), (20, 8), (-1, 8), (-3, 6), (-20, 1)]
)
def test_no_more_threads_than_a_worker_has(monkeypatch, n_jobs, expected):
    class Worker:
        class state:  # noqa: N801
            nthreads = 8

    monkeypatch.setattr(forest_tasks, "get_worker", Worker)
    assert _count_threads(RandomForestRegressor(n_jobs=n_jobs)) == expected


def test_dask_knows_how_large_the_rows_and_the_trees_are():
    X = np.random.default_rng(0).random((1000, 7))
    forest = RandomForestRegressor(2, oob_score=False)
    binned = BinnedSet.read(forest, X, X[:, 0], None, None, 0, 1)
    assert 7_000 + 2 * 8_000 <= sizeof(Rows(binned, [])) < 7_000 + 4 * 8_000 + 8 * 7 * 255
    grown = binned.grow(range(2), 1)
    assert sizeof(grown) > 22 * grown.forest.n_nodes + 8 * grown.forest.n_leaves
