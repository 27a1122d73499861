"""The data of the benchmarks: simulated collisions, and Parquet files.

The files are read from the folder in the environment variable `SUMWISE_DATA`. Their last column is
`target`.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import train_test_split

from benchmarks.rivals import Task

EVENTS_PER_BLOCK = 50_000
TAG_LEVELS = (0.0, 1.1, 2.2)


class MissingDataError(RuntimeError):
    """A file that a benchmark needs is missing."""


# C-ordered float32, a frame with categorical columns, or a sparse matrix.
Features = NDArray[np.float32] | pd.DataFrame | csr_matrix


@dataclass(frozen=True)
class Dataset:
    """Training and test rows."""

    task: Task
    X_train: Features
    y_train: NDArray[Any]
    X_test: Features
    y_test: NDArray[Any]

    @property
    def shape(self) -> str:
        n_rows, n_features = self.X_train.shape
        return f"{n_rows:,} x {n_features}, tested on {len(self.X_test):,} rows"


def load_higgs_like(n_train: int, n_test: int) -> Dataset:
    """Return simulated collisions, the first `n_train` for training."""
    X, y = make_higgs_like(n_train + n_test)
    return Dataset("binary", X[:n_train], y[:n_train], X[n_train:], y[n_train:])


@lru_cache(maxsize=1)
def make_higgs_like(n_rows: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return 28 features similar to the HIGGS data: 21 measured, 7 derived masses.

    Every block has its own seed, so a smaller data set is the head of a larger one.
    """
    blocks = [
        simulate_events(EVENTS_PER_BLOCK, np.random.default_rng([seed, start]))
        for start in range(0, n_rows, EVENTS_PER_BLOCK)
    ]
    X = np.concatenate([features for features, _ in blocks])[:n_rows]
    y = np.concatenate([labels for _, labels in blocks])[:n_rows]
    return X, y


def simulate_events(
    n_events: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return events with a lepton, a neutrino and four jets; label 1 is the signal.

    Momentum, pseudorapidity and angle of the particles are drawn independently. Invariant masses
    near a resonance and tagged jets make the signal more likely.
    """
    momentum = rng.gamma(2.0, 0.5, (n_events, 6))
    momentum[:, 2:] = -np.sort(-momentum[:, 2:], axis=1)
    rapidity = rng.normal(0.0, 1.0, (n_events, 6))
    angle = rng.uniform(-np.pi, np.pi, (n_events, 6))
    tags = rng.choice(TAG_LEVELS, (n_events, 4), p=(0.5, 0.25, 0.25))

    four_momenta = np.stack(
        [
            momentum * np.cosh(rapidity),
            momentum * np.cos(angle),
            momentum * np.sin(angle),
            momentum * np.sinh(rapidity),
        ]
    )

    def mass(*particles: int) -> NDArray[np.float64]:
        energy, x, y, z = four_momenta[:, :, particles].sum(axis=2)
        return np.sqrt(np.maximum(energy**2 - x**2 - y**2 - z**2, 0.0))

    lepton, neutrino, *jets = range(6)
    two_jets, three_jets = mass(*jets[2:]), mass(*jets[1:])
    leptonic, leptonic_jet = mass(lepton, neutrino), mass(lepton, neutrino, jets[2])
    tagged = mass(*jets[:2])
    half, whole = mass(lepton, neutrino, *jets[:2]), mass(*range(6))

    logit = (
        2.5 * np.exp(-(((tagged - 2.0) / 0.7) ** 2)) * (tags[:, 0] + tags[:, 1] > 1.0)
        + 1.5 * np.exp(-(((two_jets - 0.8) / 0.3) ** 2))
        + 1.0 * np.exp(-(((leptonic - 1.0) / 0.4) ** 2))
        - 0.8 * np.log1p(half / whole * three_jets)
        + 0.4 * np.sin(2.0 * (angle[:, lepton] - angle[:, neutrino]))
    )
    labels = rng.random(n_events) < 1.0 / (1.0 + np.exp(logit.mean() - logit))

    measured = [momentum[:, lepton], rapidity[:, lepton], angle[:, lepton]]
    measured += [momentum[:, neutrino], angle[:, neutrino]]
    for jet in jets:
        measured += [momentum[:, jet], rapidity[:, jet], angle[:, jet]]
        measured += [tags[:, jet - jets[0]]]
    masses = [two_jets, three_jets, leptonic, leptonic_jet, tagged, half, whole]
    features = np.column_stack(measured + masses).astype(np.float32)
    return features, labels.astype(np.int64)


def load_covertype(max_rows: int) -> Dataset:
    """Return forest cover data with 7 classes; a random 80 % is for training."""
    X, y = read_table("covertype", "multiclass", max_rows)
    return split("multiclass", X, y)


def load_iris_flowers() -> Dataset:
    """Return 150 flowers of 3 kinds, for the time to a first model."""
    X, y = load_iris(return_X_y=True)
    return split("multiclass", X.astype(np.float32), y)


def load_categorical(name: str, max_rows: int) -> Dataset:
    """Return a file with two classes and categorical columns."""
    X, y = read_frame(name, "binary", max_rows)
    return split("binary", X, y)


# Names of the categorical features of :func:`load_many_categories`, and how many values they have.
MANY_CATEGORIES = {f"c{k}": round(2 * 1000 ** (k / 19)) for k in range(20)}


def load_many_categories(n_train: int, n_test: int) -> Dataset:
    """Return 48 numbers and 20 categories, from 2 to 2,000 values each, for two classes.

    The values of a category are shuffled ranges of a number that tells something of the class.
    """
    n_rows, n_numbers = n_train + n_test, 48
    numbers, y = make_classification(
        n_rows,
        n_numbers + len(MANY_CATEGORIES),
        n_informative=24,
        n_redundant=10,
        flip_y=0.05,
        class_sep=0.7,
        random_state=0,
    )
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"n{k}": numbers[:, k].astype(np.float32) for k in range(n_numbers)}
    for own, (name, n_values) in zip(
        numbers[:, n_numbers:].T, MANY_CATEGORIES.items(), strict=True
    ):
        rank = np.argsort(np.argsort(own))
        code = rng.permutation(n_values)[rank * n_values // n_rows]
        columns[name] = pd.Categorical([f"value {c}" for c in code])
    X = pd.DataFrame(columns)
    return Dataset("binary", X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def split(task: Task, X: Features, y: NDArray[Any]) -> Dataset:
    """Split off a stratified fifth of the rows for testing."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, stratify=y, random_state=0
    )
    return Dataset(task, X_train, y_train, X_test, y_test)


def read_table(name: str, task: Task, max_rows: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return features and target of a file, with at most `max_rows` random rows.

    Categories become integer codes.
    """
    X, y = read_frame(name, task, max_rows)
    for column in X.select_dtypes("category"):
        X[column] = X[column].cat.codes
    return np.ascontiguousarray(X, dtype=np.float32), y


def read_frame(name: str, task: Task, max_rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return a frame and target of a file: categories unchanged, numbers as float32."""
    table = pd.read_parquet(find_table(name))
    if len(table) > max_rows:
        table = table.sample(max_rows, random_state=0)
    X = table.drop(columns="target")
    numbers = X.columns.difference(X.select_dtypes("category").columns)
    y_type = np.float64 if task == "regression" else np.int64
    return X.astype(dict.fromkeys(numbers, np.float32)), table["target"].to_numpy(y_type)


def find_table(name: str) -> Path:
    """Return the path of a Parquet file in `SUMWISE_DATA`."""
    folder = os.environ.get("SUMWISE_DATA")
    if not folder:
        raise MissingDataError(f"SUMWISE_DATA is not set: it names the folder with {name}.parquet")
    path = Path(folder) / f"{name}.parquet"
    if not path.exists():
        raise MissingDataError(f"SUMWISE_DATA holds no {name}.parquet")
    return path
