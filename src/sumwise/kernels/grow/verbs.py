"""The verbs: what is done for a feature depends on how it is stored.

Every module of ``storage`` has some of these, under the same names. They are compiled apart from
the growers, and called by the addresses in ``job.verbs``: so the growers are the same for every
table, and a fit compiles only the verbs of the storages that its table has.

build_histogram(job, item, number)
    Sum a part of a node's rows, an *item* of the plan, for a unit of features; see plan.py. The
    unit is known by the number of a tile or a feature.
merge_parts(job, item, end, begin, last)
    Add up the sums of a node's items [item, end), for the features [begin, last) of the plan.
score_node(job, node, child, begin, end), score_level(job, first, last, begin, end)
    Write the best split of each of the features [begin, end) of the plan into ``work.candidates``:
    for a node, in row ``child``; for nodes [first, last) together, in row 0.
take_side(job, node, child, f), take_level_side(job, node, f)
    Write the sums that the best split of a feature sends left into ``work.left_totals``. The first
    returns whether missing goes left, the second how many rows are missing (or 1, if the candidate
    knows where they go).
take_level_gain(job, node, f)
    Write the gain that its level's split has in a node; return whether the split is allowed there.
count_left(job, node, first, last)
    Return how many of the records [first, last) of a node go left.
move_records(job, node, first, last, left, right, step), name_leaves(job, node, first, last)
    Partition records of a node: copy a span of them (see partition.py) to where the children will
    find them, and return where the next one would go left; or, where children are leaves, write the
    leaf of each row, and return how many go right.
note_sides(job, node, first, last, is_left)
    Learn the side of each row after records were moved to [first, last).
project_leaves(job, n_nodes)
    Project the leaves of a symmetric tree onto what monotone constraints allow; see isotonic.py.

Beside its verbs, a storage has ``goes_left(table, tree, node, row)``, by which rows of the table
walk down finished trees; see predict/table_walk.py.
"""

from sumwise.kernels.runtime.jit import routine
from sumwise.kernels.runtime.reference import call_verb

# Rows of ``job.verbs`` are kinds of storage, and one more for what belongs to the tree.
N_STORAGES = 4
OF_TREE = N_STORAGES
NAMES = (
    "build_histogram",
    "merge_parts",
    "score_node",
    "score_level",
    "take_side",
    "take_level_side",
    "take_level_gain",
    "count_left",
    "move_records",
    "name_leaves",
    "note_sides",
    "project_leaves",
)
(
    _BUILD_HISTOGRAM,
    _MERGE_PARTS,
    _SCORE_NODE,
    _SCORE_LEVEL,
    _TAKE_SIDE,
    _TAKE_LEVEL_SIDE,
    _TAKE_LEVEL_GAIN,
    _COUNT_LEFT,
    _MOVE_RECORDS,
    _NAME_LEAVES,
    _NOTE_SIDES,
    _PROJECT_LEAVES,
) = range(len(NAMES))
# What leaf-wise and level-wise growth do not need, and what symmetric growth does not need.
LEVEL_VERBS = ("score_level", "take_level_side", "take_level_gain")
NODE_VERBS = ("score_node", "take_side")


@routine
def build_histogram(job, item, storage, number):
    """Sum a part of a node's rows, for a unit of features."""
    address = job.verbs[storage, _BUILD_HISTOGRAM]
    if address != 0:
        call_verb(address, job, (item, number))


@routine
def merge_parts(job, item, end, begin, last):
    """Add up the sums of items [item, end) for some features."""
    for i in range(job.storages.size):
        address = job.verbs[job.storages[i], _MERGE_PARTS]
        if address != 0:
            call_verb(address, job, (item, end, begin, last))


@routine
def score_node(job, node, child, begin, end):
    """Find the best split of each of some features for a node."""
    for i in range(job.storages.size):
        address = job.verbs[job.storages[i], _SCORE_NODE]
        if address != 0:
            call_verb(address, job, (node, child, begin, end))


@routine
def score_level(job, first, last, begin, end):
    """Find the best split of each of some features for nodes [first, last) together."""
    for i in range(job.storages.size):
        address = job.verbs[job.storages[i], _SCORE_LEVEL]
        if address != 0:
            call_verb(address, job, (first, last, begin, end))


@routine
def take_side(job, node, child, f):
    """Note what a node's best split sends left; return whether missing goes left."""
    address = job.verbs[job.table.storage[f], _TAKE_SIDE]
    return call_verb(address, job, (node, child, f)) != 0


@routine
def take_level_side(job, node, f):
    """Note what the split of its level sends left in a node; return how many rows are missing."""
    return call_verb(job.verbs[job.table.storage[f], _TAKE_LEVEL_SIDE], job, (node, f))


@routine
def take_level_gain(job, node, f):
    """Note the gain that its level's split has in a node; return whether it is allowed there."""
    return call_verb(job.verbs[job.table.storage[f], _TAKE_LEVEL_GAIN], job, (node, f)) != 0


@routine
def count_left(job, node, first, last):
    """Return how many of the records [first, last) of a node go left."""
    storage = job.table.storage[job.nodes[node].feature]
    return call_verb(job.verbs[storage, _COUNT_LEFT], job, (node, first, last))


@routine
def move_records(job, node, span):
    """Move a span of a node's records to its children; return where the next would go left."""
    storage = job.table.storage[job.nodes[node].feature]
    first, last, left, right, step = span
    numbers = (node, first, last, left, right, step)
    return call_verb(job.verbs[storage, _MOVE_RECORDS], job, numbers)


@routine
def note_sides(job, node, first, last, is_left):
    """Tell the storages that the records of a node that are now in [first, last) went to a side."""
    for i in range(job.storages.size):
        address = job.verbs[job.storages[i], _NOTE_SIDES]
        if address != 0:
            call_verb(address, job, (node, first, last, is_left))


@routine
def name_leaves(job, node, first, last):
    """Write the leaf of each row of a node's records [first, last); return how many go right."""
    storage = job.table.storage[job.nodes[node].feature]
    return call_verb(job.verbs[storage, _NAME_LEAVES], job, (node, first, last))


@routine
def project_leaves(job, n_nodes):
    """Make the leaves of a symmetric tree obey the monotone constraints."""
    call_verb(job.verbs[OF_TREE, _PROJECT_LEAVES], job, (n_nodes,))
