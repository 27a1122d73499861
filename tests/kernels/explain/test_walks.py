import numpy as np

from sumwise.kernels.explain.walks import (
    CLOSE,
    GO_LEFT,
    GO_RIGHT,
    OPEN,
    Tape,
    allocate_splits,
    plan_walks,
)


def test_two_trees() -> None:
    """A leaf; and a root on slot 1 with splits on slots 0 and 1, the second with another on 1."""
    start = np.array([0, 1, 10])
    left = np.array([-1, 2, 4, 6, -1, -1, 8, -1, -1, -1])
    slot = np.array([0, 1, 0, 1, 0, 0, 1, 0, 0, 0])
    share = np.array([0.0, 0.25, 0.5, 0.4, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0])
    leaf_number = np.cumsum(left < 0) - 1
    splits = allocate_splits(4)
    tape = Tape(*(np.zeros(size, dtype=np.int64) for size in (3, 12, 2)))
    stack = np.empty((11, 3), dtype=np.int64)
    n_words = plan_walks(start, left, slot, share, leaf_number, stack, splits, tape)
    operations = [
        *((0, OPEN), (0, GO_LEFT), (1, OPEN), (1, CLOSE)),
        *((0, GO_RIGHT), (2, OPEN), (2, GO_LEFT), (3, OPEN), (3, CLOSE), (2, CLOSE), (0, CLOSE)),
    ]
    assert tape.words[:n_words].tolist() == [4 * number + what for number, what in operations]
    np.testing.assert_array_equal(tape.start, [0, 0, 11])
    np.testing.assert_array_equal(tape.n_unique, [0, 2])
    np.testing.assert_array_equal(splits.node, [1, 2, 3, 6])
    np.testing.assert_array_equal(splits.right, [2, -1, -1, -1])
    np.testing.assert_array_equal(splits.left_leaf, [-1, 1, -1, 4])
    np.testing.assert_array_equal(splits.right_leaf, [-1, 2, 3, 5])
    np.testing.assert_array_equal(splits.parent, [-1, 0, 0, 2])
    np.testing.assert_array_equal(splits.level, [0, 1, 1, 2])
    np.testing.assert_array_equal(splits.same, [-1, -1, 0, 2])
    np.testing.assert_array_equal(splits.same_left, [0, 0, 0, 1])
    np.testing.assert_allclose(splits.kept, [1.0, 1.0, 0.75, 0.75 * 0.4])
    np.testing.assert_array_equal(splits.n_unique, [1, 2, 1, 1])
    np.testing.assert_array_equal(splits.place, [0, 1, 0, 0])
