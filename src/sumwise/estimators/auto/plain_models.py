"""What the models of scikit-learn have learned, as plain arrays, and how these predict.

A member keeps nothing else of a linear model, a network or nearest neighbors. So it predicts the
same whether it was fitted or loaded, and with any version of scikit-learn.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sumwise.lazy import lazy


@dataclass(frozen=True, eq=False)
class LinearFunctions:
    """Linear functions of the columns.

    Attributes
    ----------
    coefficient : ndarray of shape (n_outputs, n_columns)
    intercept : ndarray of shape (n_outputs,)
    """

    kind: ClassVar[str] = "linear"
    has_scores: ClassVar[bool] = True
    coefficient: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, model: Any) -> "LinearFunctions":
        """Take them from a fitted linear model of scikit-learn."""
        coefficient = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        return cls(coefficient, np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)))

    def compute(self, columns: Any) -> np.ndarray:
        """Return the values of the functions, (n_rows, n_outputs)."""
        return np.asarray(columns @ self.coefficient.T) + self.intercept


@dataclass(frozen=True, eq=False)
class Network:
    """A network with rectified linear units; its last layer is linear.

    Attributes
    ----------
    weights : tuple of ndarray of shape (n_inputs, n_units)
    biases : tuple of ndarray of shape (n_units,)
    """

    kind: ClassVar[str] = "network"
    has_scores: ClassVar[bool] = True
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, model: Any) -> "Network":
        """Take it from a fitted multi-layer perceptron of scikit-learn."""
        weights = tuple(np.asarray(own, dtype=np.float64) for own in model.coefs_)
        return cls(weights, tuple(np.asarray(own, dtype=np.float64) for own in model.intercepts_))

    def compute(self, columns: np.ndarray) -> np.ndarray:
        """Return the values of the last layer, (n_rows, n_outputs)."""
        values = columns
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = values @ weights
            values += biases
            np.maximum(values, 0.0, out=values)
        return values @ self.weights[-1] + self.biases[-1]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The training rows, and their targets: of classes, a column of 0 and 1 for each.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_columns)
    targets : ndarray of shape (n_points, n_outputs)
    n_neighbors : int
    by_distance : bool
        Whether the weight of a neighbor is the inverse of its distance.
    """

    kind: ClassVar[str] = "neighbors"
    has_scores: ClassVar[bool] = False
    points: np.ndarray
    targets: np.ndarray
    n_neighbors: int
    by_distance: bool

    @lazy
    def index(self) -> Any:
        """What finds the neighbors; made again after loading."""
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=self.n_neighbors).fit(self.points)

    def compute(self, columns: np.ndarray) -> np.ndarray:
        """Return the mean target of the neighbors, (n_rows, n_outputs)."""
        distances, places = self.index.kneighbors(columns)
        shares = np.ones(distances.shape)
        if self.by_distance:
            with np.errstate(divide="ignore"):
                shares = 1.0 / distances
            is_same = np.isinf(shares)
            has_same = is_same.any(axis=1)
            shares[has_same] = is_same[has_same]
        shares /= shares.sum(axis=1, keepdims=True)
        found = np.zeros((len(columns), self.targets.shape[1]))
        for rank in range(
            self.n_neighbors
        ):  # one at a time: no array of rows x neighbors x classes
            found += shares[:, rank, None] * self.targets[places[:, rank]]
        return found


PlainModel = LinearFunctions | Network | Neighbors


@dataclass(frozen=True)
class NeighborsRecipe:
    """The parameters of :class:`Neighbors`, which learns by keeping the training rows."""

    n_neighbors: int
    by_distance: bool


def learn(model: Any, columns: Any, y: np.ndarray, weights: dict[str, np.ndarray]) -> PlainModel:
    """Fit a copy of a model, and return what it has learned.

    Parameters
    ----------
    model : NeighborsRecipe or estimator of scikit-learn
        A linear model or a multi-layer perceptron.
    columns : ndarray or CSR matrix
    y : ndarray
        Numbers; or the places of classes, from 0 on.
    weights : dict
        Weights of the rows, if they differ, as ``fit`` takes them.
    """
    if isinstance(model, NeighborsRecipe):
        is_class = y.dtype.kind in "iu"
        targets = np.eye(int(y.max()) + 1)[y] if is_class else y[:, np.newaxis]
        return Neighbors(columns, targets, model.n_neighbors, model.by_distance)
    from sklearn.base import clone

    if hasattr(model, "hidden_layer_sizes"):  # float32 takes half the time
        return Network.of(clone(model).fit(columns.astype(np.float32), y, **weights))
    return LinearFunctions.of(clone(model).fit(columns, y, **weights))


def find_probabilities(model: PlainModel, columns: Any) -> np.ndarray:
    """Return the probabilities of two or more classes."""
    values = model.compute(columns)
    if not model.has_scores:
        return values
    if values.shape[1] == 1:
        values = np.hstack([np.zeros_like(values), values])
    values -= values.max(axis=1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=1, keepdims=True)
    return values
