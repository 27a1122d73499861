"""Linear leaves: the part of the estimator, and how the models of leaves are fitted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import as_strided

from sumwise.data.dtypes import find_float_type
from sumwise.data.matrix import Matrix, read_chunks
from sumwise.kernels.leaves.linear import ModelRule, Models, add_model_values, fit_leaf_models
from sumwise.kernels.runtime.threads import Team
from sumwise.parts import Part, check_flag, check_number
from sumwise.tree.grower import TreeGrower
from sumwise.tree.tree import LeafModels, Tree


class LinearLeaves(Part):
    """Give each leaf a linear model of the numeric features that the splits above it use.

    Trees grow as they do without models. Then a ridge regression gives the coefficients of each
    leaf a Newton step (Shi, Li and Li, 2019), as LightGBM's ``linear_tree`` does. If one of these
    features of a row is missing or infinite, the row gets the value of the leaf without a model.

    Parameters
    ----------
    l2 : float, default=1.0
        Penalty on the squared coefficients of standardized features; units do not matter. It weighs
        as much as that many rows (by hessian) without any slope. LightGBM's ``linear_lambda``
        penalizes the coefficients of the raw features.
    extrapolate : bool, default=False
        Whether a leaf follows its line beyond the values of its training rows, as in LightGBM. If
        not, what it adds is clipped to the range over these rows. Extrapolation suits trends, but a
        single value out of range can lead to any prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import GradientBoostingRegressor, LinearLeaves
    >>> X = np.linspace(0, 10, 500).reshape(-1, 1)
    >>> y = np.where(X[:, 0] < 5, 3 * X[:, 0], 30 - X[:, 0])
    >>> model = GradientBoostingRegressor(leaves=LinearLeaves(l2=0.1), max_leaves=2).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.2)
    True
    """

    def __init__(self, l2: float = 1.0, extrapolate: bool = False) -> None:
        self.l2 = l2
        self.extrapolate = extrapolate

    def check(self) -> None:
        check_number(self, "l2", 0.0)
        check_flag(self, "extrapolate")


def find_path_features(tree: Tree) -> list[np.ndarray]:
    """Return the numeric features on the path to each leaf, ascending; none for inner nodes."""
    above: list[frozenset[int]] = [frozenset()] * tree.n_nodes
    by_set = set(tree.set_node.tolist())
    for node, (left, feature) in enumerate(zip(tree.left, tree.feature, strict=True)):
        if left >= 0:
            own = frozenset() if node in by_set else frozenset([int(feature)])
            above[left] = above[left + 1] = above[node] | own
    is_leaf = tree.left < 0
    return [
        np.array(sorted(features) if ends else (), dtype=np.int32)
        for features, ends in zip(above, is_leaf, strict=True)
    ]


@dataclass(frozen=True)
class _Columns:
    """All rows of a fit, stored by column."""

    values: np.ndarray  # (n_features * n_rows,)
    n_rows: int

    @classmethod
    def of_matrices(cls, matrices: Sequence[Matrix]) -> "_Columns":
        n_rows = sum(X.shape[0] for X in matrices)
        kind = np.result_type(*(find_float_type(X.dtype) for X in matrices))
        columns = np.empty((matrices[0].shape[1], n_rows), dtype=kind)
        begin = 0
        for X in matrices:
            for first, part in read_chunks(X):
                rows = slice(begin + first, begin + first + part.n_rows)
                strides = part.column_stride, part.row_stride
                bytes_of = tuple(part.values.itemsize * stride for stride in strides)
                shape = columns.shape[0], part.n_rows
                columns[:, rows] = as_strided(part.values, shape, bytes_of, writeable=False)
            begin += X.shape[0]
        return cls(columns.ravel(), n_rows)


class LeafModeler:
    """Gives the leaves of trees linear models.

    Parameters
    ----------
    grower : TreeGrower
        Grows the trees.
    part : LinearLeaves
    matrices : sequence of Matrix
        The rows of its table before binning.
    team : Team
    """

    def __init__(
        self, grower: TreeGrower, part: LinearLeaves, matrices: Sequence[Matrix], team: Team
    ) -> None:
        self._grower, self._team = grower, team
        self._columns = _Columns.of_matrices(matrices)
        self._penalty = float(part.l2), bool(part.extrapolate)

    def fit(self, tree: Tree, rows: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> Tree:
        """Return the tree just grown with models of its leaves."""
        leaf, anchor = self._grower.get_leaves(tree)
        own = leaf[rows]
        order = rows[np.argsort(own, kind="stable")]
        n_rows = np.bincount(own, minlength=tree.n_nodes)
        features = find_path_features(tree)
        for node in np.flatnonzero(anchor != np.arange(tree.n_nodes)):
            features[node] = features[node][:0]  # it has the value of an ancestor
        size = np.array([len(each) for each in features], dtype=np.int32)
        models = Models(
            np.append(0, size.cumsum()).astype(np.int64),
            np.concatenate(features),
            np.zeros(size.sum()),
            np.zeros(tree.n_nodes),
            np.where(size > 0, -np.inf, 0.0),
            np.where(size > 0, np.inf, 0.0),
            tree.value[:, 0].copy(),
        )
        n_terms = max(1, int(size.max()))
        scratch = np.empty((self._team.n_threads, 4 + n_terms, n_terms))
        group_first = np.append(0, n_rows.cumsum()).astype(np.int64)
        table = self._columns.values, self._columns.n_rows
        rule = ModelRule(*self._grower.settings.leaf_rule, *self._penalty)
        known = order, group_first, models, gradient, hessian, rule, scratch
        self._team.run(fit_leaf_models, *table, *known)
        return replace(tree, models=_keep_sound(size, models))

    def add_values(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add the values of the tree grown last to the scores of rows."""
        leaf, _ = self._grower.get_leaves(tree)
        assert tree.models is not None
        models = tree.models.for_kernels(tree.value[:, 0].copy())
        table = self._columns.values, self._columns.n_rows
        self._team.run(add_model_values, *table, rows, leaf, models, scores)


def _keep_sound(size: np.ndarray, models: Models) -> LeafModels:
    """Keep the terms that are not zero, in leaves where all numbers are finite."""
    owner = np.repeat(np.arange(size.size), size)
    is_bad = ~np.isfinite(models.constant)
    is_bad[owner[~np.isfinite(models.coefficient)]] = True
    kept = ~is_bad[owner] & (models.coefficient != 0.0)
    n_kept = np.bincount(owner[kept], minlength=size.size).astype(np.int32)

    def clear(array: np.ndarray) -> np.ndarray:
        return np.where(n_kept > 0, array, 0.0)

    by_node = clear(models.constant), clear(models.low), clear(models.high)
    return LeafModels(n_kept, *by_node, models.feature[kept], models.coefficient[kept])
