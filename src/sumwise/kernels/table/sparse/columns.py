"""Stored values of a sparse matrix by column, made from those by row.

Row-wise input is transposed here. If at most 256 distinct values are stored (counts, one-hot
encodings), one byte per entry identifies the value, and the row indices are used as they are. A fit
on one-hot data then takes half of the memory that SciPy's copies would need.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share

# Values that a byte can tell apart; places of the hash table that finds them.
MOST_CODES = 256
TABLE_SIZE = 1024
_LAST = np.uint64(TABLE_SIZE - 1)
# Fibonacci hashing: the upper bits of the product are well mixed.
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(54)
_FREE = -1


@routine
def read_stored(stored, e):
    """The value of an entry of ``StoredColumns``, by its code if there are codes."""
    if stored.codes.size:
        return stored.values[stored.codes[e]]
    return stored.values[e]


@routine
def find_entry(rows, first, last, row):
    """The first of the entries [first, last), whose rows ascend, that is not before a row."""
    while first < last:
        middle = (first + last) >> 1
        if np.int64(rows[middle]) < row:
            first = middle + 1
        else:
            last = middle
    return first


@routine
def _find_place(table, palette, bits):
    """The place of the table where the code of a value is, or has to be."""
    place = (np.uint64(bits) * _FACTOR) >> _SHIFT
    while table[place] != _FREE and palette[table[place]] != bits:
        place = (place + np.uint64(1)) & _LAST
    return place


@kernel
def find_palette(bits, table, palette, found):
    """Collect the distinct values, given as the bits of floats, in the order they come.

    ``table`` (TABLE_SIZE,) is -1 before, and finds their codes afterwards. ``found[0]`` is their
    number, MOST_CODES + 1 if there are more than a byte can tell apart.
    """
    count = 0
    for e in range(bits.size):
        place = _find_place(table, palette, bits[e])
        if table[place] == _FREE:
            if count == MOST_CODES:
                count += 1
                break
            palette[count], table[place] = bits[e], count
            count += 1
    found[0] = count


@kernel
def count_by_column(thread, n_threads, sync, row_start, column, counts):
    """Count the entries of each column in the thread's rows, ``counts[thread]``."""
    first, last = share(row_start.size - 1, thread, n_threads)
    own = counts[thread]
    own[:] = 0
    for e in range(row_start[first], row_start[last]):
        own[column[e]] += 1


@kernel
def turn_to_columns(
    thread,
    n_threads,
    sync,
    row_start,
    column,
    bits,
    table,
    palette,
    place,
    rows,
    turned,
    codes,
):
    """Write rows and values by column, or codes where there are any.

    ``place`` (n_threads, n_columns) says where the thread's entries of a column begin; it is moved
    on. The rows of the threads ascend, and so do those of a column.
    """
    first, last = share(row_start.size - 1, thread, n_threads)
    own = place[thread]
    for row in range(first, last):
        for e in range(row_start[row], row_start[row + 1]):
            p = own[column[e]]
            own[column[e]] = p + 1
            rows[p] = row
            if codes.size:
                codes[p] = table[_find_place(table, palette, bits[e])]
            else:
                turned[p] = bits[e]
