"""How much memory a member needs: upper estimates, before it is trained.

The formulas follow the peak memory of fits on data of several shapes.
"""

from typing import NamedTuple

from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.combined.out_of_fold import Folds

# A number of float64, and what boosting keeps per row and output while it trains: score, gradient,
# hessian and record.
_NUMBER, _ROW_STATE = 8, 44
# Bytes of a node of boosted trees, and of a forest without its values.
_BOOSTED_NODE, _FOREST_NODE = 40, 22
# A typical number of rounds, and nodes of a tree where the recipe does not say it.
_ROUNDS, _NODES = 400, 128
# Nodes per row of a forest, times the least rows of a leaf; leaves of one class are not split.
_REGRESSION_NODES, _CLASS_NODES = 4.0, 0.8
# A histogram has so many bins, and bytes per bin; every fit allocates some memory on any data.
_BINS, _BIN, _ANY = 256, 16, 20 << 20
# Columns that categories become for models that are no trees.
_COLUMNS_PER_FEATURE = 3
# Copies of the table that such models make.
_COPIES = 6
# Levels of symmetric and level-wise trees by default.
_DEPTH = 6


class MemoryNeed(NamedTuple):
    """Bytes that are needed while a member trains, and those that its models keep."""

    training: int
    kept: int


def estimate_memory(recipe: Recipe, data: TrainingData, folds: Folds, n_beside: int) -> MemoryNeed:
    """Return what a member needs, with so many folds trained at the same time."""
    n_folds, n_outputs = len(folds.test), data.n_outputs
    n_train = max(rows.size for rows in folds.train)
    kept = data.n_rows * n_outputs * _NUMBER  # predictions of held-out rows
    if recipe.family == portfolio.BOOSTING:
        outputs = 1 if n_outputs == 2 else n_outputs
        n_nodes = _count_nodes(recipe)
        trees = _ROUNDS * outputs * n_nodes * _BOOSTED_NODE
        kept += n_folds * trees
        training = trees + data.n_rows * (outputs * _ROW_STATE + _NUMBER)
        training += data.n_features * _BINS * _BIN * n_nodes // 2  # of the leaves
        if "categorical_encoding" in recipe.params:  # it encodes and bins a table of its own
            training += 2 * n_train * data.n_features * _NUMBER
    elif recipe.family in (portfolio.FOREST, portfolio.EXTRA_TREES):
        node = _FOREST_NODE + _NUMBER * n_outputs
        per_row = _REGRESSION_NODES if data.classes is None else _CLASS_NODES
        per_row /= recipe.params["min_samples_leaf"]
        trees = int(recipe.params["n_estimators"] * n_train * per_row) * node
        kept += n_folds * trees
        training = 2 * trees + n_train * (data.n_features + 4 * _NUMBER)
    else:
        size = n_train * data.n_features * _NUMBER
        if data.is_sparse:
            size = 2 * data.rows.numbers.nnz * _NUMBER
        elif data.n_categories.any():
            size *= _COLUMNS_PER_FEATURE
        training = _COPIES * size
        kept += n_folds * size if recipe.family == portfolio.NEIGHBORS else 0
    return MemoryNeed(n_beside * (training + _ANY), kept)


def _count_nodes(recipe: Recipe) -> int:
    params = recipe.params
    if "max_leaves" in params:
        return 2 * int(params["max_leaves"])
    is_leaf = params.get("growth", "leaf") == "leaf"
    return _NODES if is_leaf else 2 ** (int(params.get("max_depth", _DEPTH)) + 1)
