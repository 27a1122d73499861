"""Forests: whole trees grow side by side, each on a draw of the rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import ABORT, Team
from sumwise.sampling.resample import Resampler
from sumwise.tree.forest import Forest, ForestTree
from sumwise.tree.forest_grower import (
    ForestGrower,
    ForestSettings,
    RowTable,
    Target,
    find_weight_ratio,
    prepare_table,
)

# Of weights. Beyond it, their sums may lose some of them.
_LARGEST_RATIO = 1e6
# Changes a tree that has just been grown: (tree, weights of the rows) -> tree. It is called by
# several threads at once.
Finisher = Callable[[ForestTree, np.ndarray], ForestTree]
# Weights of drawn rows -> weights to grow with.
Reweigher = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ForestPlan:
    """Which trees to grow.

    Attributes
    ----------
    settings : ForestSettings
    seed : int
    first, last : int
        Numbers of the trees; a tree depends on its number and the seed alone.
    resampler : Resampler or None
        Draws the rows of each tree; None for all rows.
    tree_features : callable or None
        Returns the features that a tree may split on, by its number; None for all.
    keep_bags : bool
        Whether to say which rows each tree has seen.
    finish : callable or None
        Changes each tree after growth.
    reweigh : callable or None
        Changes the weights of the rows that were drawn for a tree.
    """

    settings: ForestSettings
    seed: int
    first: int
    last: int
    resampler: Resampler | None = None
    tree_features: Callable[[int], np.ndarray] | None = None
    keep_bags: bool = False
    finish: Finisher | None = None
    reweigh: Reweigher | None = None


@dataclass(frozen=True)
class GrownForest:
    """A forest, and the rows its trees have seen: bits by row, (n_trees, bytes), or (0, 0)."""

    forest: Forest
    in_bag: np.ndarray


def grow_forest(
    table: RowTable,
    target: Target,
    n_columns: int,
    plan: ForestPlan,
    sample_weight: np.ndarray | None,
    row_weight: np.ndarray | None,
    team: Team,
) -> GrownForest:
    """Grow trees on the rows of a table.

    ``sample_weight`` takes part in drawing rows, ``row_weight`` multiplies what was drawn (the
    weights of classes).
    """
    n_trees = plan.last - plan.first
    settings = plan.settings
    if _differ_much(sample_weight, row_weight):
        settings = replace(settings, careful=True)
    trees: list[ForestTree | None] = [None] * n_trees
    n_bytes = -(-table.n_rows // 8) if plan.keep_bags else 0
    in_bag = np.zeros((n_trees if plan.keep_bags else 0, n_bytes), dtype=np.uint8)
    numbers = count()  # the next tree; asking it is atomic
    prepare_table(table, settings)

    def grow_some(thread: int, n_threads: int, sync: np.ndarray) -> None:
        grower = ForestGrower(table, target, n_columns, settings)
        while (place := next(numbers)) < n_trees and not sync[ABORT]:
            number = plan.first + place
            if plan.tree_features is not None:
                grower.use_features(plan.tree_features(number))
            grower.weight[:] = _draw_weight(plan, number, table.n_rows, sample_weight, row_weight)
            if plan.keep_bags:
                in_bag[place] = np.packbits(grower.weight > 0, bitorder="little")
            tree = grower.grow(random.make_key(plan.seed, random.TREES, number))
            trees[place] = tree if plan.finish is None else plan.finish(tree, grower.weight)

    team.run(grow_some)
    grown = [tree for tree in trees if tree is not None]
    return GrownForest(Forest.from_trees(grown, table.mapper), in_bag)


def _differ_much(*weights: np.ndarray | None) -> bool:
    """Whether a row may weigh next to nothing beside another."""
    ratios = [find_weight_ratio(own) for own in weights if own is not None]
    return math.prod(ratios) > _LARGEST_RATIO


def draw_bags(
    plan: ForestPlan,
    n_rows: int,
    sample_weight: np.ndarray | None,
    row_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return which rows the trees of a plan see, as :class:`GrownForest` has them."""
    in_bag = np.empty((plan.last - plan.first, -(-n_rows // 8)), dtype=np.uint8)
    for place, number in enumerate(range(plan.first, plan.last)):
        weight = _draw_weight(plan, number, n_rows, sample_weight, row_weight)
        in_bag[place] = np.packbits(weight > 0, bitorder="little")
    return in_bag


def _draw_weight(
    plan: ForestPlan,
    number: int,
    n_rows: int,
    sample_weight: np.ndarray | None,
    row_weight: np.ndarray | None,
) -> np.ndarray:
    """Return the weights of the rows in a tree; all rows where a draw has none with weight."""
    everything = np.ones(n_rows) if sample_weight is None else sample_weight
    drawn = everything
    if plan.resampler is not None:
        drawn = plan.resampler.draw_member(plan.seed, number, n_rows, sample_weight)
    for weight in (drawn, everything):
        if row_weight is not None:
            weight = weight * row_weight
        if plan.reweigh is not None:
            weight = plan.reweigh(weight)
        if weight.any():
            break
    return weight


def draw_subspaces(seed: int, n_drawn: int, n_features: int) -> Callable[[int], np.ndarray]:
    """Return what draws the features of trees: random subspaces."""

    def draw(number: int) -> np.ndarray:
        chosen = np.empty(n_drawn, dtype=np.uint32)
        key = random.make_key(seed, random.COLUMNS_BY_TREE, number)
        random.choose_rows(key, np.arange(n_features, dtype=np.uint32), chosen)
        return chosen

    return draw
