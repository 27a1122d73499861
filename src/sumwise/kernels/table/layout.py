"""The binned table as kernels see it.

Bins
    Bin 0 of a feature is "missing"; its values lie in bins 1 .. n_value_bins. A split after bin b
    sends bins 1 .. b left. Missing rows go left or right as the split says.
Tiles
    The binned table is kept twice. By column, one byte a value, for partition and prediction; and
    in tiles of up to 16 lanes, two 64-bit words a row (one word for up to 8), for histograms.
    Tiles are about equally wide, and if possible as many for each thread.
Lanes
    A lane is one byte a row. Most hold the bins of one feature. Features with few bins share one,
    as long as at most 256 combinations of their bins occur: one update serves them all, and their
    own sums are taken from those of the combinations. All columns of a one-hot code share a byte.
"""

from typing import Any, NamedTuple

# Rows are told apart by blocks of 2**16 where it matters how many of them may share a bin.
BLOCK_BITS = 16


class Lanes(NamedTuple):
    """Which features share a byte of a tile, and how.

    The code of a lane with one member is its bin. Otherwise codes number the combinations of bins
    that occur. Each member has a usual bin, and entries for the codes that stand for another.
    """

    first: Any  # int64 (n_lanes + 1,): first member of a lane
    members: Any  # int64 (n_features,): features, lane after lane
    n_codes: Any  # int64 (n_lanes,)
    usual_bin: Any  # uint8 (n_features,): by member
    first_entry: Any  # int64 (n_features + 1,): by member
    entry_code: Any  # uint8 (n_entries,)
    entry_bin: Any  # uint8 (n_entries,)


class Table(NamedTuple):
    """The binned table as kernels see it."""

    columns: Any  # uint8 (n_features, n_rows); of sparse features see bundles.py
    tiles: Any  # uint64, tile after tile, row after row
    tile_start: Any  # int64 (n_tiles,): first word of a tile
    tile_words: Any  # int64 (n_tiles,): 64-bit words a row, 1 or 2
    tile_first: Any  # int64 (n_tiles + 1,): first lane of a tile
    lanes: Lanes
    crowds: Any  # int64 (n_lanes, n_blocks): most rows of a block that share a code of a lane
    n_value_bins: Any  # int64 (n_features,)
    bin_start: Any  # int64 (n_features + 1,)
    categories: Any  # NoCategories or Categories: see categories.py
    bundles: Any  # NoBundles or Bundles: see bundles.py
    presorted: Any  # NotSorted or Presorted: see presorted.py
