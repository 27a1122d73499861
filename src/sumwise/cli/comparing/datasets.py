"""Data of a comparison: bundled with scikit-learn, generated here, or a table of the user."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from sumwise.cli.comparing.rentals import FEATURES, make_rentals
from sumwise.cli.reading.roles import LabeledRows
from sumwise.cli.reading.table import is_missing
from sumwise.cli.usage import UsageError

Task = Literal["classification", "regression"]


class Dataset(NamedTuple):
    """Features and target of one learning task; X has dtype object if it has categories."""

    name: str
    task: Task
    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...] = ()
    group: np.ndarray | None = None
    in_time: bool = False

    def find_categories(self) -> list[int]:
        """Return the indices of the features that hold strings."""
        if self.X.dtype != object:
            return []
        return [f for f, column in enumerate(self.X.T) if any(isinstance(v, str) for v in column)]

    def has_missing(self) -> bool:
        """Whether some value is None or NaN."""
        return any(value is None or value != value for value in self.X.flat)

    def take(self, rows: np.ndarray) -> "Dataset":
        """Return some of the rows."""
        group = None if self.group is None else self.group[rows]
        return self._replace(X=self.X[rows], y=self.y[rows], group=group)


def make_friedman(n_rows: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw Friedman's first function: ten uniform features, the last five irrelevant, unit noise.

    y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + e   (Friedman, 1991, section 4.3)
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n_rows)
    return X, y


def _load_bundled(load: Callable[[], Any]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    found = load()
    return found.data, found.target, tuple(map(str, found.feature_names))


def _generate(
    make: Callable[[], tuple[np.ndarray, np.ndarray]], names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    return *make(), names


_LOADERS: dict[str, tuple[Task, Callable[[], tuple[np.ndarray, np.ndarray, tuple[str, ...]]]]] = {
    "rentals": ("regression", partial(_generate, make_rentals, FEATURES)),
    "breast_cancer": ("classification", partial(_load_bundled, load_breast_cancer)),
    "diabetes": ("regression", partial(_load_bundled, load_diabetes)),
    "friedman": (
        "regression",
        partial(_generate, make_friedman, tuple(f"x{k}" for k in range(10))),
    ),
    "digits": ("classification", partial(_load_bundled, load_digits)),
}

NAMES = tuple(_LOADERS)


def load_dataset(name: str) -> Dataset:
    """Load the data set called `name`, one of `NAMES`."""
    task, loader = _LOADERS[name]
    X, y, names = loader()
    return Dataset(name, task, X, y, names)


def from_rows(rows: LabeledRows, name: str) -> Dataset:
    """Return the rows of a table as a data set: numbers, and strings as objects."""
    roles = rows.roles
    columns = [_read_column(rows.table.get(feature), feature) for feature in roles.features]
    if all(column.dtype.kind == "f" for column in columns):
        X = np.column_stack(columns)
    else:
        X = np.empty((len(rows.y), len(columns)), dtype=object)
        for place, column in enumerate(columns):
            X[:, place] = column
    task: Any = roles.task
    return Dataset(name, task, X, rows.y, tuple(roles.features), rows.group, roles.time is not None)


def _read_column(values: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as floats, dates as seconds, and strings as objects."""
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.where(np.isnat(values), np.nan, seconds)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    gaps = is_missing(values)
    kinds = {type(value) for value in values[~gaps].tolist()}
    if kinds == {str}:
        filled = values.copy()
        filled[gaps] = None
        return filled
    if kinds <= {bool, int, float}:
        return np.where(gaps, np.nan, values).astype(np.float64)
    listed = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise UsageError(
        f"column {name!r} holds values of types {listed}; a column has numbers, strings or dates, "
        "not a mix (--drop leaves it out)"
    )
