"""Counter-based random numbers: a value is a hash of what it is for, never of when it is drawn.

A key is made from (seed, purpose, round, node ...) one :func:`extend_key` at a time; the number for
a row or feature is :func:`uniform` of the key and its index. No thread owns a generator, so
nothing depends on how the work is divided.
"""

import numpy as np

from sumwise.kernels.runtime.elementary import log
from sumwise.kernels.runtime.jit import inlined, kernel, routine

# Purposes: two streams of one seed never meet.
ROWS, TREES, COLUMNS_BY_TREE, COLUMNS_BY_LEVEL, COLUMNS_BY_NODE, BINNING = (
    np.int64(purpose) for purpose in range(1, 7)
)
# Of members of ensembles.
MEMBER_ROWS, MEMBER_FEATURES, MEMBER_PARAMETERS, MEMBER_SEEDS, MEMBER_TARGETS, MEMBER_STOPPING = (
    np.int64(purpose) for purpose in range(32, 38)
)
# Of inspection.
PERMUTED_ROWS = np.int64(48)
PERMUTATIONS, COMBINATIONS = np.int64(100), np.int64(101)
DROPPED_ROUNDS, SKIPPED_DROPS, RANDOM_SPLITS = (np.int64(purpose) for purpose in range(11, 14))

_64_BITS = (1 << 64) - 1


@routine
def extend_key(key, value):
    """Mix one more integer into a key (the finalizer of SplitMix64)."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(value) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@routine
def uniform(key, index):
    """Return the number of [0, 1) that belongs to an index under a key."""
    return np.float64(extend_key(key, index) >> np.uint64(12)) * (1.0 / (1 << 52))


def make_key(seed: int, purpose: int, number: int) -> np.uint64:
    """Return the key of (seed, purpose, number): that of :func:`extend_key`, three times.

    In plain Python, which takes less time than to call a kernel.
    """
    z = 0
    for value in (seed, purpose, number):
        z = (z + 0x9E3779B97F4A7C15 * (int(value) + 1)) & _64_BITS
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        z ^= z >> 31
    return np.uint64(z)


@kernel
def choose_rows(key, candidates, out):
    """Fill ``out`` with a simple random sample of ``candidates``, in their order.

    Selection sampling: item i is taken with probability needed / remaining, so exactly
    ``len(out)`` are taken and every subset of that size is equally likely.
    """
    n = candidates.size
    taken = 0
    for i in range(n):
        if uniform(key, i) * (n - i) < out.size - taken:
            out[taken] = candidates[i]
            taken += 1


@routine
def choose_features(key, pool, n_chosen, chosen):
    """Mark ``n_chosen`` features of those marked in ``pool``, by the same method."""
    remaining = 0
    for f in range(pool.size):
        remaining += pool[f]
    needed = min(n_chosen, remaining)
    for f in range(pool.size):
        chosen[f] = 0
        if pool[f]:
            if uniform(key, f) * remaining < needed:
                chosen[f] = 1
                needed -= 1
            remaining -= 1


@inlined
def _find_smallest(bits, n):
    """The n-th smallest of some integers that are not negative, n of at least one."""
    low, high = np.int64(0), np.int64(0x7FFFFFFFFFFFFFFF)
    while low < high:
        middle = low + ((high - low) >> 1)
        n_up_to = 0
        for i in range(bits.size):
            n_up_to += bits[i] <= middle
        if n_up_to >= n:
            high = middle
        else:
            low = middle + 1
    return low


@routine
def choose_by_weight(key, pool, weights, n_chosen, times, chosen):
    """Mark ``n_chosen`` features of those marked in ``pool``, drawn by weight without replacement.

    Efraimidis and Spirakis (2006): each feature waits an exponential time whose rate is its weight,
    and the first to arrive are chosen. A feature of weight zero never arrives, so fewer may be
    chosen. ``times`` is scratch.
    """
    n_positive = 0
    for f in range(pool.size):
        times[f] = np.inf
        chosen[f] = 0
        if pool[f] and weights[f] > 0.0:
            times[f] = (0.0 - log(1.0 - uniform(key, f))) / weights[f]
            n_positive += 1
    needed = min(n_chosen, n_positive)
    if needed == 0:
        return
    # Floats that are not negative are ordered as their bits are.
    bits = times.view(np.int64)
    last = _find_smallest(bits, needed)
    for f in range(pool.size):
        if bits[f] < last:
            chosen[f] = 1
            needed -= 1
    for f in range(pool.size):
        if bits[f] == last and needed > 0 and pool[f] and weights[f] > 0.0:
            chosen[f] = 1
            needed -= 1


@inlined
def choose_between(key, index, low, n):
    """Return one of the integers low, ..., low + n - 1, all equally likely."""
    return low + np.int64(uniform(key, index) * n)
