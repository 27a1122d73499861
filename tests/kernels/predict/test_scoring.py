"""The tests of coded trees, step by step. Predictions as a whole: tests/tree/test_predictor.py."""

import numpy as np
import pytest

from sumwise.kernels.predict.coding import BLOCK
from sumwise.kernels.predict.scoring import _count_trailing_zeros, clear_bits
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_clear_bits(codes, column, offset, bound, mask, first, last, bits):
    clear_bits(codes, column, offset, bound, mask, first, last, bits)


@kernel
def run_count_trailing_zeros(values, out):
    for i in range(values.size):
        out[i] = _count_trailing_zeros(values[i])


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 1), (3, 10), (0, 40), (39, 40)])
def test_clear_bits_equals_its_definition(first, last):
    rng = np.random.default_rng(first + last)
    codes = rng.integers(256, size=(5, BLOCK)).astype(np.uint8)
    column = rng.integers(5, size=40)
    offset, bound, mask = rng.integers(256, size=(3, 40)).astype(np.uint8)
    bits = np.full(BLOCK + 1, 77, dtype=np.uint8)
    run_clear_bits(codes, column, offset, bound, mask, first, last, bits[:-1])
    expected = np.full(BLOCK, 255, dtype=np.uint8)
    for i in range(BLOCK):
        for test in range(first, last):
            if (int(codes[column[test], i]) - int(offset[test])) % 256 > bound[test]:
                expected[i] &= mask[test]
    assert bits[:-1].tolist() == expected.tolist()
    assert bits[-1] == 77


def test_count_trailing_zeros():
    values = np.arange(256, dtype=np.uint8)
    found = np.empty(256, dtype=np.uint8)
    run_count_trailing_zeros(values, found)
    assert found[0] == 8
    assert found[1:].tolist() == [(v & -v).bit_length() - 1 for v in range(1, 256)]
