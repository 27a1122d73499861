"""The binned table of a fit in the memory of a device, and what is made of values there."""

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header
from sumwise.kernels.table.binning import HASH_SIZE

# Lanes of a tile, one byte each: a row of a tile is one sector of 32 bytes.
LANES = 32
# Columns that a thread searches at a time: see search.cuh.
QUAD = 4
# Bins of a byte.
N_BINS = 256
# Threads of a block, and most blocks of both dimensions of a grid: enough to fill any device.
N_THREADS = 256
_MOST_BLOCKS = (1 << 12, 1 << 15)

TABLE = Program(
    "table",
    ("table/tiles.cu", "table/screening.cu"),
    make_header(constants={"LANES": LANES, "N_BINS": N_BINS}),
)

# Of values that are on a device.
BINNING = Program(
    "binning",
    ("table/binning.cu", "table/converting.cu"),
    make_header(
        constants={
            "HASH_SIZE": HASH_SIZE,
            "HASH_BITS": HASH_SIZE.bit_length() - 1,
            "QUAD": QUAD,
        }
    ),
)


def count_grid(n_items: int, n_features: int) -> tuple[int, int]:
    """Return the blocks of a pass over items, a thread for one or several, and over features."""
    wanted = (-(-n_items // N_THREADS), n_features)
    return max(1, min(wanted[0], _MOST_BLOCKS[0])), max(1, min(wanted[1], _MOST_BLOCKS[1]))
