"""Importances of features from the trees of a forest.

The decrease of impurity costs nothing, but it counts the gains on the rows that chose the splits:
features with many values offer more thresholds, and the best of many looks good by chance. The
other two use the rows out of each tree's bag.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.forest import importance as kernels
from sumwise.kernels.forest.nodes import guess_classes, make_truth
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.forest import BinnedForest
from sumwise.tree.forest_grower import Target


class ForestImportance(NamedTuple):
    """Mean and standard deviation over trees, one number per feature."""

    mean: np.ndarray
    std: np.ndarray


class OutOfBag(NamedTuple):
    """The rows that a forest was grown on, and which of them each tree has seen.

    Attributes
    ----------
    bins : ndarray of uint8, shape (n_rows, n_features)
        ``RowTable.bins``.
    target : Numbers, Labels, Vectors or MultiLabels
    is_class : bool
        Whether a target of ``Numbers`` is two classes.
    in_bag : ndarray of uint8, shape (n_trees, bytes)
        ``GrownForest.in_bag``.
    weight : ndarray or None
        Sample weights; None for ones.
    """

    bins: np.ndarray
    target: Target
    is_class: bool
    in_bag: np.ndarray
    weight: np.ndarray | None = None


def impurity_importance(forest: BinnedForest) -> ForestImportance:
    """Return the share of each feature in the decrease of impurity.

    The shares of a tree sum to one, and so do their means over the trees that have a split.
    """
    shares = np.zeros((forest.n_trees, forest.n_features))
    for tree, (first, last) in enumerate(pairwise(forest.start)):
        own = forest.feature[first:last] >= 0
        gain = np.maximum(forest.gain[first:last][own], 0.0)  # rounding may make them negative
        sums = np.bincount(forest.feature[first:last][own], gain, forest.n_features)
        shares[tree] = sums / sums.sum() if sums.any() else 0.0
    result = _summarize(shares, np.diff(forest.start) > 1)
    total = result.mean.sum()
    return ForestImportance(result.mean / total, result.std) if total > 0 else result


def unbiased_importance(forest: BinnedForest, rows: OutOfBag, team: Team) -> ForestImportance:
    """Return the gain of each feature's splits on the rows out of each tree's bag, per row.

    Li et al. (2019, MDI-oob) and Zhou and Hooker (2021): in the gain of a split, one of the two
    factors, the difference of the children's means, is that of unseen rows. Gains are decreases of
    Gini impurity for classes and of squared error for numbers, for every criterion of growth. The
    expectation is zero for uninformative features; values may be negative. Leaves must not have
    been pruned or estimated with the same rows.
    """
    bags = _check(forest, rows)
    out, total = _allocate(forest)
    n_nodes, n_threads = int(np.diff(forest.start).max()), team.n_threads
    shape = n_threads, n_nodes, forest.n_outputs
    work = kernels.SumWork(np.empty(shape), np.empty(shape), np.empty((n_threads, n_nodes, 2)))
    truth = make_truth(rows.target, rows.is_class)
    team.run(
        kernels.sum_unseen_gains,
        bags,
        truth,
        forest.packed,
        forest.weight,
        forest.value,
        work,
        total,
        out,
    )
    if truth.label.shape[0] == 0:
        out /= forest.n_outputs
    elif forest.n_outputs == 1:
        out *= 2.0  # for the other class
    else:
        out /= truth.first.size
    out /= np.where(total > 0, total, 1.0)[:, None]
    return _summarize(out, total > 0)


def permutation_importance(
    forest: BinnedForest, rows: OutOfBag, team: Team, seed: int
) -> ForestImportance:
    """Return the increase of each tree's error on the rows out of its bag by permuting a feature.

    Breiman (2001): the values of one feature are permuted among the rows of a tree. Errors are 0-1
    for classes and squared for numbers: the increase is a loss of accuracy or a rise of the
    squared error. Mean and standard deviation are over the trees that have such rows.
    """
    bags, truth = _check(forest, rows), make_truth(rows.target, rows.is_class)
    out, total = _allocate(forest)
    n_rows, n_threads = rows.bins.shape[0], team.n_threads
    work = kernels.PermutationWork(
        rows=np.empty((n_threads, n_rows), dtype=np.uint32),
        leaf=np.empty((n_threads, n_rows), dtype=np.uint32),
        permuted=np.empty((n_threads, n_rows), dtype=np.uint8),
        is_below=np.empty((n_threads, int(np.diff(forest.start).max())), dtype=np.uint8),
        is_used=np.empty((n_threads, forest.n_features), dtype=np.uint8),
    )
    team.run(
        kernels.permute_features,
        bags,
        truth,
        forest.packed,
        guess_classes(forest.value, truth),
        forest.value,
        random.make_key(seed, random.PERMUTED_ROWS, 0),
        work,
        total,
        out,
    )
    return _summarize(out, total > 0)


def _check(forest: BinnedForest, rows: OutOfBag) -> kernels.Bags:
    """Return the rows as kernels read them; refuse a forest without out-of-bag rows."""
    if rows.in_bag.shape[0] != forest.n_trees:
        raise DataError(
            f"the bags of {rows.in_bag.shape[0]} trees are known, the forest has {forest.n_trees}: "
            "keep the bags of all trees when it is grown"
        )
    n_rows = rows.bins.shape[0]
    weight = np.ones(n_rows) if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    seen = np.unpackbits(np.bitwise_and.reduce(rows.in_bag), count=n_rows, bitorder="little")
    if not weight[seen == 0].any():
        raise DataError("every tree has seen every row: there is no out-of-bag row to ask")
    return kernels.Bags(rows.bins.reshape(-1), rows.in_bag, weight)


def _allocate(forest: BinnedForest) -> tuple[np.ndarray, np.ndarray]:
    """Return zeros for each tree and feature, and for each tree."""
    return np.zeros((forest.n_trees, forest.n_features)), np.zeros(forest.n_trees)


def _summarize(by_tree: np.ndarray, counts: np.ndarray) -> ForestImportance:
    """Return mean and deviation over the trees that count; zeros if there are none."""
    if not counts.any():
        return ForestImportance(np.zeros(by_tree.shape[1]), np.zeros(by_tree.shape[1]))
    return ForestImportance(by_tree[counts].mean(axis=0), by_tree[counts].std(axis=0))
