"""Each step on a block equals its definition as a loop."""

import numpy as np
import pytest

from sumwise.kernels.predict.blocks import BLOCK, clear_bits, count_below, keep_lowest
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_count_below(values, thresholds, n_thresholds, codes):
    count_below(values, thresholds, n_thresholds, codes)


@kernel
def run_clear_bits(codes, column, shift, limit, mask, first, last, bits):
    clear_bits(codes, column, shift, limit, mask, first, last, bits)


@kernel
def run_keep_lowest(bits, byte, lowest, byte_of_lowest):
    keep_lowest(bits, np.uint8(byte), lowest, byte_of_lowest)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_thresholds", [0, 1, 7, 254])
def test_count_below(n_thresholds, kind):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.sort(rng.normal(size=300)).astype(kind)
    values = rng.permutation(np.concatenate((thresholds[:200], rng.normal(size=56)))).astype(kind)
    values[:6] = np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0
    codes = np.full(BLOCK + 1, 77, dtype=np.uint8)
    run_count_below(values, thresholds, n_thresholds, codes[:-1])
    below = (thresholds[:n_thresholds, None] < values).sum(axis=0)
    assert codes[:-1].tolist() == np.where(np.isnan(values), 0, 1 + below).tolist()
    assert codes[-1] == 77


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 1), (3, 10), (0, 40), (39, 40)])
def test_clear_bits(first, last):
    rng = np.random.default_rng(first + last)
    codes = rng.integers(256, size=(5, BLOCK)).astype(np.uint8)
    column = rng.integers(5, size=40)
    shift, limit, mask = rng.integers(256, size=(3, 40)).astype(np.uint8)
    bits = np.full(BLOCK + 1, 77, dtype=np.uint8)
    run_clear_bits(codes, column, shift, limit, mask, first, last, bits[:-1])
    expected = np.full(BLOCK, 255, dtype=np.uint8)
    for test in range(first, last):
        moved = (codes[column[test]] + shift[test]).view(np.int8)
        expected[moved >= limit[test].view(np.int8)] &= mask[test]
    assert bits[:-1].tolist() == expected.tolist()
    assert bits[-1] == 77


def test_clear_bits_compares_all_bytes():
    """Every code with every limit, and every shift."""
    codes = np.arange(BLOCK, dtype=np.uint8)[None]
    column, mask = np.zeros(256, dtype=np.int64), np.zeros(256, dtype=np.uint8)
    limit, bits = np.arange(256, dtype=np.uint8), np.empty(BLOCK, dtype=np.uint8)
    for step in (0, 1, 127, 128, 255):
        shift = np.full(256, step, dtype=np.uint8)
        moved = (codes[0] + np.uint8(step)).view(np.int8)
        for test in range(256):
            run_clear_bits(codes, column, shift, limit, mask, test, test + 1, bits)
            assert ((bits == 0) == (moved >= limit[test].view(np.int8))).all()


def test_keep_lowest():
    rng = np.random.default_rng(0)
    bits = rng.integers(256, size=BLOCK).astype(np.uint8) * rng.integers(2, size=BLOCK)
    bits = bits.astype(np.uint8)
    before, byte_before = rng.integers(256, size=(2, BLOCK)).astype(np.uint8)
    lowest, byte_of_lowest = before.copy(), byte_before.copy()
    run_keep_lowest(bits, 200, lowest, byte_of_lowest)
    assert lowest.tolist() == np.where(bits, bits, before).tolist()
    assert byte_of_lowest.tolist() == np.where(bits, 200, byte_before).tolist()
