import numpy as np

from sumwise.tree.constraints import TreeConstraints, allocate_constraints


def test_no_constraints():
    found = allocate_constraints(None, 3, 5, 4)
    assert not found.any_direction
    assert found.parent.size == found.group_members.size == found.direction.size == 0


def test_groups_lie_end_to_end():
    found = allocate_constraints(TreeConstraints([0] * 4, [[0, 2], [1], [2, 3]]), 4, 7, 0)
    assert found.group_first.tolist() == [0, 2, 3, 5]
    assert found.group_members.tolist() == [0, 2, 1, 2, 3]
    assert not found.any_direction


def test_the_root_has_no_bounds():
    found = allocate_constraints(TreeConstraints([1, 0, -1]), 3, 7, 0)
    assert found.any_direction
    assert found.direction.tolist() == [1, 0, -1]
    assert (found.parent[0], found.lower[0], found.upper[0]) == (-1, -np.inf, np.inf)
    assert found.group_first.tolist() == [0]
    assert found.lower.size == found.upper.size == found.parent.size == 7


def test_room_for_the_chains_of_symmetric_trees():
    """As many as there are constrained features, but no more than levels."""
    for directions, depth, n_chains in (([1, 0, -1], 5, 2), ([1] * 9, 4, 4), ([1], 0, 0)):
        found = allocate_constraints(TreeConstraints(directions), len(directions), 1, depth)
        assert found.scratch.shape == (1 + n_chains, 1 << depth)
