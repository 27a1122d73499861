"""Growing one tree with vector leaves: the gain of a split is the sum over the outputs.

Each output has sums of its own (gradient, hessian, count), scored as those of a tree of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .binning import MISSING_BIN
from .grow import LEAF, NO_CHILD, GrowOptions, SplitOrder
from .quantize import Quantized, quantize_wide
from .split import (
    RELATIVE_MIN_GAIN,
    Codes,
    Floats,
    Rows,
    Sums,
    add_in_order,
    build_histogram,
    divide_where_positive,
    goes_left,
    leaf_weight,
    list_candidates,
    score_sums,
    soft_threshold,
    sum_left,
    sum_rows,
    to_floats,
)


@dataclass
class VectorTree:
    """One entry per node; node 0 is the root. `value`, `gain` and `weight` have one per output."""

    feature: list[int] = field(default_factory=list)
    split_bin: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    n_rows: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    value: list[list[float]] = field(default_factory=list)
    gain: list[list[float]] = field(default_factory=list)
    weight: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class VectorSplit:
    feature: int
    split_bin: int
    missing_left: bool
    gain: float
    valid: tuple[bool, ...]  # of each node of the level


class VectorGrower(SplitOrder):
    """A tree under construction."""

    def __init__(
        self,
        codes: Codes,
        n_value_bins: Sequence[int],
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        rows: Rows,
        options: GrowOptions,
    ) -> None:
        self.codes, self.n_value_bins, self.options = codes[:, rows], n_value_bins, options
        self.quantized = [quantize_wide(g[k, rows], h[k, rows]) for k in range(len(g))]
        self.shared = bool((h[1:] == h[0]).all())
        self.tree = VectorTree()
        self.positions: list[Rows] = []
        self.anchors: list[int] = []
        self.add_node(np.arange(len(rows)), 0)

    def add_node(self, positions: Rows, depth: int, anchor: int | None = None) -> int:
        node = len(self.positions)
        self.positions.append(positions)
        self.anchors.append(node if anchor is None else anchor)
        tree, nothing = self.tree, [0.0] * len(self.quantized)
        tree.feature.append(LEAF)
        tree.split_bin.append(0)
        tree.missing_left.append(False)
        tree.left.append(NO_CHILD)
        tree.n_rows.append(len(positions))
        tree.depth.append(depth)
        tree.gain.append(nothing)
        return node

    # --- splits ---

    def allowed(self, node: int) -> Iterable[int]:
        if self.options.features is None:
            return range(len(self.codes))
        return self.options.features(node, self.tree.depth[node])

    def is_valid(self, sums: Sequence[Sums]) -> NDArray[np.bool_]:
        """Whether children have enough rows, and enough weight: the mean of their hessians."""
        weights = [to_floats(s, q)[1] for s, q in zip(sums, self.quantized, strict=True)]
        n_weights = 1 if self.shared else len(weights)
        total = sum(weights[:n_weights], start=np.zeros(()))
        enough = sums[0][..., 2] >= self.options.min_rows
        return enough & (total >= self.options.min_child_weight * n_weights)

    def score(self, sums: Sequence[Sums]) -> Floats:
        """The score of all outputs; with one hessian for all, their squares are divided once."""
        total = np.zeros(sums[0].shape[:-1])
        if self.shared and self.options.max_delta_step == 0:
            for s, quantized in zip(sums, self.quantized, strict=True):
                shrunk = soft_threshold(to_floats(s, quantized)[0], self.options.l1)
                total = total + shrunk * shrunk
            hessian = to_floats(sums[0], self.quantized[0])[1]
            return divide_where_positive(total, hessian + self.options.l2)
        for s, quantized in zip(sums, self.quantized, strict=True):
            total = total + score_sums(s, quantized, self.options)
        return total

    def gains(self, left: Sequence[Sums], totals: Sequence[Sums]) -> Floats:
        """Gains of candidates by what they send left, nan where a child would be too small."""
        right = [t - s for s, t in zip(left, totals, strict=True)]
        if self.shared and self.options.max_delta_step == 0:
            both = self.score(left) + self.score(right)
        else:
            both = np.zeros(left[0].shape[:-1])
            for s, t, quantized in zip(left, right, self.quantized, strict=True):
                own = score_sums(s, quantized, self.options), score_sums(t, quantized, self.options)
                both = both + (own[0] + own[1])
        valid = self.is_valid(left) & self.is_valid(right)
        return np.where(valid, 0.5 * (both - self.score(totals)), np.nan)

    def find_split(self, node_idx: int) -> VectorSplit | None:
        is_deepest = self.is_deepest(self.tree.depth[node_idx])
        return None if is_deepest else self.find_split_of_level([node_idx])

    def find_split_of_level(self, nodes: Sequence[int]) -> VectorSplit | None:
        """The best split of some nodes together, if it is good enough."""
        best: VectorSplit | None = None
        able = [n for n in nodes if self.tree.n_rows[n] >= 2 * self.options.min_rows]
        rows = [self.positions[n] for n in able]
        totals = [[sum_rows(q, r) for q in self.quantized] for r in rows]
        for f in self.allowed(nodes[0]):
            codes, n_bins = self.codes[f], self.n_value_bins[f]
            has_missing = any((codes[r] == MISSING_BIN).any() for r in rows)
            candidates = list(list_candidates(n_bins, has_missing))
            if not candidates or not able:
                continue
            level = np.full(len(candidates), np.nan)
            valid = []
            for own, total in zip(rows, totals, strict=True):
                left = [
                    sum_left(build_histogram(codes, n_bins, q.gi, q.hi, own), candidates)
                    for q in self.quantized
                ]
                gains = self.gains(left, total)
                valid.append(~np.isnan(gains))
                before = np.where(np.isnan(level), 0.0, level)
                level = np.where(np.isnan(gains), level, before + gains)
            if np.isnan(level).all():
                continue
            i = int(np.nanargmax(level))
            if best is None or level[i] > best.gain:
                of_node = dict(zip(able, (bool(v[i]) for v in valid), strict=True))
                split_bin, missing_left = candidates[i]
                if not has_missing:
                    is_left = [goes_left(codes[r], split_bin, False) for r in rows]
                    n_left = sum(int(part.sum()) for part in is_left)
                    missing_left = 2 * n_left >= sum(map(len, rows))
                flags = tuple(of_node.get(n, False) for n in nodes)
                best = VectorSplit(f, split_bin, missing_left, float(level[i]), flags)
        noise = add_in_order(RELATIVE_MIN_GAIN * abs(float(self.score(t))) for t in totals)
        return best if best and best.gain > self.options.min_gain + noise else None

    def apply_split(self, node: int, split: VectorSplit, place: int = 0) -> list[int]:
        tree, positions = self.tree, self.positions[node]
        codes = self.codes[split.feature, positions]
        is_left = goes_left(codes, split.split_bin, split.missing_left)
        tree.feature[node], tree.split_bin[node] = split.feature, split.split_bin
        tree.missing_left[node] = split.missing_left
        anchor = None if split.valid[place] else self.anchors[node]
        children = positions[is_left], positions[~is_left]
        if split.valid[place]:
            tree.gain[node] = [self.gain_of_output(q, positions, *children) for q in self.quantized]
        left, right = (self.add_node(own, tree.depth[node] + 1, anchor) for own in children)
        tree.left[node] = left
        return [left, right]

    def gain_of_output(self, quantized: Quantized, *nodes: Rows) -> float:
        sums = [sum_rows(quantized, rows) for rows in nodes]
        parent, left, right = (float(score_sums(s, quantized, self.options)) for s in sums)
        return 0.5 * ((left + right) - parent)

    def set_values(self) -> None:
        own = []
        for positions in self.positions:
            sums = [to_floats(sum_rows(q, positions), q) for q in self.quantized]
            self.tree.weight.append([float(h) for _, h in sums])
            rate = self.options.learning_rate
            own.append([rate * float(leaf_weight(g, h, self.options)) for g, h in sums])
        self.tree.value = [own[anchor] for anchor in self.anchors]
