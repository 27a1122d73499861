"""Random trees of every shape, as the arrays of an ensemble; and rows with difficult values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX = np.finfo(np.float64).max
MAX32 = float(np.finfo(np.float32).max)
# Ends of the range, zeros of both signs, neighbors that are equal as float32, and what float32
# cannot hold.
SPECIAL = [
    -np.inf,
    -MAX,
    -MAX32,
    -1e300,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    0.1,
    float(np.float32(0.1)),
    float(np.nextafter(0.1, 1)),
    1.0,
    1.0 + 1e-12,
    1e300,
    MAX32,
    MAX,
    np.inf,
]


class Trees(NamedTuple):
    """The arrays of an ensemble that predictions depend on."""

    start: NDArray[np.int64]
    output: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    left: NDArray[np.int32]
    value: NDArray[np.float64]


def grow(rng: np.random.Generator, n_leaves: int, shape: str = "random") -> list[int]:
    """Split one leaf after another; return the left child of each node, -1 for a leaf.

    `shape` is "random", "balanced", or "left" or "right" for chains.
    """
    left = [-1]
    leaves = [0]
    while len(leaves) < n_leaves:
        place = {"left": -2, "right": -1, "balanced": 0}.get(shape, int(rng.integers(len(leaves))))
        node = leaves.pop(max(place, -len(leaves)))
        left[node] = len(left)
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
    return left


def join_trees(
    rng: np.random.Generator,
    shapes: list[tuple[int, str]],
    n_features: int = 4,
    n_outputs: int = 1,
    thresholds: NDArray[np.float64] | None = None,
) -> Trees:
    """Make trees with these numbers of leaves and shapes; "symmetric": one split per level."""
    pool = np.array(SPECIAL) if thresholds is None else thresholds
    lefts = [grow(rng, n, "balanced" if shape == "symmetric" else shape) for n, shape in shapes]
    ends = np.cumsum([len(left) for left in lefts])
    start, n_nodes = np.append(0, ends[:-1]), ends[-1]
    feature = rng.integers(n_features, size=n_nodes)
    threshold = rng.choice(pool, n_nodes)
    missing_left = rng.integers(2, size=n_nodes)
    joined = np.concatenate(
        [np.where(np.array(t) < 0, -1, t + s) for t, s in zip(lefts, start, strict=True)]
    )
    for (n_leaves, shape), first in zip(shapes, start, strict=True):
        if shape == "symmetric":
            assert n_leaves & (n_leaves - 1) == 0
            for level_first in 2 ** np.arange(n_leaves.bit_length()) - 1:
                level = slice(first + level_first, first + 2 * level_first + 1)
                for array in (feature, threshold, missing_left):
                    array[level] = array[level.start]
    is_leaf = joined < 0
    # The magnitudes differ so much that the order of summation matters.
    value = rng.normal(size=n_nodes) * 10.0 ** rng.integers(-8, 9, n_nodes)
    return Trees(
        start=start.astype(np.int64),
        output=(np.arange(len(shapes)) % n_outputs).astype(np.int32),
        feature=np.where(is_leaf, -1, feature).astype(np.int32),
        threshold=np.where(is_leaf, 0.0, threshold),
        missing_left=np.where(is_leaf, 0, missing_left).astype(np.uint8),
        left=joined.astype(np.int32),
        value=value,
    )


def draw_rows(
    rng: np.random.Generator, trees: Trees, n_rows: int, n_features: int, dtype: type
) -> NDArray[np.floating]:
    """Draw rows of thresholds, the floats next to them, missing and infinite values."""
    pool = np.concatenate([trees.threshold[trees.feature >= 0], SPECIAL, rng.normal(size=20)])
    with np.errstate(over="ignore"):
        pool = pool.astype(dtype)
        ends = np.array([-np.inf, np.inf], dtype=dtype)
        pool = np.concatenate([pool, np.nextafter(pool, ends[0]), np.nextafter(pool, ends[1])])
    X = rng.choice(pool, (n_rows, n_features))
    X[rng.random(X.shape) < 0.15] = np.nan
    return X
