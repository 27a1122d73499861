import sys
from dataclasses import dataclass

import numpy as np
import pytest

from sumwise.data.sizes import count_bytes


@dataclass
class Pair:
    first: object
    second: object


@pytest.mark.parametrize(
    ("value", "n_bytes"),
    [
        (np.zeros(5), 40),
        ([np.zeros(5), "text", 7, None], 40),
        ({1: np.zeros(3, np.uint8)}, 3),
        (Pair(np.zeros(2), (np.zeros(3), Pair(1, np.zeros(1)))), 48),
        (np.ones((2, 2), np.float32).T, 16),
    ],
)
def test_bytes_of_arrays_are_counted(value, n_bytes):
    assert count_bytes(value) == n_bytes


def test_tables_say_how_large_they_are():
    from sumwise.data.binning import BinMapper
    from sumwise.kernels.runtime.threads import Team
    from sumwise.tree.forest_table import RowTable

    X = np.random.default_rng(0).random((500, 3))
    table = RowTable.from_matrix(X, BinMapper.fit(X), Team(1))
    assert 1500 < sys.getsizeof(table) < 1500 + 3 * 8 * 256 + 500
