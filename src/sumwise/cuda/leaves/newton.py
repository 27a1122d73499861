"""Sums of gradients and hessians by leaf, on a device."""

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header
from sumwise.cuda.runtime.team import DeviceTeam

NEWTON = Program("newton", ("leaves/newton.cu",), make_header())
_THREADS, _SHARED = 256, 48 << 10
_MOST_COPIES = 32


def sum_by_leaf(
    team: DeviceTeam,
    rows: DeviceArray,
    leaf: DeviceArray,
    n_nodes: int,
    gradient: DeviceArray,
    hessian: DeviceArray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact sums (n_nodes, 2) of rows, and the largest |g| and h."""
    device = team.device
    maxima, sums = device.zeros(2, np.uint64), device.zeros((n_nodes, 2), np.uint64)
    arrays = rows, rows.size, gradient, hessian
    team.launch(NEWTON, "find_step_maxima", rows.size, *arrays, maxima)
    n_copies = _MOST_COPIES
    while n_copies and 16 * n_nodes * n_copies > _SHARED:
        n_copies //= 2
    n_blocks = max(1, min(4 * device.n_processors, -(-rows.size // _THREADS)))
    kernel, shared = device.load(NEWTON)["sum_steps"], 16 * n_nodes * n_copies
    own = (*arrays, leaf, maxima, n_nodes, n_copies, sums)
    device.launch(kernel, n_blocks, _THREADS, own, shared)
    return sums.to_host().view(np.int64), maxima.to_host().view(np.float64)
