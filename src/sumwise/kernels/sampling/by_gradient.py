"""Choose rows by their gradients or by chance; the same rows for any number of threads.

Rows have keys, unsigned 64-bit integers, and the k lowest are chosen; among equal keys, those of
the first rows. The k-th lowest key is found digit by digit, from the top: count the keys that have
the digits found so far by their next digit, and find the digit of the k-th.
"""

import numpy as np

from sumwise.kernels.runtime.elementary import exp, log
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import extend_key, uniform
from sumwise.kernels.runtime.sort import as_bits
from sumwise.kernels.runtime.threads import share, wait_for_all

_DIGIT = np.uint64(16)
N_DIGIT_VALUES = 1 << 16
_DIGIT_MASK = np.uint64(N_DIGIT_VALUES - 1)
_TOP_SHIFT = np.uint64(48)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Random keys have fewer bits, so that the counters of their top digit stay in the cache.
_FEWER_BITS = np.uint64(6)
_TAKEN = ~_ZERO
_LARGEST_SIZE = np.uint64((1 << 63) - 1)
# Half the distance between two numbers that :func:`uniform` returns.
_HALF_STEP = 1.0 / (1 << 53)


@routine
def _find_digit(thread, n_threads, counters, k, n_lower):
    """Return the digit of the k-th lowest key, and the number of lower keys: all, own ones."""
    digit, n_here, n_own = -1, np.int64(0), np.int64(0)
    while n_lower + n_here < k:
        if digit >= 0:
            n_lower += n_here
            n_own += counters[thread, digit]
        digit += 1
        n_here = np.int64(0)
        for t in range(n_threads):
            n_here += counters[t, digit]
    return np.uint64(digit), n_lower, n_own


@routine
def _find_key(thread, n_threads, sync, keys, first, last, k, counters, pool):
    """Return the k-th lowest key, the number of lower keys, of equal keys in earlier threads, and
    of lower keys in this thread.

    ``counters`` have counted the keys by their top digit. ``pool`` takes the keys that have the
    digit sought; they are few, so the other digits cost little.
    """
    wait_for_all(sync, n_threads)
    found, n_lower, n_own = _find_digit(thread, n_threads, counters, k, np.int64(0))
    n_pool = first
    for i in range(first, last):
        pool[n_pool] = keys[i]
        n_pool += (keys[i] >> _TOP_SHIFT) == found
    own, shift = counters[thread], np.int64(32)
    while shift >= 0:
        wait_for_all(sync, n_threads)  # all have read the counters
        for digit in range(own.size):
            own[digit] = 0
        for i in range(first, n_pool):
            head = pool[i] >> np.uint64(shift)
            if (head >> _DIGIT) == found:
                own[head & _DIGIT_MASK] += 1
        wait_for_all(sync, n_threads)
        digit, n_lower, n_more = _find_digit(thread, n_threads, counters, k, n_lower)
        n_own += n_more
        found = (found << _DIGIT) | digit
        shift -= 16
    n_before = np.int64(0)
    for t in range(thread):
        n_before += counters[t, found & _DIGIT_MASK]
    wait_for_all(sync, n_threads)
    return found, n_lower, n_before, n_own


@routine
def _key_of_size(gradient, row):
    """The key of a row: the larger its gradient, the lower."""
    size = abs(gradient[0, row])
    for output in range(1, gradient.shape[0]):
        size += abs(gradient[output, row])
    return _LARGEST_SIZE ^ as_bits(size)


@routine
def _find_cut(keys, first, last, key, n_ties, n_taken):
    """Return the place before which ties with ``key`` are taken, ``n_taken`` of ``n_ties``.

    With it, loops over keys need not count ties, and vectorize.
    """
    if n_taken <= 0:
        return first
    place = last
    if n_taken < n_ties:
        place = first
        while n_taken > 0:
            n_taken -= keys[place] == key
            place += 1
    return place


@routine
def _mark_top(keys, others, first, last, bound):
    """Keys lower than the bound become ``_TAKEN``, the others what ``others`` has."""
    own, own_others = keys[first:last], others[first:last]
    for i in range(own.size):
        own[i] = _TAKEN if own[i] < bound else own_others[i]


@routine
def _partition_rows(keys, rows, first, last, bound, amplify, out, places):
    """Separate the rows that are taken, or have a key lower than the bound, from the others.

    ``places`` are (place of the next chosen row, its end, place of the next other row, its end).
    Branch-free as long as neither is full: a row is written to both.
    """
    chosen, factor, left_out = out
    place, end, other_place, other_end = places
    i, last = np.uint64(first), np.uint64(last)
    while (i < last) & (place < end) & (other_place < other_end):
        key, row = keys[i], rows[i]
        step = _ONE if key + _ONE <= bound else _ZERO  # _TAKEN + 1 is 0
        chosen[place] = row
        factor[place] = 1.0 if key == _TAKEN else amplify
        left_out[other_place] = row
        place += step
        other_place += _ONE - step
        i += _ONE
    while i < last:
        key = keys[i]
        if key + _ONE <= bound:
            chosen[place] = rows[i]
            factor[place] = 1.0 if key == _TAKEN else amplify
            place += _ONE
        else:
            left_out[other_place] = rows[i]
            other_place += _ONE
        i += _ONE
    return place, end, other_place, other_end


@kernel
def choose_by_gradient(
    thread, n_threads, sync, gradient, rows, n_top, n_other, amplify, key, buffers, out
):
    """Gradient-based one-side sampling.

    Chooses the ``n_top`` of ``rows`` with the largest |gradient|, summed over the outputs, with a
    factor of 1, and ``n_other`` of the others at random, with the factor ``amplify``. ``out`` is
    (chosen rows, their factors, rows left out).
    """
    keys, pool, counters = buffers
    first, last = share(rows.size, thread, n_threads)
    own = counters[thread]
    n_own = np.int64(0)
    for digit in range(own.size):
        own[digit] = 0
    for i in range(first, last):
        keys[i] = _key_of_size(gradient, rows[i])
        own[keys[i] >> _TOP_SHIFT] += 1
    bound, cut = _ZERO, first
    if n_top > 0:
        bound, n_lower, n_before, n_own = _find_key(
            thread, n_threads, sync, keys, first, last, n_top, counters, pool
        )
        n_ties = own[bound & _DIGIT_MASK]
        n_taken = min(max(n_top - n_lower - n_before, 0), n_ties)
        cut = _find_cut(keys, first, last, bound, n_ties, n_taken)
        n_own += n_taken
    for i in range(first, last):
        pool[i] = extend_key(key, i) >> _FEWER_BITS
    _mark_top(keys, pool, first, cut, bound + _ONE)
    _mark_top(keys, pool, cut, last, bound)
    for digit in range(own.size):
        own[digit] = 0
    for i in range(first, last):
        own[keys[i] >> _TOP_SHIFT] += 1
    bound, n_lower, n_before, n_others = _find_key(
        thread, n_threads, sync, keys, first, last, n_other, counters, pool
    )
    n_ties = own[bound & _DIGIT_MASK]
    n_taken = min(max(n_other - n_lower - n_before, 0), n_ties)
    cut = _find_cut(keys, first, last, bound, n_ties, n_taken)
    n_own += n_others + n_taken
    own[0] = n_own
    wait_for_all(sync, n_threads)
    place = np.int64(0)
    for t in range(thread):
        place += counters[t, 0]
    other_place = first - place
    ends = place + n_own, other_place + (last - first) - n_own
    places = np.uint64(place), np.uint64(ends[0]), np.uint64(other_place), np.uint64(ends[1])
    places = _partition_rows(keys, rows, first, cut, bound + _ONE, amplify, out, places)
    _partition_rows(keys, rows, cut, last, bound, amplify, out, places)


@kernel
def multiply_rows(thread, n_threads, sync, rows, factor, values):
    """Multiply the values (n_outputs, n_table_rows) of rows by their factors."""
    first, last = share(rows.size, thread, n_threads)
    for output in range(values.shape[0]):
        for i in range(first, last):
            values[output, rows[i]] *= factor[i]


@kernel
def draw_uniform(key, rows, out):
    """Random numbers in [0, 1), one per row."""
    for i in range(rows.size):
        out[i] = uniform(key, rows[i])


@kernel
def draw_bayesian_weights(key, temperature, rows, out):
    """The weights of a Bayesian bootstrap, one per row: (-log(u)) ** temperature."""
    for i in range(rows.size):
        weight = -log(uniform(key, rows[i]) + _HALF_STEP)
        out[i] = weight if temperature == 1.0 else exp(temperature * log(weight))
