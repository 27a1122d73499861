"""Rounds: nodes that are split side by side, and how their work is cut into tasks.

A *family* is a node and its two children; the root alone is one as well. Three kinds of tasks
follow each other, with a barrier between them:

moves
    Move the records of a part of a node's rows to its children. A large node has many parts; then
    the rows that go left are counted first, so that each part knows where its records belong.
items x units
    Sum a part of a node's rows, for a unit of features: a tile, or one feature that is in no tile,
    or all sparse entries. Parts of a node are summed aside and added up later.
features
    Add up the parts, subtract from the parent, score the children: of all families, for some
    features. A thread has the same features in every round, if it can: then it still has the
    parent's sums in its cache. Where units divide evenly among the threads, the thread that has
    summed a unit does this at once.

Small nodes are one part: they are cut only so far as a part is worth the trouble. Sums are sums of
integers, and records come to the same places however they are cut: no result depends on a plan.

Each thread begins with the task of its own number; then whoever is free takes the next. The thread
that completes the last task of a family chooses the splits of its children; the one that completes
the round plans the next.
"""

from sumwise.kernels.grow.layout import BUILD_BOTH, COUNT, NO_HISTOGRAMS
from sumwise.kernels.runtime.jit import ZERO, inlined, routine
from sumwise.kernels.runtime.threads import atomic_add, share

# Places in ``plan.rules``: units that share rows evenly, by which the rows of a large node are cut;
# how many times as many tasks as threads that may give; features in tiles; where the features that
# have entries begin; families of a round; scratch histograms; and updates of a row.
ROW_UNITS, WAVES, N_TILED, ENTRIES_BEGIN, MOST_FAMILIES, N_SCRATCH, ROW_UPDATES = range(7)
N_RULES = 7
# Places in ``plan.sizes``. SCORES_LEVEL: symmetric growth, the level is complete.
N_FAMILIES, N_MOVES, N_ITEMS, MUST_COUNT, N_PARTIAL, SCORES_LEVEL = range(6)
N_SIZES = 6
# Columns of ``plan.families``. The items of the smaller child are [ITEM, ITEM_LARGE), those of the
# larger one follow, up to ITEM_END.
PARENT, LEFT, F_SMALL, F_MODE, ITEM, ITEM_LARGE, ITEM_END = range(7)
FAMILY_LENGTH = 7
ROOT = 3  # F_MODE beside those of control[MODE]
# Columns of ``plan.moves``: records [FIRST, LAST) of a node, as one of so many parts.
MOVED, FIRST, LAST, PART, N_MOVE_PARTS, N_LEFT = range(6)
MOVE_LENGTH = 6
# Columns of ``plan.items``; FIRST and LAST as above. SUM_PLACE: where in ``work.partial`` the sums
# go, -1 for the node's histogram.
SUMMED, ITEM_PARENT, SUM_PLACE = 0, 3, 4
ITEM_LENGTH = 5
# Columns of ``plan.units``: the storage that sums it, what that knows it by (a tile, a feature),
# and its features as [BEGIN, END) of ``plan.features``.
STORAGE, NUMBER, BEGIN, END = range(4)
UNIT_LENGTH = 4
# Places in ``plan.counters``, cache lines apart: tasks that were taken, and threads that have done
# their part of scoring, or of splitting a level; those of families begin at OF_FAMILIES.
MOVES, COUNTS, BUILDS, SCORES, SCORED_BY, SPLIT_BY, OF_FAMILIES = range(0, 112, 16)

# A part of fewer rows is not worth its own sums: these must be moved and added up.
_FEW_ROWS = 512
# With so many rows per part, there may be several times as many tasks as threads, which evens out.
_MANY_ROWS = 4096
# To move fewer records is not worth a second task, or counting.
_FEW_MOVES, _MANY_MOVES = 1024, 8192


@inlined
def next_task(job, counter, n_tasks):
    """Return the number of the thread's next task of a kind; the first is its own number."""
    if n_tasks <= job.n_threads:
        return n_tasks
    return job.n_threads + atomic_add(job.work.plan.counters, counter, 1)


@inlined
def is_fused(job):
    """Whether the thread that sums a unit completes it: tiles divide evenly among threads."""
    plan, n_threads = job.work.plan, job.n_threads
    return plan.rules[ROW_UNITS] % n_threads == 0 and plan.units.shape[0] >= n_threads


@inlined
def is_last_thread(job, counter):
    """Whether all other threads have done their part of a step: then this one decides."""
    return atomic_add(job.work.plan.counters, counter, 1) == job.n_threads - 1


@inlined
def is_last_of_family(job, family, n_features):
    """Whether all features of a family are done, with these."""
    plan = job.work.plan
    before = atomic_add(plan.counters, OF_FAMILIES + 8 * family, n_features)
    return before + n_features == plan.features.size


@inlined
def count_ranges(job):
    """Into how many ranges the features are divided: as many as threads, if there are enough."""
    return max(1, min(job.n_threads, job.work.plan.features.size))


@routine
def begin_plan(job):
    """Begin the plan of a round with nothing to do."""
    plan = job.work.plan
    plan.sizes[:] = 0
    plan.counters[:] = 0


@routine
def add_family(job, node, small, mode):
    """Add a node that is split, and say where its children's records will be."""
    work, plan = job.work, job.work.plan
    left = job.nodes[node].left
    middle = work.first[node] + work.left_totals[node, COUNT]
    work.first[left], work.last[left] = work.first[node], middle
    work.first[left + 1], work.last[left + 1] = middle, work.last[node]
    family = plan.families[plan.sizes[N_FAMILIES]]
    family[PARENT], family[LEFT], family[F_SMALL], family[F_MODE] = node, left, small, mode
    plan.sizes[N_FAMILIES] += 1


@routine
def add_root(job):
    """The first round: sum and score the root."""
    family = job.work.plan.families[0]
    family[PARENT], family[LEFT], family[F_SMALL], family[F_MODE] = -1, 0, 0, ROOT
    job.work.plan.sizes[N_FAMILIES] = job.work.plan.sizes[SCORES_LEVEL] = 1


@inlined
def other_child(left, child):
    """The sibling of a child."""
    return 2 * left + 1 - child


@inlined
def count_built(job, family):
    """Rows that are to be summed for a family."""
    work = job.work
    small, mode, node = family[F_SMALL], family[F_MODE], family[PARENT]
    if mode == BUILD_BOTH:
        return work.last[node] - work.first[node]
    return work.last[small] - work.first[small] if mode != NO_HISTOGRAMS else ZERO


@routine
def _count_moves(job, node, total):
    """In how many parts the records of a node are moved."""
    n_rows = job.work.last[node] - job.work.first[node]
    # A node of fewer rows may have no histogram, and then nobody knows how many rows go left.
    if n_rows < max(2 * _FEW_MOVES, 2 * job.options.min_samples_leaf):
        return ZERO + 1
    n_threads = job.n_threads * n_rows // total
    if n_threads >= 3 and n_rows >= _MANY_MOVES:
        return n_threads  # who has counted a part moves it, and has it in its cache
    return min(n_threads, ZERO + 2) if n_threads > 0 else ZERO + 1


@routine
def add_moves(job, node, total):
    """Add tasks that move the records of a node, one of ``total`` rows in the round."""
    plan = job.work.plan
    n_rows, n_parts = job.work.last[node] - job.work.first[node], _count_moves(job, node, total)
    for part in range(n_parts):
        move = plan.moves[plan.sizes[N_MOVES]]
        first, last = share(n_rows, part, n_parts)
        move[MOVED], move[PART], move[N_MOVE_PARTS] = node, part, n_parts
        move[FIRST], move[LAST] = job.work.first[node] + first, job.work.first[node] + last
        plan.sizes[N_MOVES] += 1
    if n_parts > 2:
        plan.sizes[MUST_COUNT] = 1


@routine
def _count_items(job, n_rows, total):
    """In how many parts the rows of a node are summed."""
    plan, n_threads = job.work.plan, job.n_threads
    n_units = plan.rules[ROW_UNITS]
    if n_units % n_threads == 0:
        return ZERO + 1  # whole units divide evenly, or there are none
    n_parts = plan.rules[WAVES] * n_threads * n_rows // (n_units * total)
    if n_parts * _MANY_ROWS > n_rows:
        n_parts = min(n_threads * n_rows // (n_units * total), n_rows // _FEW_ROWS)
    n_left = job.work.partial.shape[0] - plan.sizes[N_PARTIAL]
    n_parts = min(n_parts, n_left)
    return n_parts if n_parts > 1 else ZERO + 1


@routine
def _add_items(job, node, parent, total):
    """Add parts of a node to what is to be summed, of ``total`` rows in the round."""
    plan, work = job.work.plan, job.work
    n_rows = work.last[node] - work.first[node]
    n_parts = _count_items(job, n_rows, total)
    for part in range(n_parts):
        item = plan.items[plan.sizes[N_ITEMS]]
        first, last = share(n_rows, part, n_parts)
        item[SUMMED], item[ITEM_PARENT] = node, parent
        item[FIRST], item[LAST] = work.first[node] + first, work.first[node] + last
        item[SUM_PLACE] = -1
        if n_parts > 1:
            item[SUM_PLACE] = plan.sizes[N_PARTIAL]
            plan.sizes[N_PARTIAL] += 1
        plan.sizes[N_ITEMS] += 1


@routine
def _cut_into_items(job):
    """Cut what is to be summed for the families into parts."""
    plan = job.work.plan
    sizes, total = plan.sizes, ZERO
    for k in range(sizes[N_FAMILIES]):
        total += count_built(job, plan.families[k])
    for k in range(sizes[N_FAMILIES]):
        family = plan.families[k]
        family[ITEM] = sizes[N_ITEMS]
        if family[F_MODE] != NO_HISTOGRAMS:
            _add_items(job, family[F_SMALL], family[PARENT], total)
        family[ITEM_LARGE] = sizes[N_ITEMS]
        if family[F_MODE] == BUILD_BOTH:
            large = other_child(family[LEFT], family[F_SMALL])
            _add_items(job, large, family[PARENT], total)
        family[ITEM_END] = sizes[N_ITEMS]


@routine
def cut_into_tasks(job):
    """Cut the work of the families into tasks."""
    plan = job.work.plan
    sizes, total = plan.sizes, ZERO
    for k in range(sizes[N_FAMILIES]):
        node = plan.families[k, PARENT]
        total += job.work.last[node] - job.work.first[node] if node >= 0 else ZERO
    for k in range(sizes[N_FAMILIES]):
        if plan.families[k, PARENT] >= 0:
            add_moves(job, plan.families[k, PARENT], total)
    _cut_into_items(job)
