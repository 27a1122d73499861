"""The arrays that trees of forests are grown with.

One thread grows one tree, from the root down; several trees grow at the same time. A node examines
a few features drawn for it alone, so its parent's histograms are of no use, and most nodes are
small. Two things matter: a node's rows stay in the cache, and no step costs more than the number
of the node's rows.

Rows
    The rows of a node are contiguous in ``TreeWork.rows``, in ascending order. The bins of a row
    are contiguous, one byte per feature: the features that a node examines are in one or two cache
    lines. Tables wider than 512 features are stored by column; stored by row, each drawn feature
    would touch its own cache line.
Statistics
    A bin has ``n_stats`` sums: the weight, then weight times target for each target column. A class
    is a column of ones and zeros; of two classes, only the second has a column. Sums are floats,
    which is safe: one thread sums a tree in a fixed order, so nothing depends on the number of
    threads.
Chunks
    A node of up to ``CHUNK`` rows is summed feature by feature. A larger one is summed chunk by
    chunk: a chunk stays in the cache while it is added to the histograms of all drawn features.
Sparse tables
    A sparse table is a list of entries, once by column and once by row; see :class:`SparseRows` and
    entries.py. Its trees are grown from sums that are exact, such as counts of classes. Then the
    rows of a node need no order, and what the entries do not sum to belongs to the default bin.
Bootstrap
    A row that is drawn several times is one row with a larger weight. Limits on rows count distinct
    rows, and so does the rule for missing values that a node has not seen (``grow/missing.py``).
"""

from typing import Any, NamedTuple

import numpy as np

CHUNK = 2048
# Nodes of up to this many rows note which bins they touch; larger ones examine all bins.
FEW_ROWS = 1024
# For up to this many rows, the largest possible gain is computed first. Often one of the first
# features reaches it, and the others need not be examined.
BOUNDED_ROWS = 6
# Equal gains may differ by rounding.
ALL_BUT_NOISE = 1.0 - 1e-12
# Bins of a feature, and words of a set of them.
N_BINS = 256
SET_WORDS = 4

# Words of packed counts, and fields of a word: a field has 16 bits.
MOST_WORDS, FIELDS = 8, 4

# Criteria; see impurity.py.
QUADRATIC, LOGARITHMIC, TWO_CLASS_LOG, POISSON = 0, 1, 2, 3
# The direction of a feature if there are no monotone constraints at all.
FREE = 2
# In place of a direction for missing values, if a node has none: that of the larger child.
WITH_LARGER = np.uint8(2)
# The place of a row that a tree is not grown on.
NOWHERE = np.uint32(0xFFFFFFFF)


class ByteRows(NamedTuple):
    """The binned table by row."""

    bins: Any  # uint8: that of a row and feature is ``bins[row * stride + feature * step]``
    stride: int
    step: int  # 1; the number of rows if the table is stored by column
    n_bins: Any  # int64 (n_features,): including bin 0
    is_category: Any  # uint8 (n_features,)
    is_plain: Any  # uint8 (n_features,): numeric, without missing values
    features: Any  # int32: features with more than one bin
    centers: Any  # float64 (n_features, N_BINS), or empty: a value per bin; see cuts.py
    direction: Any  # int8 (n_features,), or empty: 1 or -1 if values must rise or fall, else 0


class SparseRows(NamedTuple):
    """The binned table as entries: the rows of a feature that are not in its default bin."""

    default: Any  # uint8 (n_features,)
    start: Any  # int64 (n_features + 1,): the entries of feature f are [start[f], start[f + 1])
    rows: Any  # uint32 (n_entries,)
    bins: Any  # uint8 (n_entries,)
    row_start: Any  # int64 (n_rows + 1,): the same entries by row
    row_features: Any  # int32 (n_entries,)
    row_bins: Any  # uint8 (n_entries,)
    n_bins: Any  # the rest is that of ByteRows
    is_category: Any
    is_plain: Any
    features: Any
    centers: Any
    direction: Any


class NodeEntries(NamedTuple):
    """Entries of a node's rows; all arrays are empty if the table is not sparse."""

    place: Any  # uint32 (n_rows,): where a row is in TreeWork.rows, NOWHERE if the tree lacks it
    head: Any  # int32 (n_features,): the first entry of a feature in a small node, -1 for none
    chain: Any  # int32 (n_chained,): the next entry of the same feature, -1 for none
    chain_row: Any  # uint32 (n_chained,)
    chain_bin: Any  # uint8 (n_chained,)
    own_row: Any  # uint32 (n_rows + 1,): the entries of the feature that is examined
    own_bin: Any  # uint8 (n_rows + 1,)
    best_row: Any  # uint32 (n_rows + 1,): those of the best feature so far
    best_bin: Any  # uint8 (n_rows + 1,)
    n_best: Any  # int64 (1,)


class PackedCounts(NamedTuple):
    """Counts of classes as fields of words; see packing.py."""

    words: Any  # uint64 (CHUNK,): the weight of a gathered row, in its class's field
    word_of_row: Any  # uint8 (the same): the word that the field is in
    word_of_class: Any  # uint8 (n_stats,)
    shift: Any  # uint8 (n_stats,): where the field of a class begins
    histogram: Any  # uint64 (N_BINS * MOST_WORDS,): zero when not in use
    total: Any  # uint64 (MOST_WORDS,): of the node
    left: Any  # uint64 (MOST_WORDS,): of one side


class TreeOptions(NamedTuple):
    """What the parameters allow, as plain numbers."""

    criterion: int
    is_plain: bool  # QUADRATIC, and no limits on leaves: the common case, which is faster
    is_exact: bool  # all sums are: counts of classes, with whole weights
    is_class: bool  # targets are classes: a split may be perfect
    n_drawn: int  # features that a node draws; all if there are not more
    random_cuts: bool  # one random cut per feature instead of the best
    best_first: bool  # split the leaf with the largest gain next; else depth first
    max_leaves: int
    max_depth: int
    min_rows_split: int
    min_rows_leaf: int
    min_weight_leaf: float
    min_decrease: float  # of the weighted impurity


class TreeWork(NamedTuple):
    """Buffers of one thread."""

    weight: Any  # float64 (n_rows,): weights of the rows in this tree, 0 for rows not in it
    rows: Any  # uint32 (n_rows,)
    spare: Any  # uint32 (n_rows,): rows that go right, while a node is partitioned
    order: Any  # int32 (n_features,): features in ascending order, except while a node draws
    swaps: Any  # int32 (n_features,): the exchanges made by drawing
    drawn: Any  # int32 (n_features,): features to be examined together
    constant: Any  # int32 (n_features,): features constant in the node, its parent's first
    n_constant: Any  # int64 (1,)
    is_constant: Any  # uint8 (n_features,)
    totals: Any  # float64 (n_stats,): sums of a node
    left: Any  # float64 (n_stats,): sums of one side
    chunk: Any  # float64 (2 * CHUNK,): weights of gathered rows, or weight and weight times target
    chunk_label: Any  # int64 (CHUNK,)
    codes: Any  # uint8 (CHUNK,): bins of gathered rows
    packed: Any  # PackedCounts
    next_row: Any  # int32 (CHUNK,): the next gathered row of the same bin, -1 for none
    bin_row: Any  # int32 (N_BINS,): the first gathered row of a bin
    histograms: Any  # float64 (n_slots * N_BINS * n_stats,): zero when not in use
    touched: Any  # uint64 (SET_WORDS,): bins of a small node; zero when not in use
    present: Any  # int64 (N_BINS,): bins that have rows, in order
    prefix: Any  # float64 (2 * N_BINS,): sums of the bins before a present one
    best_cut: Any  # float64 (3,): value, lowest and highest bin of the best random cut
    counts: Any  # int64 (N_BINS,): rows of the present bins, if leaves need several rows
    ratio: Any  # float64 (N_BINS,): the order of categories
    control: Any  # int64 (CONTROL_LENGTH,): see grow/layout.py; N_HEAP is the only place in use
    waiting: Any  # int32 (n_nodes,): nodes to be split, a heap or a stack
    sets: Any  # uint64 (n_nodes, SET_WORDS), or empty: bins that a categorical split sends left
    best_set: Any  # uint64 (SET_WORDS,)
    entries: Any  # NodeEntries


# A node while the tree grows.
FOREST_NODE = np.dtype(
    [
        ("feature", np.int32),  # -1 where no split was found
        ("left", np.int32),  # -1 for a leaf; the right child is left + 1
        ("depth", np.int32),
        ("n_constant", np.int32),  # features known to be constant: the first of TreeWork.constant
        ("split_bin", np.uint8),
        ("missing_left", np.uint8),  # or WITH_LARGER, until the rows are partitioned
        ("first", np.int64),
        ("last", np.int64),
        ("gain", np.float64),  # decrease of the weighted impurity
        ("weight", np.float64),
        ("lower", np.float64),  # bounds of the value
        ("upper", np.float64),
    ],
    align=True,
)
