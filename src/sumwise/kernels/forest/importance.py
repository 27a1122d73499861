"""Importances of features by the rows that each tree has not seen; a thread takes whole trees."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.nodes import add_row, fill_tree, measure_row, walk_down
from sumwise.kernels.forest.walk import choose_child, find_feature
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.random import extend_key, uniform

_ONE, _TWO = np.uint64(1), np.uint64(2)


class Bags(NamedTuple):
    """Binned rows, and which trees have seen them."""

    bins: Any  # uint8 (n_rows * n_features,)
    in_bag: Any  # uint8 (n_trees, bytes): bits by row
    weight: Any  # float64 (n_rows,): rows of weight 0 do not count


class SumWork(NamedTuple):
    """Sums over the rows of the nodes of a tree, one a thread."""

    value: Any  # float64 (n_threads, n_nodes, n_columns)
    sums: Any  # float64 (n_threads, n_nodes, n_columns): of weight times target
    weight: Any  # float64 (n_threads, n_nodes, 2): of weights, and of their squares


class PermutationWork(NamedTuple):
    """The rows of a tree, one set a thread."""

    rows: Any  # uint32 (n_threads, n_rows)
    leaf: Any  # uint32 (n_threads, n_rows): where they end
    permuted: Any  # uint8 (n_threads, n_rows): bins of a feature
    is_below: Any  # uint8 (n_threads, n_nodes): whether a node is below a split on the feature
    is_used: Any  # uint8 (n_threads, n_features)


@inlined
def _judges(bags, tree, row):
    """Whether a row counts for a tree."""
    is_in = (bags.in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1)
    return is_in == 0 and bags.weight[row] > 0.0


@routine
def _sum_nodes(bags, truth, forest, tree, sums, weight):
    """Sum the rows of every node of a tree."""
    root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
    n_nodes = end - root
    for node in range(n_nodes):
        weight[node, 0] = weight[node, 1] = 0.0
        for k in range(sums.shape[1]):
            sums[node, k] = 0.0
    n_rows = bags.weight.size
    step = np.uint64(bags.bins.size // n_rows)
    for row in range(n_rows):
        if _judges(bags, tree, row):
            w = bags.weight[row]
            leaf = walk_down(forest, bags.bins, np.uint64(row) * step, root) - root
            weight[leaf, 0] += w
            weight[leaf, 1] += w * w
            add_row(truth, row, w, leaf, sums)
    for i in range(n_nodes):
        node = n_nodes - _ONE - i
        left = np.uint64(forest.words[_TWO * (root + node)]) - root
        if left != node:
            for k in range(2):
                weight[node, k] = weight[left, k] + weight[left + _ONE, k]
            for k in range(sums.shape[1]):
                sums[node, k] = sums[left, k] + sums[left + _ONE, k]


@kernel
def sum_unseen_gains(
    thread, n_threads, sync, bags, truth, forest, node_weight, leaf_value, work, total, out
):
    """Write what the splits on each feature gain on unseen rows, and the weight of these rows.

    The gain of a split on the rows it was chosen by is ``w v / (w + v) * d . d``, with weights w, v
    of the children and d the difference of their means. Here one d, and the weights, are those of
    the unseen rows. Where the feature says nothing this d has mean zero, however the split was
    chosen. It is a covariance over the n rows of a node, so n - 1 stands for n; with weights,
    ``1 - squares / (w + v)**2`` is what (n - 1) / n is without.
    """
    value, sums, weight = work.value[thread], work.sums[thread], work.weight[thread]
    for tree in range(thread, forest.start.size - 1, n_threads):
        root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
        fill_tree(forest, tree, node_weight, leaf_value, value)
        _sum_nodes(bags, truth, forest, tree, sums, weight)
        total[tree] = weight[0, 0]
        for node in range(end - root):
            left = np.uint64(forest.words[_TWO * (root + node)]) - root
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
    """Write a random permutation of the bins that rows have of a feature."""
    for i in range(n):
        permuted[i] = bags.bins[np.uint64(rows[i]) * step + feature]
    for i in range(n - 1):
        j = i + np.int64(uniform(key, i) * (n - i))
        permuted[i], permuted[j] = permuted[j], permuted[i]


@routine
def _mark_below(forest, root, end, feature, is_below):
    """Mark the nodes below splits on a feature: no other leaf's rows can move."""
    is_below[0] = 0
    for node in range(root, end):
        left = np.uint64(forest.words[_TWO * node])
        if left != node:
            own = is_below[node - root] | np.uint8(find_feature(forest, node) == feature)
            is_below[left - root] = is_below[left + _ONE - root] = own


@routine
def _walk_permuted(forest, bins, place, root, feature, value_bin):
    """Return the leaf of a row that has another bin of one feature."""
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
    """Write by how much errors grow when unseen rows swap their bins of a feature.

    ``guess`` and ``leaf_value`` are of leaves. Features that a tree does not use keep zero.
    """
    n_rows, n_features = bags.weight.size, out.shape[1]
    step = np.uint64(bags.bins.size // n_rows)
    rows, leaf, permuted = work.rows[thread], work.leaf[thread], work.permuted[thread]
    is_below, is_used = work.is_below[thread], work.is_used[thread]
    for tree in range(thread, forest.start.size - 1, n_threads):
        root, end = np.uint64(forest.start[tree]), np.uint64(forest.start[tree + 1])
        n, weight = np.int64(0), 0.0
        for row in range(n_rows):
            if _judges(bags, tree, row):
                rows[n] = row
                leaf[n] = walk_down(forest, bags.bins, np.uint64(row) * step, root)
                weight += bags.weight[row]
                n += 1
        total[tree] = weight
        for f in range(n_features):
            is_used[f] = 0
        for node in range(root, end):
            if np.uint64(forest.words[_TWO * node]) != node:
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
