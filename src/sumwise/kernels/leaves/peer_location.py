"""Parts of the locations of ``location.py``, for groups of values that several processes share.

Each process has some of the values of each group, or none. The lowest key whose weight is enough
is found as in ``location.py``, digit by digit; the counters of all processes are added up. The few
keys that remain are sent to all. Digits differ from those of ``location.py``: after two of them, a
key is known up to a thousandth of its value.

Threads share out the groups. Groups may overlap: values stay as they are.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.leaves.location import value_of_key
from sumwise.kernels.losses.influence import influence
from sumwise.kernels.runtime.elementary import nearest_integer
from sumwise.kernels.runtime.fixed_point import exact_hessian, exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.sort import key_of_float
from sumwise.kernels.runtime.threads import claim_next

KEY_BITS = 64
DIGIT_BITS = 11
N_DIGIT_VALUES = 1 << DIGIT_BITS


class Groups(NamedTuple):
    """The values of this process in groups of neighbors, and their weights."""

    values: Any  # float64 (n_values,)
    units: Any  # int64 (n_values,): see weigh_in_units; empty if all are one, or if there are none
    first: Any  # int64 (n_groups,): the first value of a group
    size: Any  # int64 (n_groups,): the number of its values


class Candidates(NamedTuple):
    """The keys among which those sought are: of each group, the keys that begin with a prefix."""

    prefix: Any  # uint64 (n_groups,)
    shift: Any  # int64 (n_groups,): the number of bits behind the prefix


@routine
def _prefix_of(key, shift):
    """The bits of a key above the lowest ``shift``, of which there may be 64."""
    return key >> np.uint64(shift) if shift < KEY_BITS else np.uint64(0)


@kernel
def write_units(weight, scale, units):
    """Weights as integers under a scale, as ``weigh_in_units`` of ``location.py`` makes them."""
    for i in range(weight.size):
        units[i] = exact_hessian(weight[i], scale)


@kernel
def sum_units(thread, n_threads, sync, groups, totals):
    """Sum the weights of each group: ``totals`` (n_groups,) has zeros before."""
    units, n_groups = groups.units, groups.first.size
    k = claim_next(sync, n_threads, -1)
    while k < n_groups:
        begin = groups.first[k]
        if units.size > 0:
            for i in range(begin, begin + groups.size[k]):
                totals[k] += units[i]
        k = claim_next(sync, n_threads, k)


@kernel
def count_digits(thread, n_threads, sync, groups, candidates, which, n_bits, masses, counts):
    """Weigh and count the candidates of some groups by the next digit.

    Parameters
    ----------
    which : int64 array
        The groups.
    n_bits : int
        The bits of the digit, at most DIGIT_BITS.
    masses, counts : int64 array of shape (which.size, N_DIGIT_VALUES), in and out
        Zeros before. Without weights, ``counts`` is empty: it would be ``masses``.
    """
    weighted, mask = groups.units.size > 0, np.uint64((1 << n_bits) - 1)
    slot = claim_next(sync, n_threads, -1)
    while slot < which.size:
        k = which[slot]
        prefix, shift = candidates.prefix[k], candidates.shift[k]
        begin = groups.first[k]
        for i in range(begin, begin + groups.size[k]):
            key = key_of_float(groups.values[i], KEY_BITS)
            if _prefix_of(key, shift) == prefix:
                digit = (key >> np.uint64(shift - n_bits)) & mask
                if weighted:
                    masses[slot, digit] += groups.units[i]
                    counts[slot, digit] += 1
                else:
                    masses[slot, digit] += 1
        slot = claim_next(sync, n_threads, slot)


@kernel
def survey_groups(thread, n_threads, sync, groups, candidates, n_keys, above, largest):
    """Find what each group has here: candidates, the lowest key above them, the largest weight.

    Parameters
    ----------
    n_keys : int64 array of shape (n_groups,), out
        The number of candidates.
    above : uint64 array of shape (n_groups,), in and out
        MISSING before; it stays if no key is higher.
    largest : int64 array of shape (n_groups,), in and out
        Ones before.
    """
    n_groups = groups.first.size
    k = claim_next(sync, n_threads, -1)
    while k < n_groups:
        prefix, shift = candidates.prefix[k], candidates.shift[k]
        begin, n_own, lowest = groups.first[k], 0, above[k]
        for i in range(begin, begin + groups.size[k]):
            key = key_of_float(groups.values[i], KEY_BITS)
            own = _prefix_of(key, shift)
            if own == prefix:
                n_own += 1
            elif own > prefix:
                lowest = min(lowest, key)
        n_keys[k], above[k] = n_own, lowest
        if groups.units.size > 0:
            for i in range(begin, begin + groups.size[k]):
                largest[k] = max(largest[k], groups.units[i])
        k = claim_next(sync, n_threads, k)


@kernel
def take_candidates(thread, n_threads, sync, groups, candidates, ends, keys, mass):
    """Collect the candidates of each group and their weights.

    Parameters
    ----------
    ends : int64 array of shape (n_groups + 1,)
        Where those of each group end, after a zero. Groups that end where they begin are left out.
    keys : uint64 array, out
    mass : int64 array, out
        Ones if there are no weights.
    """
    weighted, n_groups = groups.units.size > 0, groups.first.size
    k = claim_next(sync, n_threads, -1)
    while k < n_groups:
        place = ends[k]
        if place < ends[k + 1]:
            prefix, shift = candidates.prefix[k], candidates.shift[k]
            begin = groups.first[k]
            for i in range(begin, begin + groups.size[k]):
                key = key_of_float(groups.values[i], KEY_BITS)
                if _prefix_of(key, shift) == prefix:
                    keys[place] = key
                    mass[place] = groups.units[i] if weighted else 1
                    place += 1
        k = claim_next(sync, n_threads, k)


@kernel
def find_quantiles(ends, keys, mass, below, above, goal, center):
    """Find the quantiles of groups whose candidates are known; nan for a group without any.

    Parameters
    ----------
    ends : int64 array of shape (n_groups + 1,)
        Where the candidates of each group end, after a zero.
    keys : uint64 array
        The candidates of all groups, ascending in each.
    mass : int64 array
        Their weights.
    below : int64 array of shape (n_groups,)
        The weight of all lower keys of a group.
    above : uint64 array of shape (n_groups,)
        The lowest of all higher keys.
    goal : float64 array of shape (n_groups,)
        The weight that the values up to the quantile must have.
    center : float64 array of shape (n_groups,), out
    """
    for k in range(center.size):
        place, end, up_to = ends[k], ends[k + 1], below[k]
        if place == end:
            center[k] = np.nan
            continue
        while True:
            up_to += mass[place]
            is_last = place + 1 == end or keys[place + 1] > keys[place]
            if is_last and (up_to >= goal[k] or place + 1 == end):
                break
            place += 1
        value = value_of_key(keys[place])
        if np.float64(up_to) == goal[k]:
            following = keys[place + 1] if place + 1 < end else above[k]
            value = 0.5 * value + 0.5 * value_of_key(following)
        center[k] = value


@routine
def _find_scales(largest, n_values, delta):
    """What weights and influences are multiplied by, as in ``location.py``."""
    return power_scale(np.float64(largest), 1.0), power_scale(delta, exact_limit(n_values))


@kernel
def sum_influences(thread, n_threads, sync, groups, n_values, largest, center, delta, kind, steps):
    """Sum the influences of distances from the centers, as integers.

    Parameters
    ----------
    n_values, largest : int64 array of shape (n_groups,)
        The number of values of each group, and the largest weight, of all processes.
    center : float64 array of shape (n_groups,)
    delta, kind : float, int
        The largest influence, and the function.
    steps : int64 array of shape (n_groups,), out
    """
    weighted, n_groups = groups.units.size > 0, groups.first.size
    k = claim_next(sync, n_threads, -1)
    while k < n_groups:
        unit, scale = _find_scales(largest[k], n_values[k], delta)
        begin, step = groups.first[k], np.int64(0)
        for i in range(begin, begin + groups.size[k]):
            pull = influence(groups.values[i] - center[k], kind, delta)
            part = unit * groups.units[i] if weighted else 1.0
            step += nearest_integer(pull * part * scale)
        steps[k] = step
        k = claim_next(sync, n_threads, k)


@kernel
def move_centers(n_values, totals, largest, steps, delta, center):
    """Add the mean influences of all processes' values to the centers.

    ``totals`` (n_groups,) are the weights of all values; the other arrays are as in
    :func:`sum_influences`.
    """
    for k in range(center.size):
        if n_values[k] > 0:
            unit, scale = _find_scales(largest[k], n_values[k], delta)
            center[k] += steps[k] / scale / (unit * totals[k])
