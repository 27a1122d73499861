"""The tree that was grown last, in one piece of memory."""

import numpy as np

from sumwise.cuda.grow.layout import State
from sumwise.kernels.grow import layout
from sumwise.tree.cuda_result import Result, count_result_bytes


def test_result(device):
    n_state, n_nodes, n_values = 8 * len(State._fields), 3 * 48, 3 * 8
    memory = device.zeros(count_result_bytes(3, has_sets=False), np.uint8)
    assert memory.size == n_state + n_nodes + n_values + 3 * 24
    result = Result(memory, 3)
    host = np.zeros(memory.size, dtype=np.uint8)
    state = host[:n_state].view(np.int64)
    state[0], state[State._fields.index("n_nodes")] = layout.DONE, 3
    host[n_state : n_state + n_nodes].view(layout.NODE_FIELDS)["left"] = [1, -1, -1]
    host[-3 * 24 :].view(np.int64)[2::3] = [9, 4, 5]
    device.write(host, memory)
    device.write(np.array([0.5, 1.0, 2.0]), result.find_values(3))
    status, nodes, value, n_rows = result.read(memory.to_host())
    assert status == layout.DONE
    assert nodes["left"].tolist() == [1, -1, -1]
    assert value.tolist() == [0.5, 1.0, 2.0]
    assert n_rows.tolist() == [9, 4, 5]
