"""Growing one tree: leaf-wise, level-wise ("depth") or symmetric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .constraints import Bounds, bound_children, may_meet, project_leaves
from .quantize import quantize_packed, quantize_wide
from .split import (
    Codes,
    Rows,
    Split,
    SplitOptions,
    find_best_split,
    find_level_split,
    goes_left,
    leaf_weight,
    smooth_value,
    sum_rows,
    to_floats,
    value_sums,
)

Growth = Literal["leaf", "depth", "symmetric"]

LEAF = -1
NO_CHILD = -1


@dataclass(frozen=True)
class GrowOptions(SplitOptions):
    """What shapes a tree. `features(node_idx, depth)` lists the allowed features.

    Symmetric growth asks once per level, with its leftmost node.
    """

    growth: Growth = "leaf"
    max_leaves: int | None = None
    max_depth: int | None = None
    features: Callable[[int, int], Iterable[int]] | None = None
    wide: bool = False
    learning_rate: float = 1.0
    groups: Sequence[Iterable[int]] = ()
    max_path_features: int = 0


@dataclass
class Tree:
    """One entry per node; node 0 is the root. A leaf has feature -1."""

    feature: list[int] = field(default_factory=list)
    split_bin: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    members: list[frozenset[int] | None] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    n_rows: list[int] = field(default_factory=list)
    sum_hessian: list[float] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    leaf_rows: dict[int, Rows] = field(default_factory=dict)

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_rows)


class SplitOrder(ABC):
    """Chooses the node to split next; subclasses find splits and apply them."""

    options: GrowOptions
    tree: Any

    @abstractmethod
    def find_split(self, node_idx: int) -> Any:
        """Return the accepted split of a node, or None if it is not splittable."""

    @abstractmethod
    def find_split_of_level(self, level: Sequence[int]) -> Any:
        """Return the accepted split of a level, if there is one."""

    @abstractmethod
    def apply_split(self, node_idx: int, split: Any, place: int = 0) -> list[int]:
        """Split a node, the `place`-th of its level; return [left, right]."""

    @abstractmethod
    def set_values(self) -> None:
        """Give every node its value."""

    def grow(self) -> Any:
        """Grow the whole tree."""
        if self.options.growth == "symmetric":
            self.grow_by_level()
        else:
            self.grow_by_best_node()
        self.set_values()
        return self.tree

    def grow_by_best_node(self) -> None:
        """Split one node at a time: the best one, or the best of the top level."""
        splits: dict[int, Any] = {}
        new_nodes = [0]
        n_leaves = 1
        while True:
            for node_idx in new_nodes:
                split = self.find_split(node_idx)
                if split is not None:
                    splits[node_idx] = split
            max_leaves = self.options.max_leaves
            if not splits or (max_leaves is not None and n_leaves >= max_leaves):
                return
            node_idx = min(splits, key=lambda idx: self.priority(idx, splits[idx]))
            new_nodes = self.apply_split(node_idx, splits.pop(node_idx))
            n_leaves += 1

    def priority(self, node_idx: int, split: Any) -> tuple[int, float, int]:
        """Return a key whose minimum is the node to split next."""
        level = self.tree.depth[node_idx] if self.options.growth == "depth" else 0
        return level, -split.gain, node_idx

    def grow_by_level(self) -> None:
        """Split all nodes of a level by one shared split, level after level."""
        level = [0]
        depth = 0
        while self.may_grow_level(depth):
            split = self.find_split_of_level(level)
            if split is None:
                return
            level = [
                child
                for place, node_idx in enumerate(level)
                for child in self.apply_split(node_idx, split, place)
            ]
            depth += 1

    def is_deepest(self, depth: int) -> bool:
        return self.options.max_depth is not None and depth >= self.options.max_depth

    def may_grow_level(self, depth: int) -> bool:
        max_leaves = self.options.max_leaves
        if self.is_deepest(depth):
            return False
        # One more level has 2 ** (depth + 1) leaves.
        return max_leaves is None or 2 ** (depth + 1) <= max_leaves


class Grower(SplitOrder):
    """A tree under construction.

    Rows are held as positions in the array `rows` of the tree, and become row
    indices again in `leaf_rows`.
    """

    def __init__(
        self,
        codes: Codes,
        n_value_bins: Sequence[int],
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        rows: Rows,
        options: GrowOptions,
    ) -> None:
        self.codes = codes[:, rows]
        self.n_value_bins = n_value_bins
        self.wide = quantize_wide(g[rows], h[rows])
        self.quantized = self.wide if options.wide else quantize_packed(g[rows], h[rows])
        self.options = options
        self.rows = rows
        self.tree = Tree()
        self.positions: list[Rows] = []
        # The node whose rows give a node its value; usually the node itself.
        self.anchors: list[int] = []
        self.bounds: list[Bounds] = []
        # Values of nodes by the sums that choose splits, where paths are smoothed.
        self.centers: list[float] = []
        self.parents: list[int] = []
        self.paths: list[tuple[int, ...]] = []
        everything = np.arange(len(rows), dtype=np.int64)
        sums = to_floats(sum_rows(self.quantized, everything), self.quantized)
        self.add_node(everything, depth=0, center=float(leaf_weight(*sums, options)))

    def grow(self) -> Tree:
        """Grow the whole tree, and say which rows its leaves have."""
        super().grow()
        self.tree.leaf_rows = {
            node_idx: self.rows[self.positions[node_idx]]
            for node_idx in range(self.tree.n_nodes)
            if self.tree.feature[node_idx] == LEAF
        }
        return self.tree

    def add_node(
        self,
        positions: Rows,
        depth: int,
        anchor: int | None = None,
        bounds: Bounds | None = None,
        path: tuple[int, ...] = (),
        center: float = 0.0,
        parent: int = -1,
    ) -> int:
        node_idx = self.tree.n_nodes
        self.centers.append(center)
        self.parents.append(parent)
        self.bounds.append(bounds or Bounds())
        self.paths.append(path)
        self.positions.append(positions)
        self.anchors.append(node_idx if anchor is None else anchor)
        self.tree.feature.append(LEAF)
        self.tree.split_bin.append(0)
        self.tree.missing_left.append(False)
        self.tree.members.append(None)
        self.tree.left.append(NO_CHILD)
        self.tree.right.append(NO_CHILD)
        self.tree.gain.append(0.0)
        self.tree.n_rows.append(len(positions))
        self.tree.depth.append(depth)
        return node_idx

    def allowed_features(self, node_idx: int) -> Iterable[int]:
        drawn: Iterable[int] = range(len(self.codes))
        if self.options.features is not None:
            drawn = self.options.features(node_idx, self.tree.depth[node_idx])
        path, groups, most = (
            self.paths[node_idx],
            self.options.groups,
            self.options.max_path_features,
        )
        return [f for f in drawn if may_meet(f, path, groups, most)]

    def find_split(self, node_idx: int) -> Split | None:
        too_few = self.tree.n_rows[node_idx] < 2 * self.options.min_rows
        if too_few or self.is_deepest(self.tree.depth[node_idx]):
            return None
        return find_best_split(
            self.codes,
            self.n_value_bins,
            self.quantized,
            self.positions[node_idx],
            self.allowed_features(node_idx),
            self.options,
            self.bounds[node_idx],
            self.centers[node_idx],
            node_idx,
        )

    def apply_split(self, node_idx: int, split: Split, place: int = 0) -> list[int]:
        tree, positions = self.tree, self.positions[node_idx]
        codes = self.codes[split.feature, positions]
        is_left = goes_left(codes, split.split_bin, split.missing_left, split.members)
        anchor = None if split.valid[place] else self.anchors[node_idx]
        depth = tree.depth[node_idx] + 1
        tree.feature[node_idx] = split.feature
        tree.split_bin[node_idx] = split.split_bin
        tree.missing_left[node_idx] = split.missing_left
        tree.members[node_idx] = split.members
        tree.gain[node_idx] = split.gains[place]
        path = (*self.paths[node_idx], split.feature)
        sides = positions[is_left], positions[~is_left]
        bounds = self.bounds_of_children(node_idx, split, is_left)
        tree.left[node_idx], tree.right[node_idx] = (
            self.add_node(
                rows,
                depth,
                anchor,
                own,
                path,
                self.center_of_child(node_idx, rows) if anchor is None else self.centers[node_idx],
                node_idx,
            )
            for rows, own in zip(sides, bounds, strict=True)
        )
        return [tree.left[node_idx], tree.right[node_idx]]

    def center_of_child(self, node_idx: int, rows: Rows) -> float:
        """Return the value of a child within the bounds of its parent, drawn to the parent's."""
        bounds, center = self.bounds[node_idx], self.centers[node_idx]
        sums = sum_rows(self.quantized, rows)
        return float(value_sums(sums, self.quantized, self.options, bounds, center)[0])

    def bounds_of_children(
        self, node_idx: int, split: Split, is_left: NDArray[np.bool_]
    ) -> tuple[Bounds, Bounds]:
        positions = self.positions[node_idx]
        n_value_bins = self.n_value_bins[split.feature]
        direction = self.options.direction(split.feature, split.split_bin, n_value_bins)
        if self.options.growth == "symmetric":
            direction = 0
        left, right = (
            self.center_of_child(node_idx, rows)
            for rows in (positions[is_left], positions[~is_left])
        )
        return bound_children(self.bounds[node_idx], direction, left, right)

    def find_split_of_level(self, level: Sequence[int]) -> Split | None:
        """Return the accepted split of a level, if there is one."""
        return find_level_split(
            self.codes,
            self.n_value_bins,
            self.quantized,
            [self.positions[node_idx] for node_idx in level],
            self.allowed_features(level[0]),
            self.options,
            centers=[self.centers[node_idx] for node_idx in level],
            number=level[0],
        )

    def set_values(self) -> None:
        """Give every node its hessian sum and the value of its anchor."""
        own_values = []
        for positions in self.positions:
            g, h = to_floats(sum_rows(self.wide, positions), self.wide)
            self.tree.sum_hessian.append(float(h))
            weight = leaf_weight(g, h, self.options)
            own_values.append(float(weight) * self.options.learning_rate)
        self.tree.value = [own_values[anchor] for anchor in self.anchors]
        if self.options.path_smooth > 0:
            self.smooth_values(own_values)
        if self.options.directions is not None:
            if self.options.growth == "symmetric":
                self.project_values(self.options.directions)
            else:
                self.clip_values()

    def smooth_values(self, own_values: Sequence[float]) -> None:
        """Draw the value of each node to that of its parent, which lies within its bounds."""
        value, smooth = self.tree.value, self.options.path_smooth
        for node_idx, parent in enumerate(self.parents):
            if self.anchors[node_idx] != node_idx:
                value[node_idx] = value[self.anchors[node_idx]]
            elif parent >= 0:
                n_rows, own = (
                    np.float64(self.tree.n_rows[node_idx]),
                    np.float64(own_values[node_idx]),
                )
                value[node_idx] = float(smooth_value(own, n_rows, smooth, value[parent]))
            value[node_idx] = self.clip_value(node_idx)

    def clip_value(self, node_idx: int) -> float:
        rate, bounds = self.options.learning_rate, self.bounds[node_idx]
        return Bounds(rate * bounds.lower, rate * bounds.upper).clip(self.tree.value[node_idx])

    def clip_values(self) -> None:
        for node_idx in range(self.tree.n_nodes):
            self.tree.value[node_idx] = self.clip_value(node_idx)

    def project_values(self, directions: Sequence[int]) -> None:
        tree, depth = self.tree, max(self.tree.depth)
        level = {(): 0}  # the bits above a node, and the node
        levels = []
        for _ in range(depth):
            node_idx = level[(0,) * len(levels)]
            levels.append((tree.feature[node_idx], tree.split_bin[node_idx]))
            level = {
                (*bits, side): child
                for bits, node_idx in level.items()
                for side, child in enumerate((tree.left[node_idx], tree.right[node_idx]))
            }
        projected = project_leaves(
            levels,
            directions,
            self.n_value_bins,
            {bits: tree.value[node_idx] for bits, node_idx in level.items()},
            {bits: tree.sum_hessian[node_idx] for bits, node_idx in level.items()},
            tree.sum_hessian[0],
        )
        for bits, node_idx in level.items():
            tree.value[node_idx] = projected[bits]


def grow_tree(
    codes: Codes,
    n_value_bins: Sequence[int],
    g: NDArray[np.float64],
    h: NDArray[np.float64],
    rows: Rows,
    options: GrowOptions,
) -> Tree:
    """Grow a tree on `rows` of codes (n_features, n_rows).

    Both quantizations take their scales from the used rows only.
    """
    return Grower(codes, n_value_bins, g, h, rows, options).grow()
