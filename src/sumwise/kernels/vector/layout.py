"""Trees with vector leaves: the arrays that their kernels share.

A tree of several outputs has one split per node and one value per output and leaf. A bin holds one
integer sum per *statistic*: the gradients of all outputs, hessians, and the row count. The integers
of a row lie side by side, and so do the sums of a bin, so that a row is added to a
bin by a few instructions on vectors.

Statistics: the gradients 0 .. K - 1; then the hessians (K, or one for all outputs where all are
equal, or none where every hessian is 1: the row count stands for their sum then); then the row
count; then zeros, up to a multiple of four. The hessian of output k is that of place K if there are
less than K of them: without any, this is the row count, whose unit is 1.

All values are exact, as those that leaf values come from elsewhere (see ``quantize``): up to 50
bits. So histograms have exact sums, and leaf values come from the totals of nodes.
"""

from typing import Any, NamedTuple

from sumwise.kernels.runtime.jit import cgutils, inlined, intrinsic, ir, types

# Integers that are added by one instruction.
LANES = 4


class VectorTable(NamedTuple):
    """What a binned table has of numeric features: see ``layout.Table``."""

    columns: Any  # uint8 (n_features, n_rows)
    n_value_bins: Any  # int64 (n_features,)
    bin_start: Any  # int64 (n_features + 1,)


class VectorGradients(NamedTuple):
    """What the grower knows of the rows, and how it regularizes."""

    gradient: Any  # float64 (n_outputs, n_rows)
    hessian: Any  # float64 (n_outputs, n_rows)
    stats: Any  # int64 (n_rows * n_stats,): the integers of one row after the other
    units: Any  # float64: worth of 1 in each statistic before the row count; 1 for the row count
    ranges: Any  # float64 (n_threads, 2, n_stats): the largest values of its rows; scales
    n_stats: int
    n_hessians: int  # n_outputs, 1 or 0
    l1: float
    l2: float
    max_delta_step: float
    min_child_weight: float
    learning_rate: float


class VectorWork(NamedTuple):
    """Buffers that live as long as a fit; those of the same name are as in ``layout.Workspace``."""

    control: Any
    records: Any  # the lower half of a record is not used
    leaf: Any
    first: Any
    last: Any
    totals: Any  # int64 (n_nodes, n_stats)
    left_totals: Any  # int64 (n_nodes, n_stats)
    sums: Any  # int64 (n_threads, n_stats): of the thread's rows
    value: Any  # float64 (n_outputs, n_nodes)
    weight: Any  # float64 (n_outputs, n_nodes): sums of hessians
    gain: Any  # float64 (n_outputs, n_nodes): what each output gains by the split
    heap: Any
    histograms: Any  # int64 (n_slots + 2, n_stats * n_bins), bin after bin
    free_slots: Any
    prefix: Any  # int64 (n_threads, n_stats, 256)
    gains: Any  # float64 (n_threads, 5, 256)
    allowed: Any
    candidates: Any


class VectorJob(NamedTuple):
    """All that a thread needs to know while it grows a tree."""

    thread: int
    n_threads: int
    sync: Any
    table: VectorTable
    payload: VectorGradients
    options: Any  # layout.GrowthOptions
    work: VectorWork
    nodes: Any  # layout.NODE_FIELDS (n_nodes,)
    key: Any


def count_stats(n_outputs: int, n_hessians: int) -> int:
    """Integers of a row, and sums of a bin."""
    return -(-(n_outputs + n_hessians + 1) // LANES) * LANES


@inlined
def hessian_place(payload, k):
    """The statistic that is the hessian of an output."""
    n_outputs = payload.gradient.shape[0]
    return n_outputs + (k if payload.n_hessians > 1 else 0)


@inlined
def count_place(payload):
    """The statistic that is the row count."""
    return payload.gradient.shape[0] + payload.n_hessians


@intrinsic
def add_lanes(typing_context, target, place, source, start):
    """Add four integers of an array to four of another: loops of them would not vectorize."""

    def generate(context, builder, signature, args):
        vector = ir.VectorType(ir.IntType(64), LANES)
        pointers = []
        for k in (0, 2):
            array_type, index_type = signature.args[k], signature.args[k + 1]
            struct = context.make_array(array_type)(context, builder, args[k])
            index = context.cast(builder, args[k + 1], index_type, types.intp)
            item = cgutils.get_item_pointer(context, builder, array_type, struct, [index])
            pointers.append(builder.bitcast(item, vector.as_pointer()))
        target_pointer, source_pointer = pointers
        before = builder.load(target_pointer, align=8)
        added = builder.load(source_pointer, align=8)
        builder.store(builder.add(before, added), target_pointer, align=8)
        return context.get_dummy_value()

    for array in (target, source):
        assert array.dtype == types.int64
    return types.none(target, place, source, start), generate
