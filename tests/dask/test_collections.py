import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from sumwise.dask.collections import Output, Sources, list_partitions, map_rows
from sumwise.errors import DataError

FRAME = pd.DataFrame({"a": np.arange(10.0), "b": list("xyxyxyxyxy"), "y": np.arange(10) % 3})


def compute(sources):
    return [Sources(*own) for own in dask.compute(*map(tuple, sources), scheduler="sync")]


def test_partitions_of_frames():
    frame = dd.from_pandas(FRAME, npartitions=3)
    parts = compute(list_partitions(frame[["a", "b"]], frame["y"], groups=frame["a"]))
    assert len(parts) == 3
    found = pd.concat([own.X for own in parts])
    pd.testing.assert_frame_equal(found, FRAME[["a", "b"]], check_dtype=False)
    assert [*np.concatenate([own.y for own in parts])] == [*FRAME.y]
    assert [*np.concatenate([own.groups for own in parts])] == [*FRAME.a]
    assert all(own.sample_weight is None and own.init_score is None for own in parts)


def test_names_of_columns_are_no_features():
    frame = dd.from_pandas(FRAME.assign(w=1.5, z=2), npartitions=2)
    parts = compute(list_partitions(frame, ["y", "z"], sample_weight="w"))
    assert list(parts[0].X.columns) == ["a", "b"]
    assert list(parts[0].y.columns) == ["y", "z"]
    assert list(parts[1].sample_weight) == [1.5] * 5


def test_partitions_of_arrays_have_all_columns():
    X = np.arange(40.0).reshape(10, 4)
    chunks = (3, 0, 7)
    parts = compute(
        list_partitions(
            da.from_array(X, chunks=(chunks, (2, 2))),
            da.from_array(X[:, 0], chunks=(chunks,)),
            init_score=da.from_array(X[:, :2], chunks=(chunks, 1)),
        )
    )
    assert [own.X.shape for own in parts] == [(3, 4), (0, 4), (7, 4)]
    np.testing.assert_array_equal(np.concatenate([own.X for own in parts]), X)
    np.testing.assert_array_equal(np.concatenate([own.init_score for own in parts]), X[:, :2])


def test_a_validation_set_in_memory_is_one_partition():
    [own] = list_partitions(FRAME, FRAME.y, in_memory=True)
    assert own.X is FRAME
    assert own.groups is None


ARRAY = da.ones((10, 2), chunks=(5, 2))


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (FRAME, FRAME.y, {"plain": "sumwise.Model"}, "X is a pandas DataFrame; pass a Dask.*Model"),
        (np.ones((3, 2)), [1, 2, 3], {}, "X is a numpy ndarray; pass a Dask.*from_array"),
        (ARRAY, np.ones(10), {}, "y is a numpy ndarray; pass a Dask"),
        (ARRAY, da.ones(10, chunks=2), {}, "X has 2 partitions, and y has 5"),
        (ARRAY[:, 0], ARRAY[:, 0], {}, "Expected 2D array, got 1D"),
        (ARRAY, "y", {}, "y='y' names columns of X, which is not a DataFrame"),
        (dd.from_pandas(FRAME, npartitions=2), "z", {}, "y='z': X has no such column; it has 'a'"),
        (ARRAY, ARRAY[:, 0], {"groups": dask.delayed(1)}, "groups is a dask DelayedLeaf"),
        (ARRAY, da.ones((10, 1, 1), chunks=5), {}, "y has 3 dimensions"),
        (ARRAY, FRAME.y, {"suffix": "_val", "in_memory": True}, "y_val is a pandas Series"),
    ],
)
def test_what_is_no_collection_is_refused(X, y, options, message):
    with pytest.raises(DataError, match=message):
        list_partitions(X, y, **options)


def add(model, rows):
    assert len(rows) > 0
    return np.asarray(rows)[:, 0] + model["shift"]


def name_rows(model, rows):
    return np.array(["low", "high"], dtype=object)[(np.asarray(rows)[:, 0] > 4).astype(int)]


def both(model, rows):
    return np.column_stack([add(model, rows), add(model, rows)])


@pytest.mark.parametrize(
    ("function", "output"),
    [
        (add, Output(np.dtype(float))),
        (name_rows, Output(np.dtype(object))),
        (name_rows, Output(np.dtype("<U4"))),
        (both, Output(np.dtype(float), ["one", "two"])),
    ],
)
def test_functions_of_rows_are_lazy(function, output):
    frame = FRAME[["a"]].set_axis(list("klmnopqrst"))
    expected = function({"shift": 1.0}, frame)
    empty = dd.from_map(lambda k: frame[:0] if k == 1 else frame[5 * k // 2 :][:5], [0, 1, 2])
    lazy = map_rows(function, empty, {"shift": 1.0}, output)
    assert lazy.npartitions == 3
    found = lazy.compute(scheduler="sync")
    assert list(found.index) == list(frame.index)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert (found.dtypes == lazy.dtypes).all() if output.columns else found.dtype == lazy.dtype

    array = da.from_array(frame.to_numpy(), chunks=((4, 0, 6), 1))
    lazy = map_rows(function, array, {"shift": 1.0}, output)
    assert lazy.shape == expected.shape
    assert lazy.dtype == output.dtype
    found = lazy.compute(scheduler="sync")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == output.dtype
