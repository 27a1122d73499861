"""The walk over a tree that computes Shapley values: which steps it takes, in which order.

Every row visits every split, because leaves that the row cannot reach have their share in what is
expected. What depends on the trees alone is found here, once: the splits in depth-first order, what
each needs to know of the splits above it, and the tape of operations.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import inlined, kernel

# Operations of a tape; a word is 4 * split + operation.
# OPEN: find the sides of the rows. GO_LEFT, GO_RIGHT: enter a child that splits. CLOSE: add up.
OPEN, GO_LEFT, GO_RIGHT, CLOSE = (np.int64(number) for number in range(4))
_OPERATION, _SHIFT = np.int64(3), np.int64(2)
_NONE = np.int64(-1)


class Splits(NamedTuple):
    """The splits of all trees, each tree in depth-first order.

    A row goes left if ``code - skip <= bound``, with wrap-around of a byte.
    """

    node: Any  # int64: number of the node among those of all trees
    right: Any  # int64: number of the right child among the splits, -1 if it is a leaf; a left
    # child that splits comes next
    column: Any  # int64: column of codes
    skip: Any  # uint8
    bound: Any  # uint8
    slot: Any  # int64: number of the feature among those that trees split on
    share: Any  # float64: share of the training rows that went left
    left_leaf: Any  # int64: number of the left child among all leaves; -1 if it splits
    right_leaf: Any  # int64
    is_left: Any  # uint8: whether it is a left child
    parent: Any  # int64: number of the parent split; -1 for a root
    level: Any  # int64: splits above it
    same: Any  # int64: the last split above on the same feature; -1 for none
    same_left: Any  # uint8: whether the way here goes left from there
    kept: Any  # float64: product of the shares on the way here, in splits on the same feature
    n_unique: Any  # int64: distinct features of the splits on the way, with its own
    place: Any  # int64: place of its feature among these


class Tape(NamedTuple):
    """The operations on all trees."""

    start: Any  # int64 (n_trees + 1,): where those of a tree begin
    words: Any  # int64
    n_unique: Any  # int64 (n_trees,): the most distinct features on the way to a leaf


def allocate_splits(n_splits: int) -> Splits:
    """Return splits to be filled by :func:`plan_walks`, and by the caller from ``node``."""
    return Splits(
        node=np.empty(n_splits, dtype=np.int64),
        right=np.empty(n_splits, dtype=np.int64),
        column=np.empty(n_splits, dtype=np.int64),
        skip=np.empty(n_splits, dtype=np.uint8),
        bound=np.empty(n_splits, dtype=np.uint8),
        slot=np.empty(n_splits, dtype=np.int64),
        share=np.empty(n_splits),
        left_leaf=np.empty(n_splits, dtype=np.int64),
        right_leaf=np.empty(n_splits, dtype=np.int64),
        is_left=np.empty(n_splits, dtype=np.uint8),
        parent=np.empty(n_splits, dtype=np.int64),
        level=np.empty(n_splits, dtype=np.int64),
        same=np.empty(n_splits, dtype=np.int64),
        same_left=np.empty(n_splits, dtype=np.uint8),
        kept=np.empty(n_splits),
        n_unique=np.empty(n_splits, dtype=np.int64),
        place=np.empty(n_splits, dtype=np.int64),
    )


@inlined
def read_word(word):
    """Return (split, operation)."""
    return word >> _SHIFT, word & _OPERATION


@inlined
def _find_same(splits, number):
    """Fill in what a split needs to know of the last one above it on the same feature."""
    slot, below, above = splits.slot[number], number, splits.parent[number]
    while above >= 0 and splits.slot[above] != slot:
        below, above = above, splits.parent[above]
    splits.same[number] = above
    splits.same_left[number] = 0
    splits.kept[number] = 1.0
    if above >= 0:
        is_left = splits.is_left[below]
        share = splits.share[above]
        splits.same_left[number] = is_left
        splits.kept[number] = splits.kept[above] * (share if is_left else 1.0 - share)


@inlined
def _add_split(splits, number, node, parent, is_left, left, slot, share, leaf_number):
    child = left[node]
    splits.node[number], splits.slot[number] = node, slot[node]
    splits.right[number] = _NONE
    splits.share[number] = share[node]
    splits.left_leaf[number] = leaf_number[child] if left[child] < 0 else _NONE
    splits.right_leaf[number] = leaf_number[child + 1] if left[child + 1] < 0 else _NONE
    splits.is_left[number], splits.parent[number] = is_left, parent
    splits.level[number], n_above = 0, 0
    if parent >= 0:
        splits.level[number], n_above = splits.level[parent] + 1, splits.n_unique[parent]
    _find_same(splits, number)
    same = splits.same[number]
    splits.n_unique[number] = n_above + (same < 0)
    splits.place[number] = n_above if same < 0 else splits.place[same]


@kernel
def plan_walks(start, left, slot, share, leaf_number, stack, splits, tape):
    """Fill the splits, except what their tests are, and the tape; return the number of words.

    ``left`` (n_nodes,) counts over all trees, -1 for leaves. ``stack`` (nodes of the largest tree
    + 1, 3) is scratch.
    """
    n_splits = n_words = np.int64(0)
    for tree in range(start.size - 1):
        tape.start[tree], tape.n_unique[tree] = n_words, 0
        root = start[tree]
        if left[root] < 0:
            continue
        # Work to do, the next on top: (OPEN, node, parent) or (another operation, split, 0).
        stack[0, 0], stack[0, 1], stack[0, 2] = OPEN, root, _NONE
        height = np.int64(1)
        while height > 0:
            height -= 1
            operation, number, parent = stack[height, 0], stack[height, 1], stack[height, 2]
            if operation == OPEN:
                node, number = number, n_splits
                n_splits += 1
                is_left = parent >= 0 and left[splits.node[max(parent, 0)]] == node
                _add_split(splits, number, node, parent, is_left, left, slot, share, leaf_number)
                if parent >= 0 and not is_left:
                    splits.right[parent] = number
                tape.n_unique[tree] = max(tape.n_unique[tree], splits.n_unique[number])
                child = left[node]
                stack[height, 0], stack[height, 1] = CLOSE, number
                height += 1
                if left[child + 1] >= 0:
                    stack[height, 0], stack[height, 1], stack[height, 2] = OPEN, child + 1, number
                    stack[height + 1, 0], stack[height + 1, 1] = GO_RIGHT, number
                    height += 2
                if left[child] >= 0:
                    stack[height, 0], stack[height, 1], stack[height, 2] = OPEN, child, number
                    stack[height + 1, 0], stack[height + 1, 1] = GO_LEFT, number
                    height += 2
            tape.words[n_words] = number << _SHIFT | operation
            n_words += 1
    tape.start[start.size - 1] = n_words
    return n_words
