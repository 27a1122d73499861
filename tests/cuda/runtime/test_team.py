"""DeviceTeam: twins of kernels, and memory that is lent."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.errors import DeviceError
from sumwise.kernels.leaves.ordered import update_prefix_models
from sumwise.kernels.leaves.refit import refit_leaves
from sumwise.kernels.sampling.by_gradient import multiply_rows


@pytest.mark.parametrize("kernel", [update_prefix_models, refit_leaves])
def test_kernel_without_twin_is_refused(device, kernel):
    with pytest.raises(DeviceError, match=f"{kernel.__name__} .* device='cpu' gives the same"):
        DeviceTeam(device).run(kernel)


@pytest.mark.parametrize("alone", [False, True])
def test_runs_the_twin_of_a_kernel(device, alone):
    team, values = DeviceTeam(device), device.upload(np.array([[1.0, 2.0, 3.0]]))
    rows, factor = device.upload(np.array([0, 2], dtype=np.uint32)), device.upload(np.full(2, 3.0))
    (team.run_alone if alone else team.run)(multiply_rows, rows, factor, values)
    assert values.to_host().tolist() == [[3.0, 2.0, 9.0]]


def test_memory_is_lent_again_by_its_name(device):
    team = DeviceTeam(device)
    first = team.borrow("a", 10, np.float64)
    assert team.borrow("a", (5, 4), np.uint32).address == first.address  # as many bytes
    assert team.borrow("b", 10, np.float64).address != first.address
    larger = team.borrow("a", 100, np.float64)
    device.write(np.arange(100.0), larger)
    assert team.borrow("a", 3, np.float64).to_host().tolist() == [0.0, 1.0, 2.0]
    assert team.borrow("empty", 0, np.float64).size == 0
