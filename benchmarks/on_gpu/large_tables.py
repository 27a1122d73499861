"""Large tables for timing: simulated collisions, and data similar to forest cover types."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import EVENTS_PER_BLOCK, simulate_events
from benchmarks.on_gpu.tables import draw, draw_integers
from benchmarks.report import count_cpus

_N_FEATURES = 28


class Rows(NamedTuple):
    """Training and test rows on the host."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]


@lru_cache(maxsize=1)
def make_events(n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return simulated collisions as `datasets.make_higgs_like` does, but by many threads."""
    X = np.empty((n_rows, _N_FEATURES), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)

    def fill(start: int) -> None:
        features, labels = simulate_events(EVENTS_PER_BLOCK, np.random.default_rng([0, start]))
        rows = slice(start, start + EVENTS_PER_BLOCK)
        n = len(y[rows])
        X[rows], y[rows] = features[:n], labels[:n]

    with ThreadPoolExecutor(count_cpus()) as pool:
        list(pool.map(fill, range(0, n_rows, EVENTS_PER_BLOCK)))
    return X, y


def make_cover(n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return 54 features and 7 classes of unequal sizes, as forest cover types have.

    10 numbers, a soil of 40 kinds and an area of 4 kinds, both one-hot.
    """
    rows = range(n_rows)
    X = np.zeros((n_rows, 54), dtype=np.float32)
    for column in range(10):
        X[:, column] = np.floor(draw(rows, column) * (200 + 400 * column))
    soil, area = draw_integers(rows, 10, 40), draw_integers(rows, 11, 4)
    X[np.arange(n_rows), 10 + soil] = 1.0
    X[np.arange(n_rows), 50 + area] = 1.0
    height = X[:, 0] / 200 + X[:, 1] * X[:, 2] / 600_000 + soil * 7 % 40 / 40 + area / 8
    limits = [0.9, 1.7, 1.85, 1.95, 2.1, 2.4]
    return X, np.digitize(height + draw(rows, 12) / 4, limits).astype(np.int64)


def split(X: NDArray[np.float32], y: NDArray[np.int64], n_train: int) -> Rows:
    """Take the first rows for training."""
    return Rows(X[:n_train], y[:n_train], X[n_train:], y[n_train:])
