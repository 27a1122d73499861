"""The tests of coded trees, step by step. Predictions as a whole: tests/tree/test_predictor.py."""

import numpy as np

from sumwise.kernels.predict.scoring import _count_trailing_zeros
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_count_trailing_zeros(values, out):
    for i in range(values.size):
        out[i] = _count_trailing_zeros(values[i])


def test_count_trailing_zeros():
    values = np.arange(256, dtype=np.uint8)
    found = np.empty(256, dtype=np.uint8)
    run_count_trailing_zeros(values, found)
    assert found[0] == 8
    assert found[1:].tolist() == [(v & -v).bit_length() - 1 for v in range(1, 256)]
