"""Classification trees by Gini impurity: the growth of `grow.py` on class counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .binning import MISSING_BIN
from .grow import Grower, GrowOptions, Tree
from .split import (
    RELATIVE_MIN_GAIN,
    Codes,
    Floats,
    Rows,
    Split,
    find_highest,
    list_candidates,
    sum_left,
)

Counts = NDArray[np.int64]


def score_counts(counts: Counts) -> Floats:
    """Return sum_k c_k^2 / c over the last axis, 0 where there is no weight.

    That is the weight times (1 - Gini impurity). Counts are integers below 2^26, so all but the
    quotient is exact.
    """
    weight = counts.sum(axis=-1).astype(np.float64)
    squares = (counts.astype(np.float64) ** 2).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, squares / weight, 0.0)


class ClassGrower(Grower):
    """A tree whose nodes hold weights of classes; `tree.value` has one list per node."""

    def __init__(
        self,
        codes: Codes,
        n_value_bins: Sequence[int],
        class_idx: Rows,
        weight: Rows,
        rows: Rows,
        options: GrowOptions,
    ) -> None:
        nothing = np.zeros(codes.shape[1])
        super().__init__(codes, n_value_bins, nothing, nothing, rows, options)
        n_classes = int(class_idx.max()) + 1
        # What a row adds to a bin: its weight in the column of its class; and one row.
        self.stats = np.zeros((len(rows), n_classes + 1), dtype=np.int64)
        self.stats[np.arange(len(rows)), class_idx[rows]] = weight[rows]
        self.stats[:, -1] = 1

    def find_split(self, node_idx: int) -> Split | None:
        options, positions = self.options, self.positions[node_idx]
        if options.max_depth is not None and self.tree.depth[node_idx] >= options.max_depth:
            return None
        if len(positions) < 2 * options.min_rows:
            return None
        total = self.stats[positions].sum(axis=0)
        best: Split | None = None
        for feature in self.allowed_features(node_idx):
            histogram = np.zeros((1 + self.n_value_bins[feature], total.size), dtype=np.int64)
            np.add.at(histogram, self.codes[feature, positions], self.stats[positions])
            has_missing = histogram[MISSING_BIN, -1] > 0
            candidates = list(list_candidates(self.n_value_bins[feature], has_missing))
            if not candidates:
                continue
            left = sum_left(histogram, candidates)
            place, gain = find_highest([self.list_gains(left, total)])
            if place is None or (best is not None and not gain > best.gain):
                continue
            split_bin, missing_left = candidates[place]
            if not has_missing:
                missing_left = bool(2 * left[place, -1] >= total[-1])
            best = Split(feature, split_bin, missing_left, gain, (gain,), (True,))
        if best is None:
            return None
        needed = options.min_gain + RELATIVE_MIN_GAIN * score_counts(total[:-1])
        return best if best.gain > needed else None

    def list_gains(self, left: Counts, total: Counts) -> Floats:
        """Return the gain of each candidate, nan where a child would be too small."""
        right = total - left
        valid = (left[:, -1] >= self.options.min_rows) & (right[:, -1] >= self.options.min_rows)
        valid &= (left[:, :-1].sum(axis=1) > 0) & (right[:, :-1].sum(axis=1) > 0)
        scores = score_counts(left[:, :-1]) + score_counts(right[:, :-1])
        return np.where(valid, scores - score_counts(total[:-1]), np.nan)


def grow_class_tree(
    codes: Codes,
    n_value_bins: Sequence[int],
    class_idx: Rows,
    weight: Rows,
    rows: Rows,
    options: GrowOptions,
) -> Tree:
    """Grow a leaf-wise or level-wise tree; a node's value is its class frequencies."""
    grower = ClassGrower(codes, n_value_bins, class_idx, weight, rows, options)
    grower.grow_by_best_node()
    for positions in grower.positions:
        counts = grower.stats[positions].sum(axis=0)[:-1].astype(np.float64)
        grower.tree.sum_hessian.append(float(counts.sum()))
        grower.tree.value.append((counts / counts.sum()).tolist())  # type: ignore[arg-type]
    return grower.tree
