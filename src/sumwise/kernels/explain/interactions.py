"""Path-dependent Shapley interaction values of rows, in the walk of ``values.py``.

The value of a pair (i, j) in a leaf with value v is

    v (o_i - z_i) (o_j - z_j)  integral over t of  prod_{k not in (i, j)} p_k.

So it is that of i alone with another factor in the integral, r_j = (o_j - z_j) / p_j: that is
(1 - z_j) / (t + (1 - t) z_j) if the row passes the splits of j, else -1 / (1 - t). What a split
changes in r_i r_j for all leaves below it is the change in r_i that ``values.py`` adds to i, times
r_j as it is on the way to the split. So a split adds to the pairs of its feature and each other
feature above it.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.explain.lanes import (
    LANES,
    PASS_LEFT,
    PASS_RIGHT,
    add_pair,
    keep_00,
    keep_01,
    keep_10,
    keep_11,
)
from sumwise.kernels.explain.values import (
    count_points,
    enter_child,
    fill_table,
    open_split,
    start_walk,
    take_scratch,
)
from sumwise.kernels.explain.walks import CLOSE, GO_LEFT, OPEN, read_word
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import claim_next

_ZERO = np.int64(0)


class Pairs(NamedTuple):
    """For each split, the other features above it: the last split on each."""

    start: Any  # int64 (n_splits + 1,)
    above: Any  # int64: a split
    is_left: Any  # uint8: whether the way goes left from there
    pair: Any  # int64: number of the pair of features
    first: Any  # int64 (n_pairs,): slots of the features of a pair
    second: Any  # int64 (n_pairs,)


class PairScratch(NamedTuple):
    """What the walk needs beside its own state, for each thread."""

    fails: Any  # float64 (n_threads, n_points): rates of rows that fail at a feature, at the points
    sums: Any  # float64 (n_threads, n_pairs, LANES): values so far


@kernel
def list_pairs(splits, n_slots, start, above, is_left, key):
    """Fill the lists of :class:`Pairs`, with first slot * n_slots + second slot for the pair."""
    for number in range(start.size - 1):
        slot, begin, end = splits.slot[number], start[number], start[number]
        below, other = number, splits.parent[number]
        while other >= 0:
            is_new = splits.slot[other] != slot
            for k in range(begin, end):
                is_new &= splits.slot[above[k]] != splits.slot[other]
            if is_new:
                low, high = min(slot, splits.slot[other]), max(slot, splits.slot[other])
                above[end], is_left[end] = other, splits.is_left[below]
                key[end] = low * n_slots + high
                end += 1
            below, other = other, splits.parent[other]


@inlined
def _close_split(splits, number, first, value, column, n_points, scratch):
    """Write U and the terms of the integral, and add to the values of the split's feature."""
    left, right = splits.left_leaf[number], splits.right_leaf[number]
    level, side = splits.level[number], 0 if splits.is_left[number] else 1
    values = value[max(left, 0), column], value[max(right, 0), column]
    masks = scratch.on_left[level], scratch.on_right[level]
    known = splits.share[number], scratch.table, number - first, n_points
    rest = scratch.terms, scratch.sums, splits.slot[number], _ZERO
    state = scratch.product, scratch.below, level, side
    if left >= 0 and right >= 0:
        keep_11(*state, *values, *masks, *known, *rest)
    elif left >= 0:
        keep_10(*state, *values, *masks, *known, *rest)
    elif right >= 0:
        keep_01(*state, *values, *masks, *known, *rest)
    else:
        keep_00(*state, *values, *masks, *known, *rest)


@inlined
def _add_pairs(splits, pairs, number, first, n_points, scratch, own):
    """Add to the pairs of a split that was just closed."""
    level, share = splits.level[number], splits.share[number]
    masks = scratch.on_left[level], scratch.on_right[level]
    for k in range(pairs.start[number], pairs.start[number + 1]):
        above = pairs.above[k]
        if pairs.is_left[k]:
            side, passes = PASS_LEFT, scratch.on_left[splits.level[above]]
        else:
            side, passes = PASS_RIGHT, scratch.on_right[splits.level[above]]
        other = passes, scratch.table, above - first, side, own.fails, n_points
        add_pair(scratch.terms, *masks, share, *other, own.sums, pairs.pair[k])


@routine
def _walk_tree(codes, begin, splits, pairs, tape, tree, first, value, column, rules, scratch, own):
    """Add the values of a tree, and of its pairs, for the rows from ``begin`` on."""
    n_points = count_points(tape, tree)
    start_walk(tape, tree, rules, scratch)
    for q in range(n_points):
        own.fails[q] = -1.0 / (1.0 - rules.point[n_points, q])
    for k in range(tape.start[tree], tape.start[tree + 1]):
        number, operation = read_word(tape.words[k])
        if operation == OPEN:
            open_split(codes, begin, splits, number, scratch)
        elif operation == CLOSE:
            _close_split(splits, number, first, value, column, n_points, scratch)
            _add_pairs(splits, pairs, number, first, n_points, scratch, own)
        else:
            enter_child(splits, number, first, operation == GO_LEFT, n_points, scratch)


@inlined
def _write_rows(begin, n_own, output, features, pairs, scratch, own, out):
    """Write the sums of rows: half of a pair's on each side, the rest on the diagonal."""
    for slot in range(features.size):
        f = features[slot]
        for i in range(n_own):
            out[begin + i, f, f, output] = scratch.sums[slot, i]
    for k in range(pairs.first.size):
        f, g = features[pairs.first[k]], features[pairs.second[k]]
        for i in range(n_own):
            half = 0.5 * own.sums[k, i]
            out[begin + i, f, g, output] = half
            out[begin + i, g, f, output] = half
            out[begin + i, f, f, output] -= half
            out[begin + i, g, g, output] -= half


@kernel
def add_shap_interactions(
    thread,
    n_threads,
    sync,
    codes,
    splits,
    tape,
    value,
    n_groups,
    features,
    rules,
    all_scratch,
    pairs,
    all_own,
    out,
):
    """Write interaction values to ``out`` (n_rows, n_features, n_features, n_outputs).

    Arguments as for ``add_shap_values``.
    """
    scratch = take_scratch(all_scratch, all_scratch.sums, thread)
    own = PairScratch(all_own.fails[thread], all_own.sums[thread])
    n_rows, n_outputs, n_trees = out.shape[0], out.shape[3], tape.start.size - 1
    n_parts, part = (n_rows + LANES - 1) // LANES, claim_next(sync, n_threads, -1)
    while part < n_parts:
        row = part * LANES
        some, begin, n_own = codes[row // BLOCK], row % BLOCK, min(LANES, n_rows - row)
        for output in range(n_outputs):
            scratch.sums[:] = 0.0
            own.sums[:] = 0.0
            column = output if n_groups == 1 else 0
            for tree in range(output if n_groups > 1 else 0, n_trees, n_groups):
                if tape.start[tree] == tape.start[tree + 1]:
                    continue
                points = rules.point[count_points(tape, tree)]
                first = fill_table(splits, tape, tree, points, scratch.table)
                known = tape, tree, first, value, column, rules, scratch, own
                _walk_tree(some, begin, splits, pairs, *known)
            _write_rows(row, n_own, output, features, pairs, scratch, own, out)
        part = claim_next(sync, n_threads, part)
