"""How much memory trees need on a device, and how their results are read."""

import numpy as np
import pytest

from sumwise.cuda.grow.layout import State
from sumwise.kernels.grow import layout
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings
from sumwise.tree.cuda_memory import Result, Sizes, count_bytes


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        # The last split needs no histograms; a leaf-wise step splits one node.
        (GrowthSettings(max_leaves=31), (61, 30, 1, 30)),
        (GrowthSettings(max_leaves=2), (3, 1, 1, 1)),
        # Nodes of depth 5 have histograms, and those of depth 4 families.
        (GrowthSettings("depth", max_depth=6), (127, 32, 16, 6)),
        (GrowthSettings("depth", max_depth=1), (3, 1, 1, 1)),
        (GrowthSettings("symmetric", max_depth=6), (127, 32, 16, 6)),
        (GrowthSettings("depth", max_leaves=10), (19, 9, 5, 9)),
    ],
)
def test_sizes(settings, sizes):
    options = settings.make_options(Columns(), 100_000, 4)
    assert tuple(Sizes.find(options, 100_000)) == (100_000, *sizes)


def test_bytes():
    assert count_bytes({"a": ((2, 3), np.int32), "b": (5, np.float64)}) == 64


def test_result(device):
    n_state, n_nodes, n_values = 8 * len(State._fields), 3 * 48, 3 * 8
    memory = device.zeros(n_state + n_nodes + n_values + 3 * 24, np.uint8)
    result = Result(memory, 3)
    host = np.zeros(memory.size, dtype=np.uint8)
    host[:n_state].view(np.int64)[[0, 2]] = layout.DONE, 3
    host[n_state : n_state + n_nodes].view(layout.NODE_FIELDS)["left"] = [1, -1, -1]
    host[-3 * 24 :].view(np.int64)[2::3] = [9, 4, 5]
    device.write(host, memory)
    device.write(np.array([0.5, 1.0, 2.0]), result.find_values(3))
    status, nodes, value, n_rows = result.read(memory.to_host())
    assert status == layout.DONE
    assert nodes["left"].tolist() == [1, -1, -1]
    assert value.tolist() == [0.5, 1.0, 2.0]
    assert n_rows.tolist() == [9, 4, 5]
