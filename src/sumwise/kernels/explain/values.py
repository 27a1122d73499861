"""Path-dependent Shapley values of rows: exact, by quadrature.

On the way to a leaf with value v, let feature j have the factor p_j = t o_j + (1 - t) z_j, where
o_j is 1 if the row passes all splits of j on the way, else 0, and z_j is the product of the shares
of training rows that passed them. The Shapley value of feature i in this leaf is

    v (o_i - z_i)  integral over t from 0 to 1 of  prod_{j != i} p_j.

The integrand is a polynomial, so a Gauss-Legendre rule with half as many points as there are
features on the way is exact.

For all leaves below a split at once: let C be the product of all factors on the way to the split,
f its feature, o and z those of f on the way, and U the sum of v times the factors further down.
With the share s of training rows that went left, and a = 1 if the row goes left, else 0,

    left = (t o a + (1 - t) z s) / (t o + (1 - t) z)         (s if o = 0),
    C_left = C left,  C_right = C (1 - left),
    U = U_right + left (U_left - U_right),
    phi_f += o (a - s)  integral of  C (U_left - U_right) z / (t o + (1 - t) z)^2.

The last line is the sum over the leaves of what the split changes in (o_f - z_f) / p_f. Nothing is
divided by zero: where o = 0, the row adds nothing, and otherwise the denominator is at least t.

``LANES`` rows go side by side. Each takes its sums in the order of the tape, so that the bits do
not depend on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.explain.lanes import (
    LANES,
    N_FACTORS,
    OFF,
    ON,
    PASS_LEFT,
    PASS_RIGHT,
    SCALE,
    close_00,
    close_01,
    close_10,
    close_11,
    descend_left,
    descend_right,
    find_left,
)
from sumwise.kernels.explain.outcomes import add_outcomes, add_slots, clear_slots, keep_slots
from sumwise.kernels.explain.walks import CLOSE, GO_LEFT, OPEN, read_word
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import claim_next


class Quadrature(NamedTuple):
    """The points and weights of the rules: row n has those of n points."""

    point: Any  # float64 (n_rules, n_points)
    weight: Any  # float64 (n_rules, n_points)


class Scratch(NamedTuple):
    """The state of a walk; before :func:`take_scratch`, that of each thread."""

    product: Any  # float64 (n_levels + 1, n_points, LANES): C
    below: Any  # float64 (2, n_levels + 1, n_points, LANES): U of left and right children
    on_left: Any  # uint64 (n_levels,): mask of rows that go left, where o = 1
    on_right: Any  # uint64 (n_levels,)
    table: Any  # float64 (n_splits of a tree, n_points, N_FACTORS)
    terms: Any  # float64 (n_points, LANES)
    sums: Any  # float64 (n_slots, BLOCK): values so far


def make_quadrature(n_points: int) -> Quadrature:
    """Return the rules of up to so many points, on [0, 1]."""
    point, weight = np.zeros((2, n_points + 1, n_points))
    for n in range(1, n_points + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        point[n, :n], weight[n, :n] = (1.0 + x) / 2.0, w / 2.0
    return Quadrature(point, weight)


def allocate_scratch(
    n_threads: int, n_levels: int, n_points: int, n_splits: int, n_slots: int
) -> Scratch:
    """Allocate the states of all threads; ``n_splits`` is that of the largest tree."""
    return Scratch(
        product=np.empty((n_threads, n_levels + 1, n_points, LANES)),
        below=np.empty((n_threads, 2, n_levels + 1, n_points, LANES)),
        on_left=np.empty((n_threads, n_levels), dtype=np.uint64),
        on_right=np.empty((n_threads, n_levels), dtype=np.uint64),
        table=np.empty((n_threads, n_splits, n_points, N_FACTORS)),
        terms=np.empty((n_threads, n_points, LANES)),
        sums=np.empty((n_threads, n_slots, BLOCK)),
    )


@inlined
def take_scratch(scratch, sums, thread):
    """Return the state of one thread, with these sums."""
    return Scratch(
        scratch.product[thread],
        scratch.below[thread],
        scratch.on_left[thread],
        scratch.on_right[thread],
        scratch.table[thread],
        scratch.terms[thread],
        sums[thread],
    )


@routine
def count_points(tape, tree):
    """Return the number of points of the rule for a tree."""
    return max(1, (tape.n_unique[tree] + 1) // 2)


@routine
def fill_table(splits, tape, tree, points, table):
    """Write the factors of a tree's splits at all points; return its first split."""
    begin, end = tape.start[tree], tape.start[tree + 1]
    first, _ = read_word(tape.words[begin])
    n_points = count_points(tape, tree)
    for k in range((end - begin + 1) // 3):
        share, kept = splits.share[first + k], splits.kept[first + k]
        left, right = kept * share, kept * (1.0 - share)
        for q in range(n_points):
            t = points[q]
            whole = t + (1.0 - t) * kept
            table[k, q, ON] = (t + (1.0 - t) * left) / whole
            table[k, q, OFF] = (1.0 - t) * left / whole
            table[k, q, SCALE] = kept / (whole * whole)
            table[k, q, PASS_LEFT] = (1.0 - left) / (t + (1.0 - t) * left)
            table[k, q, PASS_RIGHT] = (1.0 - right) / (t + (1.0 - t) * right)
    return first


@inlined
def open_split(codes, begin, splits, number, scratch):
    """Write which side the rows go to, where they passed the feature's splits so far."""
    level, same = splits.level[number], splits.same[number]
    skip, bound = splits.skip[number], splits.bound[number]
    goes_left = find_left(codes, splits.column[number], begin, skip, bound)
    before = ~np.uint64(0)
    if same >= 0:
        above = splits.level[same]
        before = scratch.on_left[above] if splits.same_left[number] else scratch.on_right[above]
    scratch.on_left[level] = before & goes_left
    scratch.on_right[level] = before & ~goes_left


@inlined
def enter_child(splits, number, first, to_left, n_points, scratch):
    """Write the products of a child."""
    level, share = splits.level[number], splits.share[number]
    masks = scratch.on_left[level], scratch.on_right[level]
    known = share, scratch.table, number - first, n_points
    if to_left:
        descend_left(scratch.product, level, *masks, *known)
    else:
        descend_right(scratch.product, level, *masks, *known)


@inlined
def _close_split(splits, number, first, value, column, n_points, scratch, begin):
    """Write U, and add to the values of the split's feature."""
    left, right = splits.left_leaf[number], splits.right_leaf[number]
    level, side = splits.level[number], 0 if splits.is_left[number] else 1
    values = value[max(left, 0), column], value[max(right, 0), column]
    masks = scratch.on_left[level], scratch.on_right[level]
    known = splits.share[number], scratch.table, number - first, n_points
    rest = scratch.terms, scratch.sums, splits.slot[number], begin
    state = scratch.product, scratch.below, level, side
    if left >= 0 and right >= 0:
        close_11(*state, *values, *masks, *known, *rest)
    elif left >= 0:
        close_10(*state, *values, *masks, *known, *rest)
    elif right >= 0:
        close_01(*state, *values, *masks, *known, *rest)
    else:
        close_00(*state, *values, *masks, *known, *rest)


@inlined
def start_walk(tape, tree, rules, scratch):
    """Write the products of the root."""
    n_points = count_points(tape, tree)
    for q in range(n_points):
        scratch.product[0, q, :] = rules.weight[n_points, q]


@routine
def _walk_tree(codes, begin, splits, tape, tree, first, value, column, rules, scratch):
    """Add the values of a tree for the rows from ``begin`` on."""
    n_points = count_points(tape, tree)
    start_walk(tape, tree, rules, scratch)
    for k in range(tape.start[tree], tape.start[tree + 1]):
        number, operation = read_word(tape.words[k])
        if operation == OPEN:
            open_split(codes, begin, splits, number, scratch)
        elif operation == CLOSE:
            _close_split(splits, number, first, value, column, n_points, scratch, begin)
        else:
            enter_child(splits, number, first, operation == GO_LEFT, n_points, scratch)


@routine
def _explain_block(codes, n_rows, splits, tape, tree, value, column, rules, scratch):
    """Add the values of a tree to the rows of a block."""
    points = rules.point[count_points(tape, tree)]
    first = fill_table(splits, tape, tree, points, scratch.table)
    for begin in range(0, n_rows, LANES):
        _walk_tree(codes, begin, splits, tape, tree, first, value, column, rules, scratch)


@kernel
def tabulate_outcomes(
    thread, n_threads, sync, codes, splits, tape, value, rules, outcomes, all_scratch
):
    """Write the values of all outcomes of trees with few tests.

    Row i of ``codes`` (n_columns, BLOCK) has outcome i, and ``splits`` have the tests of them.
    """
    scratch = take_scratch(all_scratch, all_scratch.sums, thread)
    tree = claim_next(sync, n_threads, -1)
    while tree < outcomes.n_tests.size:
        if outcomes.n_tests[tree] > 0:
            clear_slots(tree, outcomes, scratch.sums)
            n_outcomes = np.int64(1) << outcomes.n_tests[tree]
            _explain_block(codes, n_outcomes, splits, tape, tree, value, 0, rules, scratch)
            keep_slots(tree, outcomes, scratch.sums)
        tree = claim_next(sync, n_threads, tree)


@routine
def _add_trees(
    codes, n_rows, splits, tape, value, n_groups, output, rules, outcomes, found, scratch, single
):
    """Add the values of all trees for an output to the rows of a block."""
    column = output if n_groups == 1 else 0
    for tree in range(output if n_groups > 1 else 0, tape.start.size - 1, n_groups):
        if tape.start[tree] == tape.start[tree + 1]:
            continue
        if outcomes.n_tests[tree] == 0:
            _explain_block(codes, n_rows, splits, tape, tree, value, column, rules, scratch)
        elif outcomes.values.size > 0:
            add_outcomes(codes, tree, outcomes, found, n_rows, scratch.sums)
        else:
            clear_slots(tree, outcomes, single.sums)
            _explain_block(codes, n_rows, splits, tape, tree, value, column, rules, single)
            add_slots(tree, outcomes, single.sums, n_rows, scratch.sums)


@kernel
def add_shap_values(
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
    outcomes,
    found,
    all_scratch,
    single_sums,
    out,
):
    """Write the values of rows to ``out`` (n_rows, n_features, n_outputs).

    ``value`` (n_leaves, n_columns) has the leaves of all trees; tree i adds to output i % n_groups
    if there are several groups, else to all outputs. ``features`` are those of the slots. Scratch,
    too: ``found`` (uint8, a block per thread), and ``single_sums``, the sums of one tree, so that
    its outcomes add the same whether they are tabulated or not.
    """
    scratch = take_scratch(all_scratch, all_scratch.sums, thread)
    single = take_scratch(all_scratch, single_sums, thread)
    n_rows, n_outputs = out.shape[0], out.shape[2]
    n_blocks, block = (n_rows + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        own, first = codes[block], block * BLOCK
        n_own = min(BLOCK, n_rows - first)
        for output in range(n_outputs):
            scratch.sums[:] = 0.0
            known = splits, tape, value, n_groups, output, rules, outcomes
            _add_trees(own, n_own, *known, found[thread], scratch, single)
            for slot in range(features.size):
                for i in range(n_own):
                    out[first + i, features[slot], output] = scratch.sums[slot, i]
        block = claim_next(sync, n_threads, block)
