"""What a forest predicts: the routines that each kind of target implements.

| target | what it is | statistics |
|---|---|---|
| ``Numbers`` | one number per row, or two classes as 0 and 1 | one_output.py |
| ``Labels`` | one of several classes per row | many_outputs.py |
| ``Vectors`` | several numbers per row | many_outputs.py |
| ``MultiLabels`` | several outputs per row, a class of each | many_outputs.py |

by_type.py explains how the routine is chosen; one_output.py documents the arguments.
"""

from typing import Any

from sumwise.kernels.forest import many_outputs, one_output, packing
from sumwise.kernels.forest.by_type import choose_by_type
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers


def _choose(name: str, numbers: Any, labels: Any, columns: Any) -> Any:
    """Choose among the routines for one column, for classes, and for any other columns."""
    routines = {Numbers: numbers, Labels: labels, Vectors: columns, MultiLabels: columns}
    return choose_by_type(name, routines)


def _choose_by_name(name: str) -> Any:
    """Choose among routines of the same name, one for one column and one for several."""
    of_columns = getattr(many_outputs, name)
    return _choose(name, getattr(one_output, name), of_columns, of_columns)


gather = _choose(
    "gather", one_output.gather, many_outputs.gather_labels, many_outputs.gather_columns
)
add_rows = _choose(
    "add_rows", one_output.add_rows, many_outputs.add_labels, many_outputs.add_columns
)
weigh_bins = _choose(
    "weigh_bins", one_output.weigh_nothing, many_outputs.weigh_labels, one_output.weigh_nothing
)
# Vectors and several outputs are never plain: their scan is never called.
scan = _choose("scan", one_output.scan, many_outputs.scan_labels, many_outputs.scan_labels)
scan_entries = _choose(
    "scan_entries",
    one_output.scan_entries,
    many_outputs.scan_entries,
    many_outputs.scan_nothing,
)
try_cut_of_entries = _choose(
    "try_cut_of_entries",
    one_output.try_cut_of_entries,
    many_outputs.try_cut_of_entries,
    many_outputs.try_nothing,
)
pack_rows = _choose("pack_rows", packing.pack_numbers, packing.pack_labels, packing.pack_nothing)
try_packed_cut = _choose(
    "try_packed_cut",
    packing.try_cut_of_numbers,
    packing.try_cut_of_labels,
    packing.try_cut_of_labels,
)
add_entries = _choose_by_name("add_entries")
bound_gain = _choose_by_name("bound_gain")
clear_bins = _choose_by_name("clear_bins")
rate_bins = _choose_by_name("rate_bins")
sweep = _choose_by_name("sweep")
try_cut = _choose_by_name("try_cut")
write_value = _choose_by_name("write_value")
