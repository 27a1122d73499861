"""Data sets without download: bundled with scikit-learn, or generated here."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from sumwise.cli.rentals import make_rentals

Task = Literal["classification", "regression"]


class Dataset(NamedTuple):
    """Features and target of one learning task; X has dtype object if it has categories."""

    name: str
    task: Task
    X: np.ndarray
    y: np.ndarray

    def find_categories(self) -> list[int]:
        """Return the indices of the features that hold strings."""
        if self.X.dtype != object:
            return []
        return [f for f, column in enumerate(self.X.T) if any(isinstance(v, str) for v in column)]

    def has_missing(self) -> bool:
        """Whether some value is None or NaN."""
        return any(value is None or value != value for value in self.X.flat)


def make_friedman(n_rows: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw Friedman's first function: ten uniform features, the last five irrelevant, unit noise.

    y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + e   (Friedman, 1991, section 4.3)
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n_rows)
    return X, y


_LOADERS: dict[str, tuple[Task, Callable[[], tuple[np.ndarray, np.ndarray]]]] = {
    "breast_cancer": ("classification", partial(load_breast_cancer, return_X_y=True)),
    "digits": ("classification", partial(load_digits, return_X_y=True)),
    "diabetes": ("regression", partial(load_diabetes, return_X_y=True)),
    "friedman": ("regression", make_friedman),
    "rentals": ("regression", make_rentals),
}

NAMES = tuple(_LOADERS)


def load_dataset(name: str) -> Dataset:
    """Load the data set called `name`, one of `NAMES`."""
    task, loader = _LOADERS[name]
    return Dataset(name, task, *loader())
