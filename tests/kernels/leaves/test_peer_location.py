"""The steps of searches for locations, by threads that share out groups, against naive ones."""

import numpy as np
import pytest

from sumwise.kernels.leaves import location
from sumwise.kernels.leaves import peer_location as kernels
from sumwise.kernels.leaves.peer_location import DIGIT_BITS, N_DIGIT_VALUES, Candidates, Groups
from sumwise.kernels.losses.influence import CLIPPED
from sumwise.kernels.losses.peer_sums import find_scale
from sumwise.kernels.runtime.sort import MISSING
from sumwise.kernels.runtime.threads import Team
from tests.naive import location as naive

N_VALUES = 200
SIZES = np.array([50, 0, 149, 1, 0, 120])  # the last group overlaps others
FIRST = np.array([0, 50, 50, 199, 200, 30])


def make_groups(weighted, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=N_VALUES).round(1)
    values[0] = np.nan
    units = rng.integers(1, 9, N_VALUES) if weighted else np.empty(0, dtype=np.int64)
    return Groups(values, units, FIRST, SIZES)


def key_of(value):
    """The bits of a float as an integer that sorts as the float does."""
    bits = int(np.float64(value + 0.0).view(np.uint64))
    if np.isnan(value):
        return 2**64 - 1
    return bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63


def list_rows(groups, k):
    """Return the keys and weights of a group."""
    own = range(groups.first[k], groups.first[k] + groups.size[k])
    return [
        (key_of(groups.values[i]), int(groups.units[i]) if groups.units.size else 1) for i in own
    ]


def run(n_threads, kernel, *args):
    with Team(n_threads) as team:
        team.run(kernel, *args)


def test_units_are_those_of_one_process():
    weight = np.array([1.0, 0.5, 0.0, 1e-300, 0.3])
    units, expected = np.empty((2, 5), dtype=np.int64)
    kernels.write_units(weight, find_scale(1.0, 5), units)
    location.weigh_in_units(weight, expected)
    assert units.tolist() == expected.tolist()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_weights(weighted, n_threads):
    groups, totals = make_groups(weighted), np.zeros(6, dtype=np.int64)
    run(n_threads, kernels.sum_units, groups, totals)
    expected = [sum(mass for _, mass in list_rows(groups, k)) for k in range(6)]
    assert totals.tolist() == (expected if weighted else [0] * 6)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("shift", "n_bits"), [(64, DIGIT_BITS), (53, DIGIT_BITS), (9, 9)])
def test_digits_are_counted(shift, n_bits, weighted, n_threads):
    groups, which = make_groups(weighted), np.array([0, 1, 5])
    prefix = [key_of(groups.values[40]) >> shift] * 6
    candidates = Candidates(np.array(prefix, dtype=np.uint64), np.full(6, shift))
    masses = np.zeros((3, N_DIGIT_VALUES), dtype=np.int64)
    counts = np.zeros_like(masses) if weighted else masses[:0]
    run(n_threads, kernels.count_digits, groups, candidates, which, n_bits, masses, counts)
    expected, n_expected = np.zeros((2, *masses.shape), dtype=np.int64)
    for slot, k in enumerate(which):
        for key, mass in list_rows(groups, k):
            if key >> shift == prefix[0]:
                digit = key >> (shift - n_bits) & (1 << n_bits) - 1
                expected[slot, digit] += mass
                n_expected[slot, digit] += 1
    assert masses.tolist() == expected.tolist()
    assert counts.tolist() == (n_expected.tolist() if weighted else [])
    assert masses.any()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_candidates_are_collected(weighted, n_threads):
    groups, shift = make_groups(weighted), [64, 64, 42, 20, 0, 53]
    prefix = [key_of(groups.values[100]) >> own for own in shift]
    candidates = Candidates(np.array(prefix, dtype=np.uint64), np.array(shift))
    n_keys, largest = np.ones((2, 6), dtype=np.int64)
    above = np.full(6, MISSING)
    run(n_threads, kernels.survey_groups, groups, candidates, n_keys, above, largest)
    ends = np.concatenate([[0], n_keys.cumsum()])
    keys, mass = np.empty(ends[-1], dtype=np.uint64), np.empty(ends[-1], dtype=np.int64)
    run(n_threads, kernels.take_candidates, groups, candidates, ends, keys, mass)
    for k in range(6):
        rows = list_rows(groups, k)
        own = [row for row in rows if row[0] >> shift[k] == prefix[k]]
        higher = [key for key, _ in rows if key >> shift[k] > prefix[k]]
        taken = slice(ends[k], ends[k + 1])
        assert list(zip(keys[taken].tolist(), mass[taken].tolist(), strict=True)) == own
        assert above[k] == min(higher, default=2**64 - 1)
        assert largest[k] == max([1, *(mass for _, mass in rows)])
    assert n_keys[0] == 50
    assert 0 < n_keys[2] < 149


@pytest.mark.parametrize("level", [0.5, 0.25, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_candidates(weighted, level):
    """Some values of each group are no candidates: the lowest and the highest."""
    rng = np.random.default_rng(0)
    values = [np.sort(rng.normal(size=n).round(1)) for n in (20, 1, 20, 40)]
    values[1:2] = [np.full(12, 3.0), np.empty(0)]
    units = [rng.integers(1, 4, own.size) if weighted else np.ones(own.size, int) for own in values]
    cut = [(3, own.size - 2) if np.unique(own).size > 5 else (0, own.size) for own in values]
    keys, mass, below, above = [], [], [], []
    for own, weight, (first, last) in zip(values, units, cut, strict=True):
        while first > 0 and own[first - 1] == own[first]:
            first -= 1
        while last < own.size and own[last - 1] == own[last]:
            last += 1
        keys.append(np.array([key_of(value) for value in own[first:last]], dtype=np.uint64))
        mass.append(weight[first:last])
        below.append(weight[:first].sum())
        above.append(key_of(own[last]) if last < own.size else 2**64 - 1)
    ends = np.concatenate([[0], np.cumsum([len(own) for own in keys])])
    goal = level * np.array([own.sum() for own in units], dtype=float)
    center = np.empty(len(values))
    kernels.find_quantiles(
        ends,
        np.concatenate(keys),
        np.concatenate(mass),
        np.array(below, dtype=np.int64),
        np.array(above, dtype=np.uint64),
        goal,
        center,
    )
    for own, weight, found in zip(values, units, center, strict=True):
        if own.size:
            assert found == naive.quantile(own, weight.tolist(), level)
        else:
            assert np.isnan(found)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_by_hand(weighted, n_threads):
    values = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    units = np.array([4, 4, 8, 4, 4]) if weighted else np.empty(0, dtype=np.int64)
    groups = Groups(values, units, np.array([0, 0]), np.array([5, 0]))
    n_values, center = np.array([5, 0]), np.array([2.0, np.nan])
    largest, totals = np.array([8 if weighted else 1, 1]), np.array([24 if weighted else 5, 0])
    steps = np.empty(2, dtype=np.int64)
    own = n_values, largest, center
    run(n_threads, kernels.sum_influences, groups, *own, 1.5, CLIPPED, steps)
    kernels.move_centers(n_values, totals, largest, steps, 1.5, center)
    # Distances of -2, -1, 0, 1 and 98 are clipped to 1.5, and their sum is 0.
    assert center[0] == 2.0
    assert np.isnan(center[1])
    run(n_threads, kernels.sum_influences, groups, *own, 200.0, CLIPPED, steps)
    kernels.move_centers(n_values, totals, largest, steps, 200.0, center)
    assert center[0] == pytest.approx(2.0 + 96.0 / (6 if weighted else 5), rel=1e-14)
