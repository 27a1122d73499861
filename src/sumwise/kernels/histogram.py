"""Sum a node's rows into histograms.

Gradients and hessians travel in the record as int16 g and uint16 h. A bin of a tile is one packed
word, ``(g << 38) + (h << 12) + 1`` added per row: 12 bits of count, 26 of hessian, 26 of gradient.
4,095 rows fit; then the words are spread into int64 sums. One add a value, and a tile of 16
features is 32 KB: it stays in the first-level cache.
"""

import numpy as np

from sumwise.kernels.jit import routine
from sumwise.kernels.layout import PACKED_ROWS
from sumwise.kernels.threads import prefetch

_BYTE = np.uint64(255)
_LOW_16 = np.uint64(0xFFFF)
_ROW = np.uint64(32)
_AHEAD = 16


@routine
def pack_record(row, gradient, hessian):
    """Put a row number, an int16 and an uint16 into one word."""
    low = ((np.uint64(gradient) & _LOW_16) << np.uint64(16)) | (np.uint64(hessian) & _LOW_16)
    return (np.uint64(row) << _ROW) | low


@routine
def _packed_word(record):
    gradient = np.int64(np.int16((record >> np.uint64(16)) & _LOW_16))
    hessian = np.int64(record & _LOW_16)
    return (gradient << 38) + (hessian << 12) + 1


@routine
def _add_packed_16(tiles, records, words):
    n = np.uint64(records.size)
    for i in range(n):
        ahead = min(i + np.uint64(_AHEAD), n - np.uint64(1))
        prefetch(tiles, (records[ahead] >> _ROW) * np.uint64(2))
        record = records[i]
        word = _packed_word(record)
        place = (record >> _ROW) * np.uint64(2)
        low, high = tiles[place], tiles[place + np.uint64(1)]
        for j in range(8):
            shift = np.uint64(8 * j)
            words[np.uint64(256 * j) + ((low >> shift) & _BYTE)] += word
            words[np.uint64(256 * (j + 8)) + ((high >> shift) & _BYTE)] += word


@routine
def _add_packed_8(tiles, records, words):
    n = np.uint64(records.size)
    for i in range(n):
        ahead = min(i + np.uint64(_AHEAD), n - np.uint64(1))
        prefetch(tiles, records[ahead] >> _ROW)
        record = records[i]
        word = _packed_word(record)
        low = tiles[record >> _ROW]
        for j in range(8):
            words[np.uint64(256 * j) + ((low >> np.uint64(8 * j)) & _BYTE)] += word


@routine
def _spread_packed(table, tile, words, histogram):
    """Add a tile's packed words to the int64 sums and clear them."""
    for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f]
        gradient = histogram[start : start + n_bins]
        hessian = histogram[start + n_bins : start + 2 * n_bins]
        count = histogram[start + 2 * n_bins : start + 3 * n_bins]
        offset = 256 * (f - table.tile_first[tile])
        word = words[offset : offset + n_bins]
        for b in range(n_bins):
            gradient[b] += word[b] >> 38
            hessian[b] += (word[b] >> 12) & 0x3FFFFFF
            count[b] += word[b] & 0xFFF
            word[b] = 0
    # Padding of the last tile is all zero bytes: it went to bin 0 of features that do not exist.
    n_features = table.tile_first[tile + 1] - table.tile_first[tile]
    for j in range(n_features, 8 * table.tile_words[tile]):
        words[256 * j] = 0


@routine
def add_packed_rows(table, tile, records, words, histogram):
    """Add the rows of ``records`` to the histograms of a tile's features.

    ``words`` is all zero before and after.
    """
    tiles = table.tiles[table.tile_start[tile] :]
    for first in range(0, records.size, PACKED_ROWS):
        part = records[first : first + PACKED_ROWS]
        if table.tile_words[tile] == 2:
            _add_packed_16(tiles, part, words)
        else:
            _add_packed_8(tiles, part, words)
        _spread_packed(table, tile, words, histogram)


@routine
def add_exact_rows(table, tile, records, gradients, hessians, histogram):
    """The same with exact values, gathered by row number: three adds a value."""
    for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f]
        sum_g = histogram[start : start + n_bins]
        sum_h = histogram[start + n_bins : start + 2 * n_bins]
        count = histogram[start + 2 * n_bins : start + 3 * n_bins]
        column = table.columns[f]
        for i in range(records.size):
            row = records[i] >> _ROW
            b = np.uint64(column[row])
            sum_g[b] += gradients[row]
            sum_h[b] += hessians[row]
            count[b] += 1


@routine
def add_class_rows(table, tile, records, n_classes, histogram):
    """Add rows whose record holds a class and a weight: one sum a class, and the row count."""
    n_words = table.tile_words[tile]
    first_feature = table.tile_first[tile]
    n_features = table.tile_first[tile + 1] - first_feature
    for i in range(records.size):
        row = np.int64(records[i] >> _ROW)
        class_idx = np.int64((records[i] >> np.uint64(16)) & _LOW_16)
        weight = np.int64(records[i] & _LOW_16)
        word = np.uint64(0)
        for j in range(n_features):
            if j & 7 == 0:
                word = table.tiles[table.tile_start[tile] + n_words * row + (j >> 3)]
            n_bins = table.n_value_bins[first_feature + j] + 1
            start = (n_classes + 1) * table.bin_start[first_feature + j]
            place = start + np.int64(word & _BYTE)
            word >>= np.uint64(8)
            histogram[place + class_idx * n_bins] += weight
            histogram[place + n_classes * n_bins] += 1


@routine
def clear_tile(table, tile, n_stats, histogram):
    """Set the histograms of a tile's features to zero."""
    first = n_stats * table.bin_start[table.tile_first[tile]]
    last = n_stats * table.bin_start[table.tile_first[tile + 1]]
    histogram[first:last] = 0
