"""Tables for exact splits: a compile-time choice, made by the type of ``table.presorted``.

A table of bins has ``NotSorted`` there, and the growers compile nothing of what follows. Otherwise
it has ``Presorted``: numeric features have ranks in place of bins, and exact_splits.py does the
work. Categorical features have bins, tiles and histograms as in any other table.

Ranks
    Rank 0 is "missing"; the distinct values of the training rows have ranks 1, 2, ... A split after
    rank r is kept with the next rank of its node's rows: the threshold lies between the two values.
    A split of all values against the missing is one after ``BEYOND``, which ``n_value_bins`` says
    of every such feature.
Lists
    Each such feature lists the rows of the tree by rank. The rows of a node are neighbors there, at
    the same places in the lists of all features; a split parts them without changing their order.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.layout import ZERO
from sumwise.kernels.grow.storage import exact_splits
from sumwise.kernels.runtime.jit import unless

BEYOND = np.iinfo(np.uint32).max


class NotSorted(NamedTuple):
    """All features have bins."""


class Presorted(NamedTuple):
    """Ranks and order of the numeric features."""

    is_ranked: Any  # uint8 (n_features,): 0 for a categorical feature
    ranks: Any  # uint32 (n_features, n_rows): of training rows
    order: Any  # uint64 (n_features, n_train): rank << 32 | row, ascending


class PresortedWork(NamedTuple):
    """Buffers for lists, and what is known of splits beside their sums."""

    lists: Any  # uint64 (2, n_features, n_rows + 1): entries as in ``order``; by depth, as records
    in_tree: Any  # uint8 (rows of the table,): rows of the tree, where these are not all
    goes_left: Any  # uint8 (rows of the table,): the side that a row's node sent it to
    first: Any  # int64 (n_nodes,): where the rows of a node begin in the lists
    parent: Any  # int32 (n_nodes,)
    upper: Any  # uint32 (n_nodes,): the rank above a node's split, 0 where not known
    left_sums: Any  # int64 (2, n_features, 3): what the best split of a feature sends left
    rank_at: Any  # int64 (n_threads, 256): ranks of candidates
    level_gains: Any  # float64 (n_threads, 2, n_rows): gains of a level by rank, if symmetric


def _unless_binned(name: str, neutral: Any) -> Any:
    """Make a function of ``(presorted, ...)``; see :func:`unless`."""
    return unless(NotSorted, name, neutral, partial(getattr, exact_splits))


# (f): whether a feature has ranks.
is_ranked = _unless_binned("is_ranked", False)
# (payload, records, totals): add the rows of records to totals; returns whether it was done.
sum_ranked_records = _unless_binned("sum_ranked_records", False)
# (feature, split_bin, missing_left, records, left, leaf): name the leaf of each record's row, a
# child of a node; returns how many go right.
name_by_rank = _unless_binned("name_by_rank", ZERO)
