"""Nodes of another library's tree, and how they become a Tree.

Libraries number nodes in their own order. In a Tree, children come after their parent, the right
child directly after the left one. Here nodes are put into the order of their levels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.tree import LeafModels, Tree
from sumwise.tree.tree import no_sets

# A tree of more levels was hardly grown on data, and each level takes time.
_MOST_LEVELS = 1 << 14


@dataclass(frozen=True, eq=False)
class SourceNodes:
    """The nodes of one tree, numbered as in the library that grew it. Node 0 is the root.

    Attributes
    ----------
    left, right : ndarray of int
        Children; negative for a leaf.
    feature : ndarray of int
    threshold : ndarray of float64
        Values up to the threshold go left.
    missing_left : ndarray of bool
        Whether missing values go left.
    value : ndarray of float64, shape (n_nodes, n_columns)
        Only those of leaves matter.
    gain, weight, n_rows : ndarray
        As in :class:`sumwise.tree.Tree`; 0 if unknown.
    sets : mapping of int to ndarray
        Codes of the categories that go left, for nodes that split by a set.
    models : LeafModels or None
        Linear models of the leaves.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    sets: Mapping[int, np.ndarray] = field(default_factory=dict)
    models: LeafModels | None = None

    @property
    def n_nodes(self) -> int:
        return int(self.left.size)


def arrange(nodes: SourceNodes) -> Tree:
    """Return a tree; raise ModelFileError if the nodes do not form one.

    Nodes that cannot be reached are left out. The value of an inner node is the mean of its leaves
    by weight, or by the number of rows if there are no weights.
    """
    levels = _list_levels(nodes)
    order = np.concatenate(levels)
    is_leaf = nodes.left[order] < 0
    left = np.full(order.size, -1, dtype=np.int32)
    left[~is_leaf] = 1 + 2 * np.arange(order.size - is_leaf.sum())
    rows = _tidy(nodes.n_rows[order]).astype(np.int64)
    weight = _tidy(nodes.weight[order])
    value = _fill_inner_values(nodes.value[order], left, weight if weight.any() else rows, levels)
    return Tree(
        feature=np.where(is_leaf, -1, nodes.feature[order]).astype(np.int32),
        split_bin=np.zeros(order.size, dtype=np.uint8),
        missing_left=np.where(is_leaf, 0, nodes.missing_left[order]).astype(np.uint8),
        left=left,
        value=value,
        gain=np.where(is_leaf, 0.0, _tidy(nodes.gain[order])),
        n_rows=rows,
        weight=weight,
        threshold=_take_thresholds(nodes, order, is_leaf),
        **_take_sets(nodes, order, is_leaf),
        models=None if nodes.models is None else nodes.models.take_nodes(order),
    )


def add_up_weights(left: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return weights of all nodes from those of leaves; children come after their parents."""
    weight = np.array(weight, dtype=np.float64)
    for node in np.flatnonzero(left >= 0)[::-1].tolist():
        weight[node] = weight[left[node]] + weight[left[node] + 1]
    return weight


def find_variance_gains(tree: Tree) -> Tree:
    """Return a tree whose gains are what splits take off the variance of its values, by weight."""
    splits = np.flatnonzero(tree.feature >= 0)
    a, b = tree.left[splits], tree.left[splits] + 1
    weight = tree.weight[a] + tree.weight[b]
    share = tree.weight[a] * tree.weight[b] / np.where(weight > 0, weight, 1.0)
    gain = np.zeros(tree.n_nodes)
    with np.errstate(over="ignore", invalid="ignore"):
        gain[splits] = share * ((tree.value[a] - tree.value[b]) ** 2).sum(axis=1)
    return replace(tree, gain=_tidy(gain))


def split_columns(trees: Iterable[Tree]) -> list[Tree]:
    """Return trees of one value each, one for each column of the given trees."""
    return [
        replace(tree, value=tree.value[:, k : k + 1])
        for tree in trees
        for k in range(tree.value.shape[1])
    ]


def subtract_pairs(trees: Sequence[Tree]) -> list[Tree]:
    """Return trees of the second score less the first, from trees of two scores in turn.

    The softmax of two scores is the sigmoid of this difference.
    """
    return [
        tree if k % 2 else replace(tree, value=-tree.value, models=_negate(tree.models))
        for k, tree in enumerate(trees)
    ]


def scale_values(tree: Tree, factor: float) -> Tree:
    """Return a tree whose leaves add ``factor`` times as much."""
    if factor == 1.0:
        return tree
    models = tree.models
    if models is not None:
        models = replace(
            models, constant=factor * models.constant, coefficient=factor * models.coefficient
        )
    return replace(tree, value=factor * tree.value, models=models)


def _negate(models: LeafModels | None) -> LeafModels | None:
    if models is None:
        return None
    return replace(
        models,
        constant=-models.constant,
        coefficient=-models.coefficient,
        low=-models.high,
        high=-models.low,
    )


def _list_levels(nodes: SourceNodes) -> list[np.ndarray]:
    """Return the nodes of each level, the right child of a node directly after the left one."""
    if nodes.n_nodes == 0:
        raise ModelFileError("a tree has no nodes")
    reached = np.zeros(nodes.n_nodes, dtype=np.bool_)
    reached[0] = True
    levels, n_reached = [np.zeros(1, dtype=np.int64)], 1
    while True:
        splits = levels[-1][nodes.left[levels[-1]] >= 0]
        if splits.size == 0:
            return levels
        children = np.column_stack([nodes.left[splits], nodes.right[splits]]).ravel()
        if children.min() < 0 or children.max() >= nodes.n_nodes:
            raise ModelFileError("a node points outside its tree")
        reached[children] = True
        n_reached += children.size
        # A node with two parents, or one that is its own ancestor, was counted twice.
        if np.count_nonzero(reached) != n_reached:
            raise ModelFileError("a node is the child of more than one other")
        if len(levels) > _MOST_LEVELS:
            raise ModelFileError(f"a tree has more than {_MOST_LEVELS} levels")
        levels.append(children)


def _tidy(numbers: np.ndarray) -> np.ndarray:
    """Return statistics of nodes that are numbers from 0 on: files may have anything."""
    numbers = np.nan_to_num(np.asarray(numbers, dtype=np.float64), posinf=0.0)
    return np.clip(numbers, 0.0, 1e300)


def _fill_inner_values(
    value: np.ndarray, left: np.ndarray, cover: np.ndarray, levels: list[np.ndarray]
) -> np.ndarray:
    value = value.astype(np.float64)
    last = left.size
    for level in reversed(levels):
        nodes = np.arange(last - level.size, last)
        last -= level.size
        nodes = nodes[left[nodes] >= 0]
        a, b = left[nodes], left[nodes] + 1
        # Where no row is known, both children count the same.
        share = np.where(cover[a] + cover[b] > 0, cover[b], 1.0)
        share = share / np.where(cover[a] + cover[b] > 0, cover[a] + cover[b], 2.0)
        with np.errstate(over="ignore", invalid="ignore"):
            value[nodes] = value[a] + share[:, None] * (value[b] - value[a])
    return value


def _take_thresholds(nodes: SourceNodes, order: np.ndarray, is_leaf: np.ndarray) -> np.ndarray:
    threshold = np.where(is_leaf, 0.0, nodes.threshold[order])
    if nodes.sets:
        threshold[np.isin(order, np.fromiter(nodes.sets, dtype=np.int64))] = 0.0
    return threshold


def _take_sets(nodes: SourceNodes, order: np.ndarray, is_leaf: np.ndarray) -> dict[str, np.ndarray]:
    if not nodes.sets:
        return {"set_node": no_sets(), "set_size": no_sets(), "set_categories": no_sets()}
    pairs = zip(order.tolist(), is_leaf.tolist(), strict=True)
    found = [
        (k, nodes.sets[n]) for k, (n, leaf) in enumerate(pairs) if not leaf and n in nodes.sets
    ]
    return {
        "set_node": np.array([k for k, _ in found], dtype=np.int32),
        "set_size": np.array([own.size for _, own in found], dtype=np.int32),
        "set_categories": np.concatenate([no_sets(), *(own for _, own in found)]).astype(np.int32),
    }
