"""PendingTree: a tree that is still being grown, or on its way from a device."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.tree.tree import Tree


class PendingTree:
    """A tree that will be there when it is needed.

    Parameters
    ----------
    later : Later
        The copy of its nodes.
    make_tree : callable
        Makes the tree of the bytes of the copy; raises TrainingError if growing has failed.
    """

    def __init__(self, later: Any, make_tree: Callable[[np.ndarray], Tree]) -> None:
        self._later, self._make_tree = later, make_tree
        self._copied: np.ndarray | None = None
        self._tree: Tree | None = None

    def finish(self) -> Tree:
        """Return the tree; wait for it if need be."""
        if self._tree is None:
            self._tree = self._make_tree(self.get_copy())
        return self._tree

    def get_copy(self) -> np.ndarray:
        """Return the bytes of the copy; wait for them if need be."""
        if self._copied is None:
            self._copied = self._later.get()
            self._later = None
        return self._copied


def finish_tree(tree: "Tree | PendingTree") -> Tree:
    """Return a tree that may be pending."""
    return tree.finish() if isinstance(tree, PendingTree) else tree
