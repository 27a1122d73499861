"""Grow one tree of a forest."""

import numpy as np

from sumwise.kernels.forest.layout import CHUNK, SET_WORDS, WITH_MORE
from sumwise.kernels.forest.split import clear_totals, find_split
from sumwise.kernels.forest.targets import gather, write_value
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.random import extend_key

_ONE, _SIX, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)


@routine
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


@routine
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
    find_split(table, target, options, work, node, extend_key(key, number))
    if node.feature < 0 or node.gain < options.min_decrease:
        node.feature, node.gain = -1, 0.0
        return False
    if table.is_category[node.feature]:
        for word in range(SET_WORDS):
            work.sets[number, word] = work.best_set[word]
    return True


@inlined
def _part_rows(table, work, node, number):
    """Put the rows that go left before the others, in order; return where the others begin."""
    rows, spare, bins = work.rows, work.spare, table.bins
    stride = np.uint64(table.stride)
    feature = np.uint64(node.feature) * np.uint64(table.step)
    place, n_right = np.uint64(node.first), np.uint64(0)
    if table.is_category[node.feature]:
        chosen = work.sets[number]
        for i in range(np.uint64(node.first), np.uint64(node.last)):
            row = rows[i]
            b = np.uint64(bins[np.uint64(row) * stride + feature])
            is_left = (chosen[b >> _SIX] >> (b & _LOW)) & _ONE
            rows[place] = row
            spare[n_right] = row
            place += is_left
            n_right += _ONE - is_left
    else:
        # Bins 1 to split_bin go left, and 0 if missing goes left: one comparison with wrap-around.
        offset = np.uint8(node.missing_left != 1)
        bound = np.uint8(node.split_bin - offset)
        for i in range(np.uint64(node.first), np.uint64(node.last)):
            row = rows[i]
            b = np.uint8(bins[np.uint64(row) * stride + feature] - offset)
            is_left = np.uint64(b <= bound)
            rows[place] = row
            spare[n_right] = row
            place += is_left
            n_right += _ONE - is_left
    for i in range(n_right):
        rows[place + i] = spare[i]
    return np.int64(place)


@inlined
def _begin_child(nodes, number, parent, first, last):
    child = nodes[number]
    child.first, child.last = first, last
    child.depth = parent.depth + 1
    child.n_constant = parent.n_constant
    child.lower, child.upper = parent.lower, parent.upper


@routine
def _comes_before(nodes, a, b):
    return nodes[a].gain > nodes[b].gain or (nodes[a].gain == nodes[b].gain and a < b)


@routine
def _push(waiting, n_waiting, nodes, number, best_first):
    """Add a node to those that wait, a stack or a heap by gain; return how many there are."""
    i = n_waiting
    waiting[i] = number
    while best_first and i > 0 and _comes_before(nodes, waiting[i], waiting[(i - 1) >> 1]):
        parent = (i - 1) >> 1
        waiting[i], waiting[parent] = waiting[parent], waiting[i]
        i = parent
    return n_waiting + 1


@routine
def _pop(waiting, n_waiting, nodes, best_first):
    """Take the next of ``n_waiting`` nodes."""
    n = n_waiting - 1
    if not best_first:
        return waiting[n]
    top = waiting[0]
    waiting[0] = waiting[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            return top
        if child + 1 < n and _comes_before(nodes, waiting[child + 1], waiting[child]):
            child += 1
        if not _comes_before(nodes, waiting[child], waiting[i]):
            return top
        waiting[i], waiting[child] = waiting[child], waiting[i]
        i = child


@kernel
def grow_forest_tree(table, target, options, key, work, nodes, values):
    """Grow a tree on the rows that have weight; return its number of nodes."""
    n_rows = 0
    for row in range(work.weight.size):
        work.rows[n_rows] = row
        n_rows += work.weight[row] > 0.0
    for i in range(work.order.size):
        work.order[i] = table.features[i]
        work.is_constant[table.features[i]] = 0
    work.n_constant[0] = 0
    root = nodes[0]
    root.first, root.last, root.depth, root.n_constant = 0, n_rows, 0, 0
    root.lower, root.upper = -np.inf, np.inf
    n_nodes, n_leaves, n_waiting = 1, 1, 0
    best_first = options.best_first
    if best_first:
        if _settle_node(table, target, options, work, nodes, ZERO, values[0], key):
            n_waiting = _push(work.waiting, n_waiting, nodes, ZERO, best_first)
    else:
        n_waiting = _push(work.waiting, n_waiting, nodes, ZERO, best_first)
    while n_waiting > 0 and n_leaves < options.max_leaves:
        parent = np.int64(_pop(work.waiting, n_waiting, nodes, best_first))
        n_waiting -= 1
        node = nodes[parent]
        # Depth first, a node is looked at when it comes up: so the constant features of nodes
        # above are still the first of those known.
        if not best_first and not _settle_node(
            table, target, options, work, nodes, parent, values[parent], key
        ):
            continue
        middle = _part_rows(table, work, node, parent)
        if node.missing_left == WITH_MORE:
            node.missing_left = np.uint8(middle - node.first > node.last - middle)
            if table.is_category[node.feature]:
                work.sets[parent, 0] |= np.uint64(node.missing_left)
        left = np.int64(n_nodes)
        node.left = left
        n_nodes += 2
        n_leaves += 1
        _begin_child(nodes, left, node, node.first, middle)
        _begin_child(nodes, left + 1, node, middle, node.last)
        direction = table.direction[node.feature] if table.direction.size else np.int8(0)
        if direction != 0:
            _bound_children(table, target, work, nodes, left, direction, values)
        for number in range(left + 1, left - 1, -1):  # the left child goes on top of the stack
            if best_first:
                nodes[number].n_constant = 0
                if not _settle_node(
                    table, target, options, work, nodes, number, values[number], key
                ):
                    continue
            n_waiting = _push(work.waiting, n_waiting, nodes, number, best_first)
    for number in range(n_nodes):
        if nodes[number].left < 0:
            nodes[number].feature = -1
            nodes[number].gain = 0.0
            # Models are compared and saved byte by byte.
            nodes[number].split_bin = nodes[number].missing_left = np.uint8(0)
    return n_nodes


@routine
def _bound_children(table, target, work, nodes, left, direction, values):
    """The middle of the children's values bounds both."""
    for number in range(left, left + 2):
        node = nodes[number]
        _sum_rows(target, work, node.first, node.last)
        write_value(target, work.totals, node.lower, node.upper, values[number])
    middle = (values[left, 0] + values[left + 1, 0]) / 2.0
    if direction > 0:
        nodes[left].upper, nodes[left + 1].lower = middle, middle
    else:
        nodes[left].lower, nodes[left + 1].upper = middle, middle
