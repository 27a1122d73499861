"""Importances of features, measured on the rows that each tree was not grown on.

A thread processes whole trees, so no sum depends on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.nodes import add_row, fill_tree, measure_row
from sumwise.kernels.forest.walk import (
    choose_child,
    find_feature,
    is_in_bag,
    left_child,
    walk_down,
)
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.random import extend_key, uniform

_ONE = np.uint64(1)


class Bags(NamedTuple):
    """Binned rows, and the trees that were grown on them."""

    bins: Any  # uint8 (n_rows * n_features,)
    in_bag: Any  # uint8 (n_trees, bytes): one bit per row
    weight: Any  # float64 (n_rows,): rows of weight 0 are not used


class SumWork(NamedTuple):
    """Sums over the rows of the nodes of a tree, for each thread."""

    value: Any  # float64 (n_threads, n_nodes, n_columns)
    sums: Any  # float64 (n_threads, n_nodes, n_columns): weight times target
    weight: Any  # float64 (n_threads, n_nodes, 2): weights, and their squares


class PermutationWork(NamedTuple):
    """The unseen rows of a tree, for each thread."""

    rows: Any  # uint32 (n_threads, n_rows)
    leaf: Any  # uint32 (n_threads, n_rows): their leaves
    permuted: Any  # uint8 (n_threads, n_rows): their bins of a feature, permuted
    is_below: Any  # uint8 (n_threads, n_nodes): whether a node is below a split on the feature
    is_used: Any  # uint8 (n_threads, n_features)


@inlined
def _is_unseen(bags, tree, row):
    """Whether a tree is measured on a row."""
    return not is_in_bag(bags.in_bag, tree, row) and bags.weight[row] > 0.0


@routine
def _sum_nodes(bags, truth, forest, tree, sums, weight):
    """Sum the unseen rows of every node of a tree."""
    root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
    n_nodes = end - root
    for node in range(n_nodes):
        weight[node, 0] = weight[node, 1] = 0.0
        for k in range(sums.shape[1]):
            sums[node, k] = 0.0
    n_rows = bags.weight.size
    step = np.uint64(bags.bins.size // n_rows)
    for row in range(n_rows):
        if _is_unseen(bags, tree, row):
            w = bags.weight[row]
            leaf = walk_down(forest, bags.bins, np.uint64(row) * step, root) - root
            weight[leaf, 0] += w
            weight[leaf, 1] += w * w
            add_row(truth, row, w, leaf, sums)
    for i in range(n_nodes):
        node = n_nodes - _ONE - i
        left = left_child(forest, root + node) - root
        if left != node:
            for k in range(2):
                weight[node, k] = weight[left, k] + weight[left + _ONE, k]
            for k in range(sums.shape[1]):
                sums[node, k] = sums[left, k] + sums[left + _ONE, k]


@kernel
def sum_unseen_gains(
    thread, n_threads, sync, bags, truth, forest, node_weight, leaf_value, work, total, out
):
    """Write the gain of the splits on each feature on unseen rows, and the weight of these rows.

    On the rows that a split was chosen by, its gain is ``w v / (w + v) * d . d``, with the weights
    w, v of the children and the difference d of their means. Here the weights and one d are those
    of the unseen rows. If the feature is not informative, this d has mean zero, however the split
    was chosen. The gain is a covariance over the n rows of a node, hence the factor n / (n - 1);
    with weights, (n - 1) / n becomes ``1 - squares / (w + v)**2``.
    """
    value, sums, weight = work.value[thread], work.sums[thread], work.weight[thread]
    for tree in range(thread, forest.start.size - 1, n_threads):
        root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
        fill_tree(forest, tree, node_weight, leaf_value, value)
        _sum_nodes(bags, truth, forest, tree, sums, weight)
        total[tree] = weight[0, 0]
        for node in range(end - root):
            left = left_child(forest, root + node) - root
            if left == node:
                continue
            right = left + _ONE
            w, v = weight[left, 0], weight[right, 0]
            if not min(w, v) > 0.0:
                continue
            gain = 0.0
            for k in range(sums.shape[1]):
                apart = sums[left, k] / w - sums[right, k] / v
                gain += (value[left, k] - value[right, k]) * apart
            both = w + v
            gain *= w * v / both / (1.0 - weight[node, 1] / (both * both))
            out[tree, find_feature(forest, root + node)] += gain


@routine
def _permute(bags, feature, step, key, rows, n, permuted):
    """Write a random permutation of the rows' bins of a feature."""
    for i in range(n):
        permuted[i] = bags.bins[np.uint64(rows[i]) * step + feature]
    for i in range(n - 1):
        j = i + np.int64(uniform(key, i) * (n - i))
        permuted[i], permuted[j] = permuted[j], permuted[i]


@routine
def _mark_below(forest, root, end, feature, is_below):
    """Mark the nodes below splits on a feature: only rows of such leaves can move."""
    is_below[0] = 0
    for node in range(root, end):
        left = left_child(forest, node)
        if left != node:
            own = is_below[node - root] | np.uint8(find_feature(forest, node) == feature)
            is_below[left - root] = is_below[left + _ONE - root] = own


@routine
def _walk_permuted(forest, bins, place, root, feature, value_bin):
    """Return the leaf of a row if one of its bins is replaced."""
    node = root
    while True:
        f = find_feature(forest, node)
        b = value_bin if f == feature else bins[place + f]
        child = choose_child(forest, node, b)
        if child == node:
            return node
        node = child


@kernel
def permute_features(
    thread, n_threads, sync, bags, truth, forest, guess, leaf_value, key, work, total, out
):
    """Write the rise of the error when the bins of a feature are permuted among the unseen rows.

    ``guess`` and ``leaf_value`` have one row per leaf. Features that a tree does not use keep zero.
    """
    n_rows, n_features = bags.weight.size, out.shape[1]
    step = np.uint64(bags.bins.size // n_rows)
    rows, leaf, permuted = work.rows[thread], work.leaf[thread], work.permuted[thread]
    is_below, is_used = work.is_below[thread], work.is_used[thread]
    for tree in range(thread, forest.start.size - 1, n_threads):
        root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
        n, weight = np.int64(0), 0.0
        for row in range(n_rows):
            if _is_unseen(bags, tree, row):
                rows[n] = row
                leaf[n] = walk_down(forest, bags.bins, np.uint64(row) * step, root)
                weight += bags.weight[row]
                n += 1
        total[tree] = weight
        for f in range(n_features):
            is_used[f] = 0
        for node in range(root, end):
            if left_child(forest, node) != node:
                is_used[find_feature(forest, node)] = 1
        tree_key = extend_key(key, tree)
        for f in range(np.uint64(n_features)):
            if not is_used[f] or n == 0:
                continue
            _permute(bags, f, step, extend_key(tree_key, f), rows, n, permuted)
            _mark_below(forest, root, end, f, is_below)
            rise = 0.0
            for i in range(n):
                old = np.uint64(leaf[i])
                if is_below[old - root]:
                    row = np.int64(rows[i])
                    new = _walk_permuted(
                        forest, bags.bins, np.uint64(row) * step, root, f, permuted[i]
                    )
                    if new != old:
                        before = measure_row(truth, guess, leaf_value, row, forest.leaf[old])
                        after = measure_row(truth, guess, leaf_value, row, forest.leaf[new])
                        rise += bags.weight[row] * (after - before)
            out[tree, f] = rise / weight
