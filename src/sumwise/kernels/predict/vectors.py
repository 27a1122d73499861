"""Add up vectors of leaves: of coded rows as scoring.py does, or by walks through large trees.

Large trees of many thresholds would need many columns of codes. There, rows walk and compare their
values themselves, eight side by side, which hides the latency of memory.
"""

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.scoring import TOGETHER, add_leaf_values, find_leaves, fit_bytes
from sumwise.kernels.runtime.jit import inlined, kernel, merged
from sumwise.kernels.runtime.threads import claim_next, share

WIDTH = 8
# Bytes of rows that go through a tree before the next tree comes, and the fewest rows.
_BLOCK_BYTES, _FEWEST_ROWS = 1 << 21, 1024
# A word has the left child in its upper half, the feature, and whether missing values go left.
_CHILD_SHIFT, _SPLIT, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)


@kernel
def add_coded_vectors(
    thread, n_threads, sync, codes, trees, vector, all_sums, all_scratch, all_wide, out
):
    """Add the vectors of the leaves that rows reach to ``out`` (n_rows, n_outputs).

    ``vector`` (n_outputs, n_nodes) is in the order of ``trees.value``. The sums of a block are in
    ``all_sums`` (n_threads, n_outputs, BLOCK), one output after the other: there, an instruction
    serves many rows. ``all_scratch`` and ``all_wide`` are as in ``add_coded_predictions``.
    """
    scratch, wide, last_tree = all_scratch[thread], all_wide[thread], trees.start.size
    n_blocks, block = (out.shape[0] + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        own, first = codes[block], block * BLOCK
        n_rows = np.uint64(min(BLOCK, out.shape[0] - first))
        for i in range(n_rows):
            for k in range(out.shape[1]):
                all_sums[thread, k, i] = out[first + np.int64(i), k]
        tree = 0
        while tree < last_tree:
            n_trees = TOGETHER if fit_bytes(tree, last_tree, trees) else 1
            for k in range(n_trees):
                find_leaves(own, tree + k, trees, scratch[k:], wide)
            for k in range(out.shape[1]):
                sums = all_sums[thread, k]
                add_leaf_values(tree, n_trees, trees, vector[k], scratch, wide, n_rows, sums)
            tree += n_trees
        for i in range(n_rows):
            for k in range(out.shape[1]):
                out[first + np.int64(i), k] = all_sums[thread, k, i]
        block = claim_next(sync, n_threads, block)


def pack_splits(feature: np.ndarray, missing_left: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return a word for each node of trees without sets; ``left`` counts over all trees.

    It has the left child, the feature and whether missing values go left. A leaf leads to itself,
    if its threshold is infinite.
    """
    is_leaf = left < 0
    child = np.where(is_leaf, np.arange(left.size), left).astype(np.uint64)
    split = np.where(is_leaf, 1, feature.astype(np.int64) * 2 + (missing_left != 0))
    return child << _CHILD_SHIFT | split.astype(np.uint64)


@inlined
def _step(words, thresholds, values, place, node):
    """Return the child a row goes to; branch-free, so that walks can go side by side."""
    word = words[node]
    value = values[place + ((word & _SPLIT) >> _ONE)]
    is_right = np.uint64(value > thresholds[node])
    is_right |= np.uint64(value != value) & ~word & _ONE
    return (word >> _CHILD_SHIFT) + is_right


@merged
def _walk(words, thresholds, root, values, places, leaves):
    """Write the leaves of eight rows; ``places`` has the positions where the rows begin."""
    a = b = c = d = e = f = g = h = np.uint64(root)
    pa, pb, pc, pd = places[0], places[1], places[2], places[3]
    pe, pf, pg, ph = places[4], places[5], places[6], places[7]
    moves = True
    while moves:
        a1 = _step(words, thresholds, values, pa, a)
        b1 = _step(words, thresholds, values, pb, b)
        c1 = _step(words, thresholds, values, pc, c)
        d1 = _step(words, thresholds, values, pd, d)
        e1 = _step(words, thresholds, values, pe, e)
        f1 = _step(words, thresholds, values, pf, f)
        g1 = _step(words, thresholds, values, pg, g)
        h1 = _step(words, thresholds, values, ph, h)
        moves = (
            (a1 ^ a) | (b1 ^ b) | (c1 ^ c) | (d1 ^ d) | (e1 ^ e) | (f1 ^ f) | (g1 ^ g) | (h1 ^ h)
        ) != 0
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
    leaves[0], leaves[1], leaves[2], leaves[3] = a, b, c, d
    leaves[4], leaves[5], leaves[6], leaves[7] = e, f, g, h


@kernel
def add_walked_vectors(
    thread, n_threads, sync, values, row_stride, start, words, thresholds, vector, scratch, out
):
    """Add the vectors of leaves to ``out`` (n_rows, n_outputs), tree by tree.

    ``values`` has rows of ``row_stride`` numbers each, of the type of the thresholds; ``scratch``
    (n_threads, 2, WIDTH) is uint64.
    Many rows go through a tree before the next tree, so that it stays in the cache.
    """
    begin, end = share(out.shape[0], thread, n_threads)
    places, leaves, n_outputs = scratch[thread, 0], scratch[thread, 1], out.shape[1]
    n_together = max(_FEWEST_ROWS, _BLOCK_BYTES // (row_stride * values.itemsize))
    for block in range(begin, end, n_together):
        last = min(block + n_together, end)
        for tree in range(start.size):
            for first in range(block, last, WIDTH):
                for k in range(WIDTH):  # the last row is repeated
                    places[k] = np.uint64(min(first + k, last - 1)) * np.uint64(row_stride)
                _walk(words, thresholds, start[tree], values, places, leaves)
                for i in range(min(WIDTH, last - first)):
                    own = vector[leaves[i]]
                    for k in range(n_outputs):
                        out[first + i, k] += own[k]
