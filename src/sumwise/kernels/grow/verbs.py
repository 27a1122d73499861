"""The verbs: what is done for a feature depends on how it is stored.

Every module of ``storage`` has some of these, under the same names. They are compiled apart from
the growers, and called by the addresses in ``job.verbs``: so the growers are the same for every
table, and a fit compiles only the verbs of the storages that its table has.

build_histogram(job, node, which), merge_parts(job, node, which)
    Sum the thread's part of a node's rows; add up the parts of all threads. ``which`` is 0 or 1:
    the first or second node whose histogram is being built.
score_node(job, node, child), score_level(job, first, last)
    Write the best split of each of the thread's features into ``work.candidates``: for a node, the
    left or right child of its parent; for nodes [first, last) together.
take_side(job, node, child, f), take_level_side(job, node, f)
    Write the sums that the best split of a feature sends left into ``work.left_totals``. The first
    returns whether missing goes left, the second how many rows are missing (or 1, if the candidate
    knows where they go).
take_level_gain(job, node, f)
    Write the gain that its level's split has in a node; return whether the split is allowed there.
move_records(job, node), name_leaves(job, node)
    Partition the thread's records of a node: copy them to where the children will find them, and
    return where the right child begins; or, where children are leaves, write the leaf of each row,
    and return how many go right.
note_sides(job, node, middle)
    Learn the side of each row after the thread's records of a node were moved.
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
    _MOVE_RECORDS,
    _NAME_LEAVES,
    _NOTE_SIDES,
    _PROJECT_LEAVES,
) = range(len(NAMES))
# What leaf-wise and level-wise growth do not need, and what symmetric growth does not need.
LEVEL_VERBS = ("score_level", "take_level_side", "take_level_gain")
NODE_VERBS = ("score_node", "take_side")


@routine
def _do_for_all(job, verb, first, second):
    """Have every storage of the table do its part."""
    for i in range(job.storages.size):
        address = job.verbs[job.storages[i], verb]
        if address != 0:
            call_verb(address, job, (first, second))


@routine
def build_histogram(job, node, which):
    """Sum the thread's part of a node's rows."""
    _do_for_all(job, _BUILD_HISTOGRAM, node, which)


@routine
def merge_parts(job, node, which):
    """Add up the parts of all threads."""
    _do_for_all(job, _MERGE_PARTS, node, which)


@routine
def score_node(job, node, child):
    """Find the best split of each of the thread's features for a node."""
    _do_for_all(job, _SCORE_NODE, node, child)


@routine
def score_level(job, first, last):
    """Find the best split of each of the thread's features for nodes [first, last) together."""
    _do_for_all(job, _SCORE_LEVEL, first, last)


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
def move_records(job, node):
    """Move the thread's records of a node to its children; return where the right one begins."""
    storage = job.table.storage[job.nodes[node].feature]
    return call_verb(job.verbs[storage, _MOVE_RECORDS], job, (node,))


@routine
def note_sides(job, node, middle):
    """Tell the storages where the records of a node went."""
    _do_for_all(job, _NOTE_SIDES, node, middle)


@routine
def name_leaves(job, node):
    """Write the leaf of each of the thread's rows of a node; return how many go right."""
    storage = job.table.storage[job.nodes[node].feature]
    return call_verb(job.verbs[storage, _NAME_LEAVES], job, (node,))


@routine
def project_leaves(job, n_nodes):
    """Make the leaves of a symmetric tree obey the monotone constraints."""
    call_verb(job.verbs[OF_TREE, _PROJECT_LEAVES], job, (n_nodes,))
