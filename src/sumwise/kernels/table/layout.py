"""The binned table as kernels see it.

Bins
    Bin 0 of a feature is "missing"; its values lie in bins 1 .. n_value_bins. A split after bin b
    sends bins 1 .. b left. Missing rows go left or right as the split says.
Tiles
    The binned table is kept twice: by column, one byte per value, for partition and prediction; and
    in tiles of up to 16 lanes, two 64-bit words per row (one word for up to 8), for histograms.
    Tiles are about equally wide, and if possible each thread has the same number of them.
Lanes
    A lane is one byte per row. Most hold the bins of one feature. Features with few bins share one,
    as long as at most 256 combinations of their bins occur. One update then serves them all, and
    their own sums are recovered exactly from those of the combinations, so sharing never changes a
    tree. All columns of a one-hot encoding share a byte.

Each feature has one kind of storage, and ``grow/storage`` has a module for each kind. The types of
all arrays are the same for every table, so that kernels are compiled once: what a table does not
have is there as empty arrays.

Dense
    One byte per row in a column of its own.
Categorical
    Bin 0 is "missing". Every category with enough rows to be chosen has a bin, in the order of the
    codes; all others share the last bin, the *rest* (see category_bins.py). A feature with up to
    255 such bins is *narrow*: it lies in columns, tiles and histograms as dense features do. One
    with more is *wide*: its bins are in a table of their own. Up to 4,096 bins, the owning thread
    sums its histograms separately from the tiles. With more it has no histogram, and
    ``n_value_bins`` is 0: sums are taken from the node's records, at a cost proportional to its
    rows.
Bundled
    A sparse feature has a default bin (that of zero, or missing with ``sparse_zeros="missing"``)
    and entries: rows with another bin. A column holds the codes of one or more features; see
    bundling.py. A feature that is alone has its bins as codes: its first code is 1 and its default
    bin 0. Features with few entries are in no column. Their entries are kept by feature, for
    partition, and by row, for histograms: they cost memory and time per entry, not per row.
Presorted
    Ranks in place of bins, for exact splits. Rank 0 is "missing"; the distinct values of the
    training rows have ranks 1, 2, ... A split after rank r is stored with the next rank of its
    node's rows: the threshold lies between the two values. A split of all values against the
    missing ones is after ``BEYOND``, which is also the ``n_value_bins`` of such a feature.
"""

from typing import Any, NamedTuple

import numpy as np

# The most rows that share a bin (``crowds``) are counted by blocks of 2**16 rows.
BLOCK_BITS = 16
DENSE, BUNDLED, CATEGORICAL, PRESORTED = range(4)
BEYOND = np.iinfo(np.uint32).max


class Lanes(NamedTuple):
    """Which features share a byte of a tile, and how.

    The code of a lane with one member is its bin. Otherwise codes number the combinations of bins
    that occur. Each member has a default bin, and entries for the codes that mean another bin.
    """

    first: Any  # int64 (n_lanes + 1,): first member of a lane
    members: Any  # int64 (n_features,): features, lane after lane
    n_codes: Any  # int64 (n_lanes,)
    default_bin: Any  # uint8 (n_features,): by member
    first_entry: Any  # int64 (n_features + 1,): by member
    entry_code: Any  # uint8 (n_entries,)
    entry_bin: Any  # uint8 (n_entries,)


class Categories(NamedTuple):
    """The categorical features of a table, and how their splits are chosen.

    All arrays but the first are indexed by the *place* of a feature among the categorical ones.
    """

    place: Any  # int64 (n_features,): -1 for any other feature
    wide_place: Any  # int64 (n_categorical,): row of ``wide``, -1 for a narrow feature
    wide: Any  # uint32 (n_wide, n_rows): bins of wide features
    n_bins: Any  # int64 (n_categorical,): with bin 0 and the rest
    n_choices: Any  # int64 (n_categorical,): bins that a set may have, all but the rest
    crowd: Any  # int64 (n_categorical,): most rows of a bin of a wide feature
    one_hot: Any  # uint8 (n_categorical,): sets have one bin
    code_start: Any  # int64 (n_categorical,): where the codes of its bins begin
    codes: Any  # int32: the category of each bin, -1 for bin 0 and the rest
    smoothing: float  # fewest rows of a bin; also added to its hessian
    l2: float  # additional penalty on values in the gains of sets of more than one bin
    max_categories: int  # most categories of a set
    min_rows: int  # fewest rows between two candidates, and on the other side


class Bundles(NamedTuple):
    """Where the bins of each sparse feature are."""

    coding: Any  # int64 (n_features, 4): column (-1 for none), first code, default bin, has missing
    start: Any  # int64 (n_features + 1,): where the entries of a feature begin
    rows: Any  # uint32 (n_entries,): ascending within a feature
    codes: Any  # uint8 (n_entries,): as in a column with this feature alone
    members: Any  # int64 (n_stored,): the features that have entries
    place: Any  # int64 (n_stored,): where the sums of a member begin
    row_start: Any  # uint32 (n_rows + 1,): where the entries of a row begin
    entries: Any  # uint32 (n_entries,): place + bin, row after row
    crowd: int  # most entries that share a bin


class Presorted(NamedTuple):
    """Ranks and order of the numeric features of a table for exact splits."""

    is_ranked: Any  # uint8 (n_features,): 0 for a categorical feature
    ranks: Any  # uint32 (n_features, n_rows): of training rows
    order: Any  # uint64 (n_features, n_train): rank << 32 | row, ascending
    values: Any  # float64 (n_features, n_rows): rows that a tree was not grown on go by value


def _empty(kind: Any, n_dimensions: int = 1) -> np.ndarray:
    return np.empty((0,) * n_dimensions, dtype=kind)


_INT = np.int64
_PLACES = (_empty(_INT), _empty(_INT), _empty(np.uint32, 2), *(_empty(_INT) for _ in range(3)))
_CODES = (_empty(np.uint8), _empty(_INT), _empty(np.int32))
NO_CATEGORIES = Categories(*_PLACES, *_CODES, 0.0, 0.0, 0, 0)
_ENTRIES = (_empty(_INT, 2), _empty(_INT), _empty(np.uint32), _empty(np.uint8))
_SUMS = (_empty(_INT), _empty(_INT), _empty(np.uint32), _empty(np.uint32))
NO_BUNDLES = Bundles(*_ENTRIES, *_SUMS, 0)
_RANKS = (_empty(np.uint8), _empty(np.uint32, 2), _empty(np.uint64, 2))
NOT_SORTED = Presorted(*_RANKS, _empty(np.float64, 2))


class Table(NamedTuple):
    """The binned table as kernels see it."""

    columns: Any  # uint8 (n_columns, n_rows): a column is a feature, or a bundle of them
    tiles: Any  # uint64, tile after tile, row after row
    tile_start: Any  # int64 (n_tiles,): first word of a tile
    tile_words: Any  # int64 (n_tiles,): 64-bit words per row, 1 or 2
    tile_first: Any  # int64 (n_tiles + 1,): first lane of a tile
    lanes: Lanes
    crowds: Any  # int64 (n_lanes, n_blocks): most rows of a block that share a code of a lane
    n_value_bins: Any  # int64 (n_features,)
    bin_start: Any  # int64 (n_features + 1,)
    storage: Any  # uint8 (n_features,): the kind of each feature
    categories: Categories
    bundles: Bundles
    presorted: Presorted
