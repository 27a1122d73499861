"""What kernels that refit leaves are passed, and the program that they make up."""

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.select import CONSTANTS, Selection
from sumwise.cuda.runtime.structs import declare_records, make_header, structure
from sumwise.kernels.grow.layout import NODE_FIELDS

# Locations of groups of values, whose keys are selected from.
Locations = structure(
    "Locations",
    """
    double level;
    double delta;  // infinite for the quantile itself
    int64 kind;  // of the influence function
    uint64* total;  // [n_groups]: weights; zero at first, and so are the next two
    uint64* largest;
    uint64* step;  // sum of influences
    double* center;  // [n_groups]
""",
)

# Rows grouped by leaf.
Refit = structure(
    "Refit",
    """
    const uint32* rows;
    int64 n_rows;
    const uint32* leaf;  // of all rows of the table, and so are the next three
    const double* target;
    const int64* units;  // weights; null if all are one
    const double* scores;
    const int32* left;  // [n_nodes]
    const int32* given_anchor;
    int32* anchor;  // a node that has rows
    int32* parent;
    int32* depth;
    int64 n_nodes;
    uint64* place;  // [n_nodes], zero at first: rows of a leaf, then the place of the next one
    uint64* n_in_node;
    int64* first;
    int64* size;  // of groups that are located
    uint64* keys;  // [n_rows]
    int64* mass;
    const double* center;  // [n_nodes]
""",
)

LEAVES = Program(
    "leaves",
    ("leaves/location.cu", "leaves/refit.cu"),
    make_header(
        declare_records("Node", NODE_FIELDS), Selection, Locations, Refit, constants=CONSTANTS
    ),
)
