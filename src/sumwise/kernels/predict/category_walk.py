"""Rows through trees that split by sets of categories; see predict.py for all others.

A set is the list of the codes that go left, in rising order. Any other number goes right, missing
values go as the node says.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.coding import BLOCK
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.category_bins import read_code

_MANY = np.int64(1 << 31)
_ONE = np.int64(1)
_IN_SET, _NOT_IN_SET, _MISSING = np.uint8(1), np.uint8(2), np.uint8(0)


class CategorySets(NamedTuple):
    """The sets of trees, node after node."""

    of_node: Any  # int32 (n_nodes,): the set that a node splits by, -1 for none
    start: Any  # int64 (n_sets + 1,)
    categories: Any  # int32: the codes of each set, ascending


class Memberships(NamedTuple):
    """Columns of codes that say whether a row's category is in a set.

    The columns of a feature follow one another. Of each of its categories the columns are listed
    whose sets have it.
    """

    feature: Any  # int64 (n_features,): features that have such columns
    first_column: Any  # int64 (n_features + 1,)
    first_category: Any  # int64 (n_features + 1,): where the categories of a feature begin
    start: Any  # int64 (n_categories + 1,): where the columns of a category begin
    column: Any  # int64: columns, category after category


def make_sets(n_nodes: int, node: np.ndarray, size: np.ndarray, codes: np.ndarray) -> CategorySets:
    """Make the sets ready to be looked up, from those of a TreeEnsemble."""
    of_node = np.full(n_nodes, -1, dtype=np.int32)
    of_node[node] = np.arange(node.size)
    return CategorySets(of_node, np.append(0, size.cumsum(dtype=np.int64)), codes.astype(np.int32))


def find_memberships(
    feature: np.ndarray, sets: CategorySets, first_column: int
) -> tuple[Memberships, np.ndarray]:
    """Return the columns, the first of which is ``first_column``, and that of each set.

    Equal sets of a feature share one.
    """
    own_feature = feature[sets.of_node >= 0].astype(np.int64)
    keys = [
        (f, sets.categories[first:last].tobytes())
        for f, first, last in zip(
            own_feature.tolist(), sets.start[:-1], sets.start[1:], strict=True
        )
    ]
    column_of = {key: first_column + i for i, key in enumerate(sorted(set(keys)))}
    column = np.array([column_of[key] for key in keys], dtype=np.int64)

    features, place, n_columns = np.unique(
        np.array([f for f, _ in column_of], dtype=np.int64), return_inverse=True, return_counts=True
    )
    codes = [np.frombuffer(text, dtype=np.int32) for _, text in column_of]
    sizes = np.array([c.size for c in codes], dtype=np.int64)
    code = np.concatenate(codes).astype(np.int64)
    owner = np.repeat(place, sizes)
    highest = np.full(features.size, -1, dtype=np.int64)
    np.maximum.at(highest, owner, code)
    first_category = np.append(0, (highest + 1).cumsum())
    category = first_category[owner] + code
    order = np.argsort(category, kind="stable")
    memberships = Memberships(
        feature=features,
        first_column=first_column + np.append(0, n_columns.cumsum()),
        first_category=first_category,
        start=np.append(0, np.bincount(category, minlength=first_category[-1]).cumsum()),
        column=np.repeat(np.arange(len(codes)) + first_column, sizes)[order],
    )
    return memberships, column


@kernel
def code_memberships(values, row_stride, column_stride, first, last, memberships, codes):
    """Write columns of rows [first, last): 0 for a missing value, 1 in the set, 2 not in it.

    All are said to be in no set; then each row's category is written where it is in one.
    """
    m = memberships
    for block in range((last - first + BLOCK - 1) // BLOCK):
        begin = first + block * BLOCK
        n_rows = min(BLOCK, last - begin)
        for k in range(m.feature.size):
            first_column, last_column = m.first_column[k], m.first_column[k + 1]
            codes[block, first_column:last_column] = _NOT_IN_SET
            n_categories = m.first_category[k + 1] - m.first_category[k]
            for i in range(n_rows):
                value = values[(begin + i) * row_stride + m.feature[k] * column_stride]
                code = read_code(value, n_categories)
                if code >= 0:
                    place = m.first_category[k] + code
                    for c in range(m.start[place], m.start[place + 1]):
                        codes[block, m.column[c], i] = _IN_SET
                elif np.isnan(value):
                    codes[block, first_column:last_column, i] = _MISSING


@routine
def is_in_set(sets, number, code):
    """Whether a code is in a set: by halving the list."""
    first, last = sets.start[number], sets.start[number + 1]
    while first < last:
        middle = (first + last) >> 1
        if sets.categories[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first < sets.start[number + 1] and sets.categories[first] == code


@kernel
def add_category_predictions(values, row_stride, column_stride, n_rows, trees, sets, out):
    """As ``add_predictions``, for trees of which some split by sets; ``trees`` are FlatTrees."""
    for i in range(n_rows):
        place = i * row_stride
        for tree in range(trees.start.size):
            node = trees.start[tree]
            child = np.int64(-1)
            while child != node:
                node = child if child >= 0 else node
                value = np.float64(values[place + column_stride * trees.feature[node]])
                if np.isnan(value):
                    goes_left = trees.missing_left[node] != 0
                elif sets.of_node[node] < 0:
                    goes_left = value <= trees.threshold[node]
                else:
                    goes_left = is_in_set(sets, sets.of_node[node], read_code(value, _MANY))
                child = np.int64(trees.left[node]) + (0 if goes_left else 1)
            out[i, trees.output[tree]] += trees.value[node]


@kernel
def add_binned_category_predictions(
    thread,
    n_threads,
    sync,
    table,
    rows,
    feature,
    split_bin,
    missing_left,
    left,
    value,
    sets,
    scores,
):
    """As ``add_binned_predictions``, for a tree of which some nodes split by sets."""
    begin, end = share(rows.size, thread, n_threads)
    categories = table.categories
    for i in range(begin, end):
        row = rows[i]
        node = np.int64(0)
        while left[node] >= 0:
            f = feature[node]
            b = np.int64(table.columns[f, row])
            place = categories.place[f]
            if place >= 0 and categories.wide_place[place] >= 0:
                b = np.int64(categories.wide[categories.wide_place[place], row])
            if b == 0:
                goes_left = missing_left[node] != 0
            elif place < 0:
                goes_left = b <= split_bin[node]
            else:
                code = np.int64(categories.codes[categories.code_start[place] + b])
                goes_left = is_in_set(sets, sets.of_node[node], code)
            node = left[node] + (_ONE - np.int64(goes_left))
        scores[row] += value[node, 0]
