"""Refitted leaves on a device: the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.leaves import refit
from sumwise.cuda.leaves.refit import DeviceLocationFinder
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.leaves.refit import RefitRule, add_leaf_values
from sumwise.kernels.losses.influence import CLIPPED, FAIR, TANH
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.refit import LocationFinder
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.leaves.random_trees import grow_at_random

MEDIAN = Location(0.5)
LOCATIONS = [MEDIAN, Location(0.3), Location(0.5, 0.7, CLIPPED)]
LOCATIONS += [Location(0.5, 1.3, FAIR), Location(0.5, 1.0, TANH)]


class Case:
    """A tree, rows and what they are to be refitted to."""

    def __init__(self, seed, n_rows, n_leaves, weighted, digits=9, empty_leaves=False):
        rng = self.rng = np.random.default_rng(seed)
        self.left, leaves = grow_at_random(n_leaves, rng)
        n_used = max(1, len(leaves) // 2) if empty_leaves else len(leaves)
        self.leaf = rng.choice(leaves[:n_used], n_rows).astype(np.uint32)
        self.rows = np.sort(rng.choice(n_rows, -(-3 * n_rows // 4), replace=False))
        self.rows = self.rows.astype(np.uint32)
        self.target, self.scores = rng.normal(size=(2, n_rows)).round(digits)
        self.weight = rng.random(n_rows).round(2) + 0.01 if weighted else np.empty(0)
        self.node_weight = rng.random(self.left.size)
        self.anchor = np.arange(self.left.size, dtype=np.int32)

    def find(self, finder, location, settings):
        arrays = self.rows, self.leaf, self.left, self.anchor.copy(), self.node_weight
        return finder.find(settings, *arrays, self.scores, location)[:, 0]

    def make_finder(self):
        return LocationFinder(self.target, self.weight, self.rows, self.left.size, Team(1))

    def make_device_finder(self, device):
        team = DeviceTeam(device)
        arrays = [device.upload(array) for array in (self.target, self.weight, self.rows)]
        return DeviceLocationFinder(team, *arrays, self.left.size)

    def find_on_device(self, device, finder, location, settings):
        numbers = location.level, location.delta, location.influence
        steps = float(settings.max_delta_step), float(settings.learning_rate)
        rows, leaf, scores = map(device.upload, (self.rows, self.leaf, self.scores))
        nodes = self.left, self.anchor, self.node_weight
        return finder.find(RefitRule(*numbers, *steps), rows, leaf, *nodes, scores).to_host()

    def check(self, device, location=MEDIAN, max_step=0.0):
        settings = GrowthSettings(max_delta_step=max_step, learning_rate=0.1)
        expected = self.find(self.make_finder(), location, settings)
        finder = self.make_device_finder(device)
        for _ in range(2):
            found = self.find_on_device(device, finder, location, settings)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("location", LOCATIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [1, 9])
def test_values_have_the_bits_of_the_cpu(device, location, weighted, digits):
    Case(0, 900, 15, weighted, digits).check(device, location)


@pytest.mark.parametrize(("n_rows", "n_leaves"), [(1, 1), (2, 2), (40, 31), (9000, 2), (3000, 70)])
def test_sizes(device, n_rows, n_leaves):
    Case(1, n_rows, n_leaves, weighted=True).check(device, Location(0.5, 0.7, CLIPPED))


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_without_rows_take_the_location_of_an_ancestor(device, weighted):
    Case(2, 500, 20, weighted, empty_leaves=True).check(device, Location(0.4))


def test_leaves_whose_anchor_is_an_inner_node(device):
    case = Case(3, 700, 16, weighted=False)
    for node in np.flatnonzero(case.left >= 0)[2::2]:
        children = case.left[node] + np.arange(2)
        case.anchor[children] = case.anchor[node]
    case.check(device, Location(0.5, 0.7, FAIR))


def test_steps_are_limited(device):
    Case(4, 300, 8, weighted=True).check(device, max_step=0.2)


def test_trees_too_large_for_shared_memory(device, monkeypatch):
    monkeypatch.setattr(refit, "_MOST_SHARED", 10)
    Case(5, 600, 12, weighted=True).check(device)


@pytest.mark.parametrize(("order", "n_processors"), [("reversed", 1), ("shuffled", 3)])
def test_no_order_matters(order, n_processors):
    with EmulatedDevice(order=order, n_processors=n_processors, check_launches=True) as device:
        Case(6, 9000, 9, weighted=True).check(device, Location(0.5, 0.7, TANH))


def test_weights_change_by_round(device):
    case, settings = Case(7, 800, 6, weighted=True), GrowthSettings(learning_rate=1.0)
    finder, own = case.make_finder(), case.make_device_finder(device)
    rows = case.rows[::2].copy()
    factor = case.rng.random(rows.size)
    finder.weigh(rows, case.weight[rows] * factor)
    own.weigh(*(device.upload(array) for array in (rows, case.weight, factor)))
    case.rows = rows
    expected = case.find(finder, MEDIAN, settings)
    np.testing.assert_array_equal(case.find_on_device(device, own, MEDIAN, settings), expected)


def test_adds_leaf_values_as_the_cpu_does(device):
    case = Case(8, 400, 5, weighted=False)
    value = case.rng.normal(size=(case.left.size, 1))
    found = device.upload(case.scores)
    arrays = [device.upload(array) for array in (case.rows, case.leaf, value)]
    DeviceTeam(device).run(add_leaf_values, *arrays, found)
    Team(1).run(add_leaf_values, case.rows, case.leaf, value, case.scores)
    np.testing.assert_array_equal(found.to_host(), case.scores)
