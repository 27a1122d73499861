"""Values of X as users know them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_matrix, csr_array

from sumwise.data.frames.values import show_values

FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan],
        "city": pd.Categorical(["Bern", None]),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        "count": [1, 2],
    }
)


@pytest.mark.parametrize("wrap", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).lazy()])
def test_frames_of_any_kind(wrap):
    values = show_values(wrap(FRAME))
    assert values.dtype == object
    assert values[0, 1] == "Bern"
    assert values[0, 2] == np.datetime64("2020-01-01")
    assert values[1, 3] == 2
    assert values[1, 0] != values[1, 0]


def test_numbers_stay_numbers():
    numbers = FRAME[["size", "count"]]
    assert show_values(numbers).dtype == np.float64
    assert show_values(pl.from_pandas(FRAME[["count"]]).to_arrow()).dtype == np.int64
    array = np.zeros((2, 3), dtype=np.float32)
    assert show_values(array) is array
    assert show_values([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert show_values([[1, "a"]]).dtype == object


def test_some_columns():
    assert show_values(FRAME, ["count", "city"])[0].tolist() == [1, "Bern"]


def test_sparse_matrices():
    dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    np.testing.assert_array_equal(show_values(csr_array(dense)), dense)
    missing = show_values(coo_matrix(dense), absent=np.nan)
    np.testing.assert_array_equal(missing, np.where(dense == 0, np.nan, dense))
