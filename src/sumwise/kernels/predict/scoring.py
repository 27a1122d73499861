"""Find the leaves of coded rows, a block of 256 rows at a time, and add up their values.

The trees are applied to a block one after the other, so that its codes stay in the cache. The sum
of a row is always taken in the order of the trees.
"""

from typing import Any

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK, clear_bits, keep_lowest
from sumwise.kernels.predict.coded_trees import BY_LEAF, BY_WALK
from sumwise.kernels.runtime.jit import inlined, intrinsic, ir, kernel, routine, types
from sumwise.kernels.runtime.threads import claim_next

_ONE = np.uint64(1)
# A byte can number this many leaves. For trees with more, ``wide`` takes the numbers.
_BYTE = 256
# Trees whose values are added together.
TOGETHER = np.int64(4)
# Blocks of bytes that finding leaves needs: one per tree that goes before, and three more.
SCRATCH_BLOCKS = 6


@intrinsic
def _count_trailing_zeros(typing_context, byte):
    """The position of the lowest set bit; 8 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint8(types.uint8), generate


@inlined
def _join_levels(bits, higher, n_leaves, wide):
    """The bits of the levels are the number of the leaf; bits beyond the last level are cleared."""
    if n_leaves <= _BYTE:
        used = np.uint8(n_leaves - 1)
        for i in range(np.uint64(BLOCK)):
            bits[i] &= used
    else:
        used = np.uint32(n_leaves - 1)
        for i in range(np.uint64(BLOCK)):
            wide[i] = np.uint32(bits[i] | np.uint32(higher[i]) << np.uint32(8)) & used


@inlined
def _number_lowest(lowest, byte_of_lowest, n_leaves, bits, wide):
    """Write the number of the leaf, which is that of the lowest bit."""
    if n_leaves <= _BYTE:
        for i in range(np.uint64(BLOCK)):
            bits[i] = np.uint8(byte_of_lowest[i] << np.uint8(3)) | _count_trailing_zeros(lowest[i])
    else:
        for i in range(np.uint64(BLOCK)):
            wide[i] = np.uint32(8 * byte_of_lowest[i] + _count_trailing_zeros(lowest[i]))


@inlined
def _find_by_tests(codes, tree, trees, scratch, wide):
    """Apply the tests of a tree, one byte of its bits at a time, from the highest down."""
    bits, lowest, byte_of_lowest = scratch[0], scratch[1], scratch[2]
    first, last = trees.first_group[tree], trees.first_group[tree + 1]
    n_leaves, is_by_leaf = trees.n_leaves[tree], trees.kind[tree] == BY_LEAF
    for group in range(last - 1, first - 1, -1):
        begin, end = trees.first_test[group], trees.first_test[group + 1]
        own = scratch[0 if is_by_leaf else group - first]
        clear_bits(codes, trees.column, trees.shift, trees.limit, trees.mask, begin, end, own)
        if is_by_leaf:
            keep_lowest(bits, np.uint8(group - first), lowest, byte_of_lowest)
    if is_by_leaf:
        _number_lowest(lowest, byte_of_lowest, n_leaves, bits, wide)
    else:
        _join_levels(bits, scratch[1], n_leaves, wide)


@routine
def _step(codes, node, i):
    """Return the child that row i goes to."""
    column = (node >> np.uint64(8)) & np.uint64(0xFFFFFF)
    code = np.uint8(codes[column, i] - np.uint8((node >> np.uint64(32)) & _ONE))
    return (node >> np.uint64(33)) + np.uint64(code > np.uint8(node & np.uint64(255)))


@routine
def _find_by_walk(codes, tree, trees, wide):
    """Walk four rows side by side, so that none waits for another's memory."""
    nodes, root = trees.node, np.uint64(trees.start[tree])
    for first in range(0, BLOCK, 4):
        i = np.uint64(first)
        a, b, c, d = root, root, root, root
        moves = True
        while moves:
            next_a = _step(codes, nodes[a], i)
            next_b = _step(codes, nodes[b], i + _ONE)
            next_c = _step(codes, nodes[c], i + np.uint64(2))
            next_d = _step(codes, nodes[d], i + np.uint64(3))
            moves = ((next_a ^ a) | (next_b ^ b) | (next_c ^ c) | (next_d ^ d)) != 0
            a, b, c, d = next_a, next_b, next_c, next_d
        wide[i] = a - root
        wide[i + _ONE] = b - root
        wide[i + np.uint64(2)] = c - root
        wide[i + np.uint64(3)] = d - root


@inlined
def find_leaves(codes, tree, trees, scratch, wide):
    """Write the leaves of a block's rows to ``scratch[0]``, or to ``wide`` if there are many."""
    if trees.kind[tree] == BY_WALK:
        _find_by_walk(codes, tree, trees, wide)
    else:
        _find_by_tests(codes, tree, trees, scratch, wide)


@routine
def fit_bytes(tree, last_tree, trees):
    """Whether there are four trees from this one on, with leaves that bytes can number."""
    result = tree + TOGETHER <= last_tree
    for k in range(tree, min(tree + TOGETHER, last_tree)):
        result &= trees.n_leaves[k] <= _BYTE
    return result


@routine
def _go_together(tree, last_tree, trees):
    """Whether they also add to the same output."""
    result = fit_bytes(tree, last_tree, trees)
    for k in range(tree, min(tree + TOGETHER, last_tree)):
        result &= trees.output[k] == trees.output[tree]
    return result


@inlined
def add_leaf_values(tree, n_trees, trees, value, scratch, wide, n_rows, sums):
    """Add the values of the leaves that were found in one tree, or in four."""
    start = trees.start
    a, values_a = scratch[0], value[start[tree] :]
    if n_trees == TOGETHER:  # saves reading and writing the sum three times
        b, values_b = scratch[1], value[start[tree + 1] :]
        c, values_c = scratch[2], value[start[tree + 2] :]
        d, values_d = scratch[3], value[start[tree + 3] :]
        for i in range(n_rows):
            total = (sums[i] + values_a[a[i]]) + values_b[b[i]]
            sums[i] = (total + values_c[c[i]]) + values_d[d[i]]
    elif trees.n_leaves[tree] <= _BYTE:
        for i in range(n_rows):
            sums[i] += values_a[a[i]]
    else:
        for i in range(n_rows):
            sums[i] += values_a[wide[i]]


@kernel
def add_coded_predictions(
    thread, n_threads, sync, codes, first_tree, last_tree, trees, all_scratch, all_wide, out
):
    """Add the values of trees [first_tree, last_tree) to ``out`` (n_rows, n_outputs).

    ``all_scratch`` (uint8, SCRATCH_BLOCKS blocks per thread) and ``all_wide`` (uint32, one block
    per thread) need not be initialized.
    """
    scratch, wide = all_scratch[thread], all_wide[thread]
    n_blocks, block = (out.shape[0] + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        own, first = codes[block], block * BLOCK
        n_rows = np.uint64(min(BLOCK, out.shape[0] - first))
        tree = first_tree
        while tree < last_tree:
            n_trees = TOGETHER if _go_together(tree, last_tree, trees) else 1
            for k in range(n_trees):
                find_leaves(own, tree + k, trees, scratch[k:], wide)
            sums = out[first:, trees.output[tree]]
            add_leaf_values(tree, n_trees, trees, trees.value, scratch, wide, n_rows, sums)
            tree += n_trees
        block = claim_next(sync, n_threads, block)


@kernel
def find_coded_leaves(thread, n_threads, sync, codes, trees, all_scratch, all_wide, out):
    """Write the leaf of each row in each tree to ``out`` (n_rows, n_trees) as a node of the tree.

    ``all_scratch`` and ``all_wide`` as in :func:`add_coded_predictions`.
    """
    scratch, wide = all_scratch[thread], all_wide[thread]
    narrow = scratch[0]
    n_blocks, block = (out.shape[0] + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        own, first = codes[block], block * BLOCK
        n_rows = np.uint64(min(BLOCK, out.shape[0] - first))
        for tree in range(trees.output.size):
            find_leaves(own, tree, trees, scratch, wide)
            nodes = trees.leaf_node[trees.start[tree] :]
            leaves = out[first:, tree]
            if trees.n_leaves[tree] <= _BYTE:
                for i in range(n_rows):
                    leaves[i] = nodes[narrow[i]]
            else:
                for i in range(n_rows):
                    leaves[i] = nodes[wide[i]]
        block = claim_next(sync, n_threads, block)
