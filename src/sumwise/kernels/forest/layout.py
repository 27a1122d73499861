"""The arrays that trees of forests are grown with.

One thread grows one tree, from the root down; whole trees grow side by side. A node looks at a few
features drawn for it alone, so that nothing of its parent's sums helps it, and most nodes are
small: what counts is that a node's rows stay in the cache, and that nothing costs more than the
node has rows.

Rows
    A node's rows are contiguous in ``TreeWork.rows``, in ascending order. A row of the table is
    ``stride`` bytes, one a feature: whatever features a node looks at, they lie in one or two
    cache lines. Rows of a wide table would take a line for each feature: it lies by column.
Statistics
    A bin has ``n_stats`` sums: of weights, then of weight times target, one a target column. A
    class is a column of ones and zeros; of two classes, the second has the only column.
Chunks
    Up to ``CHUNK`` rows a node is summed feature by feature. The rows of a larger one are taken by
    chunks that stay in the cache while all features are summed.
"""

from typing import Any, NamedTuple

import numpy as np

CHUNK = 2048
# Nodes of up to this many rows note which bins they touch; others look at all bins.
FEW_ROWS = 1024
# Of up to this many rows it is told beforehand what the best split could gain: often the first
# features reach it, and the others need not be looked at.
BOUNDED_ROWS = 6
# Rounding may leave a little between equal gains.
ALL_BUT_NOISE = 1.0 - 1e-12
# Bins of a feature, and words of a set of them.
N_BINS = 256
SET_WORDS = 4

# What splits are chosen by. With sums s and weight w of a side, a split is as good as the sum over
# both sides and all columns of s * s / w (QUADRATIC: Gini impurity, squared error) or of
# s * log(s / w) (LOGARITHMIC: entropy; POISSON: deviance, where each side needs events); with one
# column for two classes, entropy needs the other class, too (TWO_CLASS_LOG).
QUADRATIC, LOGARITHMIC, TWO_CLASS_LOG, POISSON = 0, 1, 2, 3
# The direction of a feature where there are no monotone constraints at all.
FREE = 2
# A node that has seen no missing values sends them where more rows go.
WITH_MORE = np.uint8(2)


class ByteRows(NamedTuple):
    """The binned table by row."""

    bins: Any  # uint8: that of a row and feature is ``bins[row * stride + feature * step]``
    stride: int
    step: int  # 1, or of a wide table, which lies by column, the number of rows
    n_bins: Any  # int64 (n_features,): with bin 0
    is_category: Any  # uint8 (n_features,)
    is_plain: Any  # uint8 (n_features,): numbers, and none of them missing
    features: Any  # int32: features that have more than one bin
    centers: Any  # float64 (n_features, N_BINS), or empty: a value for each bin, to draw cuts by
    direction: Any  # int8 (n_features,), or empty: 1 or -1 where values must rise or fall


class TreeOptions(NamedTuple):
    """What the parameters allow, as plain numbers."""

    criterion: int
    is_plain: bool  # QUADRATIC, and no limits on leaves: the usual case, which is quicker
    is_class: bool  # the targets are classes: a split may leave nothing to be split
    n_drawn: int  # features a node draws; all if at least as many as there are
    random_cuts: bool  # one random cut a feature, instead of the best
    best_first: bool  # split the best leaf next, for trees of a limited number of leaves
    max_leaves: int
    max_depth: int
    min_rows_split: int
    min_rows_leaf: int
    min_weight_leaf: float
    min_decrease: float  # of the criterion, weight included


class TreeWork(NamedTuple):
    """Buffers of one thread."""

    weight: Any  # float64 (n_rows,): of rows in this tree
    rows: Any  # uint32 (n_rows,)
    spare: Any  # uint32 (n_rows,)
    order: Any  # int32 (n_features,): features in their order, but while a node draws
    swaps: Any  # int32 (n_features,): what drawing has exchanged
    drawn: Any  # int32 (n_features,): features to be looked at together
    constant: Any  # int32 (n_features,): features constant in the node, those of its parent first
    n_constant: Any  # int64 (1,)
    is_constant: Any  # uint8 (n_features,)
    totals: Any  # float64 (n_stats,): sums of a node
    left: Any  # float64 (n_stats,): sums of one side
    chunk: Any  # float64 (2 * CHUNK,): weights of gathered rows, or weight and weight times target
    chunk_label: Any  # int64 (CHUNK,)
    codes: Any  # uint8 (CHUNK,): bins of gathered rows
    next_row: Any  # int32 (CHUNK,): the next gathered row of the same bin, -1 for none
    bin_row: Any  # int32 (N_BINS,): the first gathered row of a bin
    histograms: Any  # float64 (n_slots * N_BINS * n_stats,): zero when not in use
    touched: Any  # uint64 (SET_WORDS,): bins of a small node; zero when not in use
    present: Any  # int64 (N_BINS,): bins that have rows, in order
    prefix: Any  # float64 (2 * N_BINS,): sums of the bins before a present one
    counts: Any  # int64 (N_BINS,): rows of the present bins, if anybody needs them
    ratio: Any  # float64 (N_BINS,): by which categories are ordered
    waiting: Any  # int32 (n_nodes,): nodes to be split
    sets: Any  # uint64 (n_nodes, SET_WORDS), or empty: bins that a split on a category sends left
    best_set: Any  # uint64 (SET_WORDS,)


# A node while the tree grows.
FOREST_NODE = np.dtype(
    [
        ("feature", np.int32),  # -1 where no split was found
        ("left", np.int32),  # -1 for a leaf; the right child is left + 1
        ("depth", np.int32),
        ("n_constant", np.int32),  # features known to be constant: the first of TreeWork.constant
        ("split_bin", np.uint8),
        ("missing_left", np.uint8),  # or WITH_MORE, until the rows are parted
        ("first", np.int64),
        ("last", np.int64),
        ("gain", np.float64),  # decrease of the criterion, weight included
        ("weight", np.float64),
        ("lower", np.float64),  # bounds of the value
        ("upper", np.float64),
    ],
    align=True,
)
