"""What CUDA kernels know of a tree that grows: the structures they share with Python.

Work of a tree, as a fixed sequence of kernels that needs no answer from the host::

    begin_tree       one block    state, root, drawn features
    find_maxima      all blocks   largest |g|, h                                -> exchange
    quantize_rows    all blocks   records; sums of integers                     -> exchange
    plan_root        one block    units, exact or not; the root is family 0
    build_histograms all blocks   sum the root                                  -> histograms
    then, as often as the tree may be split:
      score_nodes       all blocks   the other child by subtraction; best split of every feature
      choose_splits     one block    the nodes' splits; the next families; their children
      partition_rows    all blocks   records to the children; clear the histograms to be built
      build_histograms  all blocks   sum one child of each family               -> histograms
    sum_leaves       all blocks   the leaf of each row; exact sums by leaf      -> exchange
    set_values       one block    values of all nodes
    add_leaf_values  all blocks   scores of the rows

A leaf-wise step scores few nodes: there ``score_and_choose`` does the work of ``score_nodes`` and
``choose_splits``. In symmetric growth ``score_level`` and ``choose_level_split`` take their places.
After the tree is complete (``state.n_families == 0``) the kernels of further steps return at once.
A leaf-wise step splits one node, and others that will probably follow (see guess.cuh); level-wise
and symmetric steps split a whole level.

Families
    A family is a node that is split, and its two children; the root alone is one, too, with parent
    -1. ``choose_splits`` lists those whose children may be split: ``state.n_families`` of them. The
    children of any other node are leaves for certain: its records stay where they are, and they
    have first = last = 0. The root's histogram has slot 0. In any other family the larger child
    takes its parent's slot, and the smaller one a slot that was never used in the tree: there are
    as many as a tree may have families.
Records
    ``row << 32 | g << 16 | h`` as in ``kernels/grow/histogram.py``. Those of a node of depth d are
    ``records[d & 1][first .. last)``, in any order. A block of ``partition_rows`` reserves places
    by one atomic addition a side: left ones from the front, right ones from the back, so nobody
    needs to know how many there will be. The block that finishes last writes ``first`` and ``last``
    of the children, and ``build_first``.
Dividing rows
    The rows of all families count as one sequence, which blocks divide evenly: ``move_first[k]``
    and ``build_first[k]`` are the places of family k in it (n_families + 1 items). A block works on
    [b * total / n_blocks, (b + 1) * total / n_blocks), cut where a family ends.
Histograms
    int64 sums of tile t at ``tile_start[t]``: ``[statistic][bin][lane]``, statistic 0 to 2 for g, h
    and rows, ``tile_bins[t]`` bins, 32 lanes. A node has a slot: ``histograms + slot *
    histogram_length``. On several devices the sums of family k are built in ``exchange +
    exchange_built + k * histogram_length`` and added up by ``score_nodes``; on one device they are
    built in the slot itself. What is built is cleared before: for the root by ``quantize_rows``,
    otherwise by ``partition_rows``.
Candidates
    The best split of each lane for each child that is scored: ``candidates[2 * family + child]
    [lane]``; in symmetric growth for the whole level, in row 0. Lanes ascend as their features do.
Exact values
    If ``state.exact``, histograms sum exact values of up to 50 bits, computed again from gradient
    and hessian. A sum is two 32-bit words in shared memory then, and the lower one's carry is added
    to the upper one.
Leaves
    When the tree is complete, rows walk through it in their own order: the records of a leaf would
    be scattered over the table. A node's split is one word for that, see split_test.cuh.
Sets of categories
    A set is 256 bits, one per bin of a feature: those that go left, bin 0 for missing included. The
    ``split_bin`` of a node that splits by a set is SET. ``score_nodes`` scores all lanes as if
    their bins were ordered. For tables with categorical features ``score_sets`` follows, which
    replaces the candidates of their lanes; so does ``score_level_sets`` in symmetric growth.
    Kernels that ask which side a row goes to exist twice, the second time, with the suffix
    ``_by_set``, for such tables.
Results
    ``state``, ``nodes``, ``value``, ``sums`` and, for tables with categorical features,
    ``node_sets`` are one piece of memory, which the host copies after each tree; see
    tree/cuda_grower.py.
Several devices
    Each has a part of the rows, and all decide alike. What is summed over devices lies in
    ``exchange``; readers add up the blocks of all ``peers`` (which include the own one).
"""

from sumwise.cuda.runtime.structs import declare_records, make_header, structure
from sumwise.cuda.table import LANES
from sumwise.kernels.grow import layout
from sumwise.kernels.runtime import random

# Words of an exchange block: maxima of |g|, h and |h| as bits of floats; sums of |g| and h in exact
# values, of packed g and h, and of exact g; then three sums per node, from LEAF_SUMS on.
MAXIMA, SUMS, LEAF_SUMS = 0, 8, 16
SIZE_G, SUM_H, PACKED_G, PACKED_H, SUM_G = range(5)
# The bin of a split by a set of categories, and 32-bit words of a set.
SET, SET_WORDS = 256, 8


# What is asked for one tree; written by the host before it.
Request = structure(
    "Request",
    """
    uint64 key;
    const double* gradient;
    const double* hessian;
    const uint32* rows;  // ascending; null for first_row, first_row + 1, ...
    int64 first_row;
    int64 n_rows;  // on this device
    int64 all_rows;  // on all devices
    double* scores;  // the values of the leaves are added to these; null for none
    double learning_rate;
""",
)


# What one block tells the others.
State = structure(
    "State",
    """
    int64 status;  // GROWING, DONE, OUT_OF_RANGE as on the CPU
    int64 exact;
    int64 even_h;  // the packed hessian of all rows, if they have the same; else 0
    int64 n_nodes;
    int64 n_leaves;
    int64 n_families;  // of the step; 0 when the tree is complete
    int64 n_slots;  // slots of histograms taken so far
    int64 level_first;  // level-wise and symmetric: the nodes of the last level
    int64 level_size;
    int64 n_scored;  // blocks that have scored: the last one chooses splits, leaf-wise
    int64 n_done;  // blocks that have finished: the last one does more
    double unit_g;  // worth of 1 in histograms
    double unit_h;
    double exact_unit_g;  // and in exact values
    double exact_unit_h;
    double scale_g;
    double scale_h;
    double exact_scale_g;
    double exact_scale_h;
""",
)


# All that kernels need to know; the same for all trees of a fit.
Job = structure(
    "Job",
    """
    const Request* request;
    State* state;
    // The table: see data/device_table.py.
    const uint8* columns;  // [n_features][n_table_rows]
    const uint8* tiles;  // [n_tiles][n_table_rows][LANES]
    const int32* lane_feature;  // [n_tiles * LANES], -1 for none
    const int32* feature_lane;  // [n_features], -1 for a feature that cannot be used
    const int64* n_value_bins;  // [n_features]
    const int64* tile_bins;  // [n_tiles]
    const int64* tile_start;  // [n_tiles]
    int64 n_table_rows;
    int64 n_features;
    int64 n_tiles;
    int64 n_lanes;  // lanes in use: the first ones
    // What the policy allows.
    int64 growth;
    int64 max_leaves;
    int64 max_depth;
    int64 min_samples_leaf;
    double min_gain;
    double columns_by_level;
    double columns_by_node;
    const double* column_weights;  // [n_features] or null
    double* column_times;  // scratch of draws by weight, in the shape of `allowed`
    int64 random_splits;
    double l1;
    double l2;
    double max_delta_step;
    double min_child_weight;
    double path_smooth;
    int64 exact_rows;
    // Constraints; null without any.
    const int64* direction;  // [n_features]
    int64 any_direction;
    int64 max_path_features;
    int64 n_groups;
    const int64* group_first;
    const int64* group_members;
    // Categorical features, by their place among them; see data/device_categories.py.
    int64 n_categorical;
    const int32* category_place;  // [n_features], -1 for any other feature
    const int64* n_choices;  // bins that a set may have
    const uint8* one_hot;  // whether sets have one bin
    const int32* set_lanes;  // their lanes, of those that have one
    double smoothing;
    double set_l2;
    int64 max_categories;
    int64 set_min_rows;
    uint32* candidate_sets;  // [2 * most families][n_categorical][SET_WORDS]
    uint32* node_sets;  // [n_nodes][SET_WORDS]
    int64 has_parents;  // whether the next three are there
    int32* parent;  // [n_nodes]
    double* lower;
    double* upper;
    // Buffers.
    Node* nodes;
    uint64* records;  // [2][most rows of a tree on this device]
    int64 records_length;
    int64* first;  // [n_nodes]: a node's records are [first, last)
    int64* last;
    int64* totals;  // [n_nodes][3]: over all devices
    int64* left_totals;  // [n_nodes][3]
    int64* sums;  // [n_nodes][3]: exact sums over all devices
    double* value;  // [n_nodes]: of the finished tree
    double* values;  // [n_nodes]: while it grows, if paths are smoothed
    int64* histograms;
    int64 histogram_length;
    int64 n_slots;
    uint8* allowed;  // [CHILD + 2 * most families][n_features]; row TREE is written by the host
    uint8* on_path;  // scratch of interaction constraints, [2 * most families][n_features]
    Candidate* candidates;  // [2 * most families][n_tiles * LANES]
    Family* families;  // [most families]
    int64 most_families;
    double* waiting_gain;  // [max_leaves]: scratch of nodes that are queued
    int32* waiting;  // [2][max_leaves]
    int64 most_guesses;  // nodes that may be split before their turn; see guess.cuh
    int64 guess_rows;  // most rows of one
    Node* ordered;  // [n_nodes]: scratch
    double* ordered_bounds;  // [n_nodes][2]
    uint32* ordered_sets;  // [n_nodes][SET_WORDS]; null without categorical features
    int64* move_first;  // [most families + 1]
    int64* build_first;
    uint64* cursors;  // [most families][2]: records moved to the left and to the right
    uint32* leaf;  // [n_table_rows]
    int64* exchange;
    int64* const* peers;
    int64 n_peers;
    int64 exchange_built;  // where histograms begin in an exchange block; used if n_peers > 1
""",
)


_CANDIDATE = """struct Candidate {
    double gain;
    int32 split_bin;
    int32 feature;
    int64 left[3];
    int64 n_missing;
    int64 missing_left;
};"""
_FAMILY = """struct Family {
    int32 parent;  // -1 for the root
    int32 left;    // the children are left and left + 1; of the root, itself
    int32 small;   // the child that is summed
    int32 mode;    // SUBTRACT, ROOT, or NO_HISTOGRAMS: records are moved, nothing is summed
    // What scoring needs to know of the children, so that it need not look at the nodes.
    int32 small_slot;
    int32 large_slot;
    int32 splittable;  // 1: the left one, 2: the right one
    int32 depth;       // of the children
    int64 totals[2][3];
};"""
ROOT = 3
_SHARED = (
    "GRADIENT_LIMIT HESSIAN_LIMIT HEAVY_TAIL LARGEST_GRADIENT NOISE LEVEL_WISE SYMMETRIC GROWING "
    "DONE OUT_OF_RANGE NO_HISTOGRAMS SUBTRACT TREE LEVEL CHILD"
)
_PURPOSES = "COLUMNS_BY_LEVEL COLUMNS_BY_NODE RANDOM_SPLITS"
_OWN = "MAXIMA SUMS LEAF_SUMS SIZE_G SUM_H PACKED_G PACKED_H SUM_G ROOT SET SET_WORDS"


def make_grow_header() -> str:
    """Return the header ``layout.cuh`` of the program ``grow``."""
    constants = {name: getattr(layout, name) for name in _SHARED.split()}
    constants |= {name: getattr(random, name) for name in _PURPOSES.split()}
    constants |= {name: globals()[name] for name in _OWN.split()} | {"LANES": LANES}
    constants = {n: v if isinstance(v, float) else int(v) for n, v in constants.items()}
    node = declare_records("Node", layout.NODE_FIELDS)
    parts = (node, _CANDIDATE, _FAMILY, Request, State, Job)
    return make_header(*parts, constants=constants)
