"""Sets of categories that trees split by, and columns of codes that tell who is in them.

A set lists the codes that go left, in ascending order. Any other number goes right; missing values
go as the node says.

For many rows, a set is a byte column: 0 missing, 1 in the set, 2 not in the set. Equal sets of a
feature share one. To the rest of scoring, it is a feature that is split after bin 1.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import claim_next
from sumwise.kernels.table.category_bins import read_code

_IN_SET, _NOT_IN_SET, _MISSING = np.uint8(1), np.uint8(2), np.uint8(0)


class CategorySets(NamedTuple):
    """The sets of trees, node after node."""

    of_node: Any  # int32 (n_nodes,): the set that a node splits by, -1 for none
    start: Any  # int64 (n_sets + 1,)
    categories: Any  # int32: the codes of each set, ascending


NO_SETS = CategorySets(
    np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
)


class Memberships(NamedTuple):
    """CodeColumns of codes that say whether a row's category is in a set.

    The columns of a feature follow one another. Each of its categories lists the columns whose sets
    have it.
    """

    feature: Any  # int64 (n_features,): features that have such columns
    first_column: Any  # int64 (n_features + 1,)
    first_category: Any  # int64 (n_features + 1,): where the categories of a feature begin
    start: Any  # int64 (n_categories + 1,): where the columns of a category begin
    column: Any  # int64: columns, category after category


def make_sets(n_nodes: int, node: np.ndarray, size: np.ndarray, codes: np.ndarray) -> CategorySets:
    """Make the sets of a TreeEnsemble ready to be looked up."""
    of_node = np.full(n_nodes, -1, dtype=np.int32)
    of_node[node] = np.arange(node.size)
    return CategorySets(of_node, np.append(0, size.cumsum(dtype=np.int64)), codes.astype(np.int32))


def find_memberships(
    feature: np.ndarray, sets: CategorySets, first_column: int
) -> tuple[Memberships, np.ndarray]:
    """Return the columns, numbered from ``first_column`` on, and the column of each set."""
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
def code_memberships(
    thread, n_threads, sync, values, row_stride, column_stride, first, last, memberships, codes
):
    """Write columns of rows [first, last).

    No row is in a set at first; then each row is marked in the columns that list its category.
    """
    m = memberships
    n_blocks, block = (last - first + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
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
        block = claim_next(sync, n_threads, block)


@routine
def is_in_set(sets, number, code):
    """Whether a code is in a set, by binary search."""
    first, last = sets.start[number], sets.start[number + 1]
    while first < last:
        middle = (first + last) >> 1
        if sets.categories[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first < sets.start[number + 1] and sets.categories[first] == code
