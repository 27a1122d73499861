"""Choose rows by their gradients or by chance; the same rows for any number of threads.

Rows have keys, unsigned integers of 64 bits, and the k lowest of them are chosen; of equal keys,
those of the first rows. The k-th lowest key is found digit by digit, from the top: count the keys
that have the digits found so far by their next digit, and see where the k-th lies.
"""

import numpy as np

from sumwise.kernels.elementary import exp, log
from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.random import extend_key, uniform
from sumwise.kernels.sort import as_bits
from sumwise.kernels.threads import share, wait_for_all

_DIGIT = np.uint64(16)
N_DIGIT_VALUES = 1 << 16
_DIGIT_MASK = np.uint64(N_DIGIT_VALUES - 1)
_TOP_SHIFT = 48
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_TAKEN = ~_ZERO
# Half of the distance between two numbers that :func:`uniform` returns.
_HALF_STEP = 1.0 / (1 << 53)


@routine
def _find_key(thread, n_threads, sync, keys, first, last, k, counters):
    """Return the k-th lowest key and how many are lower; each thread counts its own keys."""
    found, n_lower = _ZERO, np.int64(0)
    own = counters[thread]
    shift = np.int64(_TOP_SHIFT)
    while shift >= 0:
        for digit in range(own.size):
            own[digit] = 0
        for i in range(first, last):
            head = keys[i] >> np.uint64(shift)
            if (head >> _DIGIT) == found:
                own[head & _DIGIT_MASK] += 1
        wait_for_all(sync, n_threads)
        digit, n_here = -1, np.int64(0)
        while n_lower + n_here < k:
            n_lower += n_here
            digit += 1
            n_here = np.int64(0)
            for t in range(n_threads):
                n_here += counters[t, digit]
        wait_for_all(sync, n_threads)
        found = (found << _DIGIT) | np.uint64(digit)
        shift -= 16
    return found, n_lower


@routine
def _count_equal_before(thread, n_threads, sync, keys, first, last, key, ends):
    """Return how many keys of the threads before this one are equal to ``key``."""
    n_equal = np.int64(0)
    for i in range(first, last):
        n_equal += keys[i] == key
    ends[thread] = n_equal
    wait_for_all(sync, n_threads)
    n_before = np.int64(0)
    for t in range(thread):
        n_before += ends[t]
    return n_before


@kernel
def choose_by_gradient(
    thread, n_threads, sync, gradient, rows, n_top, n_other, amplify, key, buffers, chosen, factor
):
    """Gradient-based one-side sampling.

    Takes the ``n_top`` of ``rows`` with the largest |gradient|, summed over the outputs, and
    ``n_other`` of the others by chance: these have the factor ``amplify``, the first ones 1.
    """
    keys, counters, ends = buffers
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        total = 0.0
        for output in range(gradient.shape[0]):
            total += abs(gradient[output, rows[i]])
        keys[i] = ~as_bits(total)  # the largest has the lowest key
    bound, n_lower, n_equal = _ZERO, np.int64(0), np.int64(0)
    if n_top > 0:
        bound, n_lower = _find_key(thread, n_threads, sync, keys, first, last, n_top, counters)
        n_equal = _count_equal_before(thread, n_threads, sync, keys, first, last, bound, ends[0])
    for i in range(first, last):
        is_top = (n_top > 0) & (keys[i] < bound)
        if (n_top > 0) & (keys[i] == bound):
            is_top = n_lower + n_equal < n_top
            n_equal += 1
        keys[i] = _TAKEN if is_top else extend_key(key, i) >> _ONE
    bound, n_lower = _find_key(thread, n_threads, sync, keys, first, last, n_other, counters)
    n_equal = _count_equal_before(thread, n_threads, sync, keys, first, last, bound, ends[1])
    n_own, n_seen = np.int64(0), n_equal
    for i in range(first, last):
        takes = (keys[i] == _TAKEN) | (keys[i] < bound)
        if keys[i] == bound:
            takes = n_lower + n_seen < n_other
            n_seen += 1
        n_own += takes
    ends[2, thread] = n_own
    wait_for_all(sync, n_threads)
    place = np.int64(0)
    for t in range(thread):
        place += ends[2, t]
    for i in range(first, last):
        takes = (keys[i] == _TAKEN) | (keys[i] < bound)
        if keys[i] == bound:
            takes = n_lower + n_equal < n_other
            n_equal += 1
        if takes:
            chosen[place] = rows[i]
            factor[place] = 1.0 if keys[i] == _TAKEN else amplify
            place += 1


@kernel
def draw_uniform(key, rows, out):
    """Numbers of [0, 1), one a row."""
    for i in range(rows.size):
        out[i] = uniform(key, rows[i])


@kernel
def draw_bayesian_weights(key, temperature, rows, out):
    """The weights of a Bayesian bootstrap, one a row: (-log(u)) ** temperature."""
    for i in range(rows.size):
        weight = -log(uniform(key, rows[i]) + _HALF_STEP)
        out[i] = weight if temperature == 1.0 else exp(temperature * log(weight))


@kernel
def count_bootstrap(key, counts):
    """How often each of n rows is drawn in n draws with replacement."""
    n = counts.size
    for i in range(n):
        counts[i] = 0
    for i in range(n):
        counts[np.int64(uniform(key, i) * n)] += 1
