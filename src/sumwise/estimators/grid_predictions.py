"""Predictions of all rows at all points of a grid: individual and partial dependence.

scikit-learn copies X, and checks and reads it again, for each point. Here it is read once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Bunch

from sumwise.data.matrix import Matrix
from sumwise.data.sparse import is_sparse
from sumwise.estimators.boosting.fitted import BaseFittedBoosting
from sumwise.estimators.forests.base import BaseTrees
from sumwise.estimators.input.features import ReadRows

# Rows that are predicted at a time: rows of X times points of the grid.
_MOST_ROWS = 1 << 17


class Grid(NamedTuple):
    """The points at which features are set.

    Attributes
    ----------
    features : list of int
    values : list of ndarray
        The values of each feature, as users know them.
    numbers : list of ndarray of float64
        The same as models read them: codes of categories, NaN for missing.
    """

    features: list[int]
    values: list[np.ndarray]
    numbers: list[np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each feature."""
        return tuple(axis.size for axis in self.numbers)

    def list_points(self) -> np.ndarray:
        """Return the numbers at each point, (n_points, n_features)."""
        axes = np.meshgrid(*self.numbers, indexing="ij")
        return np.column_stack([axis.ravel() for axis in axes])


def can_predict_grid(model: Any, X: Any, response_method: str, kind: str) -> bool:
    """Whether :func:`predict_grid` does what scikit-learn does; otherwise let that do it."""
    if not isinstance(model, (BaseFittedBoosting, BaseTrees)) or is_sparse(X):
        return False
    if kind not in ("average", "individual", "both"):
        return False
    if not is_classifier(model):
        return response_method == "auto"
    if isinstance(model.classes_, list) or len(model.classes_) < 2:  # several outputs; no choice
        return False
    methods = {"auto", "predict_proba"}
    if isinstance(model, BaseFittedBoosting):
        methods.add("decision_function")
    return response_method in methods


def predict_grid(
    model: Any,
    matrix: Matrix,
    grid: Grid,
    response_method: str,
    kind: str,
    weight: np.ndarray | None,
) -> Bunch:
    """Return the responses of rows at the points of a grid, their mean, or both.

    Parameters
    ----------
    model : BaseFittedBoosting or BaseTrees
    matrix : Matrix
        Rows with codes of categories, before they are encoded.
    grid : Grid
    response_method : {"auto", "predict_proba", "decision_function"}
        For classifiers; "auto" is "predict_proba".
    kind : {"average", "individual", "both"}
    weight : ndarray of shape (n_rows,) or None
        Weights of the mean.
    """
    parts = _predict_points(model, matrix, grid, response_method == "decision_function")
    means, individual = [], []
    for part in parts:  # (n_points, n_rows, n_outputs)
        if kind != "individual":
            means.append(np.average(part, axis=1, weights=weight))
        if kind != "average":
            individual.append(part)
    result = Bunch(grid_values=grid.values)
    if individual:
        values = np.moveaxis(np.concatenate(individual), 0, -1)  # (n_rows, n_outputs, n_points)
        values = np.swapaxes(values, 0, 1)
        result.individual = values.reshape(*values.shape[:2], *grid.shape)
    if means:
        average = np.concatenate(means).T
        result.average = average.reshape(average.shape[0], *grid.shape)
    return result


def _predict_points(model: Any, matrix: Matrix, grid: Grid, is_raw: bool) -> Iterator[np.ndarray]:
    """Yield the responses at some points at a time, (n_points, n_rows, n_outputs)."""
    rows = _make_dense(matrix)
    points = grid.list_points()
    n_at_once = max(1, _MOST_ROWS // rows.shape[0])
    for first in range(0, len(points), n_at_once):
        own = points[first : first + n_at_once]
        many = np.tile(rows, (len(own), 1))
        for place, feature in enumerate(grid.features):
            many[:, feature] = np.repeat(own[:, place], rows.shape[0])
        response = _respond(model, many, is_raw)
        yield response.reshape(len(own), rows.shape[0], -1)


def _make_dense(matrix: Matrix) -> np.ndarray:
    """Return a matrix as an array of float64, which holds all values of the grid exactly."""
    if not isinstance(matrix, np.ndarray):
        matrix = matrix.convert(0, matrix.shape[0])
    return np.asarray(matrix, dtype=np.float64)


def _respond(model: Any, rows: np.ndarray, is_raw: bool) -> np.ndarray:
    """Return predictions, raw scores, or probabilities; of two classes, that of the second."""
    X = ReadRows(rows)
    if not is_classifier(model):
        return model.predict(X)
    if is_raw:
        return model.decision_function(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares
