"""Interventional Shapley values: unknown features take the values of a background row.

For a row, a background row and a leaf with value v: let A be the features of the way to the leaf
whose splits only the row passes, and C those whose splits only the background row passes. If every
feature is passed by one of them, and with a = |A| and c = |C|, the leaf adds

    v (a - 1)! c! / (a + c)!  to each feature of A,   -v a! (c - 1)! / (a + c)!  to each of C.

It adds v (a - 2)! c! / (a + c - 1)! to each pair of features of A, v a! (c - 2)! / (a + c - 1)! to
each pair of C, and -v (a - 1)! (c - 1)! / (a + c - 1)! to each pair of one of A and one of C.

Rows and background rows go down the tree in groups, so that a leaf is done once for all rows that
fail at the same features. A *cell* is a node, rows with the same C so far, and all background rows
that pass at C. Where the row passed so far, a split makes four cells of one:

    left child, rows that go left;     background rows that go right get the feature in A;
    right child, rows that go right;   background rows that go left get it in A;
    left child, rows that go right:    the feature comes into C, only background rows that go left;
    right child, rows that go left:    the feature comes into C, only background rows that go right.

A cell without rows or background rows ends. So the work is at most that of one walk for each pair
of rows, and usually far less. The first two children get copies of the list of background rows, the
others a part of it. The order of these lists, and that of the cells of a row, do not depend on
other rows: nor do the bits of the result depend on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.explain.walks import read_word
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import share

_ONE, _LOW, _WORD_BITS = np.uint64(1), np.int64(63), np.int64(6)
# Children of a cell, in the order in which they are visited.
_N_STAGES = np.int64(4)


class Shares(NamedTuple):
    """The factors above, by a and c, divided by the number of background rows."""

    gain: Any  # float64 (n, n): (a - 1)! c! / (a + c)!
    loss: Any  # float64 (n, n): a! (c - 1)! / (a + c)!


class Others(NamedTuple):
    """Lists of background rows, one after the other."""

    row: Any  # int64 (size,)
    n_only: Any  # int64 (size,): a of each
    only: Any  # uint64 (n_words, size): A of each, one bit per place


class Cells(NamedTuple):
    """The cells on the way to the present one, by level, and their rows and background rows.

    Before :func:`_take_cells`, those of each thread; but threads share the rows.
    """

    rows: Any  # int64 (n_rows,): all rows; a cell has a range of them
    split: Any  # int64 (n_levels,)
    stage: Any  # int64 (n_levels,): the next child
    begin: Any  # int64 (n_levels + 1,): range of the rows
    middle: Any  # int64 (n_levels,): where those begin that go right
    end: Any  # int64 (n_levels + 1,)
    was_on: Any  # uint8 (n_levels,): whether the rows passed the feature before
    n_off: Any  # int64 (n_levels + 1,): c
    others: Others
    first: Any  # int64 (n_levels + 1, 4): where background rows begin that go left; those that go
    # right; those that have failed at the feature before; where they end
    top: Any  # int64 (n_levels + 1,): where further lists may begin
    is_on: Any  # uint8 (n_places,): whether the rows pass the feature at a place of the way
    slot: Any  # int64 (n_places,): the feature at the place
    change: Any  # float64 (n_places,): what a leaf adds, divided by its value
    listed: Any  # int64 (n_places,): places
    pair_change: Any  # float64 (n_places, n_places): what a leaf adds to pairs, below the diagonal


def make_shares(n_unique: int, n_background: int) -> Shares:
    """Return the factors for ways with up to so many features."""
    gain = np.zeros((n_unique + 1, n_unique + 1))
    a = np.arange(1, n_unique + 1)
    gain[1:, 0] = 1.0 / a
    for c in range(1, n_unique + 1):  # without factorials, which would overflow
        gain[1:, c] = gain[1:, c - 1] * c / (a + c)
    return Shares(gain / n_background, gain.T / n_background)


def allocate_cells(
    n_threads: int, n_rows: int, n_levels: int, n_background: int, n_places: int, has_pairs: bool
) -> Cells:
    """Allocate the cells of all threads."""
    n_paired = n_places if has_pairs else 0
    n_words, size = (n_places + int(_LOW)) >> int(_WORD_BITS), (n_levels + 1) * n_background

    def numbers(*shape: int) -> np.ndarray:
        return np.empty((n_threads, *shape), dtype=np.int64)

    only = np.empty((n_threads, n_words, size), dtype=np.uint64)
    return Cells(
        rows=np.empty(n_rows, dtype=np.int64),
        split=numbers(n_levels),
        stage=numbers(n_levels),
        begin=numbers(n_levels + 1),
        middle=numbers(n_levels),
        end=numbers(n_levels + 1),
        was_on=np.empty((n_threads, n_levels), dtype=np.uint8),
        n_off=numbers(n_levels + 1),
        others=Others(numbers(size), numbers(size), only),
        first=numbers(n_levels + 1, 4),
        top=numbers(n_levels + 1),
        is_on=np.empty((n_threads, n_places), dtype=np.uint8),
        slot=numbers(n_places),
        change=np.empty((n_threads, n_places)),
        listed=numbers(n_places),
        pair_change=np.empty((n_threads, n_paired, n_paired)),
    )


@inlined
def _take_cells(cells, thread):
    """Return the cells of one thread."""
    others = cells.others
    return Cells(
        cells.rows,
        cells.split[thread],
        cells.stage[thread],
        cells.begin[thread],
        cells.middle[thread],
        cells.end[thread],
        cells.was_on[thread],
        cells.n_off[thread],
        Others(others.row[thread], others.n_only[thread], others.only[thread]),
        cells.first[thread],
        cells.top[thread],
        cells.is_on[thread],
        cells.slot[thread],
        cells.change[thread],
        cells.listed[thread],
        cells.pair_change[thread],
    )


@inlined
def _goes_left(codes, splits, number, row):
    block, place = np.uint64(row) // np.uint64(BLOCK), np.uint64(row) % np.uint64(BLOCK)
    code = codes[block, np.uint64(splits.column[number]), place]
    return np.uint8(code - splits.skip[number]) <= splits.bound[number]


@routine
def _sort_rows(codes, splits, number, rows, begin, end):
    """Put the rows of a range that go left first; return where the others begin."""
    while begin < end:
        row = rows[begin]
        if _goes_left(codes, splits, number, row):
            begin += 1
        else:
            end -= 1
            rows[begin], rows[end] = rows[end], row
    return begin


@inlined
def _swap(others, i, j):
    """Swap two background rows, by unsigned numbers."""
    others.row[i], others.row[j] = others.row[j], others.row[i]
    others.n_only[i], others.n_only[j] = others.n_only[j], others.n_only[i]
    for w in range(others.only.shape[0]):
        others.only[w, i], others.only[w, j] = others.only[w, j], others.only[w, i]


@routine
def _sort_others(background, splits, number, others, first):
    """Sort the background rows of a new cell by side; those that failed before come last."""
    # Unsigned: a negative index would count from the end, and checking for that takes time.
    begin, end = np.uint64(first[0]), np.uint64(first[3])
    if splits.same[number] >= 0:
        place = splits.place[number]
        word, shift = np.uint64(place >> _WORD_BITS), np.uint64(place & _LOW)
        k = begin
        while k < end:
            if (others.only[word, k] >> shift) & _ONE:
                end -= _ONE
                _swap(others, k, end)
            else:
                k += _ONE
    first[2] = end
    while begin < end:
        if _goes_left(background, splits, number, others.row[begin]):
            begin += _ONE
        else:
            end -= _ONE
            _swap(others, begin, end)
    first[1] = begin


@inlined
def _open_cell(codes, background, splits, number, level, cells):
    """Sort the rows of a new cell by side, unless they have failed at the feature already."""
    place = splits.place[number]
    cells.split[level], cells.stage[level] = number, 0
    cells.slot[place] = splits.slot[number]
    is_on = splits.same[number] < 0 or cells.is_on[place] != 0
    cells.was_on[level], cells.middle[level] = is_on, cells.end[level]
    if is_on:
        ends = cells.begin[level], cells.end[level]
        cells.middle[level] = _sort_rows(codes, splits, number, cells.rows, *ends)
    _sort_others(background, splits, number, cells.others, cells.first[level])


@routine
def _copy_others(splits, number, others, first, to_left, top):
    """Copy the list of a cell to ``top``; those that go to the other side fail at the feature."""
    begin, end, shift = np.uint64(first[0]), np.uint64(first[3]), np.uint64(top - first[0])
    for k in range(begin, end):
        others.row[shift + k] = others.row[k]
    for k in range(begin, end):
        others.n_only[shift + k] = others.n_only[k]
    for w in range(others.only.shape[0]):
        only = others.only[w]
        for k in range(begin, end):
            only[shift + k] = only[k]
    place = splits.place[number]
    only, bit = others.only[place >> _WORD_BITS], _ONE << np.uint64(place & _LOW)
    failing, passing = (first[1], first[2]) if to_left else (first[0], first[1])
    for k in range(shift + np.uint64(failing), shift + np.uint64(passing)):
        others.n_only[k] += 1
        only[k] |= bit


@inlined
def _enter_child(splits, level, stage, cells):
    """Make the cell of a child, one level below; return (whether it is empty, to the left)."""
    number, first = cells.split[level], cells.first[level]
    was_on = cells.was_on[level] != 0
    begin, middle, end = cells.begin[level], cells.middle[level], cells.end[level]
    to_left, stays_on = stage == 0 or stage == 2, was_on and stage < 2
    if was_on and (stage == 0 or stage == 3):
        end = middle
    elif was_on:
        begin = middle
    own_first, own_end, top = first[0], first[3], cells.top[level]
    if not stays_on:  # only those that pass, for the rows do not
        own_first, own_end = (first[0], first[1]) if to_left else (first[1], first[2])
    is_empty = begin == end or own_first == own_end or (not was_on and stage >= 2)
    if not is_empty:
        if stays_on:
            _copy_others(splits, number, cells.others, first, to_left, top)
            own_first, own_end = top, top + own_end - own_first
            top = own_end
        cells.first[level + 1, 0], cells.first[level + 1, 3] = own_first, own_end
        cells.begin[level + 1], cells.end[level + 1] = begin, end
        cells.top[level + 1] = top
        cells.is_on[splits.place[number]] = stays_on
        cells.n_off[level + 1] = cells.n_off[level] + (was_on and not stays_on)
    return is_empty, to_left


@routine
def _find_changes(shares, level, n_places, cells):
    """Write what a leaf at a level adds to the features of its way, divided by its value."""
    change, c, others = cells.change, cells.n_off[level], cells.others
    change[:n_places] = 0.0
    loss = 0.0
    for k in range(np.uint64(cells.first[level, 0]), np.uint64(cells.first[level, 3])):
        a = np.uint64(others.n_only[k])
        loss += shares.loss[a, np.uint64(c)]
        gain = shares.gain[a, np.uint64(c)]
        for w in range(np.uint64(others.only.shape[0])):
            bits = others.only[w, k]
            while bits:
                change[(w << np.uint64(_WORD_BITS)) + find_lowest_bit(bits)] += gain
                bits &= bits - _ONE
    for place in range(n_places):
        if not cells.is_on[place]:
            change[place] = -loss


@routine
def _add_leaf(value, leaf, n_groups, tree, features, shares, level, n_places, cells, out):
    """Add what a leaf adds to the rows of a cell."""
    _find_changes(shares, level, n_places, cells)
    for place in range(n_places):
        change, f = cells.change[place], features[cells.slot[place]]
        if change == 0.0:
            continue
        for column in range(value.shape[1]):
            output = column if n_groups == 1 else tree % n_groups
            product = change * value[leaf, column]
            for i in range(cells.begin[level], cells.end[level]):
                out[cells.rows[i], f, output] += product


@inlined
def _list_only(others, k, listed):
    """List the places of A of a background row; return their number."""
    n = np.int64(0)
    for w in range(others.only.shape[0]):
        bits = others.only[w, k]
        while bits:
            listed[n] = (w << _WORD_BITS) + np.int64(find_lowest_bit(bits))
            n += 1
            bits &= bits - _ONE
    return n


@routine
def _find_pair_changes(shares, level, n_places, cells):
    """Write what a leaf at a level adds to the pairs of its way, divided by its value.

    The diagonal has what a feature of A adds to its pairs with those of C.
    """
    change, c, others = cells.pair_change, cells.n_off[level], cells.others
    change[:n_places, :n_places] = 0.0
    both_off = 0.0
    for k in range(cells.first[level, 0], cells.first[level, 3]):
        a = _list_only(others, k, cells.listed)
        both_off += shares.gain[a + 1, c - 2] if c > 1 else 0.0
        both_only = shares.gain[a - 1, c] if a > 1 else 0.0
        across = shares.gain[a, c - 1] if c > 0 else 0.0
        for i in range(a):
            place = cells.listed[i]
            change[place, place] -= across
            for j in range(i):
                change[place, cells.listed[j]] += both_only
    for place in range(n_places):
        for other in range(place):
            is_on, is_other_on = cells.is_on[place], cells.is_on[other]
            if not is_on and not is_other_on:
                change[place, other] = both_off
            elif not is_on:
                change[place, other] = change[other, other]
            elif not is_other_on:
                change[place, other] = change[place, place]


@routine
def _add_leaf_pairs(value, leaf, n_groups, tree, features, shares, level, n_places, cells, out):
    """Add half of what a leaf adds to pairs to each of their sides, for the rows of a cell."""
    _find_pair_changes(shares, level, n_places, cells)
    for place in range(n_places):
        for other in range(place):
            half = 0.5 * cells.pair_change[place, other]
            if half == 0.0:
                continue
            f, g = features[cells.slot[place]], features[cells.slot[other]]
            for column in range(value.shape[1]):
                output = column if n_groups == 1 else tree % n_groups
                product = half * value[leaf, column]
                for i in range(cells.begin[level], cells.end[level]):
                    out[cells.rows[i], f, g, output] += product
                    out[cells.rows[i], g, f, output] += product


@inlined
def _start_tree(begin, end, n_background, cells):
    """Make the cell of a root: some rows, and all background rows in their order."""
    cells.begin[0], cells.end[0], cells.n_off[0] = begin, end, 0
    cells.first[0, 0], cells.first[0, 3], cells.top[0] = 0, n_background, n_background
    others = cells.others
    for k in range(n_background):
        others.row[k], others.n_only[k] = k, 0
        for w in range(others.only.shape[0]):
            others.only[w, k] = 0


@routine
def _explain_tree(
    codes, background, splits, root, value, n_groups, tree, features, shares, cells, out, pairs
):
    """Add the values of a tree, whose root is a cell already."""
    level = np.int64(0)
    _open_cell(codes, background, splits, root, level, cells)
    while level >= 0:
        stage, number = cells.stage[level], cells.split[level]
        if stage == _N_STAGES:
            cells.is_on[splits.place[number]] = cells.was_on[level]
            level -= 1
            continue
        cells.stage[level] += 1
        is_empty, to_left = _enter_child(splits, level, stage, cells)
        if is_empty:
            continue
        leaf = splits.left_leaf[number] if to_left else splits.right_leaf[number]
        if leaf >= 0:
            known = shares, level + 1, splits.n_unique[number], cells
            _add_leaf(value, leaf, n_groups, tree, features, *known, out)
            if pairs.size:
                _add_leaf_pairs(value, leaf, n_groups, tree, features, *known, pairs)
        else:
            level += 1
            child = number + 1 if to_left else splits.right[number]
            _open_cell(codes, background, splits, child, level, cells)


@kernel
def add_interventions(
    thread,
    n_threads,
    sync,
    codes,
    background,
    n_background,
    splits,
    tape,
    value,
    n_groups,
    features,
    shares,
    all_cells,
    out,
    pairs,
):
    """Add interventional values to ``out`` (n_rows, n_features, n_outputs).

    ``background`` has the codes of the background rows; other arguments as for
    ``add_shap_values``. Unless it is empty, ``pairs`` (n_rows, n_features, n_features, n_outputs)
    gets the values of pairs, without the diagonal.
    """
    cells = _take_cells(all_cells, thread)
    begin, end = share(out.shape[0], thread, n_threads)
    for i in range(begin, end):
        cells.rows[i] = i
    for tree in range(tape.start.size - 1):
        if begin < end and tape.start[tree] < tape.start[tree + 1]:
            root, _ = read_word(tape.words[tape.start[tree]])
            _start_tree(begin, end, n_background, cells)
            known = value, n_groups, tree, features, shares, cells, out, pairs
            _explain_tree(codes, background, splits, root, *known)
