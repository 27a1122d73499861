"""Prune trees of forests, or estimate their values anew, after they are grown.

Functions take a tree and return a new one, whose nodes are renumbered in the same order. They
depend on their arguments only, so that several threads may call them as ``ForestPlan.finish``. The
rows that judge a tree have positive weights, all others 0; see :func:`weigh_out_of_bag`.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.errors import ParameterError
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.nodes import guess_classes, make_truth
from sumwise.kernels.forest.prune import (
    LinkWork,
    cut_by_rows,
    estimate_nodes,
    find_links,
    mark_kept,
)
from sumwise.tree.forest import BinnedForest, ForestTree
from sumwise.tree.forest_grower import Table, Target

# Links that differ by less than this share of the strongest count as equal, because gains are
# differences of rounded sums.
_SAME_LINK = 1e-12


class PruningPath(NamedTuple):
    """The nested subtrees of minimal cost-complexity pruning, from the whole tree to its root.

    Attributes
    ----------
    ccp_alphas : ndarray
        Ascending, from 0: the smallest price per leaf at which each subtree is the best.
    impurities : ndarray
        Mean impurity of the leaves of each subtree.
    """

    ccp_alphas: np.ndarray
    impurities: np.ndarray


def scale_gain(criterion: str, n_columns: int) -> float:
    """Return the factor that turns gains of a grown tree into decreases of impurity.

    Impurities are those of scikit-learn: entropy is in bits, Gini impurity of two classes counts
    both (the grower sees one column), and several targets are averaged.
    """
    if criterion in ("entropy", "log_loss"):
        return 1.0 / math.log(2.0)
    if criterion == "gini":
        return 2.0 if n_columns == 1 else 1.0
    if criterion in ("squared_error", "friedman_mse", "poisson"):
        return 1.0 / n_columns
    raise ParameterError(
        f"criterion={criterion!r}: must be 'gini', 'entropy', 'log_loss', 'squared_error', "
        "'friedman_mse' or 'poisson'"
    )


def measure_impurity(criterion: str, target: Target, weight: np.ndarray) -> float:
    """Return the impurity of rows before any split, as in scikit-learn."""
    total = weight.sum()
    if criterion in ("gini", "entropy", "log_loss"):
        outputs = make_truth(target, is_class=True).label.T
        shares = [np.bincount(label, weight) / total for label in outputs]
        each_class = [share[share > 0] for share in shares]
        if criterion == "gini":
            return float(np.mean([1 - share @ share for share in each_class]))
        return float(np.mean([-share @ np.log2(share) for share in each_class]))
    assert not isinstance(target, Labels | MultiLabels)
    number = target.value if isinstance(target, Vectors) else target.value[:, None]
    mean = weight @ number / total
    if criterion == "poisson":
        ratio = np.where(number > 0, number / np.where(mean > 0, mean, 1.0), 1.0)
        each = weight @ (number * np.log(ratio) + mean - number)
    else:
        each = weight @ (number - mean) ** 2
    return float(each.mean() / total)


def cost_complexity_path(tree: ForestTree, root_impurity: float, scale: float) -> PruningPath:
    """Return the alphas of minimal cost-complexity pruning, with the remaining impurities.

    As in scikit-learn, except that links of equal strength are one step.

    Parameters
    ----------
    tree : ForestTree
    root_impurity : float
        From :func:`measure_impurity`, for the rows that the tree was grown on.
    scale : float
        From :func:`scale_gain`.
    """
    link = _find_alphas(tree, scale)
    is_split = tree.feature >= 0
    order = np.argsort(link[is_split], kind="stable")
    alphas = link[is_split][order]
    same = _SAME_LINK * alphas.max(initial=0.0)
    # The last of each run of equal links; links of strength 0 belong to the whole tree.
    ends = np.flatnonzero(np.diff(alphas, append=np.inf) > same)
    ends = ends[alphas[ends] > same]
    decrease = np.append(0.0, tree.gain[is_split][order].cumsum()) * (scale / tree.weight[0])
    whole = root_impurity - decrease[-1]
    return PruningPath(np.append(0.0, alphas[ends]), np.append(whole, whole + decrease[ends + 1]))


def prune_cost_complexity(
    tree: ForestTree, alpha: float, scale: float, mapper: BinMapper
) -> ForestTree:
    """Return the smallest subtree that minimizes impurity plus ``alpha`` per leaf; all of it for 0.

    Parameters
    ----------
    tree : ForestTree
    alpha : float
        In units of the impurity of the whole tree, like scikit-learn's ``ccp_alpha``.
    scale : float
        From :func:`scale_gain`.
    mapper : BinMapper
        Has the categorical features.
    """
    if alpha <= 0:
        return tree
    return _cut(tree, _find_alphas(tree, scale) <= alpha, mapper)


def weigh_out_of_bag(weight: np.ndarray, own_weight: np.ndarray | None = None) -> np.ndarray:
    """Return weights of rows for judging a tree: 0 in its bag, their own out of it.

    Parameters
    ----------
    weight : ndarray
        Weights of rows in the tree, as passed to ``ForestPlan.finish``.
    own_weight : ndarray or None
        Sample weight times class weight; rows of weight 0 do not count. None for ones.
    """
    return np.where(weight > 0, 0.0, 1.0 if own_weight is None else own_weight)


def prune_by_rows(
    tree: ForestTree, table: Table, target: Target, weight: np.ndarray, is_class: bool
) -> ForestTree:
    """Prune by reduced error (Quinlan 1987) on rows that the tree has not seen.

    From the bottom up, a node becomes a leaf if that makes no more errors, on the rows that reach
    it, than the leaves below. Errors are 0-1 for classes and squared for numbers. Ties are pruned,
    and so are nodes that no row reaches.

    Parameters
    ----------
    tree : ForestTree
    table : RowTable or EntryTable
        The table that it was grown on.
    target : Numbers, Labels, Vectors or MultiLabels
    weight : ndarray
        Weights of the rows that judge, 0 for others. If all are 0, only the root is left.
    is_class : bool
        Whether a target of ``Numbers`` is two classes.
    """
    is_cut = np.empty(tree.n_nodes, dtype=np.bool_)
    truth = make_truth(target, is_class)
    cut_by_rows(
        table.bins.reshape(-1),
        BinnedForest.from_trees([tree], table.mapper).packed,
        tree.left,
        truth,
        guess_classes(tree.value, truth),
        tree.value,
        weight,
        np.zeros(tree.n_nodes),
        is_cut,
    )
    return _cut(tree, is_cut, table.mapper)


def estimate_by_rows(
    tree: ForestTree,
    table: Table,
    target: Target,
    weight: np.ndarray,
    is_class: bool,
    smoothing: float = 1.0,
) -> ForestTree:
    """Estimate the values of nodes from rows that the tree has not seen.

    From the root down, the value of a node becomes
    ``(sum + m * value of its parent) / (weight + m)``, with the weighted sum of the targets of its
    rows and their weight. So a node with few rows stays close to its parent, and a node without
    rows has its parent's value. The root is shrunk towards its old value. The new values may
    violate monotone constraints.

    Parameters
    ----------
    tree, table, target, weight, is_class
        As in :func:`prune_by_rows`.
    smoothing : float, default=1.0
        m, positive: the number of rows that the parent's value counts as. With 1, a single row
        counts as much as the parent, and n rows count n times as much.
    """
    value = tree.value.copy()
    estimate_nodes(
        table.bins.reshape(-1),
        BinnedForest.from_trees([tree], table.mapper).packed,
        tree.left,
        make_truth(target, is_class),
        weight,
        float(smoothing),
        np.zeros(value.shape),
        np.zeros(tree.n_nodes),
        value,
    )
    return replace(tree, value=value)


def _find_alphas(tree: ForestTree, scale: float) -> np.ndarray:
    """Return the smallest alpha that removes the split of each node; -inf for leaves."""
    n = tree.n_nodes
    link = np.empty(n)
    work = LinkWork(
        total=np.empty(n),
        count=np.empty(n, dtype=np.int64),
        mean=np.empty(n),
        below=np.empty(n, dtype=np.int32),
        heap_left=np.empty(n, dtype=np.int32),
        heap_right=np.empty(n, dtype=np.int32),
    )
    find_links(tree.left, tree.gain, work, link)
    return link * (scale / tree.weight[0])


def _cut(tree: ForestTree, is_cut: np.ndarray, mapper: BinMapper) -> ForestTree:
    """Return the tree with some nodes turned into leaves."""
    kept = np.empty(tree.n_nodes, dtype=np.bool_)
    mark_kept(tree.left, is_cut, kept)
    number = kept.cumsum(dtype=np.int32) - np.int32(1)
    is_leaf = (is_cut | (tree.left < 0))[kept]
    is_set = np.isin(tree.feature, list(mapper.categories))
    return ForestTree(
        feature=np.where(is_leaf, np.int32(-1), tree.feature[kept]),
        split_bin=np.where(is_leaf, np.uint8(0), tree.split_bin[kept]),
        missing_left=np.where(is_leaf, np.uint8(0), tree.missing_left[kept]),
        left=np.where(is_leaf, np.int32(-1), number[tree.left[kept]]),
        gain=np.where(is_leaf, 0.0, tree.gain[kept]),
        weight=tree.weight[kept],
        n_rows=tree.n_rows[kept],
        value=tree.value[kept],
        sets=tree.sets[(kept & ~is_cut)[is_set]],
    )
