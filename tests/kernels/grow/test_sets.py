"""Sets of a grown tree against a plain list of them."""

import numpy as np

from sumwise.kernels.grow.sets import collect_sets

# Feature 1 is a number; features 0 and 2 have the codes of three and of five bins.
PLACE, START = np.array([0, -1, 1]), np.array([0, 3])
CODES = np.array([-1, 7, 4, -1, 9, 2, 5, 1], dtype=np.int32)


def list_twin(feature, node_size, node_set):
    found = []
    for node, f in enumerate(feature):
        if f >= 0 and PLACE[f] >= 0:
            bins = node_set[node, : node_size[node]]
            found.append((node, sorted(CODES[START[PLACE[f]] + bins].tolist())))
    return found


def test_sets_equal_twin():
    rng = np.random.default_rng(0)
    feature = np.array([2, 0, 1, -1, 2, -1, -1, 2], dtype=np.int32)
    node_size = np.array([4, 2, 3, 1, 1, 0, 0, 0], dtype=np.int32)
    node_set = np.stack([rng.permutation(4) + 1 for _ in feature]).astype(np.int32)
    node_set[1, :2] = 2, 1
    set_node, set_size = np.empty((2, feature.size), dtype=np.int32)
    listed = np.empty(node_set.size, dtype=np.int32)
    of_nodes = node_size, node_set, set_node, set_size, listed
    n_sets = collect_sets(feature, PLACE, START, CODES, *of_nodes)
    sets = np.split(listed[: set_size[:n_sets].sum()], set_size[: n_sets - 1].cumsum())
    found = [
        (node, own.tolist()) for node, own in zip(set_node[:n_sets].tolist(), sets, strict=True)
    ]
    assert found == list_twin(feature, node_size, node_set)
    assert found[-1] == (7, [])  # a set of missing values only


def test_a_tree_without_sets():
    feature = np.array([1, -1, -1], dtype=np.int32)
    nothing = np.zeros(3, dtype=np.int32), np.zeros((3, 1), dtype=np.int32)
    out = np.empty((2, 3), dtype=np.int32)
    assert collect_sets(feature, PLACE, START, CODES, *nothing, *out, np.empty(3, np.int32)) == 0
