"""Splits by sets of categories: a compile-time choice, made by the type of ``table.categories``.

A table without categorical features has ``NoCategories`` there, and the growers compile nothing of
what is done for sets. Otherwise it has ``Categories``, and category_splits.py does the work.

Bins of a categorical feature
    Bin 0 is "missing", as everywhere. Every category with rows enough to be ever chosen has a bin,
    in the order of the codes; all others share one last bin, the rest.
Narrow and wide
    Up to 255 such bins a feature lies in the table, in tiles and in histograms like any other. A
    feature with more is *wide*: its bins are in a side table. Its histograms are summed apart from
    the tiles. Where there are very many bins it has none, which its ``n_value_bins`` of 0 tells:
    then a node's sums are taken from its records when they are needed.
Sets
    A split sends a set of bins left, and all other bins right. Missing goes as the set says if the
    node has missing rows, else with the larger child.
"""

from functools import partial
from inspect import signature
from typing import Any, NamedTuple

from numba.extending import overload

from sumwise.kernels.grow.layout import ZERO
from sumwise.kernels.grow.storage import category_splits
from sumwise.kernels.grow.storage.bundles import NoBundles
from sumwise.kernels.grow.storage.presorted import NotSorted
from sumwise.kernels.runtime.jit import ROUTINE_OPTIONS, unless


class NoCategories(NamedTuple):
    """All features are numeric."""


class Categories(NamedTuple):
    """The categorical features of a table, and how their splits are chosen.

    A categorical feature has a *place* among the categorical features, by which all arrays but the
    first go.
    """

    place: Any  # int64 (n_features,): -1 for a numeric feature
    wide_place: Any  # int64 (n_categorical,): row of ``wide``, -1 for a narrow feature
    wide: Any  # uint32 (n_wide, n_rows): bins of wide features
    n_bins: Any  # int64 (n_categorical,): with bin 0 and the rest
    n_choices: Any  # int64 (n_categorical,): bins that a set may have, all but the rest
    crowd: Any  # int64 (n_categorical,): most rows of a bin of a wide feature
    one_hot: Any  # uint8 (n_categorical,): sets have one bin
    code_start: Any  # int64 (n_categorical,): where the codes of its bins begin
    codes: Any  # int32: the category of each bin, -1 for bin 0 and the rest
    smoothing: float  # rows a bin needs; what is added to its hessian
    l2: float  # more penalty on values in the gains of sets, but where sets have one bin
    max_categories: int  # of a set
    min_rows: int  # rows between two candidates, and of the other side


class CategoryWork(NamedTuple):
    """Buffers for choosing sets and splitting by them."""

    sums: Any  # int64 (n_threads, 3 * n_bins): g, h, rows by bin, zero when not in use
    words: Any  # int64 (n_threads, n_bins): packed sums, zero when not in use
    touched: Any  # int64 (n_threads, n_bins + 1): bins whose words are not zero
    present: Any  # int64 (n_threads, n_bins): bins that have rows
    order: Any  # int64 (n_threads, 2, n_bins): bins by ratio; scratch
    ratio: Any  # float64 (n_threads, 2, n_bins)
    prefix: Any  # int64 (n_threads, 3, n_bins + 1): sums of the first bins of the order
    candidates: Any  # int64 (n_threads, 3, n_candidates): first of the order, length, rows
    gains: Any  # float64 (n_threads, n_candidates)
    member: Any  # uint8 (n_threads, n_bins): bins of a set, zero when not in use
    left_sums: Any  # int64 (2, n_categorical, 3): sums of the best set of a feature in each child
    sets: Any  # int32 (2, n_categorical, n_set): and its bins, without bin 0
    node_size: Any  # int32 (n_nodes,): bins of a node's set, without bin 0
    node_set: Any  # int32 (n_nodes, n_set)


def by_job(
    with_numbers: Any, with_sets: Any, with_bundles: Any = None, with_ranks: Any = None
) -> Any:
    """Make a function of ``(job, ...)``: one of these, by categories or bundles of the job's table.

    They are routines with the same arguments. Where bundles make no difference there is no third,
    and no fourth where ranks make none; the fourth serves tables with ranks and categories, too.
    """

    def function(*args):
        raise TypeError("called from kernels only")

    def choose(*args):
        job = args[0]
        table = job.types[job.fields.index("table")]
        categories = table.types[table.fields.index("categories")]
        chosen = with_numbers if categories.instance_class is NoCategories else with_sets
        bundles = table.types[table.fields.index("bundles")]
        if with_bundles is not None and bundles.instance_class is not NoBundles:
            chosen = with_bundles
        presorted = table.types[table.fields.index("presorted")]
        if with_ranks is not None and presorted.instance_class is not NotSorted:
            chosen = with_ranks
        return chosen.py_func

    choose.__signature__ = signature(with_numbers.py_func)
    overload(function, jit_options=ROUTINE_OPTIONS)(choose)
    return function


def _unless_numbers(name: str, neutral: Any) -> Any:
    """Make a function of ``(categories, ...)``; see :func:`unless`."""
    return unless(NoCategories, name, neutral, partial(getattr, category_splits))


# (f): whether a feature is categorical.
is_categorical = _unless_numbers("is_categorical", False)
# (payload, exact, records, totals): add the rows of records to totals.
sum_records = _unless_numbers("sum_records", None)
# (scratch, thread, node, feature, missing_left, columns, records, left, leaf): name the leaf of
# each record's row, a child of a node; returns how many go right.
name_by_set = _unless_numbers("name_by_set", ZERO)
