"""Copy the columns into tiles of lanes; see layout.py."""

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.layout import BLOCK_BITS

_BYTE = np.uint64(255)
_BLOCK = 4096


@kernel
def mark_pairs(thread, n_threads, sync, codes, column, seen):
    """Mark which pairs of a code and a bin occur, in ``seen`` (n_threads, n_codes, 256)."""
    first, last = share(codes.size, thread, n_threads)
    own, codes, column = seen[thread], codes[first:last], column[first:last]
    for i in range(codes.size):
        own[codes[i], column[i]] = 1


@kernel
def number_pairs(thread, n_threads, sync, codes, column, number):
    """Replace codes by the number of their pair with the bin."""
    first, last = share(codes.size, thread, n_threads)
    codes, column = codes[first:last], column[first:last]
    for i in range(codes.size):
        codes[i] = number[codes[i], column[i]]


@kernel
def fill_tiles(
    thread, n_threads, sync, columns, shared, source, tiles, tile_start, tile_words, tile_first
):
    """Write the codes of the lanes, eight per word, the first in the lowest byte.

    Lane i is ``columns[source[i]]``, or ``shared[-1 - source[i]]`` if ``source[i]`` is negative.
    """
    begin, end = share(columns.shape[1], thread, n_threads)
    for tile in range(tile_start.size):
        n_words = tile_words[tile]
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            own = tiles[tile_start[tile] + n_words * first : tile_start[tile] + n_words * last]
            own[:] = 0
            for lane in range(tile_first[tile], tile_first[tile + 1]):
                position = lane - tile_first[tile]
                word, shift = position >> 3, np.uint64(8 * (position & 7))
                place = source[lane]
                codes = columns[place, first:last] if place >= 0 else shared[-1 - place, first:last]
                for i in range(codes.size):
                    own[n_words * i + word] |= np.uint64(codes[i]) << shift


@kernel
def count_crowds(
    thread, n_threads, sync, tiles, tile_start, tile_words, tile_first, counts, crowds
):
    """Write the most rows of each block of rows that share a code of a lane.

    ``counts`` is scratch of shape (n_threads, 256).
    """
    own = counts[thread]
    n_tiles, n_blocks = tile_start.size, crowds.shape[1]
    for i in range(thread, n_tiles * n_blocks, n_threads):
        tile, block = i // n_blocks, i % n_blocks
        n_words = tile_words[tile]
        end = tile_start[tile + 1] if tile + 1 < n_tiles else tiles.size
        n_rows = (end - tile_start[tile]) // n_words
        first = block << BLOCK_BITS
        last = min((block + 1) << BLOCK_BITS, n_rows)
        for position in range(tile_first[tile + 1] - tile_first[tile]):
            word, shift = position >> 3, np.uint64(8 * (position & 7))
            own[:] = 0
            for row in range(first, last):
                own[(tiles[tile_start[tile] + n_words * row + word] >> shift) & _BYTE] += 1
            most = 0
            for code in range(256):
                most = max(most, own[code])
            crowds[tile_first[tile] + position, block] = most


@kernel
def interleave_columns(thread, n_threads, sync, columns, out):
    """Write the table by row: ``out[row * n_features + feature]``."""
    n_features, n_rows = columns.shape
    begin, end = share(n_rows, thread, n_threads)
    # By blocks whose rows stay in the cache until all columns are written.
    for block in range(begin, end, 512):
        for f in range(n_features):
            column = columns[f]
            for row in range(block, min(block + 512, end)):
                out[np.uint64(row) * np.uint64(n_features) + np.uint64(f)] = column[row]
