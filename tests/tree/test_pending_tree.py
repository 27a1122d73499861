"""Trees that are still on their way."""

import pytest

from sumwise.errors import TrainingError
from sumwise.tree.pending_tree import PendingTree, finish_tree


class Copy:
    def __init__(self):
        self.n_asked = 0

    def get(self):
        self.n_asked += 1
        return "bytes"


def test_a_tree_is_made_once():
    copy, made = Copy(), []

    def make_tree(copied):
        made.append(copied)
        return "tree"

    pending = PendingTree(copy, make_tree)
    assert copy.n_asked == 0
    assert finish_tree(pending) == pending.finish() == "tree"
    assert made == ["bytes"]
    assert pending.get_copy() == "bytes"
    assert copy.n_asked == 1


def test_a_tree_that_is_there():
    assert finish_tree("tree") == "tree"


def test_an_error_comes_each_time():
    def make_tree(copied):
        raise TrainingError("no tree")

    pending = PendingTree(Copy(), make_tree)
    for _ in range(2):
        with pytest.raises(TrainingError, match="no tree"):
            pending.finish()
