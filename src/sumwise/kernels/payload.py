"""Payloads: what a histogram counts. A compile-time choice, made by the type of a named tuple.

The grower calls the functions below; when Numba compiles it, the type of the first argument picks
the implementation. So there is one grower, and nothing is dispatched at run time. A new payload is
a module with these functions and a line in ``_MODULES``.
"""

from typing import Any

from numba.extending import overload

from sumwise.kernels import class_counts, gradients
from sumwise.kernels.class_counts import ClassCounts
from sumwise.kernels.gradients import Gradients
from sumwise.kernels.jit import ROUTINE_OPTIONS, rename

_MODULES = {Gradients: gradients, ClassCounts: class_counts}


def _by_payload(name: str) -> Any:
    """Make a function of ``(payload, ...)`` that each payload's module implements."""

    def function(payload, *args):
        raise TypeError(f"{name} is called from kernels only")

    @overload(function, jit_options=ROUTINE_OPTIONS)
    def choose(payload, *args):
        implementation = getattr(_MODULES[payload.instance_class], name)

        def call(payload, *args):
            return implementation(payload, *args)

        return rename(call, f"{name}_of_payload")

    return function


# (thread, n_threads, sync, rows, records): make a record of each row.
# Returns whether all values are in range, and whether histograms need exact values.
load_rows = _by_payload("load_rows")
# (): statistics a bin has, the row count last.
count_stats = _by_payload("count_stats")
# (): whether histograms of small nodes may stay packed; see packed.py.
can_pack = _by_payload("can_pack")
# (exact, table, tile, records, state, words, histogram): add rows to the histograms of a tile.
# The state begins as (0, True); returns the new one.
add_rows = _by_payload("add_rows")
# (exact, table, tile, packed, words, histogram): complete the histograms of a tile.
finish_rows = _by_payload("finish_rows")
# (totals): the score of a node.
node_score = _by_payload("node_score")
# (left, totals, min_rows): the gain of one split, -inf if a child is too small.
split_gain = _by_payload("split_gain")
# (g, h, n, totals, parent, min_rows, more_l2): the same with a larger penalty on the children.
penalized_gain = _by_payload("penalized_gain")
# (bins, n_candidates, both_ways, totals, min_rows, prefix, right, left): the gains of all splits.
fill_gains = _by_payload("fill_gains")
# (bins, n_candidates, both_ways, totals, min_rows, prefix, gains): the best split of a feature as
# (gain, bin, missing goes left), from plain sums or from packed ones.
best_split = _by_payload("best_split")
best_packed_split = _by_payload("best_packed_split")
# (rows, leaf, sums): add the exact statistics of rows to those of their leaves, but the row count.
sum_rows = _by_payload("sum_rows")
# (sums, value): write a node's value; returns its weight.
set_value = _by_payload("set_value")
