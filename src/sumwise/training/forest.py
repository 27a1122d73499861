"""Forests: threads grow whole trees side by side, each on its own sample of the rows."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import TypeVar

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import ABORT, Team
from sumwise.sampling.resample import Resampler
from sumwise.training.callbacks import Callback, RoundState
from sumwise.tree.encoded_table import EncodedTable, TableEncoder, make_tree_key
from sumwise.tree.forest import BinnedForest, ForestTree
from sumwise.tree.forest_grower import (
    ForestGrower,
    ForestSettings,
    Table,
    Target,
    find_weight_ratio,
    prepare_table,
)

# Ratio of the largest to the smallest weight; beyond it, sums of weights may lose the small ones.
_LARGEST_RATIO = 1e6
# (grown tree, weights of the rows, its table) -> changed tree. Several threads call it at the same
# time.
Finisher = Callable[[ForestTree, np.ndarray, Table], ForestTree]
# Weights of drawn rows -> weights to grow with.
Reweigher = Callable[[np.ndarray], np.ndarray]

Grown = TypeVar("Grown")


@dataclass(frozen=True)
class ForestPlan:
    """Which trees to grow.

    Attributes
    ----------
    settings : ForestSettings
    seed : int
    first, last : int
        Range of tree numbers; a tree depends only on its number and the seed.
    resampler : Resampler or None
        Draws the rows of each tree; None for all rows.
    tree_features : callable or None
        From a tree's number to the features it may split on, None for all.
    keep_bags : bool
        Whether to return the rows that each tree has seen.
    finish : callable or None
        Changes each tree after growth.
    reweigh : callable or None
        Changes the weights of the rows drawn for a tree.
    """

    settings: ForestSettings
    seed: int
    first: int
    last: int
    resampler: Resampler | None = None
    tree_features: Callable[[int], np.ndarray | None] | None = None
    keep_bags: bool = False
    finish: Finisher | None = None
    reweigh: Reweigher | None = None


@dataclass(frozen=True)
class GrownForest:
    """A forest, and the rows that its trees have seen: one bit per row, (n_trees, n_bytes)."""

    forest: BinnedForest
    in_bag: np.ndarray

    @classmethod
    def join(cls, parts: "Sequence[GrownForest]") -> "GrownForest":
        """Return the trees of all parts, in their order, as if they had grown together."""
        if len(parts) == 1:
            return parts[0]
        forest = BinnedForest.join([part.forest for part in parts])
        return cls(forest, np.concatenate([part.in_bag for part in parts]))


def grow_forest(
    table: Table,
    target: Target,
    n_columns: int,
    plan: ForestPlan,
    sample_weight: np.ndarray | None,
    row_weight: np.ndarray | None,
    team: Team,
    shown: Sequence[Callback] = (),
) -> GrownForest:
    """Grow trees on the rows of a table.

    Trees grown in several ranges of numbers and joined equal those grown in one.
    ``sample_weight`` affects which rows are drawn; ``row_weight`` multiplies the weights of drawn
    rows (class weights). ``shown`` are called after each tree.
    """
    n_trees = plan.last - plan.first
    settings = plan.settings
    if _differ_much(sample_weight, row_weight):
        settings = replace(settings, careful=True)
    n_bytes = -(-table.n_rows // 8) if plan.keep_bags else 0
    in_bag = np.zeros((n_trees if plan.keep_bags else 0, n_bytes), dtype=np.uint8)
    first_weight = _draw_weight(plan, plan.first, table.n_rows, sample_weight, row_weight)
    table = prepare_table(table, settings, first_weight)

    def start_thread() -> Callable[[int], ForestTree]:
        grower = ForestGrower(table, target, n_columns, settings)

        def grow(number: int) -> ForestTree:
            features = None if plan.tree_features is None else plan.tree_features(number)
            if features is not None:
                grower.use_features(features)
            grower.weight[:] = _draw_weight(plan, number, table.n_rows, sample_weight, row_weight)
            if plan.keep_bags:
                in_bag[number - plan.first] = np.packbits(grower.weight > 0, bitorder="little")
            tree = grower.grow(make_tree_key(plan.seed, number))
            return tree if plan.finish is None else plan.finish(tree, grower.weight, grower.table)

        return grow

    trees = grow_side_by_side(start_thread, plan.first, plan.last, team, shown)
    return GrownForest(BinnedForest.from_trees(trees, table.mapper), in_bag)


def sum_out_of_bag(
    forest: BinnedForest, table: Table, in_bag: np.ndarray, seed: int, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the values of the trees that have not seen a row, and their number.

    ``seed`` is that of the plan of the trees; they have all numbers from 0 on.
    """
    if not isinstance(table, EncodedTable):
        return forest.sum_values(table.bins, team, in_bag)
    total = np.zeros((table.n_rows, forest.n_outputs))
    n_trees = np.zeros(table.n_rows, dtype=np.int64)
    for number, bins in encode_trees(table, in_bag, seed):
        tree, bag = forest.select(number, number + 1), in_bag[number : number + 1]
        values, is_unseen = tree.sum_values(bins, team, bag)
        total += values
        n_trees += is_unseen
    return total, n_trees


def encode_trees(
    table: EncodedTable, in_bag: np.ndarray, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the number of each tree, and the bins of all rows as they are for this tree."""
    encoder = TableEncoder(table)
    for number, bag in enumerate(in_bag):
        is_seen = np.unpackbits(bag, count=table.n_rows, bitorder="little")
        yield number, encoder.encode(is_seen, make_tree_key(seed, number))


def divide(numbers: range, n_parts: int) -> list[range]:
    """Return at most ``n_parts`` ranges, which have about the same length and are not empty."""
    n_parts = min(n_parts, len(numbers))
    ends = [len(numbers) * k // n_parts for k in range(n_parts + 1)] if n_parts else []
    return [numbers[first:last] for first, last in pairwise(ends)]


def grow_side_by_side(
    start_thread: Callable[[], Callable[[int], Grown]],
    first: int,
    last: int,
    team: Team,
    shown: Sequence[Callback] = (),
) -> list[Grown]:
    """Return what each number from ``first`` to ``last`` - 1 grows into.

    Every thread calls ``start_thread`` once, and what it returns for one number after another.
    """
    grown: dict[int, Grown] = {}
    numbers = count(first)  # threads take the next number from it, which is atomic
    lock, began, n_done = threading.Lock(), time.perf_counter(), first

    def grow_some(thread: int, n_threads: int, sync: np.ndarray) -> None:
        nonlocal n_done
        grow = start_thread()
        while (number := next(numbers)) < last and not sync[ABORT]:
            grown[number] = grow(number)
            with lock:
                n_done += 1
                seconds = time.perf_counter() - began
                for show in shown:
                    show(RoundState(n_done, last, {}, seconds, lambda: None))

    team.run(grow_some)
    return [grown[number] for number in sorted(grown)]


def _differ_much(*weights: np.ndarray | None) -> bool:
    """Whether the weight of a row may be negligible beside that of another."""
    ratios = [find_weight_ratio(own) for own in weights if own is not None]
    return math.prod(ratios) > _LARGEST_RATIO


def draw_bags(
    plan: ForestPlan,
    n_rows: int,
    sample_weight: np.ndarray | None,
    row_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return the rows that the trees of a plan see, in the format of :class:`GrownForest`."""
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
    """Return the weights of the rows in a tree; of all rows if those drawn have no weight."""
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
    """Return a function from a tree's number to its features: random subspaces."""

    def draw(number: int) -> np.ndarray:
        chosen = np.empty(n_drawn, dtype=np.uint32)
        key = random.make_key(seed, random.COLUMNS_BY_TREE, number)
        random.choose_rows(key, np.arange(n_features, dtype=np.uint32), chosen)
        return chosen

    return draw
