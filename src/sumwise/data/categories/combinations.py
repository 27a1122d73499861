"""Which combinations of categorical features to encode: chosen greedily before training.

Trying combinations at every split would be expensive. Instead, a stepwise additive model of binned
statistics is fitted: first all single features, then one combination at a time, always the one that
explains most of the residuals. A chosen combination may be extended by another feature. Statistics
are always ordered: other methods would favor combinations that are nearly identifiers.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sumwise.data.categories.groups import Group, can_combine
from sumwise.data.categories.target_statistics import CategorySums, TargetStatistics, find_places
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.target_statistics import cut_statistics, shuffle_rows

# Combinations are compared on this many rows; more would hardly change the choice.
_ROWS = 30_000
# Bins of a statistic, and how many times as much as noise a combination must explain.
_BINS = 32
_NOISE_FACTOR = 2.0
# The most pairs of features to try, times values; the best single features are paired.
_PAIRS = 300
# Statistics computed at a time: this bounds the memory.
_BATCH = 32
_STEP = 0.5
_PASSES = 3


def choose_combinations(
    part: TargetStatistics,
    codes: Mapping[int, np.ndarray],
    n_categories: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    seed: int,
    team: Team,
) -> list[tuple[int, ...]]:
    """Return combinations of the features in ``codes``, the best first.

    ``codes`` has the codes of each feature for all rows, ``values`` (n_values, n_rows) the targets,
    and ``rows`` are the training rows.
    """
    if part.combinations == 0 or part.max_combined < 2 or len(codes) < 2:
        return []
    order = np.empty_like(rows)
    shuffle_rows(random.make_key(seed, random.COMBINATIONS, 0), rows, order)
    sample = order[:_ROWS]
    judge = _Judge(
        part,
        {f: own[sample] for f, own in codes.items()},
        n_categories,
        part.find_greedy(n_categories, rows.size) | (n_categories <= part.native_limit),
        np.ascontiguousarray(values[:, sample]),
        team,
    )
    candidates = judge.add_singles(sorted(codes))
    chosen: list[tuple[int, ...]] = []
    while candidates and len(chosen) < part.combinations:
        gains = {features: judge.gain(bins) for features, bins in candidates.items()}
        best = max(gains, key=lambda features: (gains[features], [-f for f in features]))
        if gains[best] <= _NOISE_FACTOR * _BINS * values.shape[0]:
            break
        chosen.append(best)
        judge.explain(candidates.pop(best))
        if len(best) < part.max_combined:
            longer = {tuple(sorted({*best, f})) for f in judge.tried if f not in best}
            candidates |= judge.find_bins(longer - candidates.keys() - set(chosen))
    return chosen


class _Bins(NamedTuple):
    """Binned statistics of a candidate."""

    of_rows: np.ndarray  # uint8 (n_values, n_rows)
    n_rows: np.ndarray  # (n_values, _BINS): of each bin

    @classmethod
    def count_rows(cls, of_rows: np.ndarray) -> "_Bins":
        """Count the rows of bins."""
        return cls(of_rows, np.stack([np.bincount(own, minlength=_BINS) for own in of_rows]))


class _Judge:
    """Binned statistics of the compared rows, and the residuals that they should explain."""

    def __init__(
        self,
        part: TargetStatistics,
        codes: Mapping[int, np.ndarray],
        n_categories: np.ndarray,
        is_plain: np.ndarray,
        values: np.ndarray,
        team: Team,
    ) -> None:
        self._part, self._codes, self._n_categories, self._team = part, codes, n_categories, team
        self._values = values
        self._is_plain = is_plain
        self._residual = values - values.mean(axis=1, keepdims=True)
        self._measure_variance()
        self.tried: list[int] = []

    def _measure_variance(self) -> None:
        self._variance = [float(np.mean(own * own)) for own in self._residual]

    def add_singles(self, features: list[int]) -> dict[tuple[int, ...], _Bins]:
        """Explain by single features; return the bins of the pairs of the best features."""
        alone = self.find_bins((f,) for f in features)
        gains = {f: self.gain(bins) for (f,), bins in alone.items()}
        n_features = 2
        while (n_features + 1) * n_features // 2 * self._values.shape[0] <= _PAIRS:
            n_features += 1
        self.tried = sorted(sorted(features, key=lambda f: (-gains[f], f))[:n_features])
        for _ in range(_PASSES):
            for bins in alone.values():
                self.explain(bins)
        return self.find_bins(combinations(self.tried, 2))

    def find_bins(self, candidates: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], _Bins]:
        """Return the binned statistics of each candidate."""
        possible = sorted(f for f in candidates if self._may_try(f))
        found = {}
        for first in range(0, len(possible), _BATCH):
            batch = possible[first : first + _BATCH]
            all_bins = cut(self._find_statistics(batch), self._team)
            for features, own in zip(batch, all_bins, strict=True):
                found[features] = _Bins.count_rows(own)
        return found

    def _may_try(self, features: tuple[int, ...]) -> bool:
        """Whether to try a candidate. Trees combine features of few categories themselves."""
        has_many = not all(self._is_plain[f] for f in features)
        return len(features) == 1 or (has_many and can_combine(features, self._n_categories))

    def gain(self, bins: _Bins) -> float:
        """Return how much of the residuals the bins explain, in units of their variance."""
        total = 0.0
        for own, n_rows, residual, variance in zip(
            *bins, self._residual, self._variance, strict=True
        ):
            if variance > 0:
                sums = np.bincount(own, residual, _BINS)
                total += float(np.sum(sums * sums / (n_rows + 1.0))) / variance
        return total

    def explain(self, bins: _Bins) -> None:
        """Subtract from the residuals a share of what the bins explain."""
        for own, n_rows, residual in zip(*bins, self._residual, strict=True):
            sums = np.bincount(own, residual, _BINS)
            residual -= (_STEP * sums / (n_rows + 1.0))[own]
        self._measure_variance()

    def _find_statistics(self, candidates: list[tuple[int, ...]]) -> np.ndarray:
        n_values, n_rows = self._values.shape
        rows = np.arange(n_rows, dtype=np.uint32)
        groups = [
            Group.of_feature(f[0], int(self._n_categories[f[0]]))
            if len(f) == 1
            else Group.of_rows(f, self._n_categories, self._codes, rows)
            for f in candidates
        ]
        sizes = np.array([group.n_places for group in groups])
        start = np.append(0, sizes.cumsum()).astype(np.int64)
        sums = CategorySums(
            start,
            np.empty((n_values, start[-1])),
            np.empty(start[-1]),
            self._values.mean(axis=1),
            float(self._part.prior_weight),
        )
        out = np.empty((len(groups), n_values, n_rows))
        places = find_places(groups, self._codes)
        sums.ordered(places, rows, self._values, np.empty(0), out, self._team)
        return out


def cut(statistics: np.ndarray, team: Team) -> np.ndarray:
    """Return bins with about equal numbers of rows, uint8 of the shape of ``statistics``.

    The last axis has the rows.
    """
    by_row = statistics.reshape(-1, statistics.shape[-1])
    bins = np.empty(by_row.shape, dtype=np.uint8)
    keys = np.empty((team.n_threads, 2, by_row.shape[1]), dtype=np.uint64)
    starts = np.empty((team.n_threads, N_DIGIT_VALUES), dtype=np.int64)
    ends = np.empty((team.n_threads, _BINS), dtype=np.uint64)
    team.run(cut_statistics, by_row, _BINS, keys, starts, ends, bins)
    return bins.reshape(statistics.shape)
