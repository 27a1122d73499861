"""Models that are linear functions of trees, for formats that know sums of trees alone."""

from dataclasses import dataclass, replace

import numpy as np

from sumwise.export.portable import Affine, Link, Node, TreeSum


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Outputs that are a constant plus weighted outputs of trees.

    Attributes
    ----------
    base : ndarray, shape (n_outputs,)
    parts : tuple of (TreeSum, ndarray)
        Trees, and what each of their outputs contributes, shape (n_outputs, n_tree_outputs).
    """

    base: np.ndarray
    parts: tuple[tuple[TreeSum, np.ndarray], ...]

    def scale(self, factor: float) -> "LinearForm":
        """Return the outputs times a factor."""
        parts = tuple((trees, factor * weights) for trees, weights in self.parts)
        return replace(self, base=factor * self.base, parts=parts)


def find_linear_form(node: Node) -> LinearForm | Node:
    """Return a node as a linear form of trees, or else the part of it that is none."""
    if isinstance(node, TreeSum):
        weights = np.eye(node.n_outputs) / node.divisor
        return LinearForm(node.base_score.copy(), ((node, weights),))
    if isinstance(node, Link) and node.name == "identity":
        return find_linear_form(node.of)
    if not isinstance(node, Affine) or node.columns:
        return node
    base, parts, first = node.intercept.copy(), [], 0
    for child in node.of:
        form = find_linear_form(child)
        if not isinstance(form, LinearForm):
            return form
        own = node.coefficient[:, first : first + child.n_outputs]
        base += own @ form.base
        parts += [(trees, own @ weights) for trees, weights in form.parts]
        first += child.n_outputs
    return LinearForm(base, tuple(parts))
