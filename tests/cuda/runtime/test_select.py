"""The lowest key that reaches a goal, in many groups, against sorted keys."""

import numpy as np
import pytest

from sumwise.cuda.runtime.select import Groups, Selector
from sumwise.cuda.runtime.team import DeviceTeam

NO_KEY = np.uint64((1 << 64) - 1)


def draw_keys(kind, n, rng):
    if kind == "equal":
        return np.full(n, 12345678901234567890, dtype=np.uint64)
    if kind == "few":
        return rng.integers(0, 1 << 64, 4, dtype=np.uint64)[rng.integers(0, 4, n)]
    if kind == "close":  # the same top digits
        return np.uint64(0x40091EB851EB0000) + rng.integers(0, 1000, n, dtype=np.uint64)
    return rng.integers(0, 1 << 64, n, dtype=np.uint64)


def find_naively(keys, mass, goal):
    order = np.argsort(keys, kind="stable")
    keys, running = keys[order], np.cumsum(mass[order])
    found = keys[np.searchsorted(running.astype(np.float64), goal)]
    above = keys[keys > found]
    upto = mass[order][keys <= found].sum()
    return found, mass[order][keys < found].sum(), upto, above[0] if above.size else NO_KEY


@pytest.mark.parametrize("kind", ["equal", "few", "close", "any"])
@pytest.mark.parametrize("weighted", [False, True])
def test_finds_keys_of_groups(device, kind, weighted):
    rng = np.random.default_rng(0)
    sizes = np.array([1, 0, 5000, 2, 300, 0, 4096, 33])
    keys = draw_keys(kind, sizes.sum(), rng)
    mass = rng.integers(1, 1 << 40, keys.size) if weighted else np.ones(keys.size, dtype=np.int64)
    ends = np.cumsum(sizes)
    totals = np.array([mass[end - n : end].sum() for n, end in zip(sizes, ends, strict=True)])
    goals = np.maximum(0.5, np.floor(totals * rng.random(sizes.size)))
    goals[0], goals[2] = totals[0], totals[2]  # all of them
    team = DeviceTeam(device)
    groups = Groups.upload(team, sizes, goals)
    selector = Selector(team, sizes.size)
    for _ in range(2):  # counters are clear again
        own = device.upload(mass) if weighted else None
        selector.select(groups, device.upload(keys), own, find_next=True)
        arrays = groups.found, groups.below, groups.upto, groups.next
        found = [array.to_host() for array in arrays]
        for group in np.flatnonzero(sizes):
            part = slice(ends[group] - sizes[group], ends[group])
            expected = find_naively(keys[part], mass[part], goals[group])
            assert tuple(array[group] for array in found) == expected


def test_groups_may_overlap(device):
    rng = np.random.default_rng(1)
    keys = draw_keys("close", 6000, rng)
    # The first group has the keys of the other two.
    sizes, goals = np.array([6000, 2500, 3500]), np.array([1800.0, 77.0, 3000.0])
    team = DeviceTeam(device)
    groups = Groups.upload(team, sizes, goals)
    device.write(np.array([0, 0, 2500]), groups.first)
    overlaps = device.upload(np.array([1, -1, -1], dtype=np.int32))
    selector = Selector(team, 3)
    selector.search(selector.begin(groups, device.upload(keys), None, overlaps), find_next=True)
    arrays = groups.found, groups.below, groups.upto, groups.next
    found = [array.to_host() for array in arrays]
    for group, part in enumerate([slice(6000), slice(2500), slice(2500, 6000)]):
        own = np.ones(sizes[group], dtype=np.int64)
        expected = find_naively(keys[part], own, goals[group])
        assert tuple(array[group] for array in found) == expected
