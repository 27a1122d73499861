"""Copy the columns into tiles of lanes; see ``layout``."""

import numpy as np

from sumwise.kernels.jit import kernel
from sumwise.kernels.layout import BLOCK_BITS
from sumwise.kernels.threads import share

_BYTE = np.uint64(255)
_BLOCK = 4096


@kernel
def fill_tiles(thread, n_threads, sync, columns, tiles, tile_start, tile_words, tile_first, lanes):
    """Write the lanes of each tile: eight a word, the first in the lowest byte.

    A feature's part of its lane's code is ``(bin - low) * stride``; the parts add up to less than
    256, so that nothing carries into the next lane.
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
                stride = 1
                for m in range(lanes.first[lane], lanes.first[lane + 1]):
                    f = lanes.members[m]
                    factor, low = np.uint64(stride) << shift, np.uint64(lanes.low[f])
                    column = columns[f, first:last]
                    for i in range(column.size):
                        own[n_words * i + word] += (np.uint64(column[i]) - low) * factor
                    stride *= lanes.radix[f]


@kernel
def count_crowds(
    thread, n_threads, sync, tiles, tile_start, tile_words, tile_first, counts, crowds
):
    """Write the most rows of each block of rows that share a code of a lane of a tile.

    ``counts`` is scratch of shape (n_threads, 256).
    """
    own = counts[thread]
    n_tiles, n_blocks = crowds.shape
    for i in range(thread, n_tiles * n_blocks, n_threads):
        tile, block = i // n_blocks, i % n_blocks
        n_words = tile_words[tile]
        end = tile_start[tile + 1] if tile + 1 < n_tiles else tiles.size
        n_rows = (end - tile_start[tile]) // n_words
        first = block << BLOCK_BITS
        last = min((block + 1) << BLOCK_BITS, n_rows)
        most = 0
        for position in range(tile_first[tile + 1] - tile_first[tile]):
            word, shift = position >> 3, np.uint64(8 * (position & 7))
            own[:] = 0
            for row in range(first, last):
                own[(tiles[tile_start[tile] + n_words * row + word] >> shift) & _BYTE] += 1
            for code in range(256):
                most = max(most, own[code])
        crowds[tile, block] = most
