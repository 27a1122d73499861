"""Leaf-wise and level-wise growth: split the first node of a heap, until nothing is left to split.

Only the order of the heap differs: by gain, or by level and then by gain. So with ``max_leaves``,
level-wise growth splits the better nodes of a level first.

Many threads split several nodes in a round: the first of the heap, and those that would follow it
if its children were not split (see nursery.py). The others wait for their turn; then their
children are known already. Of 31 leaves, eight or nine rounds find all, and a few percent of the
rows are moved and summed in vain.
"""

from sumwise.kernels.grow.constraints import restrict_features
from sumwise.kernels.grow.decide import (
    adopt_split,
    children_may_split,
    create_children,
    find_best_feature,
    smaller_child,
)
from sumwise.kernels.grow.frontier import keep_slot, place_children, pop_next
from sumwise.kernels.grow.heap import pop_node, push_node
from sumwise.kernels.grow.layout import (
    COUNT,
    GROWING,
    LEVEL_WISE,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    N_NURSERY,
    NO_HISTOGRAMS,
    STATUS,
    SUBTRACT,
)
from sumwise.kernels.grow.nursery import adopt_children, claim_pair, drop_nursery, take_pair
from sumwise.kernels.grow.plan import (
    BEGIN,
    BUILDS,
    END,
    F_MODE,
    F_SMALL,
    ITEM,
    ITEM_END,
    LEFT,
    MOST_FAMILIES,
    N_FAMILIES,
    PARENT,
    ROOT,
    ROW_UPDATES,
    SCORED_BY,
    SCORES,
    add_family,
    begin_plan,
    count_built,
    count_ranges,
    cut_into_tasks,
    is_fused,
    is_last_of_family,
    is_last_thread,
    next_task,
    other_child,
)
from sumwise.kernels.grow.steps import (
    build_all,
    build_unit,
    leave_records,
    merge_family,
    move_all,
    subtract_histogram,
)
from sumwise.kernels.grow.verbs import score_node
from sumwise.kernels.runtime.jit import NONE, inlined, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

# Bin updates of a round that keep a thread busy: with as much work as this, no further node is
# split before its turn.
_ENOUGH_UPDATES = 50_000
# Leaf-wise, so many nodes of a round are split, or a share of the splits that remain: of more, many
# would be split in vain.
_FEW_FAMILIES, _SPLITS_PER_FAMILY = 4, 6


# The work of a round


@routine
def _settle_family(job, family):
    """Choose the splits of new children."""
    own = job.work.plan.families[family]
    left = own[LEFT]
    for child in range(1 if own[F_MODE] == ROOT else 2):
        if job.nodes[left + child].splittable:
            place = 2 * family + child
            gain, f = find_best_feature(job, place)
            adopt_split(job, left + child, place, f, gain)


@routine
def _finish_features(job, family, begin, end):
    """Complete the histograms of a family for some features, and score these."""
    own, nodes = job.work.plan.families[family], job.nodes
    left, small, mode = own[LEFT], own[F_SMALL], own[F_MODE]
    merge_family(job, family, begin, end)
    if mode == SUBTRACT:
        parent_packed = nodes[own[PARENT]].packed != 0
        subtract_histogram(job, small, other_child(left, small), parent_packed, begin, end)
    for child in range(1 if mode == ROOT else 2):
        if nodes[left + child].splittable:
            score_node(job, left + child, 2 * family + child, begin, end)
    if is_last_of_family(job, family, end - begin):
        _settle_family(job, family)


@inlined
def _score_all(job):
    """Finish all families: a range of the features at a time, or a part of the families if few."""
    plan = job.work.plan
    n_families, n_features, n_ranges = (
        plan.sizes[N_FAMILIES],
        plan.features.size,
        count_ranges(job),
    )
    n_groups = min(n_families, job.n_threads // n_ranges)
    n_tasks = n_ranges * n_groups
    task = job.thread
    while task < n_tasks:
        begin, end = share(n_features, task % n_ranges, n_ranges)
        first, last = share(n_families, task // n_ranges, n_groups)
        for family in range(first, last):
            _finish_features(job, family, begin, end)
        task = next_task(job, SCORES, n_tasks)


@inlined
def _build_and_score_all(job):
    """Sum whole nodes, a unit of features at a time, and finish these features at once."""
    plan = job.work.plan
    n_units = plan.units.shape[0]
    unit = job.thread
    while unit < n_units:
        for family in range(plan.sizes[N_FAMILIES]):
            for item in range(plan.families[family, ITEM], plan.families[family, ITEM_END]):
                build_unit(job, item, unit)
            _finish_features(job, family, plan.units[unit, BEGIN], plan.units[unit, END])
        unit = next_task(job, BUILDS, n_units)


# The plan of a round


@routine
def _push_if_split(job, control, heap, node):
    """Queue a node if it has a split that is good enough."""
    if job.nodes[node].feature >= 0:
        push_node(control, heap, job.nodes, job.options.growth, node)


@routine
def _receive_families(job):
    """Take the histograms of new nodes that have no split; queue those whose turn may come."""
    plan, control = job.work.plan, job.work.control
    for k in range(plan.sizes[N_FAMILIES]):
        left, mode = plan.families[k, LEFT], plan.families[k, F_MODE]
        for child in range(left, left + (1 if mode == ROOT else 2)):
            keep_slot(job, child, job.nodes[child].feature >= 0)
            if k == 0:
                _push_if_split(job, control, job.work.heap, child)


@routine
def _add_split(job, node, left):
    """Create the children of a node and add it to the plan, if they need histograms."""
    plan = job.work.plan
    place = 2 * plan.sizes[N_FAMILIES]
    create_children(job, node, left, NONE)
    small = smaller_child(job, node, COUNT)
    mode = place_children(job, node, small, place)
    if mode == NO_HISTOGRAMS:
        leave_records(job, node)
        return
    for child in range(2):
        restrict_features(job, left + child, place + child)
    add_family(job, node, small, mode)


@inlined
def _count_families(job):
    """How many nodes may be split in the round."""
    most = job.work.plan.rules[MOST_FAMILIES]
    if job.options.growth == LEVEL_WISE:
        return most  # none is split in vain
    n_splits = job.options.max_leaves - job.work.control[N_LEAVES]
    return min(most, max(_FEW_FAMILIES, n_splits // _SPLITS_PER_FAMILY))


@routine
def _add_guesses(job):
    """Add nodes to the plan that will be split soon, unless better ones come."""
    work, plan, nodes, guess = job.work, job.work.plan, job.nodes, job.work.plan.guess
    control, options = work.control, job.options
    n_leaves, heap = control[N_LEAVES], plan.guess_heap
    enough = _ENOUGH_UPDATES * job.n_threads // max(1, plan.rules[ROW_UPDATES])
    most = _count_families(job)
    built = count_built(job, plan.families[0])
    guess[N_HEAP] = control[N_HEAP]
    for i in range(control[N_HEAP]):
        heap[i] = work.heap[i]
    # The last split needs no histograms.
    while guess[N_HEAP] > 0 and n_leaves + 1 < options.max_leaves and built < enough:
        node = pop_node(guess, heap, nodes, options.growth)
        n_leaves += 1
        left = nodes[node].left
        if left >= 0:
            _push_if_split(job, guess, heap, left)
            _push_if_split(job, guess, heap, left + 1)
        elif children_may_split(job, node):
            n_slots = 1 if nodes[node].slot >= 0 else 2
            is_full = plan.sizes[N_FAMILIES] >= most
            if is_full or control[N_NURSERY] == 0 or control[N_FREE] < n_slots:
                return
            _add_split(job, node, take_pair(job))
            built += count_built(job, plan.families[plan.sizes[N_FAMILIES] - 1])


@routine
def _plan_round(job):
    """Find what is to be split next; the status says whether growth goes on."""
    work, plan, nodes, control = job.work, job.work.plan, job.nodes, job.work.control
    _receive_families(job)
    begin_plan(job)
    while plan.sizes[N_FAMILIES] == 0:
        node = pop_next(job)
        if node < 0:
            drop_nursery(job)
            return
        if nodes[node].left < 0:
            _add_split(job, node, claim_pair(control))
        else:
            adopt_children(job, node)
            for child in range(2):
                _push_if_split(job, control, work.heap, nodes[node].left + child)
    if plan.rules[MOST_FAMILIES] > 1:
        _add_guesses(job)
    cut_into_tasks(job)


@inlined
def grow_best_first(job):
    """Split the best leaf, or the best of the highest level, until nothing is left to split."""
    control = job.work.control
    while control[STATUS] == GROWING:
        move_all(job)
        if is_fused(job):
            _build_and_score_all(job)
        else:
            build_all(job)
            _score_all(job)
        if is_last_thread(job, SCORED_BY):
            _plan_round(job)
        wait_for_all(job.sync, job.n_threads)
