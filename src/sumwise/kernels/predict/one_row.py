"""Predict one row with as little delay as possible: one call does all, from values to outputs.

A row walks through eight trees side by side, so that none waits for another's memory. A node is two
words, which lie in one cache line: a number, and a word with the left child and the place of the
value to compare. The values of a row lie twice in memory. In the first copy missing values are NaN,
which is not at most any threshold, so they go right. In the second copy they are -inf and go left.
The place of the value chooses between them, and so a step is one comparison. Behind both copies is
-inf once more: a leaf compares it with its own value and leads to itself.

Where nodes split by sets of categories, the number is the place of a set of bits. The bit of a
category says whether it goes left. The first two bits are those of missing values, 0 and 1, one for
each copy; the third is that of categories in no set.

What comes after the trees is a list of operations; see ``row_operations``.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.leaves.linear import Models, evaluate
from sumwise.kernels.predict.row_operations import ADD_TREES, LIST_TREES, apply_operation
from sumwise.kernels.runtime.jit import inlined, kernel, merged, routine
from sumwise.kernels.table.category_bins import read_code

# Trees that are walked side by side.
LANES = 8
# A node's second word: the place of its left child, and of the value that it compares.
PLACE_SHIFT, BY_SET = np.uint64(32), np.uint64(1) << np.uint64(63)
_CHILD, _PLACE = np.uint64(0xFFFFFFFF), np.uint64(0x7FFFFFFF)
# Words of a node, and from one child to the next.
NODE_WORDS = np.uint64(2)
_NOTHING, _ONE = np.uint64(0), np.uint64(1)
_WORD_SHIFT, _BIT = np.uint64(6), np.uint64(63)
# Steps that are taken without asking whether all rows have reached their leaves.
_MOST_STEPS = np.int64(16)
# Bits of a set: missing values that go right and left, categories in no set, the others.
MISSING_RIGHT, MISSING_LEFT, IN_NO_SET = 0, 1, 2


class RowTrees(NamedTuple):
    """The trees of a program."""

    nodes: Any  # uint64 (2 * n_nodes,)
    roots: Any  # uint64: places of roots, eight to a group
    lanes: Any  # int64: the number of each root's tree; of roots that fill a group, a free place
    depth: Any  # int64: the depth of each root's tree, the deepest first
    bits: Any  # uint64: sets of categories
    values: Any  # float64: values of leaves that have several
    models: Models  # linear models of leaves


class Codes(NamedTuple):
    """How categories become bits of sets: codes of column k are ``bit[start[k]:start[k + 1]]``."""

    column: Any  # int64 (n_columns,)
    start: Any  # int64 (n_columns + 1,)
    bit: Any  # int64


class Lookups(NamedTuple):
    """Columns that are looked up by the categories of some inputs; see ``export.portable``.

    Group k has inputs ``start[k]`` up to ``start[k + 1]``, keys ``first_key[k]`` and so on, and
    columns ``first_column[k]`` and so on. A column has one number per key, then its default.
    """

    start: Any  # int64 (n_groups + 1,)
    input: Any  # int64
    base: Any  # int64
    first_key: Any  # int64 (n_groups + 1,)
    key: Any  # int64: ascending within a group
    first_column: Any  # int64 (n_groups + 1,)
    column: Any  # int64
    place: Any  # int64 (n_columns,): where the numbers of a column begin
    number: Any  # float64
    category: Any  # int64: inputs that are categories


# --- columns ---


@routine
def _find_key(values, lookups, group):
    """The position of a row's key among those of a group, or their number if it is not there."""
    key = np.int64(0)
    first, last = lookups.first_key[group], lookups.first_key[group + 1]
    for k in range(lookups.start[group], lookups.start[group + 1]):
        value = values[lookups.input[k]]
        if value < 0.0:
            return last - first
        code = lookups.base[k] - 1 if np.isnan(value) else np.int64(value)
        key = key * lookups.base[k] + code
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if lookups.key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low - first if low < last and lookups.key[low] == key else last - first


@routine
def _look_up(values, lookups):
    """Fill the columns that are looked up. From then on, unknown categories are missing."""
    for group in range(lookups.start.size - 1):
        position = _find_key(values, lookups, group)
        for k in range(lookups.first_column[group], lookups.first_column[group + 1]):
            values[lookups.column[k]] = lookups.number[lookups.place[k] + position]
    for k in range(lookups.category.size):
        if values[lookups.category[k]] < 0.0:
            values[lookups.category[k]] = np.nan


@routine
def _find_bits(row, codes):
    """Find the bits of the categories that trees split by."""
    n_columns = row.values.size >> 1
    for k in range(codes.column.size):
        column, first = codes.column[k], codes.start[k]
        value = row.values[column]
        right = left = np.int64(IN_NO_SET)
        if np.isnan(value):
            right, left = np.int64(MISSING_RIGHT), np.int64(MISSING_LEFT)
        else:
            code = read_code(value, codes.start[k + 1] - first)
            if code >= 0:
                right = left = codes.bit[first + code]
        row.bits[column], row.bits[column + n_columns] = right, left


@inlined
def _copy_values(values):
    """Make the second copy of the values."""
    n_columns = values.size >> 1
    for k in range(n_columns):
        values[n_columns + k] = -np.inf if np.isnan(values[k]) else values[k]


# --- trees ---


@inlined
def _step(nodes, values, node):
    """Return the child that a row goes to."""
    word = nodes[node + _ONE]
    is_left = values[word >> PLACE_SHIFT] <= np.uint64(nodes[node]).view(np.float64)
    return (word & _CHILD) + (_NOTHING if is_left else NODE_WORDS)


@inlined
def _set_step(trees, row, node):
    """Return the child that a row goes to, where some nodes split by sets.

    Branch-free, by arithmetic: a branch would be unpredictable.
    """
    number, word = np.uint64(trees.nodes[node]), trees.nodes[node + _ONE]
    by_set, place = word >> _BIT, (word >> PLACE_SHIFT) & _PLACE
    bit = np.uint64(row.bits[place])
    bits = trees.bits[(number & (_NOTHING - by_set)) + (bit >> _WORD_SHIFT)]
    is_in_set = (bits >> (bit & _BIT)) & by_set
    is_below = np.uint64(row.values[place] <= number.view(np.float64)) & (by_set ^ _ONE)
    return (word & _CHILD) + (((is_in_set | is_below) ^ _ONE) << _ONE)


@merged
def _walk(trees, row, first, n_steps, goes_on):
    """Write what eight trees lead to: take ``n_steps`` steps, then more until all are in leaves.

    A number of steps that is known beforehand saves a branch that is hard to predict. A row that
    has reached its leaf stays there.
    """
    nodes, values, roots = trees.nodes, row.values, trees.roots
    a, b, c, d = roots[first], roots[first + 1], roots[first + 2], roots[first + 3]
    e, f, g, h = roots[first + 4], roots[first + 5], roots[first + 6], roots[first + 7]
    for _ in range(n_steps):
        a, b, c = _step(nodes, values, a), _step(nodes, values, b), _step(nodes, values, c)
        d, e, f = _step(nodes, values, d), _step(nodes, values, e), _step(nodes, values, f)
        g, h = _step(nodes, values, g), _step(nodes, values, h)
    moves = goes_on
    while moves:
        a1, b1, c1 = _step(nodes, values, a), _step(nodes, values, b), _step(nodes, values, c)
        d1, e1, f1 = _step(nodes, values, d), _step(nodes, values, e), _step(nodes, values, f)
        g1, h1 = _step(nodes, values, g), _step(nodes, values, h)
        moves = (
            (a1 ^ a) | (b1 ^ b) | (c1 ^ c) | (d1 ^ d) | (e1 ^ e) | (f1 ^ f) | (g1 ^ g) | (h1 ^ h)
        ) != _NOTHING
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
    found = (a, b, c, d, e, f, g, h)
    for k in range(LANES):
        row.leaves[trees.lanes[first + k]] = np.uint64(nodes[found[k]]).view(np.float64)


@merged
def _walk_by_sets(trees, row, first, n_steps, goes_on):
    """Do the same where some nodes split by sets: four trees side by side, then four more."""
    for half in range(first, first + LANES, 4):
        a, b = trees.roots[half], trees.roots[half + 1]
        c, d = trees.roots[half + 2], trees.roots[half + 3]
        for _ in range(n_steps):
            a, b = _set_step(trees, row, a), _set_step(trees, row, b)
            c, d = _set_step(trees, row, c), _set_step(trees, row, d)
        moves = goes_on
        while moves:
            a1, b1 = _set_step(trees, row, a), _set_step(trees, row, b)
            c1, d1 = _set_step(trees, row, c), _set_step(trees, row, d)
            moves = ((a1 ^ a) | (b1 ^ b) | (c1 ^ c) | (d1 ^ d)) != _NOTHING
            a, b, c, d = a1, b1, c1, d1
        found = (a, b, c, d)
        for k in range(4):
            row.leaves[trees.lanes[half + k]] = np.uint64(trees.nodes[found[k]]).view(np.float64)


@inlined
def _add_numbers(total, numbers, n_numbers):
    """Add numbers in their order."""
    for k in range(n_numbers):
        total += numbers[k]
    return total


@routine
def _add_trees(trees, row, line, parameters):
    """Add the values of trees to their base score, in the order of the trees."""
    place, n_columns, n_trees = line[5], line[6], line[7]
    out, divisor = row.state[line[3] : line[3] + line[4]], parameters[place]
    base = parameters[place + 1 : place + 1 + out.size]
    is_mean = divisor != 1.0
    for k in range(out.size):
        out[k] = 0.0 if is_mean else base[k]
    if out.size == 1 and n_columns == 1:
        out[0] = _add_numbers(out[0], row.leaves, n_trees)
    else:
        output = 0
        for tree in range(n_trees):
            if output == out.size:
                output = 0
            number = row.leaves[tree]
            if n_columns == 1:
                out[output] += number
            elif n_columns == 0:  # the leaf may have a linear model
                out[output] += evaluate(row.values, 0, 1, trees.models, np.int64(number))
            else:
                for k in range(n_columns):
                    out[output + k] += trees.values[np.int64(number) + k]
            output += max(n_columns, 1)
    if is_mean:
        for k in range(out.size):
            out[k] = base[k] + out[k] / divisor


@kernel
def predict_row(row, trees, codes, lookups, program, parameters):
    """Run a program on the values of a row, the first part of ``row.values``."""
    by_sets = codes.column.size > 0
    if lookups.category.size:
        _look_up(row.values, lookups)
    if by_sets:
        _find_bits(row, codes)
    _copy_values(row.values)
    for number in range(program.shape[0]):
        line = program[number]
        operation = line[0]
        if operation <= LIST_TREES:
            first, last = line[1], line[1] + line[2]
            for place in range(first, last, LANES):
                n_steps = min(trees.depth[place], _MOST_STEPS)
                goes_on = trees.depth[place] > n_steps
                if by_sets:
                    _walk_by_sets(trees, row, place, n_steps, goes_on)
                else:
                    _walk(trees, row, place, n_steps, goes_on)
            if operation == ADD_TREES:
                _add_trees(trees, row, line, parameters)
        else:
            apply_operation(line, row, parameters)
