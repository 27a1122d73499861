"""Sort keys and their sort against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime import sort
from sumwise.kernels.runtime.jit import kernel

BITS = {np.float32: np.uint32, np.float64: np.uint64}
KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64])
many = settings(derandomize=True, deadline=None, max_examples=200)


@kernel
def make_keys(values, keys):
    for i in range(values.size):
        keys[i] = sort.key_of_float(values[i], 8 * keys.itemsize)


@kernel
def restore_bits(keys, bits):
    for i in range(keys.size):
        bits[i] = sort.bits_of_key(keys[i], 8 * keys.itemsize)


@kernel
def run_sort(keys, other_keys, weights, other_weights, weighted, counters):
    return sort.sort_keys(keys, other_keys, weights, other_weights, weighted, counters)


def keys_of(values):
    keys = np.empty(values.size, dtype=BITS[values.dtype.type])
    make_keys(values, keys)
    return keys


def bits_to_floats(bits, kind):
    return np.array([b % 2 ** (8 * kind().itemsize) for b in bits], dtype=BITS[kind]).view(kind)


def odd_values(kind):
    """Zeros, subnormals, neighbors, infinities and missing values of all sorts."""
    tiny, one, largest = np.finfo(kind).smallest_subnormal, kind(1), np.finfo(kind).max
    values = np.array(
        [0, tiny, 2 * tiny, np.finfo(kind).tiny, one, np.nextafter(one, kind(2)), largest, np.inf],
        dtype=kind,
    )
    bits = np.array([np.nan], dtype=kind).view(BITS[kind])
    missing = np.concatenate([bits, bits + 1, bits ^ (BITS[kind](1) << (bits.itemsize * 8 - 1))])
    return np.concatenate([values, -values, missing.view(kind)])


def sort_by_kernel(keys, weights=None):
    buffers = [keys.copy(), np.empty_like(keys)]
    mass = [np.empty(0), np.empty(0)] if weights is None else [weights.copy(), np.empty(keys.size)]
    counters = np.full(sort.N_DIGIT_VALUES, 7, dtype=np.uint32)
    place = int(run_sort(*buffers, *mass, weights is not None, counters))
    return buffers[place], mass[place]


@KINDS
def test_keys_sort_as_floats_do(kind):
    values = odd_values(kind)
    keys = keys_of(values)
    for i, one in enumerate(values):
        for k, other in enumerate(values):
            if np.isnan(one):
                assert keys[i] == np.iinfo(keys.dtype).max
            elif np.isnan(other):
                assert keys[i] < keys[k]
            else:
                assert (keys[i] < keys[k]) == (one < other)
                assert (keys[i] == keys[k]) == (one == other)


@many
@given(bits=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_keys_keep_all_bits(bits):
    for kind in BITS:
        values = bits_to_floats(bits, kind)
        values = np.concatenate([values[~np.isnan(values)], odd_values(kind)[:16]]) + kind(0)
        restored = np.empty(values.size, dtype=BITS[kind])
        restore_bits(keys_of(values), restored)
        assert restored.tobytes() == values.tobytes()


@many
@given(
    bits=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300),
    mask=st.sampled_from([2**64 - 1, 0b101, 2**40, 2**31 + 1, 0]),
)
def test_sorted_keys_equal_numpy(bits, mask):
    for kind in BITS.values():
        keys = (np.array(bits, dtype=np.uint64) & np.uint64(mask)).astype(kind)
        found, _ = sort_by_kernel(keys)
        assert np.array_equal(found, np.sort(keys))
        # weights go with their keys; equal keys keep their order
        weights = np.arange(keys.size, dtype=np.float64)
        found, order = sort_by_kernel(keys, weights)
        assert np.array_equal(found, np.sort(keys))
        assert np.array_equal(order, np.argsort(keys, kind="stable"))


@KINDS
@pytest.mark.parametrize("n", [1, 2, 2047, 2049, 30_000])
def test_floats_are_sorted(kind, n):
    rng = np.random.default_rng(n)
    values = rng.normal(size=n).astype(kind) * kind(10) ** rng.integers(-30, 30, n).astype(kind)
    values[rng.random(n) < 0.1] = np.nan
    found, _ = sort_by_kernel(keys_of(values))
    restored = np.empty_like(found)
    n_present = np.count_nonzero(~np.isnan(values))
    restore_bits(found, restored)
    assert np.array_equal(restored.view(kind)[:n_present], np.sort(values)[:n_present])
    assert np.all(found[n_present:] == np.iinfo(found.dtype).max)
