"""Quantiles and robust locations of weighted values: exact, and independent of their order.

Let F(v) be the weight of the values up to v, and p = level * (total weight). The quantile is the
lowest value with F >= p, or halfway from there to the next value if F = p. For level 1/2 and equal
weights this is the median. Weights are integers (see :func:`weigh_in_units`), so F is exact.

The lowest value with F >= p is found digit by digit of its key (see sort.py), from the top: weigh
the keys by their digit, find the digit of the key sought, and drop all others. Two passes over the
keys are most of the work.

The Huber location is a step from the median, as in Friedman (2001, section 4.4): the mean
distance from it, distances beyond ``delta`` counted as ``delta``. Other robust losses take the same
step by their own influence function: its slope is at most 1, so the step never raises the loss.
"""

import numpy as np

from sumwise.kernels.losses.influence import influence
from sumwise.kernels.runtime.elementary import nearest_integer
from sumwise.kernels.runtime.fixed_point import exact_hessian, exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.sort import MISSING, bits_of_key, key_of_float

_DIGIT_BITS = 11
N_DIGIT_VALUES = 1 << _DIGIT_BITS
_TOP_SHIFT = 55  # then 44, 33, 22, 11, 0
_DIGIT_MASK = np.uint64(N_DIGIT_VALUES - 1)
# Up to this many keys are sorted by insertion.
_FEW = 24


@kernel
def weigh_in_units(weight, units):
    """Weights as integers under a power-of-two scale; a positive weight never becomes 0."""
    largest = 0.0
    for i in range(weight.size):
        largest = max(largest, weight[i])
    scale = power_scale(largest, exact_limit(weight.size))
    for i in range(weight.size):
        units[i] = exact_hessian(weight[i], scale)


@routine
def _narrow(keys, mass, n, shift, goal, below, above, counters):
    """Keep the keys with the digit of the one sought.

    Returns their number, the weight of all lower keys, and the lowest of all higher keys.
    """
    weighted = mass.size > 0
    for digit in range(counters.size):
        counters[digit] = 0
    for i in range(n):
        digit = (keys[i] >> shift) & _DIGIT_MASK
        counters[digit] += mass[i] if weighted else 1
    sought = 0
    while below + counters[sought] < goal:
        below += counters[sought]
        sought += 1
    n_kept = 0
    for i in range(n):
        key = keys[i]
        digit = np.int64((key >> shift) & _DIGIT_MASK)
        if digit == sought:
            keys[n_kept] = key
            if weighted:
                mass[n_kept] = mass[i]
            n_kept += 1
        elif digit > sought:
            above = min(above, key)
    return n_kept, below, above


@routine
def _sort_few(keys, mass, n):
    """Insertion sort; equal keys take one step each."""
    weighted = mass.size > 0
    for i in range(1, n):
        key, own, k = keys[i], mass[i] if weighted else np.int64(1), i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            if weighted:
                mass[k] = mass[k - 1]
            k -= 1
        keys[k] = key
        if weighted:
            mass[k] = own


@routine
def value_of_key(key):
    """The float that a key of 64 bits stands for."""
    return np.uint64(bits_of_key(key, 64)).view(np.float64)


@routine
def _quantile(values, units, total, level, keys, mass, counters):
    """The quantile of values; ``keys`` and ``mass`` are overwritten."""
    n, weighted = values.size, units.size > 0
    for i in range(n):
        keys[i] = key_of_float(values[i], 64)
    for i in range(units.size):
        mass[i] = units[i]
    goal = level * np.float64(total)
    below, above, shift = np.int64(0), MISSING, _TOP_SHIFT
    while n > _FEW and shift >= 0:
        n, below, above = _narrow(keys, mass, n, np.uint64(shift), goal, below, above, counters)
        shift -= _DIGIT_BITS
    _sort_few(keys, mass, n)
    place = 0
    while True:
        below += mass[place] if weighted else 1
        if below >= goal and (place + 1 == n or keys[place + 1] > keys[place]):
            break
        place += 1
    value = value_of_key(keys[place])
    if np.float64(below) == goal:
        following = keys[place + 1] if place + 1 < n else above
        value = 0.5 * value + 0.5 * value_of_key(following)
    return value


@routine
def _robust_step(values, units, total, center, delta, kind):
    """The mean influence of distances from the center, which is at most delta."""
    weighted = units.size > 0
    largest = np.int64(1)
    for i in range(units.size):
        largest = max(largest, units[i])
    unit = power_scale(np.float64(largest), 1.0)  # weights times this are at most 1
    scale = power_scale(delta, exact_limit(values.size))
    step = np.int64(0)
    for i in range(values.size):
        pull = influence(values[i] - center, kind, delta)
        part = unit * units[i] if weighted else 1.0
        step += nearest_integer(pull * part * scale)
    return step / scale / (unit * total)


@routine
def locate(values, units, level, delta, kind, keys, mass, counters):
    """The quantile of at least one value; with a finite delta, a robust step from there.

    The step is the mean influence of the distances; ``kind`` is the function (see influence.py).

    ``units`` are the weights, empty if all are one. ``keys`` and ``mass`` are as long as ``values``
    and ``units``, and overwritten; so are ``counters``, N_DIGIT_VALUES of them.
    """
    total = np.int64(0 if units.size > 0 else values.size)
    for i in range(units.size):
        total += units[i]
    center = _quantile(values, units, total, level, keys, mass, counters)
    if delta < np.inf:
        center += _robust_step(values, units, total, center, delta, kind)
    return center


@kernel
def find_location(values, units, level, delta, kind, keys, mass, counters):
    """:func:`locate` for Python."""
    return locate(values, units, level, delta, kind, keys, mass, counters)
