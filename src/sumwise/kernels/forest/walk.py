"""Walk binned rows through the trees of a forest.

Rows are binned first, so that a walk reads one byte per node. They go through a tree eight at a
time, which hides the latency of memory, and tree by tree, so that a tree stays in the cache and the
values of a row are added in the order of the trees. A walk meets the nodes of a new tree in no
order that the hardware could foresee: so the next tree is prefetched, in order, while rows go
through one.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.bins import has_bin
from sumwise.kernels.grow.partition import is_left_code, left_range
from sumwise.kernels.runtime.jit import inlined, kernel, merged, routine
from sumwise.kernels.runtime.threads import prefetch_far, share

WIDTH = 8
# Rows that go through all trees before the next rows do: their bins stay in the cache.
_BLOCK = 8192
# A node is a word: the left child, the last bin that goes left, and the feature.
_CHILD, _BIN_SHIFT, _FEATURE_SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(40)
MAX_FEATURES = 1 << 24
MISSING_LEFT, BY_SET = np.uint8(1), np.uint8(2)
_NOTHING = np.uint8(0)
# What a leaf has in place of a bin and a feature: all bins go left.
_ALL_LEFT = np.uint64(255) << _BIN_SHIFT
# Words in a cache line.
_LINE = 8


class PackedForest(NamedTuple):
    """The trees of a forest, ready to be walked. A leaf is its own left child."""

    start: Any  # int64 (n_trees + 1,): the root of a tree
    words: Any  # uint64 (n_nodes,)
    flags: Any  # uint8 (n_nodes,): MISSING_LEFT, BY_SET
    leaf: Any  # int32 (n_nodes,): number of a leaf among those of all trees
    set_of_node: Any  # int32 (n_nodes,), or empty if no split is by a set
    sets: Any  # uint64 (n_sets, SET_WORDS): bins that go left


@kernel
def pack_nodes(
    thread, n_threads, sync, start, feature, split_bin, missing_left, left, words, flags, leaf
):
    """Fill the words, flags and leaf numbers of a :class:`PackedForest`, not its sets."""
    begin, end = share(start.size - 1, thread, n_threads)
    for tree in range(begin, end):
        root = start[tree]
        number = (root + tree) >> 1  # a tree has one leaf more than inner nodes
        for node in range(root, start[tree + 1]):
            # Without branches: every second node is a leaf, in no order.
            is_leaf, child = feature[node] < 0, left[node] + root
            split = np.uint64(feature[node]) << _FEATURE_SHIFT
            split |= np.uint64(split_bin[node]) << _BIN_SHIFT
            if is_leaf:
                child, split = node, _ALL_LEFT
            words[node] = np.uint64(child) | split
            flags[node] = MISSING_LEFT if is_leaf | (missing_left[node] != 0) else 0
            leaf[node] = number
            number += is_leaf


@inlined
def _step(words, bins, place, node):
    """Return the child a row goes to if no value is missing and no split is by a set."""
    word = words[node]
    b = bins[place + (word >> _FEATURE_SHIFT)]
    is_left = is_left_code(b, _NOTHING, np.uint8(word >> _BIN_SHIFT))
    return (word & _CHILD) + np.uint64(not is_left)


@inlined
def left_child(forest, node):
    """Return the left child of a node; the node itself if it is a leaf."""
    return forest.words[node] & _CHILD


@inlined
def find_feature(forest, node):
    """Return the feature that an inner node splits on; 0 for a leaf."""
    return forest.words[node] >> _FEATURE_SHIFT


@inlined
def choose_child(forest, node, value_bin):
    """Return the child that rows with this bin of the node's feature go to."""
    flags = forest.flags[node]
    if flags & BY_SET:
        is_left = has_bin(forest.sets[forest.set_of_node[node]], np.uint64(value_bin)) != 0
    else:
        split_bin = np.uint8(forest.words[node] >> _BIN_SHIFT)
        skip, bound = left_range(split_bin, flags & MISSING_LEFT)
        is_left = is_left_code(value_bin, skip, bound)
    return left_child(forest, node) + np.uint64(not is_left)


@inlined
def find_child(forest, bins, place, node):
    """Return the child a row goes to, or the node if it is a leaf. The row begins at ``place``."""
    return choose_child(forest, node, bins[place + find_feature(forest, node)])


@routine
def walk_down(forest, bins, place, root):
    """Return the leaf of a row."""
    node, child = root, find_child(forest, bins, place, root)
    while child != node:
        node, child = child, find_child(forest, bins, place, child)
    return node


@inlined
def is_in_bag(in_bag, tree, row):
    """Whether a tree was grown on a row; ``in_bag`` has one bit per row."""
    return (in_bag[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1) != 0


@merged
def _walk_plain(words, root, bins, places, leaves):
    """Write the leaves of eight rows; ``places`` has the positions where the rows begin."""
    a = b = c = d = e = f = g = h = np.uint64(root)
    pa, pb, pc, pd = places[0], places[1], places[2], places[3]
    pe, pf, pg, ph = places[4], places[5], places[6], places[7]
    moves = True
    while moves:
        a1, b1 = _step(words, bins, pa, a), _step(words, bins, pb, b)
        c1, d1 = _step(words, bins, pc, c), _step(words, bins, pd, d)
        e1, f1 = _step(words, bins, pe, e), _step(words, bins, pf, f)
        g1, h1 = _step(words, bins, pg, g), _step(words, bins, ph, h)
        moves = (
            (a1 ^ a) | (b1 ^ b) | (c1 ^ c) | (d1 ^ d) | (e1 ^ e) | (f1 ^ f) | (g1 ^ g) | (h1 ^ h)
        ) != 0
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
    leaves[0], leaves[1], leaves[2], leaves[3] = a, b, c, d
    leaves[4], leaves[5], leaves[6], leaves[7] = e, f, g, h


@routine
def _walk_any(forest, root, bins, places, leaves):
    """The same for rows with missing values and trees with sets."""
    for k in range(WIDTH):
        leaves[k] = walk_down(forest, bins, places[k], np.uint64(root))


def allocate_scratch(n_threads: int) -> np.ndarray:
    """Allocate the places, leaves and numbers of the rows that a thread walks together."""
    return np.zeros((n_threads, 3, WIDTH), dtype=np.uint64)


@kernel
def find_forest_leaves(thread, n_threads, sync, bins, is_plain, forest, scratch, out):
    """Write the leaf of each row of ``bins``, as the number of a node in its tree, to ``out``."""
    n_rows, n_trees = out.shape
    step = np.uint64(bins.size // n_rows)
    begin, end = share(n_rows, thread, n_threads)
    places, leaves = scratch[thread, 0], scratch[thread, 1]
    for tree in range(n_trees):
        root = forest.start[tree]
        for first in range(begin, end, WIDTH):
            for k in range(WIDTH):  # the last row is repeated
                places[k] = np.uint64(min(first + k, end - 1)) * step
            if is_plain:
                _walk_plain(forest.words, root, bins, places, leaves)
            else:
                _walk_any(forest, root, bins, places, leaves)
            for k in range(min(WIDTH, end - first)):
                out[first + k, tree] = leaves[k] - root


@inlined
def _prefetch_nodes(forest, value, first, last):
    """Prefetch nodes [first, last), a line at a time, and the values of leaves among them.

    Return where to go on. Half of the nodes are leaves, about as evenly spread.
    """
    n_columns = value.shape[1]
    while first < last:
        prefetch_far(forest.words, first)
        prefetch_far(forest.leaf, first)
        for k in range(0, _LINE // 2 * n_columns, _LINE):
            prefetch_far(value[first // 2 + k // n_columns], k % n_columns)
        first += _LINE
    return first


@kernel
def add_forest_values(
    thread, n_threads, sync, bins, is_plain, forest, value, in_bag, scratch, out, counts
):
    """Add the leaf values of all trees to ``out`` (n_rows, n_columns), tree by tree.

    ``bins`` has the bins of the first row, one per feature, then those of the second, and so on. It
    is plain if it has no missing values and the trees have no sets. With ``in_bag`` (n_trees, bytes
    with one bit per row), a tree adds to the rows out of its bag only, and ``counts`` has the
    number of trees of each row.
    """
    n_rows, n_columns = out.shape
    step = np.uint64(bins.size // n_rows)
    begin, end = share(n_rows, thread, n_threads)
    places, leaves, numbers = scratch[thread, 0], scratch[thread, 1], scratch[thread, 2]
    has_bags, n_trees = in_bag.shape[0] > 0, forest.start.size - 1
    for block in range(begin, end, _BLOCK):
        block_end = min(block + _BLOCK, end)
        for tree in range(n_trees):
            root, row = forest.start[tree], block
            fetched, last = forest.start[tree + 1], forest.start[min(tree + 2, n_trees)]
            fetches = _LINE + (last - fetched) * WIDTH // (block_end - block)
            while row < block_end:
                fetched = _prefetch_nodes(forest, value, fetched, min(fetched + fetches, last))
                n = 0
                if has_bags:
                    while row < block_end and n < WIDTH:
                        numbers[n] = row
                        n += not is_in_bag(in_bag, tree, row)
                        row += 1
                    if n == 0:
                        break
                else:
                    n = min(WIDTH, block_end - row)
                    for k in range(n):
                        numbers[k] = row + k
                    row += n
                for k in range(WIDTH):  # the last row is repeated
                    places[k] = numbers[min(k, n - 1)] * step
                if is_plain:
                    _walk_plain(forest.words, root, bins, places, leaves)
                else:
                    _walk_any(forest, root, bins, places, leaves)
                for k in range(n):
                    own = forest.leaf[leaves[k]]
                    for column in range(n_columns):
                        out[numbers[k], column] += value[own, column]
                    if has_bags:
                        counts[numbers[k]] += 1
