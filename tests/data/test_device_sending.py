"""Values of the host arrive on a device as they are."""

import numpy as np
import pytest

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.data import device_sending
from sumwise.data.device_sending import is_better_sent, send_rows
from sumwise.data.matrix import read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team

TEAM = Team(2)


def read_back(device, values, n_rows, n_features):
    shape = (n_rows * n_features,)
    flat = DeviceArray(device, values.address, shape, values.dtype, values.owner).to_host()
    steps = np.arange(n_rows) * values.row_stride, np.arange(n_features) * values.column_stride
    return flat[np.add.outer(*steps)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(1, 1), (16, 200), (40, 41), (1000, 300), (1 << 20, 1 << 20)])
def test_rows_arrive(device, dtype, sizes, monkeypatch):
    piece, batch = sizes
    monkeypatch.setattr(device_sending, "_PIECE_BYTES", piece)
    monkeypatch.setattr(device_sending, "_BATCH_BYTES", batch)
    whole = np.random.default_rng(0).normal(size=(30, 6)).astype(dtype)
    whole[2, :3] = np.nan, -0.0, np.inf
    for X in (
        whole,
        np.asfortranarray(whole),
        whole[:, 1:4],
        whole[::3, ::2],
        whole[:1],
        whole[:0],
    ):
        ((_, part),) = read_chunks(X)
        stop = 0
        for rows, values in send_rows(device, part, X.shape[1], TEAM):
            assert rows.start == stop
            stop = rows.stop
            sent = read_back(device, values, stop - rows.start, X.shape[1])
            assert sent.tobytes() == X[rows].tobytes()
        assert stop == len(X)


def test_what_is_better_sent():
    X = np.zeros((3, 10), dtype=np.float32)
    assert is_better_sent(X, 10, Team(16))
    assert is_better_sent(X.astype(np.float64), 10, Team(16))
    assert not is_better_sent(X, 10, Team(128))
    assert not is_better_sent(X, 2, Team(16))  # most features are not used
    assert not is_better_sent(X, 0, Team(1))
    assert not is_better_sent(SparseMatrix.from_dense(X.astype(np.float64), 0.0), 10, Team(1))
