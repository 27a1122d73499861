"""The binned table of a fit in the memory of a device."""

from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.structs import make_header

# Lanes of a tile, one byte each: a row of a tile is one sector of 32 bytes.
TILE_LANES = 32
# Bins of a byte.
N_BINS = 256

TABLE = Program(
    "table",
    ("table/tiles.cu", "table/screening.cu"),
    make_header(constants={"TILE_LANES": TILE_LANES, "N_BINS": N_BINS}),
)
