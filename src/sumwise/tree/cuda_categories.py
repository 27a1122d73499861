"""Sets of categories between trees and devices: bits of bins there, lists of categories here."""

from typing import Any

import numpy as np

from sumwise.cuda.grow.layout import SET, SET_WORDS
from sumwise.kernels.predict.table_walk import mark_sets
from sumwise.kernels.table.layout import Categories
from sumwise.tree.tree import Tree

# Bytes of a set.
SET_BYTES = 4 * SET_WORDS


def list_sets(nodes: np.ndarray, bits: np.ndarray, categories: Categories) -> dict[str, np.ndarray]:
    """Return the sets of the nodes of a tree, as a :class:`Tree` has them.

    ``bits`` is uint8 of shape (n_nodes, SET_BYTES). The categories of a set ascend, since bins are
    in the order of categories.
    """
    set_node = np.flatnonzero(nodes["split_bin"] == SET)
    is_member = np.unpackbits(bits[set_node], axis=1, bitorder="little")
    is_member[:, 0] = 0  # missing is no category
    which, member = np.nonzero(is_member)
    start = categories.code_start[categories.place[nodes["feature"][set_node]]]
    return {
        "set_node": set_node.astype(np.int32),
        "set_size": is_member.sum(axis=1, dtype=np.int32),
        "set_categories": categories.codes[start[which] + member],
    }


def pack_sets(tree: Tree, categories: Categories | None) -> np.ndarray | None:
    """Return the sets of a finished tree as kernels read them; None if it has no sets."""
    if categories is None or tree.set_node.size == 0:
        return None
    sets = (tree.set_node, tree.set_size, tree.set_categories)
    start, in_set = mark_sets(categories, tree.feature, tree.missing_left, *sets)
    is_left = np.zeros((tree.n_nodes, 8 * SET_BYTES), dtype=np.uint8)
    n_bins: Any = categories.n_bins[categories.place[tree.feature[tree.set_node]]]
    for node, size in zip(tree.set_node, n_bins, strict=True):
        is_left[node, :size] = in_set[start[node] : start[node] + size]
    return np.packbits(is_left, axis=1, bitorder="little").view(np.uint32)
