"""Small forests, grown without estimators."""

from typing import NamedTuple

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.kernels.forest.layout import QUADRATIC
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Bootstrap
from sumwise.training.forest import ForestPlan, grow_forest
from sumwise.tree.forest import BinnedForest
from sumwise.tree.forest_grower import ForestSettings
from sumwise.tree.forest_table import RowTable

KINDS = ["number", "two", "three", "vector", "outputs"]
CATEGORICAL = 3


class Grown(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    target: Numbers | Labels | Vectors | MultiLabels
    is_class: bool
    table: RowTable
    forest: BinnedForest
    in_bag: np.ndarray
    trees: list  # the ForestTree of each
    weights: list  # of the rows in each

    def unseen(self, tree):
        """The rows out of a tree's bag."""
        return np.flatnonzero(self.weights[tree] == 0)


def draw_table(n_rows, seed=0):
    """Numbers, small integers, missing values, and categories 0 to 8, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = X[:, 1].round()
    X[rng.random(n_rows) < 0.2, 2] = np.nan
    X[:, CATEGORICAL] = rng.integers(0, 9, n_rows)
    X[rng.random(n_rows) < 0.1, CATEGORICAL] = np.nan
    return X


def draw_target(X, kind, seed=0):
    rng = np.random.default_rng(seed + 1)
    score = X[:, 0] + X[:, 1] + np.where(np.isin(X[:, 3], [1, 4, 7]), 1.5, -0.5)
    score += np.isnan(X[:, 2]) + rng.normal(size=len(X))
    if kind == "number":
        return score, Numbers(score), 1
    if kind == "two":
        y = (score > 0.2).astype(float)
        return y, Numbers(y), 1
    if kind == "three":
        y = np.digitize(score, [-0.5, 1.0]).astype(np.int64)
        return y, Labels(y), 3
    if kind == "outputs":  # of three and of two classes
        y = np.column_stack([np.digitize(score, [-0.5, 1.0]), score + rng.normal(size=len(X)) > 0])
        y, first = y.astype(np.int64), np.array([0, 3])
        return y, MultiLabels(y + first, first), 5
    y = np.column_stack([score, rng.normal(size=len(X)) - score])
    return y, Vectors(y), 2


def grow(kind="number", n_rows=120, n_trees=3, finish=None, keep_bags=True, **kwargs):
    """Grow a forest on a table with everything in it."""
    X = draw_table(n_rows)
    y, target, n_columns = draw_target(X, kind)
    n_categories = np.array([0, 0, 0, 9, 0])
    settings = ForestSettings(**{"criterion": QUADRATIC, "n_drawn": 2, **kwargs})
    trees, weights = [], []

    def keep(tree, weight, table):
        tree = tree if finish is None else finish(tree, weight)
        trees.append(tree)
        weights.append(weight.copy())
        return tree

    # One thread, so that trees are kept in their order.
    with Team(1) as team:
        mapper = BinMapper.fit(X, n_categories=n_categories, only_bytes=True, team=team)
        table = RowTable.from_matrix(X, mapper, team)
        plan = ForestPlan(settings, 3, 0, n_trees, Bootstrap(), None, keep_bags, keep)
        grown = grow_forest(table, target, n_columns, plan, None, None, team)
    is_class = kind in ("two", "three", "outputs")
    return Grown(X, y, target, is_class, table, grown.forest, grown.in_bag, trees, weights)
