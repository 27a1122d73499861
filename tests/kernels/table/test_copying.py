"""Items of matrices of any strides are copied as they are."""

import numpy as np
import pytest

from sumwise.data.matrix import read_chunks
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.copying import copy_items


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_items_of_rows_and_columns(n_threads, dtype):
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(40, 21)).astype(dtype)
    whole[3, 3], whole[6, 0] = np.nan, -0.0
    views = [
        whole,
        whole[:, :5],
        whole[::2, ::3],
        np.asfortranarray(whole),
        whole[:1],
        whole[:, :1],
    ]
    with Team(n_threads) as team:
        for X in views:
            ((_, part),) = read_chunks(X)
            for lines, strides in (
                (X, (part.row_stride, part.column_stride, X.shape[1])),
                (X.T, (part.column_stride, part.row_stride, X.shape[0])),
            ):
                expected = np.ascontiguousarray(lines).ravel()
                for first, last in ((0, X.size), (X.size // 3, X.size - 1), (1, 1)):
                    out = np.full(max(last - first, 0) + 1, 7, dtype=dtype)
                    team.run(copy_items, part.values, *strides, first, last, out[:-1])
                    assert out[:-1].tobytes() == expected[first:last].tobytes()
                    assert out[-1] == 7
