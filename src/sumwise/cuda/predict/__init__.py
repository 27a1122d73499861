"""Prediction on a device: rows are coded to bytes, and walk through trees on these.

The codes are those of ``kernels.predict.coding``: ``codes[block][column][row]``, in blocks of 256
rows, whether the host or the device has made them. See scoring.cu for the trees.
"""

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header, structure
from sumwise.cuda.table import QUAD
from sumwise.kernels.predict.blocks import BLOCK

# Trees that a row walks through side by side.
TOGETHER = 4
# Most nodes of a tree: see scoring.cu.
MOST_NODES = 1 << 24

Coder = structure(
    "Coder",
    """
    const int32* quads;  // [n_quads][4]: first column, columns, steps (-1: sets), thresholds
    const int32* feature;  // [n_columns]
    const void* search;  // thresholds in the order of a search, of the type of the values
    const int32* set_place;  // [n_columns]: first word of the set's bits
    const int32* set_size;  // [n_columns]: categories that have a bit
    const uint32* set_bits;
    int64 n_columns;
""",
)

CodedTrees = structure(
    "CodedTrees",
    """
    const uint64* nodes;  // [n_nodes]: see scoring.cu
    const double* value;  // [n_nodes]
    const int32* leaf_node;  // [n_nodes]: the node's number in the model
    const int32* start;  // [n_trees + 1]
    const int32* depth;  // [n_trees]: most splits on a way
    const int32* output;  // [n_trees]: the output a tree adds to
    const int32* number;  // [n_trees]: of the tree in the model
    int64 n_columns;
""",
)

PREDICT = Program(
    "predict",
    ("predict/coding.cu", "predict/scoring.cu"),
    make_header(
        Coder,
        CodedTrees,
        constants={"BLOCK": BLOCK, "QUAD": QUAD, "TOGETHER": TOGETHER},
    ),
)
