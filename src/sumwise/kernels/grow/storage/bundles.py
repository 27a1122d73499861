"""Tables of sparse features: a compile-time choice, made by the type of ``table.bundles``.

A plain table has ``NoBundles`` there: feature f has a column of its bins, ``columns[f]``, and the
growers compile nothing of what follows. Otherwise it has ``Bundles``, and bundled.py does the work.

Columns
    A column holds the codes of one or more features; see bundling.py. A feature that is alone has
    its bins as codes: its first code is 1 and its usual bin 0.
Entries
    Features with few entries, for which a byte a row would be a waste, are in no column. Their
    entries are kept by feature, for partition, and by row, for histograms: that costs what there
    are entries, not rows.
"""

from functools import partial
from typing import Any, NamedTuple

from sumwise.kernels.grow.layout import ZERO
from sumwise.kernels.grow.storage import bundled
from sumwise.kernels.runtime.jit import unless


class NoBundles(NamedTuple):
    """Every feature has a column of bins."""


class Bundles(NamedTuple):
    """Where the bins of each feature are."""

    coding: Any  # int64 (n_features, 4): column (-1 for none), first code, usual bin, has missing
    start: Any  # int64 (n_features + 1,): where the entries of a feature begin
    rows: Any  # uint32 (n_entries,): ascending within a feature
    codes: Any  # uint8 (n_entries,): as in a column with this feature alone
    members: Any  # int64 (n_stored,): the features that have entries
    place: Any  # int64 (n_stored,): where the sums of a member begin
    row_start: Any  # uint32 (n_rows + 1,): where the entries of a row begin
    entries: Any  # uint32 (n_entries,): place + bin, row after row
    crowd: int  # most entries that share a bin


class BundleWork(NamedTuple):
    """Buffers for entries."""

    column: Any  # uint8 (n_rows,): codes of one feature, zero when not in use
    sums: Any  # int64 (2 * n_threads, 3 * n_bins + 3): by bin, zero when not in use; of all rows


def _unless_plain(name: str, neutral: Any) -> Any:
    """Make a function of ``(bundles, ...)``; see :func:`unless`."""
    return unless(NoBundles, name, neutral, partial(getattr, bundled))


# (): whether features are found by their codes.
is_bundled = _unless_plain("is_bundled", False)
# (scratch, columns, n_value_bins, feature, split_bin, missing_left, records, left, leaf): name the
# leaf of each record's row, a child of a node; returns how many go right.
name_by_code = _unless_plain("name_by_code", ZERO)
# (table, tile, records, gradients, hessians, histogram): add exact values by codes.
add_exact_codes = _unless_plain("add_exact_codes", None)
