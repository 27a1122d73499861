"""Find the bins of columns and map values to them.

A ``matrix`` is a ``FlatMatrix``: a flat array with two strides. So float32 and float64, row-major
and column-major input need no copy and only one compiled version per type.
"""

import numpy as np

from sumwise.kernels.runtime.jit import cgutils, inlined, intrinsic, ir, kernel, routine, types
from sumwise.kernels.runtime.sort import (
    MISSING,
    as_bits,
    bits_of_key,
    drop_sign_of_zero,
    key_of_float,
    sort_keys,
)
from sumwise.kernels.runtime.threads import share, wait_for_all

# Rows at a time: their part of the matrix stays in the cache while its columns are read.
BLOCK = np.int64(128)
# Places of a hash table: eight times the number of distinct values, so that few collide.
HASH_SIZE = 1 << 11
_HASH_SHIFT = np.uint64(64 - 11)
_HASH_MASK = np.uint64(HASH_SIZE - 1)
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# A search compares this many thresholds at once, twice.
GROUP = 16
_GROUP, _ZERO, _ONE = np.uint64(GROUP), np.uint64(0), np.uint64(1)


@routine
def add_distinct(table, value):
    """Put a value into a hash table, where nan marks a free place; return whether it is new."""
    value = drop_sign_of_zero(value)
    place = (np.uint64(as_bits(value)) * _HASH_FACTOR) >> _HASH_SHIFT
    while table[place] != value:
        if np.isnan(table[place]):
            table[place] = value
            return not np.isnan(value)
        place = (place + _ONE) & _HASH_MASK
    return False


@kernel
def find_distinct(
    thread, n_threads, sync, matrix, first, rows, limit, tables, distinct, n_distinct
):
    """Collect the distinct values of every column, until there are more than ``limit``.

    The matrix begins with row ``first`` of the data. The values so far are in ``distinct``
    (n_threads, n_features, limit + 1), their number in ``n_distinct`` (n_threads, n_features), both
    with what all threads found in the first row. ``tables`` (n_threads, n_features, HASH_SIZE)
    holds nan before the first call.
    """
    n_features, values = tables.shape[1], matrix.values
    step = np.uint64(matrix.row_stride)
    begin, end = share(rows.size, thread, n_threads)
    for block in range(begin, end, BLOCK):
        own = rows[block : min(block + BLOCK, end)]
        for f in range(n_features):
            count = n_distinct[thread, f]
            if count > limit:
                continue
            table = tables[thread, f]
            start = np.uint64(f * matrix.column_stride - first * matrix.row_stride)
            for i in range(np.uint64(own.size)):
                value = values[start + np.uint64(own[i]) * step]
                if add_distinct(table, value):
                    distinct[thread, f, count] = value
                    count += 1
                    if count > limit:
                        break
            n_distinct[thread, f] = count
    wait_for_all(sync, n_threads)
    for f in range(thread, n_features, n_threads):
        count = n_distinct[0, f]
        for other in range(1, n_threads):
            for i in range(n_distinct[other, f]):
                value = distinct[other, f, i]
                if count <= limit and add_distinct(tables[0, f], value):
                    distinct[0, f, count] = value
                    count += 1
        n_distinct[0, f] = count


@kernel
def gather_keys(thread, n_threads, sync, matrix, first, rows, place, features, keys):
    """Write the sort keys of some rows and features to ``keys[:, place:]``.

    The matrix begins with row ``first`` of the data.
    """
    n_bits, values = 8 * keys.itemsize, matrix.values
    step = np.uint64(matrix.row_stride)
    begin, end = share(rows.size, thread, n_threads)
    for block in range(begin, end, BLOCK):
        own = rows[block : min(block + BLOCK, end)]
        for k in range(features.size):
            out = keys[k, place + block : place + block + own.size]
            start = np.uint64(features[k] * matrix.column_stride - first * matrix.row_stride)
            for i in range(np.uint64(own.size)):
                out[i] = key_of_float(values[start + np.uint64(own[i]) * step], n_bits)


@inlined
def merge_equal(keys, weights, weighted):
    """Merge equal keys and their weights; return the number of distinct keys, and all weight.

    The keys are sorted; missing values are left out. Without weights, every row counts one.
    """
    n_distinct = start = _ZERO
    total = 0.0
    missing = keys.dtype.type(MISSING)
    while start < keys.size and keys[start] != missing:
        end = start + _ONE
        while end < keys.size and keys[end] == keys[start]:
            end += _ONE
        weight = np.float64(end - start)
        if weighted:
            weight = 0.0
            for i in range(start, end):
                weight += weights[i]
        keys[n_distinct] = keys[start]
        weights[n_distinct] = weight
        total += weight
        n_distinct += _ONE
        start = end
    return np.int64(n_distinct), total


@inlined
def cut_by_weight(weights, total, n_bins, ends):
    """Write which of the sorted distinct values are the last of their bin; return how many.

    A value with more than an equal share of the weight gets a bin of its own; the rest of the
    weight is divided evenly among the remaining bins. The end of the last bin is not written.
    """
    n = np.uint64(weights.size)
    n_ends = 0
    if weights.size <= n_bins:
        for i in range(weights.size - 1):
            ends[i] = i
        return max(weights.size - 1, 0)
    heavy = total / n_bins
    rest, bins_left = total, n_bins
    for i in range(n):
        if weights[i] >= heavy:
            rest -= weights[i]
            bins_left -= 1
    share_each = rest / max(bins_left, 1)
    running = 0.0
    for i in range(n - _ONE):
        if weights[i] >= heavy:
            is_last = True
        else:
            running += weights[i]
            # Before a heavy value a half-full bin is closed; a nearly empty one joins it.
            is_last = running >= share_each or (
                weights[i + _ONE] >= heavy and running >= 0.5 * share_each
            )
            if is_last:
                rest -= running
                bins_left -= 1
                share_each = rest / max(bins_left, 1)
        if is_last:
            running = 0.0
            ends[n_ends] = i
            n_ends += 1
            if n_ends == n_bins - 1:
                break
    return n_ends


@inlined
def cut_keys(keys, weights, total, max_bins, ends, neighbors):
    """Cut sorted distinct keys by weight; return how many thresholds there are.

    Writes to ``neighbors`` the bits of the values below and above each threshold.
    """
    n_bits = 8 * keys.itemsize
    n_ends = cut_by_weight(weights, total, max_bins, ends)
    for i in range(n_ends):
        neighbors[0, i] = bits_of_key(keys[ends[i]], n_bits)
        neighbors[1, i] = bits_of_key(keys[ends[i] + _ONE], n_bits)
    return n_ends


@routine
def _count_equal(keys, other_keys):
    """Return how many keys are equal to the ones at the same places of others."""
    n_equal = 0
    for i in range(np.uint64(keys.size)):
        n_equal += np.int64(keys[i] == other_keys[i])
    return n_equal


@inlined
def _is_even(keys, n_bins):
    """Whether sorted keys have more values than bins, and none has a bin's share of them."""
    n = keys.size
    if n <= n_bins:
        return False
    share_each = np.int64(np.ceil(n / n_bins))
    n_distinct = n - _count_equal(keys[1:], keys[:-1])
    n_heavy = _count_equal(keys[share_each - 1 :], keys[: n - share_each + 1])
    return n_distinct > n_bins and n_heavy == 0


@routine
def _end_of_run(keys, place):
    """Return where the keys end that are equal to the one at a place; keys are sorted."""
    step, key = 1, keys[place]
    while place + step < keys.size and keys[place + step] == key:
        place += step
        step += step
    while step > 0:  # the key at the place is the same, and the one a step ahead is not
        while place + step < keys.size and keys[place + step] == key:
            place += step
        step >>= 1
    return place + 1


@inlined
def cut_even_keys(keys, n_bins, neighbors):
    """Cut sorted keys, of which each counts one, as :func:`cut_keys` would after a merge.

    They must be even, see :func:`_is_even`. A bin ends where it has its share, with the last of
    equal keys; so only the ends of bins are looked at.
    """
    n_bits = 8 * keys.itemsize
    start, n_ends = 0, 0
    while n_ends < n_bins - 1:
        share_each = (keys.size - start) / (n_bins - n_ends)
        end = _end_of_run(keys, start + np.int64(np.ceil(share_each)) - 1)
        if end >= keys.size:
            break
        neighbors[0, n_ends] = bits_of_key(keys[end - 1], n_bits)
        neighbors[1, n_ends] = bits_of_key(keys[end], n_bits)
        start = end
        n_ends += 1
    return n_ends


@routine
def _count_known(keys):
    """Return how many of sorted keys are not those of missing values."""
    missing = keys.dtype.type(MISSING)
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] == missing:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def cut_columns(
    thread,
    n_threads,
    sync,
    keys,
    sample_weight,
    max_bins,
    spare_keys,
    weights,
    counters,
    neighbors,
    n_ends,
):
    """Sort columns of keys, one for each item of ``n_ends``, and cut them by weight.

    Writes to ``neighbors`` (n_features, 2, max_bins - 1) as :func:`cut_keys`, and to ``n_ends`` the
    number of thresholds. ``sample_weight`` is empty if every row counts one. The other arrays are
    scratch, with a row for each thread.
    """
    weighted = sample_weight.size > 0
    for k in range(thread, n_ends.size, n_threads):
        own, other = keys[k], spare_keys[thread]
        mass, other_mass = weights[thread, 0], weights[thread, 1]
        for i in range(sample_weight.size):
            mass[i] = sample_weight[i]
        if sort_keys(own, other, mass, other_mass, weighted, counters[thread]):
            own, mass = other, other_mass
        if not weighted:
            known = own[: _count_known(own)]
            if _is_even(known, max_bins):
                n_ends[k] = cut_even_keys(known, max_bins, neighbors[k])
                continue
        n_distinct, total = merge_equal(own, mass, weighted)
        ends = counters[thread]  # free again
        n_ends[k] = cut_keys(own, mass[:n_distinct], total, max_bins, ends, neighbors[k])


@intrinsic
def _count_below(typing_context, array, place, value):
    """How many of the GROUP items from a place on are less than a value: one vector comparison."""

    def generate(context, builder, signature, args):
        array_type = signature.args[0]
        struct = context.make_array(array_type)(context, builder, args[0])
        pointer = cgutils.get_item_pointer(context, builder, array_type, struct, [args[1]])
        item = context.get_value_type(array_type.dtype)
        vector = ir.VectorType(item, GROUP)
        items = builder.load(
            builder.bitcast(pointer, vector.as_pointer()), align=array_type.dtype.bitwidth // 8
        )
        undefined = ir.Constant(vector, ir.Undefined)
        int32 = ir.IntType(32)
        first = builder.insert_element(undefined, args[2], int32(0))
        order = ir.Constant(ir.VectorType(int32, GROUP), [0] * GROUP)
        values = builder.shuffle_vector(first, undefined, order)
        below = builder.fcmp_ordered("<", items, values)
        count = builder.ctpop(builder.bitcast(below, ir.IntType(GROUP)))
        return builder.zext(count, ir.IntType(64))

    return types.uint64(array, place, value), generate


@kernel
def map_to_bins(thread, n_threads, sync, matrix, first, thresholds, columns):
    """Write the bins of a matrix to ``columns[:, first:]``, one byte per value.

    The bin is 1 + the number of thresholds below the value; 0 for a missing value. ``thresholds``
    (n_features, GROUP + GROUP ** 2) have the type of the values: first the last threshold of each
    group, then all, padded with inf. So a search is two comparisons of a group.
    """
    begin, end = share(matrix.n_rows, thread, n_threads)
    values, step = matrix.values, np.uint64(matrix.row_stride)
    for block in range(begin, end, BLOCK):
        for f in range(thresholds.shape[0]):
            own = thresholds[f]
            out = columns[f, first + block : first + min(block + BLOCK, end)]
            start = np.uint64(block * matrix.row_stride + f * matrix.column_stride)
            for i in range(np.uint64(out.size)):
                value = values[start + i * step]
                group = _GROUP * _count_below(own, _ZERO, value)
                place = group + _count_below(own, group + _GROUP, value)
                out[i] = place + np.uint64(value == value)


@inlined
def find_bin(value, thresholds, first, last):
    """Return the bin of a value whose feature has the thresholds from ``first`` up to ``last``."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low - first + 1 if value == value else 0
