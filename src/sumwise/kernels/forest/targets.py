"""What a forest predicts: a compile-time choice, made by the type of a named tuple.

When the grower is compiled, the type of the target picks the statistics, as constraints.py does for
boosting.
"""

from typing import Any

from numba.extending import overload

from sumwise.kernels.forest import many_outputs as forest_columns
from sumwise.kernels.forest import one_output as forest_numbers
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.jit import MERGED_OPTIONS, rename

_ROUTINES: dict[str, dict[type, Any]] = {
    "gather": {
        Numbers: forest_numbers.gather,
        Labels: forest_columns.gather_labels,
        Vectors: forest_columns.gather_vectors,
        MultiLabels: forest_columns.gather_multi_labels,
    },
    "add_rows": {
        Numbers: forest_numbers.add_rows,
        Labels: forest_columns.add_labels,
        Vectors: forest_columns.add_vectors,
        MultiLabels: forest_columns.add_multi_labels,
    },
    "weigh_bins": {
        Numbers: forest_numbers.weigh_nothing,
        Labels: forest_columns.weigh_labels,
        Vectors: forest_columns.weigh_nothing,
        MultiLabels: forest_columns.weigh_nothing,
    },
    # With several targets nothing is plain: theirs is never called.
    "scan": {
        Numbers: forest_numbers.scan,
        Labels: forest_columns.scan_labels,
        Vectors: forest_columns.scan_labels,
        MultiLabels: forest_columns.scan_labels,
    },
}
for _name in ("bound_gain", "clear_bins", "rate_bins", "sweep", "try_cut", "write_value"):
    _wide = getattr(forest_columns, _name)
    _ROUTINES[_name] = {
        Numbers: getattr(forest_numbers, _name),
        Labels: _wide,
        Vectors: _wide,
        MultiLabels: _wide,
    }


def _by_target(name: str) -> Any:
    """Make a function of ``(target, ...)`` that each kind of target implements."""

    def function(target, *args):
        raise TypeError(f"{name} is called from kernels only")

    @overload(function, jit_options=MERGED_OPTIONS)
    def choose(target, *args):
        implementation = _ROUTINES[name][target.instance_class]

        def call(target, *args):
            return implementation(target, *args)

        return rename(call, f"{name}_of_target")

    return function


# See forest_numbers.py for the arguments.
gather = _by_target("gather")
add_rows = _by_target("add_rows")
bound_gain = _by_target("bound_gain")
clear_bins = _by_target("clear_bins")
rate_bins = _by_target("rate_bins")
scan = _by_target("scan")
sweep = _by_target("sweep")
try_cut = _by_target("try_cut")
write_value = _by_target("write_value")
weigh_bins = _by_target("weigh_bins")
