"""Exclusive feature bundling: sparse features that rarely have entries in the same row share a
column.

Features are placed in descending order of their conflicts with all others, which one pass over the
entries counts. Each goes into the first open bundle that has codes left and stays within the limit
of conflicts. Features that found no bundle go through another round, as long as a round finds
bundles. Validation rows are in the same table, so their conflicts count, too.

A bundle with entries in few rows is not worth one byte per row. Its features get no column; their
entries are stored by feature, to partition rows, and by row, to sum histograms. So features that
cannot be bundled take memory in proportion to their entries. But if a few columns can hold all that
is left, they do: looking up the entries of a row takes time even if it has none.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sumwise.data.sparse.binning import SparseBins
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.bundling import (
    N_CODES,
    bundle_features,
    count_crowded_bins,
    count_member_entries,
    count_row_entries,
    fill_entries,
    find_missing_bins,
    sum_conflicts,
)
from sumwise.kernels.table.layout import Bundles
from sumwise.parts import Part, check_number

# Bundles that are open at a time: a feature is tried in no more than these.
_OPEN_BUNDLES = 64
# A column costs about as much as entries in one of this many rows. A bundle with fewer entries is
# dissolved.
_ROWS_PER_ENTRY = 6
# Looking up the entries of a row costs about as much as this many columns, even if it has none.
_FEW_COLUMNS = 8


class Bundling(Part):
    """Bundle sparse features that are rarely nonzero in the same row.

    This follows algorithms 3 and 4 of the LightGBM paper. Features are taken in descending order of
    their conflicts with other features. Each joins the first bundle whose conflicts stay within the
    limit. Bundles without conflicts save time and memory and do not change the model at all.

    Parameters
    ----------
    max_conflict_rate : float, default=0.0
        Share of the rows in which several features of a bundle may be nonzero, from 0 to 1. In
        such a row the last feature keeps its value, and the others count as zero in training.

    Examples
    --------
    >>> from sumwise import Bundling, GradientBoostingClassifier
    >>> model = GradientBoostingClassifier(bundling=Bundling(max_conflict_rate=0.001))
    >>> model.get_params()["bundling__max_conflict_rate"]
    0.001
    """

    def __init__(self, max_conflict_rate: float = 0.0) -> None:
        self.max_conflict_rate = max_conflict_rate

    def check(self) -> None:
        """Raise ParameterError if the rate is not between 0 and 1."""
        check_number(self, "max_conflict_rate", 0.0, 1.0)


@dataclass(frozen=True)
class BundledColumns:
    """Columns of codes and stored entries, with their meaning.

    Attributes
    ----------
    columns : ndarray of uint8, shape (n_columns, n_rows)
    n_codes : ndarray of int64, shape (n_columns,)
    contents : list of lists of (feature, ndarray)
        The features of each column, and the bin of the feature for each code.
    bundles : Bundles
        The same, and the entries of features without a column, as kernels read them.
    """

    columns: np.ndarray
    n_codes: np.ndarray
    contents: list[list[tuple[int, np.ndarray]]]
    bundles: Bundles


@dataclass(frozen=True)
class _Plan:
    """The features of a bundle in the order they were added, and its codes by row."""

    features: list[int]
    column: np.ndarray


class Codes(NamedTuple):
    """All features as bundling sees them. It writes ``first_code``."""

    bins: SparseBins
    n_value_bins: np.ndarray
    has_missing: np.ndarray
    n_codes: np.ndarray  # codes that a feature needs besides that of its default bin
    first_code: np.ndarray

    @classmethod
    def of(cls, bins: SparseBins, n_value_bins: np.ndarray, team: Team) -> "Codes":
        """Count the codes that each feature needs."""
        has_missing, first_code = np.zeros((2, bins.n_features), dtype=np.int64)
        team.run(find_missing_bins, bins.start, bins.bins, has_missing)
        n_codes = n_value_bins - (bins.default_bin > 0) * (1 - has_missing)
        return cls(bins, n_value_bins, has_missing, n_codes, first_code)


def bundle_columns(
    bins: SparseBins, n_value_bins: np.ndarray, bundling: Bundling | None, team: Team
) -> BundledColumns:
    """Bundle the features of a sparse table; without ``bundling`` each has its own column.

    Unusable features are omitted.
    """
    alone, stored = np.flatnonzero(bins.usable), np.empty(0, dtype=np.int64)
    codes = Codes.of(bins, n_value_bins, team)
    bundled: list[_Plan] = []
    if bundling is not None:
        limit = int(bundling.max_conflict_rate * bins.n_rows)
        bundled, rest = find_bundles(codes, alone, limit, team)
        is_dense = bins.n_entries[rest] * _ROWS_PER_ENTRY >= bins.n_rows
        alone, stored = rest[is_dense], rest[~is_dense]
        few = _try_few_columns(codes, stored, limit, team)
        if few is not None:
            bundled += [plan for plan in few if len(plan.features) > 1]
            single = [plan.features[0] for plan in few if len(plan.features) == 1]
            alone, stored = np.sort(np.append(alone, single)).astype(np.int64), stored[:0]
    # Small bundles come first, next to each other, so that they may share a lane.
    bundled.sort(key=lambda plan: (len(plan.features), plan.features[0]))
    n_columns = len(bundled) + alone.size
    columns = np.empty((n_columns, bins.n_rows), dtype=np.uint8)
    coding = np.empty((bins.n_features, 4), dtype=np.int64)
    coding[:, 0], coding[:, 1], coding[:, 2], coding[:, 3] = -1, 1, bins.default_bin, 1
    sizes, contents = np.empty(n_columns, dtype=np.int64), []
    for place, plan in enumerate(bundled):
        columns[place] = plan.column
        members = np.array(plan.features)
        coding[members, 0], coding[members, 1] = place, codes.first_code[members]
        coding[members, 3] = codes.has_missing[members]
        decoded = [(f, _decode(coding[f], int(n_value_bins[f]))) for f in plan.features]
        sizes[place] = 1 + codes.n_codes[members].sum()
        contents.append(decoded)
    n_bundled = len(bundled)
    del bundled  # frees its columns, which have been copied
    place_alone = np.arange(n_bundled, n_columns)
    coding[alone] = 0
    coding[alone, 0], coding[alone, 1] = place_alone, 1
    sizes[n_bundled:] = n_value_bins[alone] + 1
    same = np.arange(N_CODES, dtype=np.uint8)
    contents += [[(int(f), same)] for f in alone]
    bins.fill_columns(alone, place_alone, columns, team)
    return BundledColumns(
        columns, sizes, contents, _store_entries(bins, n_value_bins, coding, stored, team)
    )


def find_bundles(
    codes: Codes,
    features: np.ndarray,
    limit: int,
    team: Team,
    n_open: int = _OPEN_BUNDLES,
    fewest: int | None = None,
) -> tuple[list[_Plan], np.ndarray]:
    """Return bundles of at least two features, and the features outside them; write first codes.

    A bundle with fewer than ``fewest`` entries is not worth a column.
    """
    bins = codes.bins
    if fewest is None:
        fewest = bins.n_rows // _ROWS_PER_ENTRY
    is_rare = 2 * bins.n_entries[features] <= bins.n_rows + limit
    fits = is_rare & (codes.n_codes[features] < N_CODES)
    rest, left_out = features[fits], features[~fits]
    found: list[_Plan] = []
    columns = np.zeros((min(n_open, rest.size), bins.n_rows), dtype=np.uint8)
    while rest.size:
        columns = columns[: rest.size]
        plans, n_filled = _fill_columns(codes, rest, limit, columns, team)
        kept = [
            plan
            for plan, n in zip(plans, n_filled, strict=True)
            if len(plan.features) > 1 and n >= fewest
        ]
        if not kept:
            break
        found += [_Plan(plan.features, plan.column.copy()) for plan in kept]
        rest = np.setdiff1d(rest, np.concatenate([plan.features for plan in kept]))
        columns[n_filled > 0] = 0
    return found, np.sort(np.concatenate([rest, left_out]))


def _try_few_columns(
    codes: Codes, features: np.ndarray, limit: int, team: Team
) -> list[_Plan] | None:
    """Bundle all these features in a few columns; return None if they do not fit."""
    if not 0 < codes.n_codes[features].sum() < _FEW_COLUMNS * N_CODES:
        return None
    columns = np.zeros((_FEW_COLUMNS, codes.bins.n_rows), dtype=np.uint8)
    plans, _ = _fill_columns(codes, features, limit, columns, team)
    used = [plan for plan in plans if plan.features]
    return used if sum(len(plan.features) for plan in used) == features.size else None


def _fill_columns(
    codes: Codes, features: np.ndarray, limit: int, columns: np.ndarray, team: Team
) -> tuple[list[_Plan], np.ndarray]:
    """Put features into columns of zeros while there is room; write first codes.

    Returns the bundle of each column and its number of rows with entries.
    """
    bins = codes.bins
    order = _order_by_conflicts(bins, features, team)
    n_used = np.ones(columns.shape[0], dtype=np.int64)
    n_filled, n_conflicts = np.zeros_like(n_used), np.zeros_like(n_used)
    bundle = np.full(bins.n_features, -1, dtype=np.int64)
    bundle_features(
        order,
        bins.start,
        bins.rows,
        bins.bins,
        codes.n_value_bins,
        bins.default_bin,
        codes.has_missing,
        codes.n_codes,
        limit,
        columns,
        n_used,
        n_filled,
        n_conflicts,
        bundle,
        codes.first_code,
    )
    by_bundle = np.argsort(bundle[order], kind="stable")
    size = np.bincount(bundle[features] + 1, minlength=columns.shape[0] + 1)
    members = np.split(order[by_bundle], size.cumsum()[:-1])[1:]
    plans = [_Plan(own.tolist(), column) for own, column in zip(members, columns, strict=True)]
    return plans, n_filled


def _order_by_conflicts(bins: SparseBins, features: np.ndarray, team: Team) -> np.ndarray:
    """Return features in descending order of their conflicts with all other features."""
    counts = np.zeros(bins.n_rows, dtype=np.uint32)
    count_row_entries(bins.start, bins.rows, features, counts)
    conflicts = np.empty(features.size, dtype=np.int64)
    team.run(sum_conflicts, bins.start, bins.rows, features, counts, conflicts)
    return features[np.argsort(-conflicts, kind="stable")]


def _decode(coding: np.ndarray, n_value_bins: int) -> np.ndarray:
    """Return the bin of a feature for each code of its column."""
    _, first, default, has_missing = coding.tolist()
    bins = np.full(N_CODES, default, dtype=np.uint8)
    others = [*range(default + 1, n_value_bins + 1), *[0] * has_missing, *range(1, default)]
    if default == 0:
        others = list(range(1, n_value_bins + 1))
    bins[first : first + len(others)] = others
    return bins


def _store_entries(
    bins: SparseBins,
    n_value_bins: np.ndarray,
    coding: np.ndarray,
    stored: np.ndarray,
    team: Team,
) -> Bundles:
    """Store the entries of features without a column, by feature and by row."""
    counts = np.zeros(bins.n_features, dtype=np.int64)
    counts[stored] = bins.n_entries[stored]
    start = np.append(0, counts.cumsum())
    rows, own_bins = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint8)
    if stored.size:
        is_stored = np.repeat(counts > 0, bins.n_entries)
        rows, own_bins = bins.rows[is_stored], bins.bins[is_stored]
    n_bins = n_value_bins[stored] + 1
    place = n_bins.cumsum() - n_bins
    kind = np.uint32 if rows.size <= np.iinfo(np.uint32).max else np.int64
    row_start = np.zeros(bins.n_rows + 1, dtype=kind)
    kept = (start, rows)
    team.run(count_member_entries, *kept, stored, row_start)
    np.cumsum(row_start, out=row_start)
    entries = np.empty(rows.size, dtype=np.uint32)
    codes = np.empty(rows.size, dtype=np.uint8)
    described = (n_value_bins, bins.default_bin, stored, place)
    team.run(fill_entries, *kept, own_bins, *described, row_start, entries, codes)
    row_start[1:] = row_start[:-1]  # fill_entries has advanced each to its end
    row_start[0] = 0
    most = np.zeros(max(1, stored.size), dtype=np.int64)
    scratch = np.empty((team.n_threads, 256), dtype=np.int64)
    team.run(count_crowded_bins, start, own_bins, stored, scratch, most)
    return Bundles(
        coding=coding,
        start=start,
        rows=rows,
        codes=codes,
        members=stored.astype(np.int64),
        place=place.astype(np.int64),
        row_start=row_start,
        entries=entries,
        crowd=int(most.max()),
    )
