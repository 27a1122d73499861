"""Exclusive feature bundling: sparse features that are rarely unusual together share a column."""

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from sumwise.data.sparse.binning import SparseBins
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.bundling import (
    N_CODES,
    bundle_features,
    count_crowded_bins,
    count_member_entries,
    count_row_entries,
    fill_entries,
    fill_plain_columns,
    find_missing_bins,
    sum_conflicts,
)
from sumwise.kernels.table.layout import Bundles
from sumwise.parts import Part

# Bundles that are open at a time: a feature looks for room in no more.
_OPEN_BUNDLES = 64
# A column costs about as much as entries in one of so many rows: with fewer it is dissolved.
_ROWS_PER_ENTRY = 6
# To look for the entries of a row costs about as much as so many columns, even if it has none.
_FEW_COLUMNS = 8


class Bundling(Part):
    """Put sparse features together that are rarely different from zero in the same row.

    Algorithms 3 and 4 of the LightGBM paper: features in descending order of their conflicts with
    others, each into the first bundle whose conflicts stay within the limit. Without conflicts the
    model is the same as without bundling, byte for byte; it takes less time and memory.

    Parameters
    ----------
    max_conflict_rate : float, default=0.0
        Share of the rows in which features of a bundle may meet, 0 to 1. There the last one keeps
        its value, and the others count as zero while trees grow.

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
        """Raise ParameterError if the rate is not from 0 to 1."""
        rate = self.max_conflict_rate
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= float(rate) <= 1:
            raise ParameterError(
                f"Bundling(max_conflict_rate={rate!r}): must be a number from 0 to 1"
            )


@dataclass(frozen=True)
class BundledColumns:
    """Columns of codes, and what they and all other entries stand for.

    Attributes
    ----------
    columns : ndarray of uint8, shape (n_columns, n_rows)
    n_codes : ndarray of int64, shape (n_columns,)
    contents : list of lists of (feature, ndarray)
        The features of each column, and the bin that each code means.
    bundles : Bundles
        The same and the entries, as kernels see them.
    """

    columns: np.ndarray
    n_codes: np.ndarray
    contents: list[list[tuple[int, np.ndarray]]]
    bundles: Bundles


@dataclass(frozen=True)
class _Plan:
    """The features of a bundle, in the order they came in; and its codes by row."""

    features: list[int]
    column: np.ndarray


class Codes(NamedTuple):
    """What bundling has to know of all features; ``first_code`` it writes."""

    bins: SparseBins
    n_value_bins: np.ndarray
    has_missing: np.ndarray
    n_codes: np.ndarray  # that a feature needs beside that of the usual bin
    first_code: np.ndarray

    @classmethod
    def of(cls, bins: SparseBins, n_value_bins: np.ndarray, team: Team) -> "Codes":
        """Look at the bins of a table."""
        has_missing, first_code = np.zeros((2, bins.n_features), dtype=np.int64)
        team.run(find_missing_bins, bins.start, bins.bins, has_missing)
        n_codes = n_value_bins - (bins.usual > 0) * (1 - has_missing)
        return cls(bins, n_value_bins, has_missing, n_codes, first_code)


def bundle_columns(
    bins: SparseBins, n_value_bins: np.ndarray, bundling: Bundling | None, team: Team
) -> BundledColumns:
    """Bundle the features of a sparse table; without a ``bundling`` each has its own column.

    Features that are not usable are nowhere.
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
    # Bundles with few codes come first, next to each other: they may share a lane.
    bundled.sort(key=lambda plan: (len(plan.features), plan.features[0]))
    n_columns = len(bundled) + alone.size
    columns = np.empty((n_columns, bins.n_rows), dtype=np.uint8)
    coding = np.empty((bins.n_features, 4), dtype=np.int64)
    coding[:, 0], coding[:, 1], coding[:, 2], coding[:, 3] = -1, 1, bins.usual, 1
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
    del bundled  # its columns are copied
    place_alone = np.arange(n_bundled, n_columns)
    coding[alone] = 0
    coding[alone, 0], coding[alone, 1] = place_alone, 1
    sizes[n_bundled:] = n_value_bins[alone] + 1
    same = np.arange(N_CODES, dtype=np.uint8)
    contents += [[(int(f), same)] for f in alone]
    filled = (bins.usual, alone, place_alone, columns)
    team.run(fill_plain_columns, bins.start, bins.rows, bins.bins, *filled)
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
    """Return bundles of two features or more, and the features in none; write the first codes.

    A bundle of fewer than ``fewest`` entries is not worth a column.
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
    """Return bundles of all these features; None if there is no room in a few columns."""
    if not 0 < codes.n_codes[features].sum() < _FEW_COLUMNS * N_CODES:
        return None
    columns = np.zeros((_FEW_COLUMNS, codes.bins.n_rows), dtype=np.uint8)
    plans, _ = _fill_columns(codes, features, limit, columns, team)
    used = [plan for plan in plans if plan.features]
    return used if sum(len(plan.features) for plan in used) == features.size else None


def _fill_columns(
    codes: Codes, features: np.ndarray, limit: int, columns: np.ndarray, team: Team
) -> tuple[list[_Plan], np.ndarray]:
    """Put features into columns, which are zero, as long as there is room; write first codes.

    Returns the bundle of each column, and the rows with entries.
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
        bins.usual,
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
    """Return features in descending order of their conflicts with all others."""
    counts = np.zeros(bins.n_rows, dtype=np.uint32)
    count_row_entries(bins.start, bins.rows, features, counts)
    conflicts = np.empty(features.size, dtype=np.int64)
    team.run(sum_conflicts, bins.start, bins.rows, features, counts, conflicts)
    return features[np.argsort(-conflicts, kind="stable")]


def _decode(coding: np.ndarray, n_value_bins: int) -> np.ndarray:
    """Return the bin of a feature that each code of its column means."""
    _, first, usual, has_missing = coding.tolist()
    bins = np.full(N_CODES, usual, dtype=np.uint8)
    others = [*range(usual + 1, n_value_bins + 1), *[0] * has_missing, *range(1, usual)]
    if usual == 0:
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
    """Keep the entries of features that are in no column, by feature and by row."""
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
    described = (n_value_bins, bins.usual, stored, place)
    team.run(fill_entries, *kept, own_bins, *described, row_start, entries, codes)
    row_start[1:] = row_start[:-1]  # each had been moved on to the next
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
