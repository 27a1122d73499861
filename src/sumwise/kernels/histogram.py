"""Sum a node's rows into histograms.

Gradients and hessians travel in the record as int16 g and uint16 h. A bin of a tile is one packed
word, ``(g << 38) + (h << 12) + 1`` added per row: 12 bits of count, 26 of hessian, 26 of gradient.
One add a value, and a tile of 16 lanes is 32 KB: it stays in the first-level cache.

Before a bin can have got more than 4,095 rows the words are spread into int64 sums. How many rows
a bin may have got is bounded by the rows added, and by the *crowds* of the blocks of rows they came
from (the most rows of a block that share a bin): on continuous features a million rows are added
between two spreads.
"""

import numpy as np

from sumwise.kernels.jit import inlined, routine
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


def _make_adder(width, scattered):
    """Compile the innermost loop for tiles of up to ``width`` lanes, all updates in line.

    Rows that are scattered are prefetched; the hardware does it where most follow each other.
    """
    n_words = np.uint64(1 if width <= 8 else 2)
    n_low, n_high = min(width, 8), max(width - 8, 0)

    @routine
    def add(tiles, records, first, last, words):
        end = np.uint64(records.size) - _ONE
        for i in range(np.uint64(first), np.uint64(last)):
            if scattered:
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


_add_8, _add_12, _add_14, _add_16 = (_make_adder(width, True) for width in (8, 12, 14, 16))
_add_dense_14, _add_dense_16 = _make_adder(14, False), _make_adder(16, False)


@routine
def _add_to_words(table, tile, records, first, last, words):
    """Add records [first, last) to the packed words of a tile."""
    tiles = table.tiles[table.tile_start[tile] :]
    width = table.tile_first[tile + 1] - table.tile_first[tile]
    if width > 12:
        # Dense rows of wide tiles are worth a loop of their own: the root is the largest node.
        span = np.int64(records[last - 1] >> _ROW) - np.int64(records[first] >> _ROW)
        if abs(span) < 2 * (last - first):
            if width > 14:
                _add_dense_16(tiles, records, first, last, words)
            else:
                _add_dense_14(tiles, records, first, last, words)
        elif width > 14:
            _add_16(tiles, records, first, last, words)
        else:
            _add_14(tiles, records, first, last, words)
    elif width > 8:
        _add_12(tiles, records, first, last, words)
    else:
        _add_8(tiles, records, first, last, words)


@inlined
def tile_features(table, tile):
    """The features of a tile."""
    first, last = table.tile_first[tile], table.tile_first[tile + 1]
    return table.lanes.members[table.lanes.first[first] : table.lanes.first[last]]


@routine
def _fold_lane(table, lane, sums, stat, fresh, histogram):
    """Add sums by combination of bins to those of each feature of a lane, or begin them if fresh.

    The last member has the largest stride: its bins are runs of equal length. Once its sums are
    taken the runs are added up, and the member before it is the last. So ``sums`` is used up.
    """
    lanes = table.lanes
    size = 1
    for m in range(lanes.first[lane], lanes.first[lane + 1]):
        size *= lanes.radix[lanes.members[m]]
    for m in range(lanes.first[lane + 1] - 1, lanes.first[lane] - 1, -1):
        f = lanes.members[m]
        radix = lanes.radix[f]
        size //= radix
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f] + stat * n_bins
        target = histogram[start : start + n_bins]
        if fresh:
            target[:] = 0
        for c in range(radix):
            run = sums[c * size : (c + 1) * size]
            total = np.int64(0)
            for i in range(size):
                total += run[i]
            target[lanes.low[f] + c] += total
            if c > 0:
                for i in range(size):
                    sums[i] += run[i]


@routine
def _clear_words(table, tile, words):
    """Clear a tile's words; padding is all zero bytes, and went to the first word of no lane."""
    n_lanes = table.tile_first[tile + 1] - table.tile_first[tile]
    words[: 256 * n_lanes] = 0
    for j in range(n_lanes, 16):
        words[256 * j] = 0


@routine
def _move_words(table, tile, words, histogram):
    """Move a tile's packed words to the histogram, still packed, and clear them."""
    lanes = table.lanes
    for lane in range(table.tile_first[tile], table.tile_first[tile + 1]):
        offset = 256 * (lane - table.tile_first[tile])
        if lanes.first[lane + 1] - lanes.first[lane] > 1:
            _fold_lane(table, lane, words[offset : offset + 256], 0, True, histogram)
        else:
            f = lanes.members[lanes.first[lane]]
            n_bins = table.n_value_bins[f] + 1
            start = 3 * table.bin_start[f]
            target, word = histogram[start : start + n_bins], words[offset : offset + n_bins]
            for b in range(n_bins):
                target[b] = word[b]
    _clear_words(table, tile, words)


@routine
def _spread_words(table, tile, fresh, words, histogram):
    """Add a tile's packed words to the int64 sums, or begin them if fresh, and clear the words."""
    lanes = table.lanes
    for lane in range(table.tile_first[tile], table.tile_first[tile + 1]):
        offset = 256 * (lane - table.tile_first[tile])
        if lanes.first[lane + 1] - lanes.first[lane] > 1:
            word = words[offset : offset + 256]
            for stat in range(3):
                sums = words[16 * 256 :]
                for b in range(256):
                    g, h, n = unpack_sums(word[b])
                    sums[b] = g if stat == 0 else (h if stat == 1 else n)
                _fold_lane(table, lane, sums, stat, fresh, histogram)
            continue
        f = lanes.members[lanes.first[lane]]
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f]
        gradient = histogram[start : start + n_bins]
        hessian = histogram[start + n_bins : start + 2 * n_bins]
        count = histogram[start + 2 * n_bins : start + 3 * n_bins]
        word = words[offset : offset + n_bins]
        if fresh:
            for b in range(n_bins):
                gradient[b], hessian[b], count[b] = unpack_sums(word[b])
        else:
            for b in range(n_bins):
                g, h, n = unpack_sums(word[b])
                gradient[b] += g
                hessian[b] += h
                count[b] += n
    _clear_words(table, tile, words)


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
    for f in tile_features(table, tile):
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
    for f in tile_features(table, tile):
        n_bins = table.n_value_bins[f] + 1
        bins = histogram[(n_classes + 1) * table.bin_start[f] :]
        column = table.columns[f]
        for i in range(records.size):
            b = np.int64(column[records[i] >> _ROW])
            class_idx = np.int64((records[i] >> np.uint64(16)) & _LOW_16)
            bins[b + class_idx * n_bins] += np.int64(records[i] & _LOW_16)
            bins[b + n_classes * n_bins] += 1


@routine
def clear_tile(table, tile, n_stats, histogram):
    """Set the histograms of a tile's features to zero."""
    for f in tile_features(table, tile):
        histogram[n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]] = 0
