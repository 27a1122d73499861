"""Copy the lanes of the features that a tree has drawn into tiles of their own.

Lanes are copied from the columns, eight at a time, or from the tiles if features share a byte. A
feature left alone in its lane becomes a plain lane of bins. Entries by row are filtered. Features
keep their numbers, so the model has the same bytes.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

_BYTE = np.uint64(255)
_WORD = 8
# Rows at a time: their bytes in eight columns, and the words made of these, stay in the cache.
BLOCK = 4096


@routine
def _join_columns(columns, source, blank, first, last, n_words, words):
    """Make words of up to eight columns, the first in the lowest byte; ``blank`` is zero."""
    none = blank[: last - first]
    n = source.size
    c0 = columns[source[0], first:last]
    c1 = columns[source[1], first:last] if n > 1 else none
    c2 = columns[source[2], first:last] if n > 2 else none
    c3 = columns[source[3], first:last] if n > 3 else none
    c4 = columns[source[4], first:last] if n > 4 else none
    c5 = columns[source[5], first:last] if n > 5 else none
    c6 = columns[source[6], first:last] if n > 6 else none
    c7 = columns[source[7], first:last] if n > 7 else none
    step = np.uint64(n_words)
    for i in range(np.uint64(none.size)):
        low = np.uint64(c0[i]) | np.uint64(c1[i]) << np.uint64(8)
        low |= np.uint64(c2[i]) << np.uint64(16) | np.uint64(c3[i]) << np.uint64(24)
        high = np.uint64(c4[i]) << np.uint64(32) | np.uint64(c5[i]) << np.uint64(40)
        high |= np.uint64(c6[i]) << np.uint64(48) | np.uint64(c7[i]) << np.uint64(56)
        words[i * step] = low | high


@routine
def _add_column(column, shift, n_words, words):
    step = np.uint64(n_words)
    for i in range(np.uint64(column.size)):
        words[i * step] |= np.uint64(column[i]) << shift


@routine
def _add_lane(tiles, old_step, old_shift, meaning, first, last, shift, n_words, words):
    """Add the new codes of a lane of other tiles."""
    step, old_step = np.uint64(n_words), np.uint64(old_step)
    begin = np.uint64(first) * old_step
    for i in range(np.uint64(last - first)):
        code = (tiles[begin + i * old_step] >> old_shift) & _BYTE
        words[i * step] |= np.uint64(meaning[code]) << shift


@kernel
def gather_lanes(
    thread,
    n_threads,
    sync,
    columns,
    old_tiles,
    source,
    old_place,
    meaning,
    blank,
    begin,
    end,
    tiles,
    tile_start,
    tile_words,
    tile_first,
):
    """Write rows [begin, end) of tiles of new lanes.

    Lane i is ``columns[source[i]]``. If ``source[i]`` is negative, it is lane ``-1 - source[i]`` of
    the old tiles: for lane k, ``old_place[k]`` has its first word, the words per row and the
    position of its byte, and ``meaning[k]`` maps old codes to new ones. ``blank`` (BLOCK,) is zero.
    """
    begin_own, end_own = share(end - begin, thread, n_threads)
    for tile in range(tile_start.size):
        n_words = tile_words[tile]
        for first in range(begin + begin_own, begin + end_own, BLOCK):
            last = min(first + BLOCK, begin + end_own)
            for word in range(n_words):
                # Slices begin at the word, so that loops need neither tile nor word.
                place = tile_start[tile] + n_words * first + word
                words = tiles[place : tile_start[tile] + n_words * last]
                lane = tile_first[tile] + _WORD * word
                own = source[lane : min(lane + _WORD, tile_first[tile + 1])]
                from_columns = True
                for j in range(own.size):
                    from_columns &= own[j] >= 0
                if from_columns:
                    _join_columns(columns, own, blank, first, last, n_words, words)
                    continue
                for i in range(last - first):
                    words[i * n_words] = 0
                for j in range(own.size):
                    shift = np.uint64(8 * j)
                    if own[j] >= 0:
                        _add_column(columns[own[j], first:last], shift, n_words, words)
                    else:
                        k = -1 - own[j]
                        start, step, old_shift = old_place[k]
                        old = old_tiles[start:]
                        how = (step, np.uint64(old_shift), meaning[k], first, last)
                        _add_lane(old, *how, shift, n_words, words)


@kernel
def gather_entries(
    thread,
    n_threads,
    sync,
    row_start,
    entries,
    keep,
    begin,
    end,
    n_kept,
    new_row_start,
    new_entries,
):
    """Keep the entries of rows [begin, end) for which ``keep[entry]`` is one, in order.

    ``n_kept`` (n_threads,) is scratch.
    """
    first, last = share(end - begin, thread, n_threads)
    count = np.int64(0)
    for e in range(np.uint64(row_start[begin + first]), np.uint64(row_start[begin + last])):
        count += keep[np.uint64(entries[e])]
    n_kept[thread] = count
    wait_for_all(sync, n_threads)
    place = np.uint64(0)
    for t in range(thread):
        place += np.uint64(n_kept[t])
    for row in range(begin + first, begin + last):
        new_row_start[row] = place
        for e in range(np.uint64(row_start[row]), np.uint64(row_start[row + 1])):
            if keep[np.uint64(entries[e])]:
                new_entries[place] = entries[e]
                place += np.uint64(1)
    if thread == n_threads - 1:
        new_row_start[end] = place
