"""Turn trees into tests of codes, which find the leaf of a row without a walk.

Small trees
    A row has one bit per leaf, all set at first. If the row goes to one side of a split, the leaves
    of the other side are cleared. Only one side of each split is ever cleared, the one with fewer
    leaves, so that nearly all splits concern a single byte. Leaves are numbered so that this side
    comes first: then the row's leaf is the lowest bit still set (QuickScorer, Lucchese et al.
    2015).
Symmetric trees
    A row has one bit per level; the split of the level clears it if the row goes right. The bits
    still set are the number of the leaf.
Large trees
    The row walks from node to node.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.category_sets import find_memberships
from sumwise.kernels.predict.coding import MAX_THRESHOLDS, CodeColumns
from sumwise.kernels.predict.walk import FlatTrees
from sumwise.kernels.runtime.jit import kernel, routine

BY_LEAF, BY_LEVEL, BY_WALK = (np.int64(kind) for kind in range(3))
# With more leaves a walk is faster than testing every split.
MAX_LEAVES = 512
# Two bytes of bits.
MAX_LEVELS = 16


class CodedTrees(NamedTuple):
    """All trees of an ensemble. The leaves of a tree are numbered as described above.

    A test keeps only the bits of its mask unless ``code + shift < limit``. Bytes wrap around, so
    that any range of codes is one comparison; they are compared as signed numbers, which every CPU
    can. The tests of one byte of a tree's bits are a group.
    """

    start: Any  # int64 (n_trees,): where the nodes of a tree begin, and its leaves
    output: Any  # int32 (n_trees,): the output a tree adds to
    kind: Any  # int64 (n_trees,): BY_LEAF, BY_LEVEL or BY_WALK
    n_leaves: Any  # int64 (n_trees,)
    first_group: Any  # int64 (n_trees + 1,)
    first_test: Any  # int64 (n_groups + 1,)
    column: Any  # int64 (n_tests,): of the codes
    shift: Any  # uint8 (n_tests,)
    limit: Any  # uint8 (n_tests,)
    mask: Any  # uint8 (n_tests,)
    node: Any  # uint64 (n_nodes,): for walks, see _pack_nodes
    leaf_node: Any  # int32 (n_nodes,): the node of a leaf, counted within the tree
    value: Any  # float64 (n_nodes,): the value of a leaf


class _Plan(NamedTuple):
    """The results of :func:`_plan_tests`, one per node."""

    n_leaves: Any  # int64: leaves below a node
    depth: Any  # int64
    number: Any  # int64: the number of a leaf, or of the first leaf below a split
    first_bit: Any  # int64: the first bit that a split clears
    n_bits: Any  # int64: how many it clears
    clears_right: Any  # bool: whether these are the leaves of its right side


def code_trees(trees: FlatTrees) -> tuple[CodedTrees, CodeColumns]:
    """Return trees as tests, and the columns of codes that they test.

    Children come after their parents. A node that splits by a set of categories tests whether a row
    is in the set.
    """
    start, _, feature, threshold, missing_left, left, value, sets = trees
    n_trees, n_nodes = start.size, feature.size
    has_set = sets.of_node >= 0 if sets.of_node.size else np.zeros(n_nodes, dtype=np.bool_)
    columns, column, split_bin = _find_columns(np.where(has_set, -1, feature), threshold)
    if sets.of_node.size:
        memberships, of_set = find_memberships(feature, sets, columns.feature.size)
        columns = columns._replace(memberships=memberships)
        column[has_set], split_bin[has_set] = of_set, 1
    # A row goes left if code - skip <= bound.
    skip = np.where(missing_left, 0, 1)
    bound = split_bin - skip
    kind, n_bytes = np.empty(n_trees, dtype=np.int64), np.empty(n_trees, dtype=np.int64)
    plan = _Plan(*np.zeros((5, n_nodes), dtype=np.int64), np.zeros(n_nodes, dtype=np.bool_))
    level_split = np.empty(MAX_LEVELS, dtype=np.int64)
    _plan_tests(start, left, column, skip, bound, plan, kind, n_bytes, level_split)

    tree = np.repeat(np.arange(n_trees), np.diff(start, append=n_nodes))
    first_group = np.append(0, n_bytes.cumsum())
    # A test for every byte in which a split clears bits.
    first_byte, end_byte = plan.first_bit // 8, (plan.first_bit + plan.n_bits + 7) // 8
    n_tests = np.where(plan.n_bits, end_byte - first_byte, 0)
    split = np.repeat(np.arange(n_nodes), n_tests)
    byte = first_byte[split] + _count_up(n_tests)
    first_bit = np.maximum(plan.first_bit[split] - 8 * byte, 0)
    end_bit = np.minimum((plan.first_bit + plan.n_bits)[split] - 8 * byte, 8)
    mask = 255 - ((1 << end_bit) - (1 << first_bit))
    group = first_group[tree[split]] + byte
    order = np.argsort(group, kind="stable")
    split = split[order]
    # If rows that go left clear the right side: the codes that go right are a range, too.
    clears_right = plan.clears_right[split]
    shift = -np.where(clears_right, (skip + bound + 1)[split], skip[split])
    limit = 1 + np.where(clears_right, 254 - bound[split], bound[split])

    leaf = np.flatnonzero(feature < 0)
    place = start[tree[leaf]] + plan.number[leaf]
    leaf_node, leaf_value = np.zeros(n_nodes, dtype=np.int32), np.zeros(n_nodes)
    leaf_node[place] = leaf - start[tree[leaf]]
    leaf_value[place] = value[leaf]
    coded = CodedTrees(
        start=start,
        output=trees.output,
        kind=kind,
        n_leaves=plan.n_leaves[start],
        first_group=first_group,
        first_test=np.searchsorted(group[order], np.arange(first_group[-1] + 1)),
        column=column[split],
        shift=_as_signed(shift),
        limit=_as_signed(limit),
        mask=mask[order].astype(np.uint8),
        node=_pack_nodes(left, column, skip, bound),
        leaf_node=leaf_node,
        value=leaf_value,
    )
    return coded, columns


def _find_columns(
    feature: np.ndarray, threshold: np.ndarray
) -> tuple[CodeColumns, np.ndarray, np.ndarray]:
    """Return the columns of codes, and for each split its column and the last bin on the left."""
    split = np.flatnonzero(feature >= 0)
    split = split[np.lexsort((threshold[split], feature[split]))]
    own_feature, own_threshold = feature[split], threshold[split]
    is_new_feature = np.diff(own_feature, prepend=-1) != 0
    is_new = is_new_feature.copy()
    is_new[1:] |= own_threshold[1:] != own_threshold[:-1]
    rank = is_new.cumsum() - 1
    rank -= np.maximum.accumulate(np.where(is_new_feature, rank, 0))  # within the feature
    is_new_column = is_new & (rank % MAX_THRESHOLDS == 0)
    columns = CodeColumns(
        feature=own_feature[is_new_column].astype(np.int64),
        threshold=own_threshold[is_new],
        start=np.append(np.flatnonzero(is_new_column[is_new]), is_new.sum()),
    )
    column, split_bin = np.zeros(feature.size, np.int64), np.zeros(feature.size, np.int64)
    column[split] = is_new_column.cumsum() - 1
    split_bin[split] = rank % MAX_THRESHOLDS + 1
    return columns, column, split_bin


def _as_signed(numbers: np.ndarray) -> np.ndarray:
    """Return bytes that, as signed numbers, compare as these numbers do."""
    return (numbers.astype(np.uint8) ^ np.uint8(128)).astype(np.uint8)


def _count_up(lengths: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... length - 1 for each length, one after the other."""
    return np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)


def _pack_nodes(
    left: np.ndarray, column: np.ndarray, skip: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """Pack what a step needs into one word: left child, skip, column (24 bits), bound (8 bits).

    A leaf leads to itself: no code is beyond its bound.
    """
    is_leaf = left < 0
    left = np.where(is_leaf, np.arange(left.size), left).astype(np.uint64)
    low = column << 8 | np.where(is_leaf, 255, skip << 32 | bound)
    return left << np.uint64(33) | low.astype(np.uint64)


@routine
def _count_leaves(first, last, left, plan):
    """Write the depths of a tree's nodes and the number of leaves below them."""
    plan.depth[first] = 0
    for node in range(first, last):
        if left[node] >= 0:
            plan.depth[left[node]] = plan.depth[node] + 1
            plan.depth[left[node] + 1] = plan.depth[node] + 1
    for node in range(last - 1, first - 1, -1):
        child = left[node]
        plan.n_leaves[node] = 1 if child < 0 else plan.n_leaves[child] + plan.n_leaves[child + 1]


@routine
def _is_symmetric(first, last, left, column, skip, bound, plan, level_split):
    """Whether the splits of a level are the same and all leaves are on the last level.

    Writes the first split of each level.
    """
    level_split[:] = -1
    for node in range(first, last):
        depth = plan.depth[node]
        if depth > MAX_LEVELS or (depth == MAX_LEVELS and left[node] >= 0):
            return False
        if left[node] < 0:
            if np.int64(1) << depth != plan.n_leaves[first]:
                return False
            continue
        same = level_split[depth]
        if same < 0:
            level_split[depth] = node
        elif column[node] != column[same] or skip[node] != skip[same] or bound[node] != bound[same]:
            return False
    return True


@routine
def _plan_by_level(first, last, left, plan, level_split):
    plan.number[first] = 0
    for node in range(first, last):
        child, depth = left[node], plan.depth[node]
        if child >= 0:
            plan.number[child] = plan.number[node] | np.int64(1) << depth
            plan.number[child + 1] = plan.number[node]
            if level_split[depth] == node:
                plan.first_bit[node], plan.n_bits[node] = depth, 1


@routine
def _plan_by_leaf(first, last, left, plan):
    plan.number[first] = 0
    for node in range(first, last):
        small = left[node]
        if small >= 0:
            large = small + 1
            if plan.n_leaves[large] < plan.n_leaves[small]:
                small, large = large, small
                plan.clears_right[node] = True
            plan.number[small] = plan.number[node]
            plan.number[large] = plan.number[node] + plan.n_leaves[small]
            plan.first_bit[node], plan.n_bits[node] = plan.number[small], plan.n_leaves[small]


@kernel
def _plan_tests(start, left, column, skip, bound, plan, kind, n_bytes, level_split):
    """Choose the kind of each tree, number its leaves, and find which bits its splits clear."""
    for tree in range(start.size):
        first = start[tree]
        last = start[tree + 1] if tree + 1 < start.size else left.size
        _count_leaves(first, last, left, plan)
        if _is_symmetric(first, last, left, column, skip, bound, plan, level_split):
            kind[tree] = BY_LEVEL
            n_bytes[tree] = 2 if plan.n_leaves[first] > 256 else 1
            _plan_by_level(first, last, left, plan, level_split)
        elif plan.n_leaves[first] <= MAX_LEAVES:
            kind[tree] = BY_LEAF
            n_bytes[tree] = (plan.n_leaves[first] + 7) // 8
            _plan_by_leaf(first, last, left, plan)
        else:
            kind[tree] = BY_WALK
            n_bytes[tree] = 0
            for node in range(first, last):
                plan.number[node] = node - first
