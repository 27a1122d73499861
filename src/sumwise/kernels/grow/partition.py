"""Which side of a split a row goes to, and how a node's records are moved there.

A partition reverses the records that go right, so a node's rows ascend or descend. No sum depends
on their order. But the bound on rows per bin (see histogram.py) is computed by blocks of rows, so
the rows passed to the grower must ascend.

Parts of a node may be moved by several threads, to the same places. A *span* is (first, last, left,
right, step): records [first, last) are visited, in reverse order if ``step`` is -1; those that go
left are written to ``left`` and on, by steps, and those that go right to ``right`` and back.
"""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, routine

ROW = np.uint64(32)
_ONE = np.uint64(1)


@inlined
def left_range(split_bin, missing_left):
    """Return (skip, bound) for :func:`is_left_code`.

    Bins 1 .. split_bin go left, and bin 0 if missing goes left: then ``skip`` is 0, else 1.
    """
    skip = np.uint8(0) if missing_left else np.uint8(1)
    return skip, np.uint8(split_bin - skip)


@inlined
def is_left_code(code, skip, bound):
    """Whether a bin or code goes left: ``code - skip <= bound``, with wrap-around of a byte."""
    return np.uint8(code - skip) <= bound


@inlined
def is_left_value(value, threshold, missing_left):
    """Whether a value goes left."""
    return (value <= threshold) | (np.isnan(value) & (missing_left != 0))


@routine
def partition_records(source, target, first, last, column, skip, bound):
    """Copy records [first, last) to ``target``: left ones from the front, right ones from the back.

    Branch-free: both places are written each time and only one moves on, because the branch would
    be unpredictable. The right child comes out reversed; nothing depends on the order of a node's
    rows. Returns the position where the right child begins.
    """
    left, right = np.uint64(first), np.uint64(last)
    for i in range(np.uint64(first), np.uint64(last)):
        record = source[i]
        is_left = np.uint64(is_left_code(column[record >> ROW], skip, bound))
        target[left] = record
        target[right - _ONE] = record
        left += is_left
        right -= _ONE - is_left
    return np.int64(left)


@inlined
def _is_whole(span):
    """Whether a span is a whole node: its records go where they are in the other array."""
    first, last, left, right, step = span
    return step > 0 and left == first and right == last - 1


@routine
def move_span(source, target, span, column, skip, bound):
    """Copy the records of a span to ``target``; return where the next one would go left."""
    first, last, start, end, step = span
    if _is_whole(span):
        return partition_records(source, target, first, last, column, skip, bound)
    # One place is written each time: the other may be that of another thread's record.
    left, right, by = np.uint64(start), np.uint64(end), np.uint64(step)
    i = np.uint64(first if step > 0 else last - 1)
    for _ in range(last - first):
        record = source[i]
        i += by
        is_left = is_left_code(column[record >> ROW], skip, bound)
        target[left if is_left else right] = record
        mask = np.uint64(is_left) - _ONE
        left += by & ~mask
        right -= by & mask
    return np.int64(left)


@routine
def count_span(records, column, skip, bound):
    """Return how many records go left."""
    n_left = 0
    for i in range(records.size):
        n_left += np.int64(is_left_code(column[records[i] >> ROW], skip, bound))
    return n_left


@routine
def partition_members(source, target, first, last, column, member):
    """As :func:`partition_records`, for a split by a set: bins go left that are members."""
    left, right = np.uint64(first), np.uint64(last)
    for i in range(np.uint64(first), np.uint64(last)):
        record = source[i]
        is_left = np.uint64(member[column[record >> ROW]])
        target[left] = record
        target[right - _ONE] = record
        left += is_left
        right -= _ONE - is_left
    return np.int64(left)


@routine
def move_members(source, target, span, column, member):
    """As :func:`move_span`, for a split by a set."""
    first, last, start, end, step = span
    if _is_whole(span):
        return partition_members(source, target, first, last, column, member)
    left, right, by = np.uint64(start), np.uint64(end), np.uint64(step)
    i = np.uint64(first if step > 0 else last - 1)
    for _ in range(last - first):
        record = source[i]
        i += by
        is_left = member[column[record >> ROW]] != 0
        target[left if is_left else right] = record
        mask = np.uint64(is_left) - _ONE
        left += by & ~mask
        right -= by & mask
    return np.int64(left)


@routine
def count_members(records, column, member):
    """Return how many records go left by a set."""
    n_left = 0
    for i in range(records.size):
        n_left += np.int64(member[column[records[i] >> ROW]])
    return n_left


@routine
def name_records(records, column, skip, bound, left, leaf):
    """Write the leaf of each record's row, child ``left`` or the next; return how many go right."""
    n_right = 0
    for i in range(records.size):
        row = records[i] >> ROW
        is_right = np.int64(not is_left_code(column[row], skip, bound))
        leaf[row] = left + is_right
        n_right += is_right
    return n_right


@routine
def name_members(records, column, member, left, leaf):
    """The same for a split by a set."""
    n_right = 0
    for i in range(records.size):
        row = records[i] >> ROW
        is_right = np.int64(1) - np.int64(member[column[row]])
        leaf[row] = left + is_right
        n_right += is_right
    return n_right


@inlined
def node_records(job, node):
    """The records of nodes of this node's depth."""
    return job.work.records[job.nodes[node].depth & 1]


@inlined
def child_records(job, node):
    """The records of nodes one level below."""
    return job.work.records[(job.nodes[node].depth + 1) & 1]
