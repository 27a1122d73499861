"""Which side of a split a row goes to, and how a node's records are moved there.

A partition reverses the records that go right, so a node's rows ascend or descend. No sum depends
on their order. But the bound on rows per bin (see histogram.py) is computed by blocks of rows, so
the rows passed to the grower must ascend.
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


@routine
def partition_members(source, target, first, last, column, member):
    """The same for a split by a set: bins go left that are members."""
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
def own_records(job, node):
    """The thread's records of a node."""
    first, last = job.work.first[job.thread, node], job.work.last[job.thread, node]
    return job.work.records[job.nodes[node].depth & 1, first:last]
