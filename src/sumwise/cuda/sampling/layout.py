"""The program that draws rows."""

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header

# Rows whose places one block finds.
TILE_ROWS = 4096

SAMPLING = Program(
    "sampling", ("sampling/rows.cu",), make_header(constants={"TILE_ROWS": TILE_ROWS})
)
