"""Trees as the operator TreeEnsemble of ai.onnx.ml."""

from typing import Any

import numpy as np

from sumwise.export.onnx.columns import Columns
from sumwise.export.onnx.operators import Operators
from sumwise.export.portable import TreeSum
from sumwise.export.rounding import round_down
from sumwise.tree import Tree

_LESS_OR_EQUAL, _MEMBER = 0, 6  # modes of nodes
_SUM = 1


class TreeWriter:
    """Writes the trees of a graph.

    A leaf of TreeEnsemble adds one value to one target. Trees with several values per leaf, or with
    linear models, therefore return the number of the leaf; the values are looked up by it.
    """

    def __init__(self, operators: Operators, columns: Columns) -> None:
        self._operators, self._columns = operators, columns

    def write_sum(self, node: TreeSum) -> str:
        """Return the sums of trees, shape (n_rows, n_outputs)."""
        ops, trees = self._operators, node.trees
        if trees.models is not None:
            total = self._add_linear_leaves(node)
        elif trees.value.shape[1] > 1:
            values = ops.numbers(trees.value[trees.feature < 0])
            by_tree = ops.add("Gather", values, self._find_leaves(node), axis=0)
            total = self._add_trees(node, by_tree)
        else:
            targets = np.arange(node.n_trees) % node.n_groups
            leaves = trees.value[trees.feature < 0, 0]
            total = self._write(node, targets, node.n_outputs, leaves)
        if node.divisor != 1.0:
            total = ops.add("Div", total, ops.numbers(node.divisor))
        return (
            ops.add("Add", total, ops.numbers(node.base_score)) if node.base_score.any() else total
        )

    def write_each(self, node: TreeSum) -> str:
        """Return the value of each tree, shape (n_rows, n_trees); a leaf has one value."""
        leaves = node.trees.value[node.trees.feature < 0, 0]
        return self._write(node, np.arange(node.n_trees), node.n_trees, leaves)

    def _find_leaves(self, node: TreeSum) -> str:
        """Return the leaf of each tree, as its number among all leaves."""
        ops = self._operators
        is_leaf = (node.trees.feature < 0).astype(np.int64)
        before = np.append(0, is_leaf.cumsum())[node.start]  # leaves before each tree
        # Numbered within the tree: these are small enough for single precision.
        own = np.arange(before[-1]) - np.repeat(before[:-1], np.diff(before))
        found = self._write(node, np.arange(node.n_trees), node.n_trees, own)
        return ops.add("Add", ops.cast(found, np.int64), ops.constant(before[:-1]))

    def _add_trees(self, node: TreeSum, by_tree: str) -> str:
        """Add values of shape (n_rows, n_trees, n_columns) for each group of outputs."""
        ops, n_groups = self._operators, node.n_groups
        if n_groups == 1:
            return ops.add("ReduceSum", by_tree, ops.constant(np.array([1])), keepdims=0)
        shape = ops.constant(np.array([0, -1, node.n_outputs]))
        rounds = ops.add("Reshape", by_tree, shape)
        return ops.add("ReduceSum", rounds, ops.constant(np.array([1])), keepdims=0)

    def _add_linear_leaves(self, node: TreeSum) -> str:
        """Add the linear models of leaves, or the values of those that have none."""
        ops, trees = self._operators, node.trees
        models = trees.models
        assert models is not None
        leaves = np.flatnonzero(trees.feature < 0)
        leaf = self._find_leaves(node)

        def look_up(by_leaf: str) -> str:
            return ops.add("Gather", by_leaf, leaf, axis=0)

        used = np.unique(models.feature) if models.feature.size else np.zeros(1, dtype=np.int64)
        matrix, places = self._columns.gather([node.columns[k] for k in used], [None] * used.size)
        feature, slope = _list_terms(models, leaves, np.searchsorted(used, models.feature), places)
        width = slope.shape[1]
        flat = ops.constant(np.array([0, node.n_trees * width]))
        folded = ops.constant(np.array([0, node.n_trees, width]))
        chosen = ops.add("Reshape", look_up(ops.constant(feature)), flat)
        x = ops.add("Reshape", ops.add("GatherElements", matrix, chosen, axis=1), folded)
        terms = ops.add("Mul", look_up(ops.numbers(slope)), x)
        # Places that a shorter model does not use: the value there may be missing or infinite.
        is_term = look_up(ops.constant(np.arange(width) < models.size[leaves, None]))
        terms = ops.add("Where", is_term, terms, ops.numbers(0.0))
        total = ops.add("ReduceSum", terms, ops.constant(np.array([2])), keepdims=0)
        total = ops.add("Add", total, look_up(ops.numbers(models.constant[leaves])))
        is_finite = ops.add("Equal", ops.add("Sub", total, total), ops.numbers(0.0))
        total = ops.add("Max", total, look_up(ops.numbers(models.low[leaves])))
        total = ops.add("Min", total, look_up(ops.numbers(models.high[leaves])))
        has_model = look_up(ops.constant(models.size[leaves] > 0))
        holds = ops.add("And", has_model, is_finite)
        value = look_up(ops.numbers(trees.value[leaves, 0]))
        by_tree = ops.add("Where", holds, total, value)
        each = ops.add("Unsqueeze", by_tree, ops.constant(np.array([2])))
        return self._add_trees(node, each)

    def _write(self, node: TreeSum, targets: np.ndarray, n_targets: int, leaves: np.ndarray) -> str:
        """Add a TreeEnsemble whose leaves add these numbers to the targets of their trees."""
        trees, dtype = node.trees, self._operators.dtype
        used = np.unique(trees.feature[trees.feature >= 0])
        used = used if used.size else np.zeros(1, dtype=np.int64)
        threshold, cuts = _round_thresholds(node, used, dtype)
        matrix, places = self._columns.gather([node.columns[k] for k in used], cuts)
        by_column = np.zeros(len(node.columns), dtype=np.int64)
        by_column[used] = places
        return self._operators.add_ml(
            "TreeEnsemble",
            matrix,
            n_targets=n_targets,
            aggregate_function=_SUM,
            post_transform=0,
            leaf_weights=(leaves if leaves.size else np.zeros(1)).astype(dtype),
            **_list_nodes(node, threshold, by_column, targets, dtype),
        )


def _list_terms(
    models: Any, leaves: np.ndarray, own: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and coefficients of models as tables, one row per leaf."""
    first = models.first
    width = max(int(models.size.max(initial=0)), 1)
    feature = np.zeros((leaves.size, width), dtype=np.int64)
    slope = np.zeros((leaves.size, width))
    for row, leaf in enumerate(leaves):
        terms = slice(first[leaf], first[leaf + 1])
        feature[row, : models.size[leaf]] = places[own[terms]]
        slope[row, : models.size[leaf]] = models.coefficient[terms]
    return feature, slope


def _round_thresholds(
    node: TreeSum, used: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Return thresholds in the precision of the graph, and the cuts of lookups; see gather."""
    trees = node.trees
    if dtype == np.float64:
        return trees.threshold, [None] * used.size
    threshold = round_down(trees.threshold)
    cuts: list[np.ndarray | None] = []
    for column in used:
        own = np.flatnonzero(trees.feature == column)
        if node.columns[column].lookup is None:
            cuts.append(None)
            continue
        known, place = np.unique(trees.threshold[own], return_inverse=True)
        cuts.append(known)
        threshold[own] = place
    return threshold, cuts


def _list_nodes(
    node: TreeSum,
    threshold: np.ndarray,
    by_column: np.ndarray,
    targets: np.ndarray,
    dtype: np.dtype,
) -> dict[str, Any]:
    """Return the attributes of TreeEnsemble that describe its nodes."""
    trees = node.trees
    is_leaf = trees.feature < 0
    splits = np.flatnonzero(~is_leaf)
    # Splits and leaves are numbered apart; a tree that is a leaf needs a split that leads to it.
    stumps = np.flatnonzero(is_leaf[node.start[:-1]])
    number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
    roots = number[node.start[:-1]]
    lone_leaves = roots[stumps]
    roots[stumps] = splits.size + np.arange(stumps.size)
    tree_of_leaf = np.repeat(np.arange(node.n_trees), np.diff(node.start))[is_leaf]
    if node.n_trees == 0:  # the operator needs a tree: one that adds 0
        roots, lone_leaves = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        targets, tree_of_leaf = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    n_lone = lone_leaves.size
    left, right = trees.left[splits], trees.left[splits] + 1
    mode, sets = _list_sets(trees, splits)
    split = np.where(mode == _MEMBER, 0.0, threshold[splits])
    split[np.isin(splits, trees.set_node) & (mode != _MEMBER)] = -np.inf  # an empty set
    attributes = {
        "tree_roots": roots,
        "nodes_featureids": np.append(by_column[trees.feature[splits]], np.zeros(n_lone, np.int64)),
        "nodes_truenodeids": np.append(number[left], lone_leaves),
        "nodes_falsenodeids": np.append(number[right], lone_leaves),
        "nodes_trueleafs": np.append(is_leaf[left], np.ones(n_lone, bool)).astype(np.int64),
        "nodes_falseleafs": np.append(is_leaf[right], np.ones(n_lone, bool)).astype(np.int64),
        "nodes_missing_value_tracks_true": np.append(
            trees.missing_left[splits].astype(np.int64), np.zeros(n_lone, np.int64)
        ),
        "leaf_targetids": targets[tree_of_leaf],
    }
    tensors = {
        "nodes_modes": np.append(mode, np.zeros(n_lone, np.uint8)).astype(np.uint8),
        "nodes_splits": np.append(split, np.zeros(n_lone)).astype(dtype),
    }
    if sets.size:
        tensors["membership_values"] = sets.astype(dtype)
    return {name: array.tolist() for name, array in attributes.items()} | tensors


def _list_sets(trees: Tree, splits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the modes of splits, and the members of their sets, each set followed by NaN."""
    size = np.zeros(trees.n_nodes, dtype=np.int64)
    size[trees.set_node] = trees.set_size
    mode = np.where(size[splits] > 0, _MEMBER, _LESS_OR_EQUAL)
    ends = np.cumsum(trees.set_size)[trees.set_size > 0]
    return mode, np.insert(trees.set_categories.astype(np.float64), ends, np.nan)
