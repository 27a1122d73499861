"""Splits by sets of categories: bins, and the sets worth a look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .quantize import Quantized

if TYPE_CHECKING:
    from .split import SplitOptions, Sums


@dataclass(frozen=True)
class NativeOptions:
    """What keeps sets from following noise."""

    smoothing: float = 10.0
    l2: float = 10.0
    max_categories: int = 32
    min_rows: int = 100


@dataclass(frozen=True)
class CategoricalFeature:
    """Sets are of the bins below `n_choices`; beyond it comes the rest."""

    n_choices: int
    one_hot: bool = False


def assign_bins(counts: list[int], smoothing: float, onehot_limit: int) -> list[int]:
    """Return the bin of each category, by its training rows."""
    one_hot = sum(count > 0 for count in counts) <= onehot_limit
    bins, rest = [], []
    n_bins = 0
    for code, count in enumerate(counts):
        if count > 0 and (one_hot or count >= smoothing):
            n_bins += 1
            bins.append(n_bins)
        else:
            bins.append(0)
            rest.append(code)
    for code in rest:
        bins[code] = n_bins + 1
    return bins


def list_sets(
    histogram: Sums, quantized: Quantized, kind: CategoricalFeature, options: SplitOptions
) -> list[list[int]]:
    """Return candidates in the order that decides ties, each as the bins that go left."""
    unit_g, unit_h = 1 / quantized.scale_g, 1 / quantized.scale_h
    native = options.native
    count = histogram[:, 2]
    bins = [b for b in range(kind.n_choices) if count[b] > 0]
    if kind.one_hot:
        return [[b] for b in bins]
    bins = [b for b in bins if count[b] >= native.smoothing]

    def ratio(b: int) -> float:
        curvature = float(histogram[b, 1]) * unit_h + native.smoothing
        return float(histogram[b, 0]) * unit_g / curvature if curvature > 0 else 0.0

    order = sorted(bins, key=lambda b: (ratio(b), b))
    longest = min(native.max_categories, (len(order) + 1) // 2)
    total_h, n_rows = histogram[:, 1].sum(), count.sum()
    sets = []
    for from_end in (False, True):
        n_before = 0
        for length in range(1, longest + 1):
            members = order[-length:] if from_end else order[:length]
            n_left, h_left = count[members].sum(), histogram[members, 1].sum()
            n_right, h_right = n_rows - n_left, total_h - h_left
            if n_left < options.min_rows or h_left * unit_h < options.min_child_weight:
                continue
            if n_right < max(options.min_rows, native.min_rows):
                break
            if h_right * unit_h < options.min_child_weight:
                break
            if n_left - n_before < native.min_rows:
                continue
            n_before = n_left
            sets.append(members)
    return sets


def sum_sets(histogram: Sums, sets: list[list[int]]) -> NDArray[np.int64]:
    """Return the sums of the rows that each set sends left."""
    return np.array([histogram[members].sum(axis=0) for members in sets])
