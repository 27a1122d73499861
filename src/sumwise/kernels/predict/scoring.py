"""Find the leaves of coded rows, a block of 256 rows at a time, and add up their values.

The trees are applied to a block one after the other, so that its codes stay in the cache. The sum
of a row is always taken in the order of the trees.
"""

from typing import Any

import numpy as np

from sumwise.kernels.predict.coded_trees import BY_LEAF, BY_WALK
from sumwise.kernels.predict.coding import BLOCK
from sumwise.kernels.runtime.jit import cgutils, inlined, intrinsic, ir, kernel, routine, types

_ONE = np.uint64(1)
# A byte can number this many leaves. For trees with more, ``wide`` takes the numbers.
_BYTE = 256


@intrinsic
def clear_bits(typing_context, codes, column, offset, bound, mask, first, last, bits):
    """Apply tests [first, last) to a block: set all bits of a row, then keep those of the masks.

    Equivalent to this, but twice as fast, because a block stays in vector registers::

        for i in range(BLOCK):
            bits[i] = 255
            for test in range(first, last):
                if np.uint8(codes[column[test], i] - offset[test]) > bound[test]:
                    bits[i] &= mask[test]
    """
    int64, vector = ir.IntType(64), ir.VectorType(ir.IntType(8), BLOCK)
    places = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), None)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def point_to(argument: int, *indices: Any) -> Any:
            kind = signature.args[argument]
            array = context.make_array(kind)(context, builder, args[argument])
            return cgutils.get_item_pointer(context, builder, kind, array, indices)

        def point_to_vector(argument: int, *indices: Any) -> Any:
            return builder.bitcast(point_to(argument, *indices), vector.as_pointer())

        def repeat(argument: int, test: Any) -> Any:
            item = builder.load(point_to(argument, test))
            single = builder.insert_element(ir.Constant(vector, ir.Undefined), item, int64(0))
            return builder.shuffle_vector(single, single, places)

        all_set = ir.Constant(vector, [255] * BLOCK)
        state = cgutils.alloca_once_value(builder, all_set)
        with cgutils.for_range_slice(builder, args[5], args[6], int64(1)) as (test, _):
            row = builder.load(point_to(1, test))
            code = builder.load(point_to_vector(0, row, int64(0)), align=1)
            is_beyond = builder.icmp_unsigned(
                ">", builder.sub(code, repeat(2, test)), repeat(3, test)
            )
            kept = builder.select(is_beyond, repeat(4, test), all_set)
            builder.store(builder.and_(builder.load(state), kept), state)
        builder.store(builder.load(state), point_to_vector(7, int64(0)), align=1)
        return context.get_dummy_value()

    integers = (types.int64, types.int64)
    return types.none(codes, column, offset, bound, mask, *integers, bits), generate


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
def _note_lowest(bits, byte, lowest, byte_of_lowest):
    """A byte with a bit still set replaces higher ones, which came before."""
    for i in range(np.uint64(BLOCK)):
        new, old, old_byte = bits[i], lowest[i], byte_of_lowest[i]
        lowest[i] = new if new else old
        byte_of_lowest[i] = byte if new else old_byte


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
        clear_bits(codes, trees.column, trees.offset, trees.bound, trees.mask, begin, end, own)
        if is_by_leaf:
            _note_lowest(bits, np.uint8(group - first), lowest, byte_of_lowest)
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
def _find_leaves(codes, tree, trees, scratch, wide):
    """Write the leaves of a block's rows to ``scratch[0]``, or to ``wide`` if there are many."""
    if trees.kind[tree] == BY_WALK:
        _find_by_walk(codes, tree, trees, wide)
    else:
        _find_by_tests(codes, tree, trees, scratch, wide)


@routine
def _makes_a_pair(tree, last_tree, trees):
    """Whether this tree and the next add to the same output, and bytes number their leaves."""
    return (
        tree + 1 < last_tree
        and trees.output[tree] == trees.output[tree + 1]
        and max(trees.n_leaves[tree], trees.n_leaves[tree + 1]) <= _BYTE
    )


@kernel
def add_coded_predictions(codes, first_tree, last_tree, trees, scratch, wide, out):
    """Add the values of trees [first_tree, last_tree) to ``out`` (n_rows, n_outputs).

    ``scratch`` (uint8, four blocks) and ``wide`` (uint32, one block) need not be initialized.
    """
    for block in range(0, out.shape[0], BLOCK):
        own = codes[block // BLOCK]
        n_rows = np.uint64(min(BLOCK, out.shape[0] - block))
        tree = first_tree
        while tree < last_tree:
            n_trees = 2 if _makes_a_pair(tree, last_tree, trees) else 1
            for k in range(n_trees):
                _find_leaves(own, tree + k, trees, scratch[k:], wide)
            sums = out[block:, trees.output[tree]]
            narrow, values = scratch[0], trees.value[trees.start[tree] :]
            if n_trees == 2:  # saves reading and writing the sum once
                narrow_2, values_2 = scratch[1], trees.value[trees.start[tree + 1] :]
                for i in range(n_rows):
                    sums[i] = (sums[i] + values[narrow[i]]) + values_2[narrow_2[i]]
            elif trees.n_leaves[tree] <= _BYTE:
                for i in range(n_rows):
                    sums[i] += values[narrow[i]]
            else:
                for i in range(n_rows):
                    sums[i] += values[wide[i]]
            tree += n_trees


@kernel
def find_coded_leaves(codes, trees, scratch, wide, out):
    """Write the leaf of each row in each tree to ``out`` (n_rows, n_trees) as a node of the tree.

    ``scratch`` and ``wide`` as in :func:`add_coded_predictions`.
    """
    narrow = scratch[0]
    for block in range(0, out.shape[0], BLOCK):
        own = codes[block // BLOCK]
        n_rows = np.uint64(min(BLOCK, out.shape[0] - block))
        for tree in range(trees.output.size):
            _find_leaves(own, tree, trees, scratch, wide)
            nodes = trees.leaf_node[trees.start[tree] :]
            leaves = out[block:, tree]
            if trees.n_leaves[tree] <= _BYTE:
                for i in range(n_rows):
                    leaves[i] = nodes[narrow[i]]
            else:
                for i in range(n_rows):
                    leaves[i] = nodes[wide[i]]
