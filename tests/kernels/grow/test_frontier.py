"""The slots of the pool of histograms."""

import numpy as np

from sumwise.kernels.grow import layout
from sumwise.kernels.grow.frontier import (
    free_all_slots,
    release_slot,
    take_slot,
)
from sumwise.kernels.runtime.jit import kernel


@kernel
def free_all(control, free_slots):
    free_all_slots(control, free_slots)


@kernel
def take(control, free_slots, scratch):
    return take_slot(control, free_slots, scratch)


@kernel
def release(control, free_slots, nodes, node):
    release_slot(control, free_slots, nodes, node)


def test_slots_are_handed_out_once_and_come_back():
    control = np.zeros(layout.CONTROL_LENGTH, dtype=np.int64)
    free_slots = np.empty(3, dtype=np.int32)
    nodes = np.zeros(5, dtype=layout.NODE_FIELDS)
    free_all(control, free_slots)
    assert [take(control, free_slots, 0) for _ in range(3)] == [0, 1, 2]
    # the pool is used up: scratch places, which are none of it
    assert [take(control, free_slots, which) for which in (0, 1)] == [3, 4]
    nodes["slot"] = np.arange(5)
    for node in (1, 3, 4):
        release(control, free_slots, nodes, node)
        assert nodes[node]["slot"] == -1
    assert take(control, free_slots, 0) == 1
    assert take(control, free_slots, 0) == 3
    release(control, free_slots, nodes, 1)  # it has none any more
    assert control[layout.N_FREE] == 0
    free_all(control, free_slots)
    assert control[layout.N_FREE] == 3
