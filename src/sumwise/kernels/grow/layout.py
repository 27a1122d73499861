"""The arrays that kernels share, as named tuples, and the numeric contract in one place.

Histograms
    A histogram is an integer sum per (feature, bin, statistic). Feature f owns
    ``n_stats * (n_value_bins[f] + 1)`` integers from ``n_stats * bin_start[f]`` on: all bins of the
    first statistic, then all of the second, and so on. The last statistic is always the row count.
    Integer addition is associative: no result depends on the number of threads.
    Small nodes of boosting need only the first third: one packed word a bin; see packed.py.
Records
    A row on its way through a tree is one 64-bit word: the row number in the upper half, what the
    payload needs to know of it in the lower half. Partition moves records, so that a node's
    records are contiguous and in order.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.table.layout import Table

# The packed histogram word is (g << 38) + (h << 12) + count; see histogram.py.
GRADIENT_LIMIT = 8191
HESSIAN_LIMIT = 16383
PACKED_ROWS = 4095
# Exact values have 62 - ceil(log2(n)) bits, so that n of them cannot overflow an int64; and at
# most 50, so that rounding by adding and subtracting 1.5 * 2**52 is right.
EXACT_BITS = 50
# Below this many rows histograms sum the exact values, which costs little there.
EXACT_ROWS = 256
# Heavy tails: beyond this ratio of maximum to mean, packed values keep fewer than three bits of the
# average row. Rare classes come to a few hundred, late in training.
HEAVY_TAIL = 2048.0
# The square of a sum of as many gradients as there may be rows must not overflow.
LARGEST_GRADIENT = 1e140
# A gain must exceed this fraction of the parent's score, or it is rounding noise.
NOISE = 1e-12

# Numba compiles a routine anew for every literal it is called with; NumPy scalars are none.
ZERO, NONE, YES, NO = np.int64(0), np.int64(-1), np.bool_(True), np.bool_(False)

LEAF_WISE, LEVEL_WISE, SYMMETRIC = 0, 1, 2

# What the first thread tells the others through the ``control`` array.
STATUS, NODE, SMALL, MODE, N_NODES, N_LEAVES, N_HEAP, N_FREE, LEVEL_FIRST, LEVEL_SIZE = range(10)
CONTROL_LENGTH = 10
# control[STATUS]
GROWING, DONE, ABORTED, OUT_OF_RANGE = 0, 1, 2, 3
# control[MODE]: how the children of a split get their histograms
NO_HISTOGRAMS, SUBTRACT, BUILD_BOTH = 0, 1, 2
# Rows of ``allowed``: features with more than one bin, then those of the tree, of a level, and of
# the first and second child.
USABLE, TREE, LEVEL, CHILD = (np.int64(row) for row in range(4))
# Items of ``allowed`` that are not zero; of a child's, whether the best split is known.
YET_TO_SCORE, SCORED = 1, 2


class GrowthOptions(NamedTuple):
    """What the policy allows."""

    growth: int
    max_leaves: int
    max_depth: int
    min_samples_leaf: int
    min_gain: float
    columns_by_tree: float
    columns_by_level: float
    columns_by_node: float
    column_weights: Any  # float64 (n_features,): how likely features are drawn; empty if equally
    column_times: Any  # float64 (n_features,): scratch of draws by weight
    random_splits: bool  # a node looks at one random split of each feature


class Workspace(NamedTuple):
    """Buffers that live as long as a fit."""

    control: Any  # int64 (CONTROL_LENGTH,)
    records: Any  # uint64 (2, n_rows); a node of depth d has its records in row d & 1
    leaf: Any  # uint16 or uint32 (rows of the table,): the leaf a row ends in
    first: Any  # int64 (n_threads, n_nodes): a node's records are [first, last) of each thread
    last: Any  # int64 (n_threads, n_nodes)
    totals: Any  # int64 (n_nodes, n_stats): a node's sums as histograms have them
    left_totals: Any  # int64 (n_nodes, n_stats): the part that its split sends left
    sums: Any  # int64 (n_threads, n_nodes, n_stats): exact sums, merged into the first
    value: Any  # float64 (n_nodes, n_outputs)
    heap: Any  # int32 (max_leaves + 1,)
    histograms: Any  # int64 (n_slots + 2, n_stats * n_bins); the last two are scratch
    free_slots: Any  # int32 (n_slots,)
    partial: Any  # int64 (2 * n_threads, n_stats * n_bins): shared tiles before the merge
    packed: Any  # int64 (n_threads, WORDS_LENGTH): see histogram.py; words are zero when not in use
    prefix: Any  # int64 (n_threads, n_stats, 256)
    gains: Any  # float64 (n_threads, 4, 256)
    allowed: Any  # uint8 (5, n_features)
    candidates: Any  # CANDIDATE (2, n_features): the best split of each feature in each child
    tile_owner: Any  # int64 (n_tiles,): the thread that sums a tile, -1 if all share its rows
    n_shared: Any  # int64 (1,): number of shared tiles; entries of rows are one more
    feature_owner: Any  # int64 (n_features,): the thread that scores a feature
    categories: Any  # NoCategories or CategoryWork: see categories.py
    bundles: Any  # NoBundles or BundleWork: see bundles.py
    presorted: Any  # NotSorted or PresortedWork: see presorted.py


class Job(NamedTuple):
    """All that a thread needs to know while it grows a tree."""

    thread: int
    n_threads: int
    sync: Any  # int64: see threads.py
    table: Table
    payload: Any  # see gradients.py
    constraints: Any  # see constraints.py
    options: GrowthOptions
    work: Workspace
    nodes: Any  # NODE_FIELDS (n_nodes,)
    n_stats: int
    exact: bool  # histograms sum exact values
    pack: bool  # histograms of nodes with at most PACKED_ROWS rows stay packed
    key: Any  # uint64: the tree's random stream


# A node while the tree grows; its split is tentative until it has children.
NODE_FIELDS = np.dtype(
    [
        ("feature", np.int32),  # -1 where no split was found
        ("left", np.int32),  # -1 for a leaf; the right child is left + 1
        ("depth", np.int32),
        ("anchor", np.int32),  # the node whose rows decide this node's value
        ("slot", np.int32),  # place of the histogram in the pool, -1 for none
        ("split_bin", np.uint32),  # a bin, or a rank: see presorted.py
        ("missing_left", np.uint8),
        ("splittable", np.uint8),  # rows and depth allow a split
        ("packed", np.uint8),  # the histogram has one packed word a bin
        ("gain", np.float64),
        ("weight", np.float64),  # sum of hessians
    ],
    align=True,
)
CANDIDATE = np.dtype(
    [("gain", np.float64), ("split_bin", np.int64), ("missing_left", np.uint8)], align=True
)
