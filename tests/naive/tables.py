"""Small tables, binned and grown on, for the tests of the twin."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .binning import find_thresholds, map_to_bins
from .grow import GrowOptions, Tree, grow_tree

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


def row_indices(*rows: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)


def bin_table(X: Floats) -> tuple[NDArray[np.uint8], list[int], list[Floats]]:
    """Return codes (n_features, n_rows), n_value_bins and thresholds of X."""
    thresholds = [find_thresholds(column) for column in X.T]
    codes = [map_to_bins(*pair) for pair in zip(X.T, thresholds, strict=True)]
    return np.array(codes), [len(t) + 1 for t in thresholds], thresholds


def grow_on(X: Floats, g: Floats, h: Floats, options: GrowOptions) -> Tree:
    codes, n_value_bins, _ = bin_table(X)
    return grow_tree(codes, n_value_bins, g, h, np.arange(len(X)), options)


def fit_mean(X: Sequence[Sequence[float]], y: Iterable[float], **options: Any) -> Tree:
    """Grow a tree on the squared loss from raw 0: a leaf is the mean of its y."""
    target = np.array(list(y), dtype=np.float64)
    options = {"wide": True, **options}
    table = np.array(X, dtype=np.float64)
    return grow_on(table, -target, np.ones(len(target)), GrowOptions(**options))


def partition_of(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(rows.tolist()) for rows in tree.leaf_rows.values() if len(rows)}
