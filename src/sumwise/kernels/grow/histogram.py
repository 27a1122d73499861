"""Sum a node's rows into histograms.

Gradients and hessians travel in the record as int16 g and uint16 h. A bin of a tile is one packed
word, ``(g << 38) + (h << 12) + 1`` added per row: 12 bits of count, 26 of hessian, 26 of gradient.
That is one addition per value, and the words of a tile of 16 lanes take 32 KB: they stay in the
first-level cache.

Before a word can hold more than 4,095 rows, the words of its lane are spread into int64 sums. The
rows of a word are bounded by the rows added, and by the *crowds* of the blocks of rows they came
from (the most rows of a block that share a code). On continuous features, a million rows are added
between two spreads.
"""

import numpy as np

from sumwise.kernels.grow.lanes import fold_lane
from sumwise.kernels.grow.layout import PACKED_ROWS
from sumwise.kernels.grow.packed import pack_sums, unpack_sums
from sumwise.kernels.runtime.jit import NO, NONE, YES, ZERO, inlined, rename, routine
from sumwise.kernels.runtime.threads import prefetch_far, prefetch_near
from sumwise.kernels.table.layout import BLOCK_BITS

_BYTE = np.uint64(255)
_LOW_16 = np.uint64(0xFFFF)
_ROW = np.uint64(32)
_ONE, _STEP = np.uint64(1), np.uint64(256)
# A row's bins are fetched from memory into the second-level cache this many records ahead, and from
# there into the first: more misses can be under way in the second.
_FAR, _NEAR = np.uint64(96), np.uint64(12)
# Records between two looks at how full the words may be; two chunks fit.
_CHUNK = PACKED_ROWS // 2
# A thread's words: those of 16 lanes, sums of shared lanes, and four counters per lane.
_SUMS, _SUMS_LENGTH = 16 * 256, 3 * 256
_BEFORE, _ADDED, _CROWD, _BEGUN = (_SUMS + 16 * (_SUMS_LENGTH + step) for step in range(4))
WORDS_LENGTH = _BEGUN + 16


@routine
def pack_record(row, gradient, hessian):
    """Put a row number, an int16 and an uint16 into one word."""
    low = ((np.uint64(gradient) & _LOW_16) << np.uint64(16)) | (np.uint64(hessian) & _LOW_16)
    return (np.uint64(row) << _ROW) | low


@routine
def unpack_record(record):
    """Return the gradient and hessian of a record."""
    gradient = np.int64(np.int16((record >> np.uint64(16)) & _LOW_16))
    return gradient, np.int64(record & _LOW_16)


@routine
def _packed_word(record):
    gradient, hessian = unpack_record(record)
    return pack_sums(gradient, hessian, 1)


def _make_adder(width, scattered):
    """Compile the innermost loop for tiles of up to ``width`` lanes, all updates in line.

    Rows that are scattered are prefetched; the hardware does it where most follow each other.
    """
    n_words = np.uint64(1 if width <= 8 else 2)
    n_low, n_high = min(width, 8), max(width - 8, 0)

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

    return routine(rename(add, f"add_{'scattered' if scattered else 'dense'}_{width}"))


_add_6, _add_8, _add_14, _add_16 = (_make_adder(width, True) for width in (6, 8, 14, 16))
_add_dense_6, _add_dense_8 = _make_adder(6, False), _make_adder(8, False)
_add_dense_14, _add_dense_16 = _make_adder(14, False), _make_adder(16, False)


@routine
def _add_to_words(table, tile, records, first, last, words):
    """Add records [first, last) to the packed words of a tile."""
    tiles = table.tiles[table.tile_start[tile] :]
    width = table.tile_first[tile + 1] - table.tile_first[tile]
    # Dense rows are worth a loop of their own: the root is the largest node.
    span = np.int64(records[last - 1] >> _ROW) - np.int64(records[first] >> _ROW)
    dense = abs(span) < 2 * (last - first)
    if width > 14:
        if dense:
            _add_dense_16(tiles, records, first, last, words)
        else:
            _add_16(tiles, records, first, last, words)
    elif width > 8:
        if dense:
            _add_dense_14(tiles, records, first, last, words)
        else:
            _add_14(tiles, records, first, last, words)
    elif width > 6:
        if dense:
            _add_dense_8(tiles, records, first, last, words)
        else:
            _add_8(tiles, records, first, last, words)
    elif dense:
        _add_dense_6(tiles, records, first, last, words)
    else:
        _add_6(tiles, records, first, last, words)


@inlined
def tile_features(table, tile):
    """The features of a tile."""
    first, last = table.tile_first[tile], table.tile_first[tile + 1]
    return table.lanes.members[table.lanes.first[first] : table.lanes.first[last]]


@routine
def _clear_padding(table, tile, words):
    """Clear what lanes that are not there have got: their codes are all zero."""
    for j in range(table.tile_first[tile + 1] - table.tile_first[tile], 16):
        words[256 * j] = 0


@routine
def _move_words(table, tile, words, histogram):
    """Move a tile's packed words to the histogram, still packed, and clear them."""
    lanes = table.lanes
    for lane in range(table.tile_first[tile], table.tile_first[tile + 1]):
        offset = 256 * (lane - table.tile_first[tile])
        n_codes = lanes.n_codes[lane]
        word = words[offset : offset + n_codes]
        if lanes.first[lane + 1] - lanes.first[lane] > 1:
            fold_lane(table, lane, word, ZERO, YES, histogram)
        else:
            start = 3 * table.bin_start[lanes.members[lanes.first[lane]]]
            target = histogram[start : start + n_codes]
            for code in range(n_codes):
                target[code] = word[code]
        word[:] = 0
    _clear_padding(table, tile, words)


@routine
def _spread_lane(table, lane, word, fresh, sums, histogram):
    """Add a lane's packed words to the int64 sums, or begin them if fresh, and clear the words.

    Of a lane that features share, the sums are by code at first, and folded in the end.
    """
    lanes = table.lanes
    n_codes = lanes.n_codes[lane]
    if lanes.first[lane + 1] - lanes.first[lane] > 1:
        for code in range(n_codes):
            g, h, n = unpack_sums(word[code])
            sums[code] += g
            sums[code + 256] += h
            sums[code + 512] += n
    else:
        start = 3 * table.bin_start[lanes.members[lanes.first[lane]]]
        gradient = histogram[start : start + n_codes]
        hessian = histogram[start + n_codes : start + 2 * n_codes]
        count = histogram[start + 2 * n_codes : start + 3 * n_codes]
        if fresh:
            for b in range(n_codes):
                gradient[b], hessian[b], count[b] = unpack_sums(word[b])
        else:
            for b in range(n_codes):
                g, h, n = unpack_sums(word[b])
                gradient[b] += g
                hessian[b] += h
                count[b] += n
    word[:] = 0


@routine
def _make_room(table, tile, begin, end, block, n_new, words, histogram):
    """Spread the words of lanes that ``n_new`` rows of blocks [begin, end] might make too full.

    The first of the blocks has been counted before if it is ``block``.
    """
    before, added = words[_BEFORE : _BEFORE + 16], words[_ADDED : _ADDED + 16]
    crowd, begun = words[_CROWD : _CROWD + 16], words[_BEGUN : _BEGUN + 16]
    first = table.tile_first[tile]
    for j in range(table.tile_first[tile + 1] - first):
        crowds = table.crowds[first + j]
        new_crowd = 0
        for b in range(min(begin, end), max(begin, end) + 1):
            new_crowd += crowds[b]
        seen = np.int64(crowds[begin]) if begin == block else 0
        if before[j] + min(added[j] + n_new, crowd[j] + new_crowd - seen) > PACKED_ROWS:
            word, place = words[256 * j : 256 * j + 256], _SUMS + _SUMS_LENGTH * j
            sums = words[place : place + _SUMS_LENGTH]
            _spread_lane(table, first + j, word, begun[j] == 0, sums, histogram)
            before[j], added[j], crowd[j], begun[j], seen = 0, 0, 0, 1, 0
        added[j] += n_new
        crowd[j] += new_crowd - seen


@routine
def _add_packed_rows(table, tile, records, state, words, histogram):
    """Add rows to packed words, and spread those that might become too full."""
    before, fresh = state
    if fresh:
        words[_BEFORE:] = 0
    if before + records.size <= PACKED_ROWS:  # a small node, or a small beginning
        if records.size > 0:
            _add_to_words(table, tile, records, ZERO, records.size, words)
        for j in range(16):
            words[_BEFORE + j] += records.size
        return before + records.size, False
    block = NONE
    for first in range(0, records.size, _CHUNK):
        last = min(first + _CHUNK, records.size)
        begin = np.int64(records[first] >> _ROW) >> BLOCK_BITS
        end = np.int64(records[last - 1] >> _ROW) >> BLOCK_BITS
        _make_room(table, tile, begin, end, block, last - first, words, histogram)
        block = end
        _add_to_words(table, tile, records, first, last, words)
    for j in range(16):
        words[_BEFORE + j] += min(words[_ADDED + j], words[_CROWD + j])
        words[_ADDED + j] = words[_CROWD + j] = 0
    return before + records.size, False


@routine
def _finish_packed_rows(table, tile, keep_packed, words, histogram):
    """Complete the sums of a tile, or leave them packed; its words are all zero then, as before."""
    if keep_packed:
        _move_words(table, tile, words, histogram)
        return
    first = table.tile_first[tile]
    for j in range(table.tile_first[tile + 1] - first):
        word, place = words[256 * j : 256 * j + 256], _SUMS + _SUMS_LENGTH * j
        sums = words[place : place + _SUMS_LENGTH]
        _spread_lane(table, first + j, word, words[_BEGUN + j] == 0, sums, histogram)
        if table.lanes.first[first + j + 1] - table.lanes.first[first + j] > 1:
            for stat in range(3):
                by_code = sums[256 * stat : 256 * stat + 256]
                fold_lane(table, first + j, by_code, stat, YES, histogram)
                by_code[:] = 0
    _clear_padding(table, tile, words)


@routine
def _add_exact_rows(table, tile, records, gradients, hessians, words, histogram):
    """Add exact values, gathered by row number, to the histograms of a tile's features.

    ``words`` is scratch, all zero.
    """
    n_words = np.uint64(table.tile_words[tile])
    tiles, lanes = table.tiles[table.tile_start[tile] :], table.lanes
    for lane in range(table.tile_first[tile], table.tile_first[tile + 1]):
        position = lane - table.tile_first[tile]
        word, shift = np.uint64(position >> 3), np.uint64(8 * (position & 7))
        for i in range(records.size):
            row = records[i] >> _ROW
            code = (tiles[row * n_words + word] >> shift) & _BYTE
            words[code] += gradients[row]
            words[code + _STEP] += hessians[row]
            words[code + _STEP + _STEP] += 1
        f = lanes.members[lanes.first[lane]]
        for stat in range(3):
            sums = words[256 * stat : 256 * stat + 256]
            if lanes.first[lane + 1] - lanes.first[lane] > 1:
                fold_lane(table, lane, sums, stat, NO, histogram)
            else:
                n_bins = table.n_value_bins[f] + 1
                start = 3 * table.bin_start[f] + stat * n_bins
                for b in range(n_bins):
                    histogram[start + b] += sums[b]
            sums[:] = 0


@routine
def _clear_tile(table, tile, histogram):
    """Set the histograms of a tile's features to zero."""
    for f in tile_features(table, tile):
        histogram[3 * table.bin_start[f] : 3 * table.bin_start[f + 1]] = 0


@routine
def add_rows(payload, exact, table, tile, records, state, words, histogram):
    """Add the rows of ``records`` to the histograms of a tile's features.

    ``state`` is (rows that a word may have, whether these are the first rows); the new state is
    returned. Afterwards :func:`finish_rows` completes the sums. The records of a node and thread
    ascend or descend by row, so that blocks of rows come in turn.
    """
    if exact:
        if state[1]:
            _clear_tile(table, tile, histogram)
        gradients, hessians = payload.exact_gradient, payload.exact_hessian
        _add_exact_rows(table, tile, records, gradients, hessians, words, histogram)
        return 0, False
    return _add_packed_rows(table, tile, records, state, words, histogram)


@routine
def finish_rows(exact, table, tile, packed, words, histogram):
    """Complete the histograms of a tile after all rows were added."""
    if not exact:
        _finish_packed_rows(table, tile, packed, words, histogram)
