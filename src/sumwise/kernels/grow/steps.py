"""Steps of a round that all threads take together: they share its tasks; see plan.py."""

from sumwise.kernels.grow.candidates import feature_bins, is_drawn
from sumwise.kernels.grow.layout import COUNT
from sumwise.kernels.grow.packed import subtract_packed
from sumwise.kernels.grow.plan import (
    BUILDS,
    COUNTS,
    FIRST,
    ITEM,
    ITEM_LARGE,
    LAST,
    MOVED,
    MOVES,
    MUST_COUNT,
    N_ITEMS,
    N_LEFT,
    N_MOVE_PARTS,
    N_MOVES,
    NUMBER,
    PART,
    STORAGE,
    next_task,
)
from sumwise.kernels.grow.verbs import (
    build_histogram,
    count_left,
    merge_parts,
    move_records,
    note_sides,
)
from sumwise.kernels.runtime.jit import ZERO, inlined, routine
from sumwise.kernels.runtime.threads import wait_for_all


@inlined
def _find_span(job, task):
    """Where the records of a move go; see partition.py.

    All parts but the last of two begin at the front, behind the records of the parts before.
    """
    work, moves, move = job.work, job.work.plan.moves, job.work.plan.moves[task]
    node, part = move[MOVED], move[PART]
    left, right, step = work.first[node], work.last[node] - 1, ZERO + 1
    if part == 1 and move[N_MOVE_PARTS] == 2:
        left += work.left_totals[node, COUNT] - 1
        right, step = left + 1, ZERO - 1
    else:
        for before in range(task - part, task):
            left += moves[before, N_LEFT]
            right -= moves[before, LAST] - moves[before, FIRST] - moves[before, N_LEFT]
    return move[FIRST], move[LAST], left, right, step


@routine
def _move_part(job, task):
    """Move a part of a node's records to its children."""
    work, move = job.work, job.work.plan.moves[task]
    node = move[MOVED]
    span = _find_span(job, task)
    first, last, left, right, step = span
    end = move_records(job, node, span)
    if move[N_MOVE_PARTS] == 1:  # symmetric growth may not have known it
        child = job.nodes[node].left
        work.first[child], work.last[child] = first, end
        work.first[child + 1], work.last[child + 1] = end, last
    n_left = (end - left) * step
    n_right = last - first - n_left
    if step > 0:
        note_sides(job, node, left, end, ZERO + 1)
        note_sides(job, node, right - n_right + 1, right + 1, ZERO)
    else:
        note_sides(job, node, end + 1, left + 1, ZERO + 1)
        note_sides(job, node, right, right + n_right, ZERO)


@inlined
def move_all(job):
    """Move the records of the round's nodes to their children."""
    plan = job.work.plan
    n_moves = plan.sizes[N_MOVES]
    if plan.sizes[MUST_COUNT]:
        task = job.thread
        while task < n_moves:
            move = plan.moves[task]
            if move[N_MOVE_PARTS] > 2:
                move[N_LEFT] = count_left(job, move[MOVED], move[FIRST], move[LAST])
            task = next_task(job, COUNTS, n_moves)
        wait_for_all(job.sync, job.n_threads)
    if n_moves > 0:
        task = job.thread
        while task < n_moves:
            _move_part(job, task)
            task = next_task(job, MOVES, n_moves)
        wait_for_all(job.sync, job.n_threads)


@inlined
def build_unit(job, item, unit):
    """Sum an item for a unit of features."""
    own = job.work.plan.units[unit]
    build_histogram(job, item, own[STORAGE], own[NUMBER])


@inlined
def build_all(job):
    """Sum all items for all units."""
    plan = job.work.plan
    n_units = plan.units.shape[0]
    n_tasks = plan.sizes[N_ITEMS] * n_units
    task = job.thread
    while task < n_tasks:
        build_unit(job, task // n_units, task % n_units)
        task = next_task(job, BUILDS, n_tasks)
    wait_for_all(job.sync, job.n_threads)


@routine
def leave_records(job, node):
    """Leave the records of a node where they are, because its children will not be split.

    Their leaves are derived from the node's records; see values.py.
    """
    left = job.nodes[node].left
    for child in range(left, left + 2):
        job.work.first[child] = job.work.last[child] = 0


@routine
def merge_family(job, family, begin, end):
    """Complete the sums of a family's items for some features."""
    own = job.work.plan.families[family]
    for which in range(2):
        item, last = own[ITEM + which], own[ITEM_LARGE + which]
        if item < last:
            merge_parts(job, item, last, begin, end)


@routine
def subtract_histogram(job, small, large, parent_packed, begin, end):
    """The larger child's histogram is its parent's, in whose slot it lies, less its sibling's."""
    for place in range(begin, end):
        f = job.work.plan.features[place]
        if is_drawn(job, f):
            small_bins, large_bins = feature_bins(job, small, f), feature_bins(job, large, f)
            if job.nodes[small].packed and not parent_packed:
                subtract_packed(large_bins, small_bins, job.nodes[large].packed)
            else:
                n = job.table.n_value_bins[f] + 1 if parent_packed else small_bins.size
                for i in range(n):
                    large_bins[i] -= small_bins[i]
