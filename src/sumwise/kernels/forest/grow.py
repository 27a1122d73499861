"""Grow one tree of a forest.

Growth is depth first, the left child before the right one, and needs no histograms of other nodes.
A feature that is constant in a node is constant below it: such features are remembered on the way
down and not examined again. With a limited number of leaves, growth is best first, and nothing is
remembered, because nodes are not visited in the order of their paths.
"""

import numpy as np

from sumwise.kernels.forest.bins import has_bin
from sumwise.kernels.forest.by_type import choose_by_type
from sumwise.kernels.forest.entries import partition_entries
from sumwise.kernels.forest.layout import (
    CHUNK,
    NOWHERE,
    SET_WORDS,
    WITH_LARGER,
    ByteRows,
    SparseRows,
)
from sumwise.kernels.forest.sparse_split import find_sparse_split
from sumwise.kernels.forest.split import clear_totals, find_byte_split
from sumwise.kernels.forest.targets import gather, write_value
from sumwise.kernels.grow.heap import pop_node, push_node
from sumwise.kernels.grow.layout import LEAF_WISE, N_HEAP
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.partition import is_left_code, left_range
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, merged, routine
from sumwise.kernels.runtime.random import extend_key

_ONE = np.uint64(1)
_BY_GAIN = np.int64(LEAF_WISE)

_find_split = choose_by_type(
    "find_split", {ByteRows: find_byte_split, SparseRows: find_sparse_split}
)


@merged
def _sum_rows(target, work, first, last):
    """Sum the rows of a node; return whether all have the same target."""
    clear_totals(work.totals)
    is_pure = True
    begin = first
    while begin < last:
        end = min(begin + CHUNK, last)
        is_pure &= gather(target, work.weight, work.rows, begin, end, work.rows[first], work)
        begin = end
    return is_pure


@merged
def _settle_node(table, target, options, work, nodes, number, value, key):
    """Write a node's value and, if it may be split, its best split; return whether it has one."""
    node = nodes[number]
    is_pure = _sum_rows(target, work, node.first, node.last)
    node.weight = work.totals[0]
    node.feature, node.left, node.gain = -1, -1, 0.0
    write_value(target, work.totals, node.lower, node.upper, value)
    n_rows = node.last - node.first
    if (
        is_pure
        or n_rows < options.min_rows_split
        or n_rows < 2 * options.min_rows_leaf
        or node.depth >= options.max_depth
        or node.weight < 2.0 * options.min_weight_leaf
    ):
        return False
    _find_split(table, target, options, work, node, extend_key(key, number))
    if node.feature < 0 or node.gain < options.min_decrease:
        node.feature, node.gain = -1, 0.0
        return False
    if table.is_category[node.feature]:
        for word in range(SET_WORDS):
            work.sets[number, word] = work.best_set[word]
    return True


@inlined
def _move_row(rows, spare, row, is_left, n_left, n_right):
    """Write a row to both sides; only the side that it goes to moves on."""
    rows[n_left] = row
    spare[n_right] = row
    return n_left + is_left, n_right + (_ONE - is_left)


@merged
def _partition_bytes(table, work, node, number, is_known):
    """Move the rows that go left before the others, both in order; return where the others begin.

    Missing values may be WITH_LARGER: then the node has none.
    """
    rows, spare, bins = work.rows, work.spare, table.bins
    stride = np.uint64(table.stride)
    feature = np.uint64(node.feature) * np.uint64(table.step)
    place, n_right = np.uint64(node.first), np.uint64(0)
    if table.is_category[node.feature]:
        chosen = work.sets[number]
        for i in range(np.uint64(node.first), np.uint64(node.last)):
            row = rows[i]
            b = np.uint64(bins[np.uint64(row) * stride + feature])
            place, n_right = _move_row(rows, spare, row, has_bin(chosen, b), place, n_right)
    else:
        skip, bound = left_range(node.split_bin, node.missing_left)
        for i in range(np.uint64(node.first), np.uint64(node.last)):
            row = rows[i]
            is_left = np.uint64(is_left_code(bins[np.uint64(row) * stride + feature], skip, bound))
            place, n_right = _move_row(rows, spare, row, is_left, place, n_right)
    for i in range(n_right):
        rows[place + i] = spare[i]
    return np.int64(place)


_partition_rows = choose_by_type(
    "partition_rows", {ByteRows: _partition_bytes, SparseRows: partition_entries}
)


@inlined
def _begin_node(nodes, number, depth, first, last, n_constant, lower, upper):
    """Write what is known of a node before its rows are summed."""
    node = nodes[number]
    node.depth, node.first, node.last, node.n_constant = depth, first, last, n_constant
    node.lower, node.upper = lower, upper


@inlined
def _begin_tree(table, work, nodes):
    """Put the rows that have weight into the root, and forget the previous tree."""
    n_rows = 0
    for row in range(work.weight.size):
        work.rows[n_rows] = row
        n_rows += work.weight[row] > 0.0
    place, n_placed = work.entries.place, 0
    for row in range(place.size):
        place[row] = n_placed if work.weight[row] > 0.0 else NOWHERE
        n_placed += work.weight[row] > 0.0
    for i in range(work.order.size):
        work.order[i] = table.features[i]
        work.is_constant[table.features[i]] = 0
    work.n_constant[0] = 0
    work.control[N_HEAP] = 0
    _begin_node(nodes, ZERO, 0, 0, n_rows, 0, -np.inf, np.inf)


@inlined
def _push_unsettled(work, number):
    """Add a node to the stack of those that wait to be settled."""
    work.waiting[work.control[N_HEAP]] = number
    work.control[N_HEAP] += 1


@inlined
def _pop_unsettled(work):
    """Remove the top of the stack and return it."""
    work.control[N_HEAP] -= 1
    return np.int64(work.waiting[work.control[N_HEAP]])


@inlined
def _split_node(table, work, nodes, parent, left, best_first):
    """Partition the rows of a node between its children, ``left`` and the next."""
    node = nodes[parent]
    node.left = left
    middle = _partition_rows(table, work, node, parent, not best_first)
    if node.missing_left == WITH_LARGER:
        node.missing_left = np.uint8(follows_larger(middle - node.first, node.last - node.first))
        if table.is_category[node.feature]:
            work.sets[parent, 0] |= np.uint64(node.missing_left)
    depth, lower, upper = node.depth + 1, node.lower, node.upper
    n_constant = 0 if best_first else node.n_constant
    _begin_node(nodes, left, depth, node.first, middle, n_constant, lower, upper)
    _begin_node(nodes, left + 1, depth, middle, node.last, n_constant, lower, upper)


@routine
def _bound_children(target, work, nodes, left, direction, values):
    """Bound the values of two children by the middle between them: a monotone constraint."""
    for number in range(left, left + 2):
        node = nodes[number]
        _sum_rows(target, work, node.first, node.last)
        write_value(target, work.totals, node.lower, node.upper, values[number])
    middle = (values[left, 0] + values[left + 1, 0]) / 2.0
    if direction > 0:
        nodes[left].upper, nodes[left + 1].lower = middle, middle
    else:
        nodes[left].lower, nodes[left + 1].upper = middle, middle


@inlined
def _clear_leaves(nodes, n_nodes):
    """Remove splits that were not made: models are compared and saved byte by byte."""
    for number in range(n_nodes):
        if nodes[number].left < 0:
            nodes[number].feature = -1
            nodes[number].gain = 0.0
            nodes[number].split_bin = nodes[number].missing_left = np.uint8(0)


@kernel
def grow_forest_tree(table, target, options, key, work, nodes, values):
    """Grow a tree on the rows that have weight; return its number of nodes.

    Best first, a node is settled before it waits, because its gain decides its turn. Depth first,
    it is settled when its turn comes: then the constant features of its ancestors are still the
    first of those remembered.
    """
    _begin_tree(table, work, nodes)
    n_nodes, n_leaves, best_first = np.int64(1), 1, options.best_first
    number, n_unsettled = ZERO, 1
    while True:
        # The only call: nodes are many, and the arrays would be passed for each of them.
        can_split = _settle_node(table, target, options, work, nodes, number, values[number], key)
        parent = number
        if best_first:
            if can_split:
                push_node(work.control, work.waiting, nodes, _BY_GAIN, number)
            n_unsettled -= 1
            if n_unsettled > 0:
                number -= 1  # the left sibling
                continue
            if work.control[N_HEAP] == 0 or n_leaves >= options.max_leaves:
                break
            parent = np.int64(pop_node(work.control, work.waiting, nodes, _BY_GAIN))
        elif not can_split:
            if work.control[N_HEAP] == 0:
                break
            number = _pop_unsettled(work)
            continue
        left = n_nodes
        n_nodes += 2
        n_leaves += 1
        _split_node(table, work, nodes, parent, left, best_first)
        direction = table.direction[nodes[parent].feature] if table.direction.size else np.int8(0)
        if direction != 0:
            _bound_children(target, work, nodes, left, direction, values)
        if best_first:
            number, n_unsettled = left + 1, 2
        else:
            _push_unsettled(work, left + 1)
            number = left
    _clear_leaves(nodes, n_nodes)
    return n_nodes


@kernel
def copy_nodes(nodes, feature, split_bin, missing_left, left, gain, weight, n_rows):
    """Copy the nodes of a grown tree to arrays."""
    for number in range(feature.size):
        node = nodes[number]
        feature[number], left[number] = node.feature, node.left
        split_bin[number], missing_left[number] = node.split_bin, node.missing_left
        gain[number], weight[number] = node.gain, node.weight
        n_rows[number] = node.last - node.first
