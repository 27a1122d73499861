"""Newton steps of leaves from sums on a device: the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_solver import DeviceStepFinder
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.solve import StepFinder
from tests.cuda.leaves.random_trees import grow_at_random


# Sums of the trees are in shared memory, in many copies or in one, or too many for it.
@pytest.mark.parametrize("n_leaves", [1, 6, 300, 1700])
def test_steps_are_those_of_the_cpu(device, n_leaves):
    rng = np.random.default_rng(n_leaves)
    left, leaves = grow_at_random(n_leaves, rng)
    leaf = rng.choice(leaves, 3000).astype(np.uint32)
    anchor = np.arange(left.size, dtype=np.int32)
    gradient = rng.normal(size=3000) * 10.0 ** rng.integers(-9, 9, 3000)
    hessian = rng.exponential(size=3000)
    rows = np.sort(rng.choice(3000, 2500, replace=False)).astype(np.uint32)
    settings = GrowthSettings(l1=0.1, l2=1.0)
    by_row = [rows, leaf, gradient, hessian]
    own_rows, own_leaf, g, h = (device.upload(array) for array in by_row)
    expected = StepFinder(left.size, Team(1)).find(
        settings, rows, leaf, left, anchor, gradient, hessian
    )
    finder = DeviceStepFinder(DeviceTeam(device))
    found = finder.find(settings, own_rows, own_leaf, left, anchor, g, h)
    assert found.tobytes() == expected.tobytes()
