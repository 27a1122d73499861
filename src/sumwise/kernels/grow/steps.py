"""Steps of growing that all threads take together, each doing its part."""

from sumwise.kernels.grow.candidates import feature_bins, is_owned
from sumwise.kernels.grow.packed import subtract_packed
from sumwise.kernels.grow.verbs import move_records, note_sides
from sumwise.kernels.runtime.jit import inlined, routine


@inlined
def partition_node(job, node):
    """Move the thread's records of a node to its children."""
    work, thread, left = job.work, job.thread, job.nodes[node].left
    first, last = work.first[thread, node], work.last[thread, node]
    middle = move_records(job, node)
    note_sides(job, node, middle)
    work.first[thread, left], work.last[thread, left] = first, middle
    work.first[thread, left + 1], work.last[thread, left + 1] = middle, last


@inlined
def leave_records(job, node):
    """Leave the records of a node where they are, because its children will not be split.

    Their leaves are derived from the node's records; see values.py.
    """
    left, thread = job.nodes[node].left, job.thread
    for child in range(left, left + 2):
        job.work.first[thread, child] = job.work.last[thread, child] = 0


@routine
def subtract_histogram(job, small, large, parent_packed):
    """The larger child's histogram is its parent's, in whose slot it lies, less its sibling's."""
    for f in range(job.table.n_value_bins.size):
        if is_owned(job, f):
            small_bins, large_bins = feature_bins(job, small, f), feature_bins(job, large, f)
            if job.nodes[small].packed and not parent_packed:
                subtract_packed(large_bins, small_bins, job.nodes[large].packed)
            else:
                n = job.table.n_value_bins[f] + 1 if parent_packed else small_bins.size
                for i in range(n):
                    large_bins[i] -= small_bins[i]
