"""Shapley values on a device: the walk of ``kernels.explain`` with one thread per row.

A thread keeps the state of the lowest levels of a tree in registers, that of the levels above in
memory; see walk.cuh. It takes all sums in the order of the CPU, so they have the same bits.
"""

import numpy as np

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header, structure
from sumwise.kernels.explain.walks import CLOSE, GO_LEFT
from sumwise.kernels.predict.blocks import BLOCK

# Threads of a block; a block of codes has a multiple of them. The sums of its rows lie in columns,
# with a column more so that rows, too, are read from banks of their own.
THREADS = 64
SUM_PITCH = THREADS + 1
# Blocks that shall share a processor: they limit the registers of a thread to 128, or 256.
BLOCKS_PER_PROCESSOR, BLOCKS_WITH_PAIRS = 8, 4
# Levels of subtrees that are walked in registers, and points of integration of one walk: a tree
# with more points is walked several times. More of either takes more registers.
LOW_LEVELS, MOST_POINTS = 4, 4
# The rows that passed are bits of a word.
MOST_LEVELS = 64
NO_LEVEL = 255
# Words of operations: 8 * split + operation, and a bit if a subtree in registers is entered.
# START enters a root; the others are those of the CPU.
START, ENTERS_LOW, WORD_SHIFT = 0, 4, 3

# What an operation needs to know of a split, read at once:
# test    bound, skip and column, of 8, 1 and 23 bits
# left, right   number of the split, or ~number of the leaf; in a record, places to read from
# levels  its own, and that of the last split above on the feature, a byte each
SKIP_SHIFT, COLUMN_SHIFT, LEVEL_BITS = 8, 9, 8
SPLIT = np.dtype([(name, np.int32) for name in ("test", "left", "right", "levels")])
_SPLIT = "struct alignas(16) Split { uint32 test; int32 left; int32 right; uint32 levels; };"
# What a walk reads of a split: factors follow, see tables.cu.
_RECORD = """struct alignas(16) Record {
    Split split;
    double changes[3];  // of a feature's value, by how a row stands to the split
    int32 sum;  // place of the feature's
    int32 number;  // of the split in its tree
};
static_assert(sizeof(Record) == 8 * RECORD_ITEMS);"""
RECORD_ITEMS = 6

Walks = structure(
    "Walks",
    """
    const Split* splits;  // [n_splits], each tree in depth-first order
    const int32* slot;  // [n_splits]: the feature among those of all trees, or of a tabulated tree
    const int32* tree;  // [n_splits]
    const double* share;  // [n_splits]
    const double* kept;  // [n_splits]
    const double* value;  // [n_leaves][n_columns]
    const int64* first_split;  // [n_trees + 1]
    const int64* n_points;  // [n_trees]
    const int64* first_record;  // [n_trees]: where the records of a tree begin, in doubles
    const int32* words;  // operations on the trees
    const int64* first_word;  // [n_trees + 1]
    const double* point;  // [n_rules][n_most_points]
    const double* weight;  // [n_rules][n_most_points]
    double* records;  // of the splits: a Record, then 4 * n_points factors
    int64 n_splits;
    int64 n_trees;
    int64 n_columns;
    int64 n_groups;  // of trees, which take turns; each has an output
    int64 n_most_points;
""",
)

Outcomes = structure(
    "Outcomes",
    """
    const int64* n_tests;  // [n_trees]: 0 for trees with many tests
    const int64* first_test;  // [n_trees + 1]
    const int32* column;  // [all tests]
    const uint8* skip;
    const uint8* bound;
    const int64* first_slot;  // [n_trees + 1]
    const int32* slot;  // features of each tree
    const int64* first_value;  // [n_trees + 1]
    double* values;  // [features of the tree][outcomes] of each tree
""",
)

# A pair of features, for a split on one and the last split above on the other.
PAIR = np.dtype([(name, np.int32) for name in ("number", "level", "rates", "unused")])
_PAIR = """struct alignas(16) Pair {
    int32 number;
    int32 level;  // of the split above
    int32 rates;  // of rows that pass there, among those of the tree
    int32 unused;
};"""

Pairs = structure(
    "Pairs",
    """
    const int32* start;  // [n_splits + 1]: where those of a split begin
    const Pair* pairs;
    const int32* first;  // [n_pairs]: slots of the features of a pair
    const int32* second;
    const int64* first_rate;  // [n_trees]
    double* rates;  // see interactions.cu
    int64 n_pairs;
""",
)

Scratch = structure(
    "Scratch",
    """
    double* high;  // [2 * levels in memory * MOST_POINTS][all threads]: products, and sums below
    double* totals;  // [most splits of a tree][all threads], for trees with many points
    double* sums;  // [n_slots][threads of a block] of each block; null if shared memory has them
    double* pairs;  // [n_pairs][all threads]
    double* pair_totals;  // [most pairs of a tree's splits][all threads], for trees as of totals
""",
)

_HEADER = make_header(
    _SPLIT,
    _RECORD,
    _PAIR,
    Walks,
    Outcomes,
    Pairs,
    Scratch,
    constants={
        "BLOCK": BLOCK,
        "THREADS": THREADS,
        "SUM_PITCH": SUM_PITCH,
        "BLOCKS_PER_PROCESSOR": BLOCKS_PER_PROCESSOR,
        "BLOCKS_WITH_PAIRS": BLOCKS_WITH_PAIRS,
        "RECORD_ITEMS": RECORD_ITEMS,
        "SKIP_SHIFT": SKIP_SHIFT,
        "COLUMN_SHIFT": COLUMN_SHIFT,
        "LEVEL_BITS": LEVEL_BITS,
        "LOW_LEVELS": LOW_LEVELS,
        "MOST_POINTS": MOST_POINTS,
        "NO_LEVEL": NO_LEVEL,
        "START": START,
        "GO_LEFT": int(GO_LEFT),
        "CLOSE": int(CLOSE),
        "ENTERS_LOW": ENTERS_LOW,
        "WORD_SHIFT": WORD_SHIFT,
    },
)
# Apart: most users need the first alone, and wait for the compiler.
EXPLAIN = Program("explain", ("explain/tables.cu", "explain/values.cu"), _HEADER)
INTERACTIONS = Program("interactions", ("explain/tables.cu", "explain/interactions.cu"), _HEADER)
