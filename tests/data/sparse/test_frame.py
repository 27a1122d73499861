"""Sparse columns of pandas frames."""

import numpy as np
import pandas as pd
import pytest

from sumwise.data.frames.columns import SparseColumn
from sumwise.data.frames.reading import ColumnFrame, read_input
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.frame import SparseFrame, read_sparse_frame


def make_frame(fill):
    array = pd.arrays.SparseArray
    return pd.DataFrame(
        {
            "a": array([fill, 1.5, fill], fill_value=fill),
            "b": array([2.0, fill, fill], fill_value=fill),
            "c": [0, 7, 8],
        }
    )


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_frames_with_sparse_columns(fill):
    frame = make_frame(fill)
    found = read_input(frame, sparse=True)
    assert isinstance(found, SparseFrame)
    assert found.is_missing == np.isnan(fill)
    matrix = SparseMatrix.from_scipy(found.matrix, fill)
    assert np.array_equal(matrix.convert(0, 3), frame.to_numpy(dtype=float), equal_nan=True)
    assert isinstance(read_input(frame), ColumnFrame)


def test_frames_that_are_read_by_column():
    frame = make_frame(0.0)
    for name, values in {
        "text": ["x", "y", "z"],
        "other fill": pd.arrays.SparseArray([1.0, 0.0, 1.0], fill_value=1.0),
        "gaps": pd.array([1, None, 2], dtype="Int64"),
    }.items():
        table = read_input(frame.assign(**{name: values}), sparse=True)
        assert isinstance(table, ColumnFrame)
        assert isinstance(table.columns[0], SparseColumn)
        assert table.columns[0].read(1, 3).tolist() == [1.5, 0.0]
    assert read_sparse_frame(frame[["c"]]) is None
    codes, distinct = table.columns[1].factorized
    assert distinct[codes].tolist() == [2.0, 0.0, 0.0]
    assert not table.columns[1].rounds_integers()
