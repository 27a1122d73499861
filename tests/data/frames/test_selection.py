"""Rows and columns taken from any container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sumwise.data.frames.reading import collect_lazy
from sumwise.data.frames.selection import (
    join_columns,
    shuffle_feature,
    shuffle_features,
    take_features,
    take_rows,
)

SMALL = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "w"]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    "values",
    [
        SMALL,
        SMALL["a"],
        pl.from_pandas(SMALL),
        pa.Table.from_pandas(SMALL),
        SMALL["a"].to_numpy(),
    ],
    ids=lambda v: f"{type(v).__module__}.{type(v).__name__}",
)
def test_rows_are_taken_from_anything(values):
    taken = take_rows(values, np.array([2, 0], dtype=np.uint32))
    assert type(taken) is type(values)
    assert "3" in str(taken)
    assert "2.0" not in str(taken)


def test_rows_are_taken_from_sparse_matrices_and_lists():
    rows, matrix = np.array([2, 0]), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(
        take_rows(sparse.csr_matrix(matrix).tocoo(), rows).toarray(), matrix[rows]
    )
    assert take_rows(["a", "b", "c"], rows) == ["c", "a"]
    for taken in (take_rows, take_features):
        by_column, by_row = sparse.csc_array(matrix), sparse.csr_array(matrix)
        assert taken(by_column, np.array([1, 0])).format == "csc"
        assert taken(by_row, np.array([1, 0])).format == "csr"


def as_columns(table):
    """Return names and values."""
    if isinstance(table, pa.Table):
        return table.to_pydict()
    return {name: list(table[name]) for name in table.columns}


FRAMES = [
    SMALL,
    SMALL.set_axis([0, 1], axis=1),
    pl.from_pandas(SMALL),
    pl.from_pandas(SMALL).lazy(),
    pa.Table.from_pandas(SMALL, preserve_index=False),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda v: f"{type(v).__module__}.{type(v).__name__}")
def test_features_of_frames(frame):
    whole = as_columns(collect_lazy(frame))
    first, second = whole
    assert as_columns(take_features(frame, np.array([1]))) == {second: whole[second]}
    assert take_features(frame, None) is frame
    twice = take_features(frame, np.array([0, 0]))
    np.testing.assert_array_equal(twice, [[1, 1], [2, 2], [3, 3]])
    for feature, name in enumerate(whole):
        shuffled = as_columns(shuffle_feature(frame, feature, np.array([2, 0, 1])))
        assert shuffled == {**whole, name: [whole[name][i] for i in (2, 0, 1)]}
    assert as_columns(collect_lazy(frame)) == whole
    assert first != second


@pytest.mark.parametrize("frame", FRAMES, ids=lambda v: f"{type(v).__module__}.{type(v).__name__}")
def test_several_features_are_shuffled_alike(frame):
    whole = as_columns(collect_lazy(frame))
    shuffled = as_columns(shuffle_features(frame, np.array([0, 1]), np.array([2, 0, 1])))
    assert shuffled == {name: [own[i] for i in (2, 0, 1)] for name, own in whole.items()}


def test_shuffled_frames_keep_their_index():
    assert shuffle_feature(SMALL, 0, np.array([2, 0, 1])).index.tolist() == [7, 8, 9]


@pytest.mark.parametrize("make", [np.array, np.ndarray.tolist, sparse.csr_matrix, sparse.coo_array])
def test_features_of_arrays_lists_and_sparse_matrices(make):
    matrix = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]])
    table = make(matrix)
    taken = take_features(table, np.array([0, 2, 2]))
    shuffled = shuffle_feature(table, 2, np.array([1, 0]))
    for found, expected in [
        (taken, [[1, 3, 3], [0, 0, 0]]),
        (shuffled, [[1, 0, 0], [0, 5, 3]]),
        (table, matrix),
    ]:
        dense = found.toarray() if hasattr(found, "toarray") else found
        np.testing.assert_array_equal(dense, expected)


META = np.array([[0.1], [0.2], [0.3]])


def test_columns_of_numbers_are_joined_to_an_array():
    for numbers in (SMALL[["a"]], pl.from_pandas(SMALL[["a"]]), SMALL[["a"]].to_numpy()):
        joined = join_columns(META, numbers, ["m"])
        np.testing.assert_array_equal(joined, [[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]])


def test_sparse_columns_stay_sparse():
    joined = join_columns(META, sparse.csr_matrix(SMALL[["a"]].to_numpy()), ["m"])
    np.testing.assert_array_equal(joined.toarray(), [[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]])


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_frames_with_categories_stay_frames(convert):
    frame = convert(SMALL)
    joined = join_columns(META, frame, ["m"])
    assert type(joined) is type(frame)
    values = joined.to_pydict() if isinstance(joined, pa.Table) else joined
    assert list(values["m"]) == [0.1, 0.2, 0.3]
    assert list(values["b"]) == ["u", "v", "w"]
    names = joined.column_names if isinstance(joined, pa.Table) else list(joined.columns)
    assert names[:3] == ["m", "a", "b"]


def test_arrays_of_strings_are_joined_to_an_array_of_objects():
    joined = join_columns(META, np.array([["u"], ["v"], ["w"]], dtype=object), ["m"])
    assert joined.tolist() == [[0.1, "u"], [0.2, "v"], [0.3, "w"]]
