import numpy as np
import pandas as pd
import pytest

from sumwise.data.batches import matrix
from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.matrix import BatchedMatrix
from sumwise.data.batches.sources import open_source
from sumwise.data.matrix import read_chunks

VALUES = np.arange(46.0).reshape(23, 2)


def open_matrix(n_rows):
    frame = pd.DataFrame(VALUES, columns=["a", "b"])
    source = open_source(lambda: (frame[i : i + n_rows] for i in range(0, 23, n_rows)))
    return BatchedMatrix(learn_table(BatchedTable.open(source, Roles())))


@pytest.mark.parametrize("n_rows", [1, 3, 8, 9, 23])
def test_batches_become_parts_of_equal_size(n_rows, monkeypatch):
    monkeypatch.setattr(matrix, "_PART_ROWS", 8)
    own = open_matrix(n_rows)
    assert own.shape == (23, 2)
    assert own.size == 46
    for _ in range(2):  # as many passes as needed
        parts = list(own.read())
        assert [first for first, _ in parts] == [0, 8, 16]
        assert np.array_equal(np.concatenate([part for _, part in parts]), VALUES)
    assert np.array_equal(own.read_all(), VALUES)


def test_kernels_read_it_in_chunks():
    ((first, part),) = read_chunks(open_matrix(5))
    assert first == 0
    assert np.array_equal(part.values, VALUES.ravel())
