"""Split candidates of one tree: quantiles of a feature, weighted by the hessians of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tests.naive.binning import cut_by_weight, threshold_between


def find_candidates(
    values: Sequence[float],
    train: Iterable[int],
    rows: Iterable[int],
    hessian: Sequence[float],
    max_bins: int,
) -> list[float]:
    """Return the thresholds for a tree that is grown on `rows`, some of those that train.

    Distinct values count with the sum of their rows' hessians, and not at all without one. Up to
    `max_bins` of them get one bin each; more values lie in bins of about equal weight. A
    threshold is one between neighboring values of the training rows: of the neighbors that `rows`
    have, those in the middle.
    """
    distinct = sorted({values[row] + 0.0 for row in train if not math.isnan(values[row])})
    mass: dict[float, float] = {}
    for row in rows:
        if not math.isnan(values[row]):
            mass[values[row] + 0.0] = mass.get(values[row] + 0.0, 0.0) + hessian[row]
    seen = [value for value in distinct if mass.get(value, 0.0) > 0]
    if len(seen) <= max_bins:
        ends = list(range(len(seen) - 1))
    else:
        ends = cut_by_weight([mass[value] for value in seen], max_bins)
    candidates = []
    for end in ends:
        below, above = distinct.index(seen[end]), distinct.index(seen[end + 1])
        # Counted from one, like ranks: the cut between 3 and 4 is after 3, between 3 and 6 after 4.
        middle = (below + 1 + above + 1) // 2 - 1
        candidates.append(threshold_between(distinct[middle], distinct[middle + 1]))
    return candidates
