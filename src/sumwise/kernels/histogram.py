"""Sum a node's rows into histograms.

Gradients and hessians travel in the record as int16 g and uint16 h. A bin of a tile is one packed
word, ``(g << 38) + (h << 12) + 1`` added per row: 12 bits of count, 26 of hessian, 26 of gradient.
One add a value, and a tile of 16 features is 32 KB: it stays in the first-level cache.

Before a bin can have got more than 4,095 rows the words are spread into int64 sums. How many rows
a bin may have got is bounded by the rows added, and by the *crowds* of the blocks of rows they came
from (the most rows of a block that share a bin): on continuous features a million rows are added
between two spreads.
"""

import numpy as np

from sumwise.kernels.jit import routine
from sumwise.kernels.layout import BLOCK_BITS, PACKED_ROWS
from sumwise.kernels.packed import pack_sums, unpack_sums
from sumwise.kernels.threads import prefetch_far, prefetch_near

_BYTE = np.uint64(255)
_LOW_16 = np.uint64(0xFFFF)
_ROW = np.uint64(32)
_ONE = np.uint64(1)
# A row's bins are fetched from memory into the second-level cache this many records ahead, and from
# there into the first: more misses can be under way in the second.
_FAR, _NEAR = np.uint64(96), np.uint64(12)
# Records between two looks at how full the words may be.
_CHUNK = 2048


@routine
def pack_record(row, gradient, hessian):
    """Put a row number, an int16 and an uint16 into one word."""
    low = ((np.uint64(gradient) & _LOW_16) << np.uint64(16)) | (np.uint64(hessian) & _LOW_16)
    return (np.uint64(row) << _ROW) | low


@routine
def _packed_word(record):
    gradient = np.int64(np.int16((record >> np.uint64(16)) & _LOW_16))
    hessian = np.int64(record & _LOW_16)
    return pack_sums(gradient, hessian, 1)


def _make_adder(width):
    """Compile the innermost loop for tiles of up to ``width`` features, all updates in line."""
    n_words = np.uint64(1 if width <= 8 else 2)
    n_low, n_high = min(width, 8), max(width - 8, 0)

    @routine
    def add(tiles, records, first, last, words):
        end = np.uint64(records.size) - _ONE
        for i in range(np.uint64(first), np.uint64(last)):
            prefetch_far(tiles, (records[min(i + _FAR, end)] >> _ROW) * n_words)
            prefetch_near(tiles, (records[min(i + _NEAR, end)] >> _ROW) * n_words)
            record = records[i]
            word = _packed_word(record)
            place = (record >> _ROW) * n_words
            low = tiles[place]
            for j in range(n_low):
                words[np.uint64(256 * j) + ((low >> np.uint64(8 * j)) & _BYTE)] += word
            if n_high > 0:
                high = tiles[place + _ONE]
                for j in range(n_high):
                    words[np.uint64(256 * (j + 8)) + ((high >> np.uint64(8 * j)) & _BYTE)] += word

    return add


_add_4, _add_8, _add_10 = _make_adder(4), _make_adder(8), _make_adder(10)
_add_12, _add_14, _add_16 = _make_adder(12), _make_adder(14), _make_adder(16)


@routine
def _add_to_words(table, tile, records, first, last, words):
    """Add records [first, last) to the packed words of a tile."""
    tiles = table.tiles[table.tile_start[tile] :]
    width = table.tile_first[tile + 1] - table.tile_first[tile]
    if width > 14:
        _add_16(tiles, records, first, last, words)
    elif width > 12:
        _add_14(tiles, records, first, last, words)
    elif width > 10:
        _add_12(tiles, records, first, last, words)
    elif width > 8:
        _add_10(tiles, records, first, last, words)
    elif width > 4:
        _add_8(tiles, records, first, last, words)
    else:
        _add_4(tiles, records, first, last, words)


@routine
def _clear_padding(table, tile, words):
    """Padding of a tile is all zero bytes: it went to bin 0 of features that do not exist."""
    n_features = table.tile_first[tile + 1] - table.tile_first[tile]
    for j in range(n_features, 16):
        words[256 * j] = 0


@routine
def _move_words(table, tile, words, histogram):
    """Move a tile's packed words to the histogram as they are."""
    for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f]
        target = histogram[start : start + n_bins]
        offset = 256 * (f - table.tile_first[tile])
        word = words[offset : offset + n_bins]
        for b in range(n_bins):
            target[b] = word[b]
            word[b] = 0
    _clear_padding(table, tile, words)


@routine
def _spread_words(table, tile, fresh, words, histogram):
    """Add a tile's packed words to the int64 sums, or begin them if fresh, and clear the words."""
    for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f]
        gradient = histogram[start : start + n_bins]
        hessian = histogram[start + n_bins : start + 2 * n_bins]
        count = histogram[start + 2 * n_bins : start + 3 * n_bins]
        offset = 256 * (f - table.tile_first[tile])
        word = words[offset : offset + n_bins]
        if fresh:
            for b in range(n_bins):
                gradient[b], hessian[b], count[b] = unpack_sums(word[b])
                word[b] = 0
        else:
            for b in range(n_bins):
                g, h, n = unpack_sums(word[b])
                gradient[b] += g
                hessian[b] += h
                count[b] += n
                word[b] = 0
    _clear_padding(table, tile, words)


@routine
def add_packed_rows(table, tile, records, state, words, histogram):
    """Add the rows of ``records`` to the histograms of a tile's features.

    ``state`` is (rows that a bin of the words may have, whether the sums are still to be begun);
    the new state is returned. Afterwards :func:`finish_packed_rows` completes the sums. The
    records of a node and thread ascend or descend by row, so that blocks of rows come in turn.
    """
    before, fresh = state
    n_added, crowd, block = 0, 0, -1
    crowds = table.crowds[tile]
    for first in range(0, records.size, _CHUNK):
        last = min(first + _CHUNK, records.size)
        begin = np.int64(records[first] >> _ROW) >> BLOCK_BITS
        end = np.int64(records[last - 1] >> _ROW) >> BLOCK_BITS
        new_crowd = 0
        for b in range(min(begin, end), max(begin, end) + 1):
            new_crowd += crowds[b]
        seen = np.int64(crowds[begin]) if begin == block else 0
        block = end
        if before + min(n_added + last - first, crowd + new_crowd - seen) > PACKED_ROWS:
            _spread_words(table, tile, fresh, words, histogram)
            before, fresh = 0, False
            n_added, crowd, seen = 0, 0, 0
        n_added += last - first
        crowd += new_crowd - seen
        _add_to_words(table, tile, records, first, last, words)
    return before + min(n_added, crowd), fresh


@routine
def finish_packed_rows(table, tile, state, keep_packed, words, histogram):
    """Complete the sums of a tile, or leave them packed; ``words`` is all zero then, as before."""
    if keep_packed:
        _move_words(table, tile, words, histogram)
    else:
        _spread_words(table, tile, state[1], words, histogram)


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
