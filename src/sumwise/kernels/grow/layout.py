"""The arrays that trees are grown with, as named tuples, and the numeric contract in one place.

Histograms
    A histogram is an integer sum per (feature, bin, statistic); the statistics are gradient,
    hessian and row count. Feature f owns ``3 * (n_value_bins[f] + 1)`` integers from
    ``3 * bin_start[f]`` on: the gradients of all bins, then the hessians, then the counts. Integer
    addition is associative: no result depends on the number of threads. Small nodes need only the
    first third, one packed word per bin; see packed.py.
Records
    A row on its way through a tree is one 64-bit word: the row number in the upper half, its
    gradient and hessian as small integers in the lower half. Partition moves records, so that a
    node's records are contiguous and in order.
Rounds
    All threads do the work of a *round* together: nodes are split side by side, and what is to be
    done for them is cut into tasks, which threads take in turn. See plan.py.
Verbs
    What the storage of a feature decides is done by *verbs*, which have the same names in every
    module of ``storage``. A :class:`Job` has their addresses; see verbs.py.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.table.layout import Table

# The packed histogram word is (g << 38) + (h << 12) + count; see histogram.py.
GRADIENT_LIMIT = 8191
HESSIAN_LIMIT = 16383
PACKED_ROWS = 4095
# Below this many rows histograms sum the exact values, which costs little there.
EXACT_ROWS = 256
# Heavy tails: beyond this ratio of maximum to mean, packed values keep fewer than three bits of the
# average row. Rare classes come to a few hundred, late in training.
HEAVY_TAIL = 2048.0
# The square of a sum of as many gradients as there may be rows must not overflow.
LARGEST_GRADIENT = 1e140
# A gain must exceed this fraction of the parent's score, or it is rounding noise.
NOISE = 1e-12

LEAF_WISE, LEVEL_WISE, SYMMETRIC = 0, 1, 2

# Statistics of a bin: gradient, hessian, row count.
N_STATS, COUNT = 3, 2

# What the first thread tells the others through the ``control`` array.
STATUS, NODE, SMALL, MODE, N_NODES, N_LEAVES, N_HEAP, N_FREE, LEVEL_FIRST, LEVEL_SIZE = range(10)
N_NURSERY, NEXT_NODE, LEVEL_FEATURE = 10, 11, 12
CONTROL_LENGTH = 13
# control[STATUS]
GROWING, DONE, ABORTED, OUT_OF_RANGE = 0, 1, 2, 3
# control[MODE]: how the children of a split get their histograms
NO_HISTOGRAMS, SUBTRACT, BUILD_BOTH = 0, 1, 2
# Rows of ``allowed``: features with more than one bin, then those of the tree, of a level, and of
# each child that is scored in a round.
USABLE, TREE, LEVEL, CHILD = (np.int64(row) for row in range(4))
# Items of ``allowed`` that are not zero; of a child's, whether the best split is known.
YET_TO_SCORE, SCORED = 1, 2


class Gradients(NamedTuple):
    """What the grower knows of the rows, and how it regularizes."""

    gradient: Any  # float64 (n_rows,)
    hessian: Any  # float64 (n_rows,)
    exact_gradient: Any  # int64 (n_rows,): filled where histograms sum exact values
    exact_hessian: Any  # int64 (n_rows,)
    ranges: Any  # float64 (n_threads, 8): maxima found by each thread
    sums: Any  # int64 (n_threads, 8)
    units: Any  # float64 (4,): worth of 1 in histograms (g, h) and in exact values (g, h)
    exact_rows: int  # histograms sum exact values up to this many rows
    l1: float
    l2: float
    max_delta_step: float
    min_child_weight: float
    learning_rate: float
    path_smooth: float
    values: Any  # float64 (n_nodes,): of nodes while the tree grows, if paths are smoothed


class Constraints(NamedTuple):
    """What trees must obey, and buffers that live as long as a fit; empty without constraints."""

    direction: Any  # int64 (n_features,): 1 values ascend with the feature, -1 descend, 0 any
    any_direction: bool
    max_path_features: int  # different features above a leaf; 0: the groups decide
    group_first: Any  # int64 (n_groups + 1,): first member of a group
    group_members: Any  # int64: features, group after group
    on_path: Any  # uint8 (n_features,): scratch
    parent: Any  # int32 (n_nodes,); -1 for the root
    lower: Any  # float64 (n_nodes,): bounds of values, before the learning rate;
    upper: Any  # infinite for the root, and in symmetric growth for all nodes
    chains: Any  # int64 CHAINS_SHAPE: see isotonic.py
    pools: Any  # float64 POOLS_SHAPE
    scratch: Any  # float64 (1 + most chains, n_leaves)


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


class CategoryWork(NamedTuple):
    """Buffers for choosing sets of categories and splitting by them."""

    sums: Any  # int64 (n_threads, 3 * n_bins): g, h, rows by bin, zero when not in use
    words: Any  # int64 (n_threads, n_bins): packed sums, zero when not in use
    touched: Any  # int64 (n_threads, n_bins + 1): bins whose words are not zero
    present: Any  # int64 (n_threads, n_bins): bins that have rows
    order: Any  # int64 (n_threads, 2, n_bins): bins by ratio; scratch
    ratio: Any  # float64 (n_threads, 2, n_bins)
    prefix: Any  # int64 (n_threads, 3, n_bins + 1): sums of the first bins of the order
    candidates: Any  # int64 (n_threads, 3, n_candidates): first of the order, length, rows
    gains: Any  # float64 (n_threads, n_candidates)
    member: Any  # uint8 (n_threads, n_bins): bins of a set, zero when not in use
    left_sums: Any  # int64 (n_scored, n_categorical, 3): sums of the best sets of the children
    sets: Any  # int32 (n_scored, n_categorical, n_set): and their bins, without bin 0
    node_size: Any  # int32 (n_nodes,): bins of a node's set, without bin 0
    node_set: Any  # int32 (n_nodes, n_set)


class BundleWork(NamedTuple):
    """Buffers for entries of sparse features."""

    column: Any  # uint8 (n_rows,): codes of one feature, zero when not in use
    sums: Any  # int64 (n_items, 3 * n_bins + 3): by bin, zero when not in use; of all rows


class PresortedWork(NamedTuple):
    """Lists of rows by rank, and what is known of splits beside their sums.

    Each ranked feature lists the rows of the tree by rank. The rows of a node are neighbors there,
    where its records are, in the lists of all features; a split partitions them in order.
    """

    lists: Any  # uint64 (2, n_features, n_rows + 1): entries as in ``order``; by depth, as records
    in_tree: Any  # uint8 (rows of the table,): rows of the tree, where these are not all
    goes_left: Any  # uint8 (rows of the table,): the side that a row's node sent it to
    upper: Any  # uint32 (n_nodes,): the rank above a node's split, 0 where not known
    left_sums: Any  # int64 (n_scored, n_features, 3): what the best split of a feature sends left
    rank_at: Any  # int64 (n_threads, 256): ranks of candidates
    level_gains: Any  # float64 (n_threads, 2, n_rows): gains of a level by rank, if symmetric


class Plan(NamedTuple):
    """What is done in a round, and who does what; see plan.py."""

    rules: Any  # int64 (N_RULES,): what never changes
    sizes: Any  # int64 (N_SIZES,): how much there is to do
    families: Any  # int64 (most families, FAMILY_LENGTH): nodes that are split, and their children
    moves: Any  # int64 (most moves, MOVE_LENGTH): parts of nodes whose records are to be moved
    items: Any  # int64 (most items, ITEM_LENGTH): parts of nodes that are to be summed
    units: Any  # int64 (n_units, UNIT_LENGTH): groups of features that are summed together
    features: Any  # int64: usable features, unit after unit
    counters: Any  # int64: tasks that have been taken or done, a cache line apart
    guess: Any  # int64 (CONTROL_LENGTH,): the control of the heap of guesses
    guess_heap: Any  # int32 (most nodes,)
    free_pairs: Any  # int32 (n_pairs,): free places of siblings in the nursery; see nursery.py


class Workspace(NamedTuple):
    """Buffers that live as long as a fit."""

    control: Any  # int64 (CONTROL_LENGTH,)
    records: Any  # uint64 (2, n_rows); a node of depth d has its records in row d & 1
    leaf: Any  # uint32 (rows of the table,): the leaf a row ends in
    first: Any  # int64 (n_nodes,): a node's records are [first, last)
    last: Any  # int64 (n_nodes,)
    totals: Any  # int64 (n_nodes, N_STATS): a node's sums as histograms have them
    left_totals: Any  # int64 (n_nodes, N_STATS): the part that its split sends left
    sums: Any  # int64 (n_threads, n_nodes, N_STATS): exact sums, merged into the first
    value: Any  # float64 (n_nodes, n_outputs); without the nursery, as ``sums``
    heap: Any  # int32 (max_leaves + 1,)
    histograms: Any  # int64 (n_slots + n_scratch, N_STATS * n_bins); the last ones are scratch
    free_slots: Any  # int32 (n_slots,)
    partial: Any  # int64 (n_partial, N_STATS * n_bins): sums of a part of a node's rows
    packed: Any  # int64 (n_threads, WORDS_LENGTH): see histogram.py; words are zero when not in use
    prefix: Any  # int64 (n_threads, N_STATS, 256)
    gains: Any  # float64 (n_threads, 4, 256)
    allowed: Any  # uint8 (CHILD + n_scored, n_features)
    candidates: Any  # CANDIDATE (n_scored, n_features): the best splits of the children
    plan: Plan
    categories: CategoryWork
    bundles: BundleWork
    presorted: PresortedWork


class Job(NamedTuple):
    """All that a thread needs to know while it grows a tree."""

    thread: int
    n_threads: int
    sync: Any  # int64: see threads.py
    table: Table
    payload: Gradients
    constraints: Constraints
    options: GrowthOptions
    work: Workspace
    nodes: Any  # NODE_FIELDS (n_nodes,)
    exact: bool  # histograms sum exact values
    pack: bool  # histograms of nodes with at most PACKED_ROWS rows stay packed
    key: Any  # uint64: the tree's random stream
    storages: Any  # int64: the kinds of storage that the table has, in the order they work in
    verbs: Any  # int64 (N_STORAGES + 1, N_VERBS): addresses, 0 for nothing to do; see verbs.py


# A node while the tree grows; its split is tentative until it has children.
NODE_FIELDS = np.dtype(
    [
        ("feature", np.int32),  # -1 where no split was found
        ("left", np.int32),  # -1 for a leaf; the right child is left + 1
        ("depth", np.int32),
        ("anchor", np.int32),  # the node whose rows decide this node's value
        ("slot", np.int32),  # place of the histogram in the pool, -1 for none
        ("split_bin", np.uint32),  # a bin, or a rank: see table/layout.py
        ("missing_left", np.uint8),
        ("splittable", np.uint8),  # rows and depth allow a split
        ("packed", np.uint8),  # the histogram has one packed word per bin
        ("gain", np.float64),
        ("weight", np.float64),  # sum of hessians
    ],
    align=True,
)
CANDIDATE = np.dtype(
    [("gain", np.float64), ("split_bin", np.int64), ("missing_left", np.uint8)], align=True
)
