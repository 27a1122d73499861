"""All kinds of input that users pass as X."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sumwise.data.frames.reading import ColumnFrame, read_array, read_input
from sumwise.errors import DataError

BAD = {
    "a row": (pd.Series([1, 2]), r"Series of pandas; pass X.to_frame\(\).T if it is one row"),
    "a polars column": (
        pl.Series([1, 2]),
        r"Series of polars; .* X.to_frame\(\) if it is one column",
    ),
    "an Arrow column": (pa.chunked_array([[1, 2]]), "ChunkedArray of pyarrow"),
    "a dictionary": ({"a": [1]}, r"got a dict; pass pandas.DataFrame\(X\)"),
    "a list of dictionaries": ([{"a": 1}], r"got a list of dicts; pass pandas.DataFrame\(X\)"),
    "no rows": ([], r"X is empty: it has 0 sample\(s\)"),
    "no rows of an array": (np.empty(0), "X is empty"),
    "pandas, same name": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns of the name 'a'"),
    "Arrow, same name": (pa.table([[1], [2]], names=["a", "a"]), "columns of the name 'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_inputs_that_are_refused(name):
    X, message = BAD[name]
    with pytest.raises(DataError, match=message):
        read_input(X)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?", "c16", "S1"])
def test_arrays_are_left_alone(dtype):
    X = np.zeros((2, 2), dtype=dtype)
    assert read_input(X) is X


@pytest.mark.parametrize(
    "X", [sparse.csr_matrix((2, 2)), sparse.dok_array((2, 2)), "text", None, 5, [[1, 2], [3]]]
)
def test_other_things_are_left_alone(X):
    assert read_input(X) is X


def test_lists_of_numbers_become_arrays():
    X = read_input([[1, 2.5], [3, 4]])
    assert X.dtype == np.float64
    assert X.tolist() == [[1, 2.5], [3, 4]]


def test_a_block_of_pandas_is_left_alone():
    for dtype in ("f8", "f4", "i4", "?"):
        frame = pd.DataFrame(np.zeros((3, 2), dtype=dtype))
        assert read_input(frame) is frame
    frame["c"] = 1.5
    assert isinstance(read_input(frame), ColumnFrame)
    assert isinstance(read_input(pd.DataFrame({"a": pd.array([1, None], "Int64")})), ColumnFrame)


def test_floats_of_pandas_are_not_copied():
    frame = pd.DataFrame({"a": np.arange(3.0), "b": ["x", "y", "z"]})
    part = read_input(frame).columns[0].read(0, 3)
    assert np.shares_memory(part, frame["a"].to_numpy())


def test_floats_of_polars_are_not_copied():
    frame = pl.DataFrame({"a": np.arange(3.0)})
    part = read_input(frame).columns[0].read(0, 3)
    assert np.shares_memory(part, frame["a"].to_numpy())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_to_keep(frame):
    X = frame({"c": [1.5], "a": ["x"], "b": [2]})
    table = read_input(X, keep=["a", "b", "z"])
    assert [column.label for column in table.columns] == ["column 'a'", "column 'b'"]


def test_rows_and_source():
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    table = read_input(frame.lazy())
    assert table.n_rows == 2
    assert table.source.equals(frame)


def test_arrays_and_scalars_are_returned_as_they_are():
    for values in (None, 5, "a", [1], np.ones(2), sparse.csr_matrix((1, 1))):
        assert read_array(values) is values


# Without any data frame library

SCRIPT = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Block())
import numpy as np
from sumwise import GradientBoostingRegressor
words = np.array(["a", "b"], dtype=object)[np.arange(40) % 2]
rows = [[x, str(w)] for x, w in zip(range(40), words)]
for X in (np.arange(40.0)[:, None], np.stack([np.arange(40), words], axis=1), rows):
    GradientBoostingRegressor(n_estimators=2).fit(X, np.arange(40)).predict(X)
"""


def test_frames_need_not_be_installed():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


@pytest.mark.parametrize("kind", [sparse.dok_array, sparse.dok_matrix, sparse.lil_array])
def test_sparse_matrices_that_are_dictionaries_pass(kind):
    X = kind(np.eye(3))
    assert read_input(X) is X
