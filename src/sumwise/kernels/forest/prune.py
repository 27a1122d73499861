"""Pruning: which nodes of a tree become leaves. And new values of nodes."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.nodes import add_row, measure_row
from sumwise.kernels.forest.walk import find_child, walk_down
from sumwise.kernels.runtime.jit import kernel, routine

_ROOT = np.uint64(0)
# Sums of the same errors in another order differ by less.
_ROUNDING = 1e-12


class LinkWork(NamedTuple):
    """Blocks of nodes that are cut off together, each identified by its top node.

    A block is in the heap of the block above it, ordered by descending mean.
    """

    total: Any  # float64 (n_nodes,): sum of the gains of a block
    count: Any  # int64 (n_nodes,): number of its nodes
    mean: Any  # float64 (n_nodes,)
    below: Any  # int32 (n_nodes,): the top of the heap of blocks right below a block, or -1
    heap_left: Any  # int32 (n_nodes,)
    heap_right: Any  # int32 (n_nodes,)


@routine
def _meld(work, a, b):
    """Merge two skew heaps (-1 is empty) and return the top."""
    if a < 0:
        return b
    if b < 0:
        return a
    mean, left, right = work.mean, work.heap_left, work.heap_right
    if mean[b] > mean[a]:
        a, b = b, a
    top = a
    while True:  # b goes below a
        rest = right[a]
        right[a] = left[a]
        if rest < 0:
            left[a] = b
            return top
        if mean[b] > mean[rest]:
            left[a] = b
            a, b = b, rest
        else:
            left[a] = rest
            a = rest


@kernel
def find_links(left, gain, work, link):
    """Write the gain per leaf at which the branch of each node is cut off.

    A branch is kept as long as some subtree from its top node down has a mean gain per split above
    the price of a leaf. The strength of a node is the largest of these means, and the node is cut
    off together with the weakest of its ancestors. The subtree is found from the bottom up: the
    best block below a node joins it as long as that raises the mean.
    """
    for i in range(left.size):
        node = np.int64(left.size - 1 - i)
        child = np.int64(left[node])
        work.heap_left[node] = work.heap_right[node] = -1
        if child < 0:
            link[node] = -np.inf
            continue
        top = np.int64(-1)
        for own in range(child, child + 2):
            if left[own] >= 0:
                top = np.int64(_meld(work, top, own))
        total, count = gain[node], np.int64(1)
        while top >= 0 and work.mean[top] > total / count:
            total += work.total[top]
            count += work.count[top]
            rest = _meld(work, np.int64(work.heap_left[top]), np.int64(work.heap_right[top]))
            top = np.int64(_meld(work, np.int64(work.below[top]), np.int64(rest)))
        work.total[node], work.count[node], work.below[node] = total, count, top
        work.mean[node] = link[node] = total / count
    for node in range(left.size):
        child = left[node]
        if child >= 0:
            link[child] = min(link[child], link[node])
            link[child + 1] = min(link[child + 1], link[node])


@kernel
def mark_kept(left, is_cut, kept):
    """Mark the nodes that remain after some nodes have become leaves."""
    for node in range(left.size):
        kept[node] = node == 0
    for node in range(left.size):
        child = left[node]
        if kept[node] and child >= 0 and not is_cut[node]:
            kept[child] = kept[child + 1] = True


@kernel
def cut_by_rows(bins, forest, left, truth, guess, value, weight, error, is_cut):
    """Mark the nodes whose own value has no larger error on the rows than the leaves below.

    ``forest`` has this tree only, and ``error`` is zero before the call.
    """
    step = np.uint64(bins.size // weight.size)
    for row in range(weight.size):
        w = weight[row]
        if w > 0.0:
            place, node = np.uint64(row) * step, _ROOT
            while True:
                error[node] += w * measure_row(truth, guess, value, row, node)
                child = find_child(forest, bins, place, node)
                if child == node:
                    break
                node = child
    for i in range(left.size):
        node = left.size - 1 - i
        child = left[node]
        is_cut[node] = False
        if child >= 0:
            below = error[child] + error[child + 1]
            is_cut[node] = error[node] <= below * (1.0 + _ROUNDING)
            if not is_cut[node]:
                error[node] = below


@kernel
def estimate_nodes(bins, forest, left, truth, weight, smoothing, sums, total, value):
    """Write the means of rows to the values of nodes, shrunk towards the value of the parent.

    The root is shrunk towards its old value. ``sums`` and ``total`` are zero before the call.
    """
    step = np.uint64(bins.size // weight.size)
    for row in range(weight.size):
        w = weight[row]
        if w > 0.0:
            leaf = walk_down(forest, bins, np.uint64(row) * step, _ROOT)
            total[leaf] += w
            add_row(truth, row, w, leaf, sums)
    n_columns = value.shape[1]
    for i in range(left.size):
        node = left.size - 1 - i
        child = left[node]
        if child >= 0:
            total[node] = total[child] + total[child + 1]
            for k in range(n_columns):
                sums[node, k] = sums[child, k] + sums[child + 1, k]
    for k in range(n_columns):
        value[0, k] = (sums[0, k] + smoothing * value[0, k]) / (total[0] + smoothing)
    for node in range(left.size):
        if left[node] >= 0:
            for child in range(left[node], left[node] + 2):
                for k in range(n_columns):
                    shrunk = sums[child, k] + smoothing * value[node, k]
                    value[child, k] = shrunk / (total[child] + smoothing)
