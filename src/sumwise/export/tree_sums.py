"""Trees of several sums as one sum of trees."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.portable import Column, TreeSum
from sumwise.tree import Tree
from sumwise.tree.tree import LeafModels


def add_trees(parts: Sequence[tuple[TreeSum, np.ndarray]], base: np.ndarray) -> TreeSum:
    """Return weighted trees of several sums as one sum of trees.

    Parameters
    ----------
    parts : sequence of (TreeSum, ndarray)
        Trees, and what each of their outputs contributes, shape (n_outputs, n_tree_outputs). The
        base scores and divisors of the sums do not matter; see :class:`LinearForm`.
    base : ndarray of shape (n_outputs,)
    """
    columns: list[Column] = []
    places: dict[Any, int] = {}
    scaled = []
    for own, weights in parts:
        of_column = np.array([_place_column(c, columns, places) for c in own.columns], np.int32)
        scaled.append(_scale_trees(own, weights, of_column))
    sizes = [size for own, _ in parts for size in np.diff(own.start)]
    start = np.cumsum([0, *sizes], dtype=np.int64)
    base = np.array(base, dtype=np.float64)
    return TreeSum(tuple(columns), lay_end_to_end(scaled, base.size), start, base)


def _place_column(column: Column, columns: list[Column], places: dict[Any, int]) -> int:
    key: Any = column.inputs if column.lookup is None else id(column.lookup)
    if column.node is not None:
        key = (id(column.node), column.output, "output")
    if key not in places:
        places[key] = len(columns)
        columns.append(column)
    return places[key]


def _scale_trees(own: TreeSum, slope: np.ndarray, of_column: np.ndarray) -> Tree:
    """Return trees that add a linear function of their values to all outputs."""
    trees, n_outputs = own.trees, slope.shape[0]
    value = np.empty((trees.n_nodes, n_outputs))
    for tree, (first, last) in enumerate(zip(own.start[:-1], own.start[1:], strict=True)):
        outputs = own.find_outputs(tree)
        value[first:last] = trees.value[first:last] @ slope[:, outputs.start : outputs.stop].T
    models = trees.models
    if models is not None:
        if slope.shape != (1, 1):
            raise ExportError("linear leaves in a sum of trees with several outputs")
        scale = float(slope[0, 0])
        models = _scale_models(models, scale, of_column) if scale != 0.0 else None
    feature = np.where(trees.feature < 0, -1, np.append(of_column, 0)[trees.feature])
    return replace(trees, feature=feature.astype(np.int32), value=value, models=models)


def _scale_models(models: LeafModels, slope: float, of_column: np.ndarray) -> LeafModels:
    low, high = (slope * models.low, slope * models.high)
    if slope < 0:
        low, high = high, low
    return replace(
        models,
        constant=slope * models.constant,
        low=low,
        high=high,
        feature=of_column[models.feature],
        coefficient=slope * models.coefficient,
    )


def lay_end_to_end(parts: Sequence[Tree], n_columns: int) -> Tree:
    """Return trees, or sums of trees, with nodes numbered over all of them.

    ``n_columns`` is the number of values of a node, which trees that are not there cannot tell.
    """

    def join(name: str, empty: np.ndarray) -> np.ndarray:
        return np.concatenate([empty, *(getattr(part, name) for part in parts)])

    firsts = np.cumsum([0, *(part.n_nodes for part in parts)]).tolist()
    shifted = list(zip(parts, firsts, strict=False))
    left = [np.where(part.left < 0, -1, part.left + first) for part, first in shifted]
    nodes = [part.set_node + first for part, first in shifted]
    whole, number = np.empty(0, dtype=np.int32), np.empty(0)
    return Tree(
        feature=join("feature", whole),
        split_bin=np.zeros(firsts[-1], dtype=np.uint8),
        missing_left=join("missing_left", whole.astype(np.uint8)),
        left=np.concatenate([whole, *left]).astype(np.int32),
        value=join("value", np.empty((0, n_columns))),
        gain=join("gain", number),
        n_rows=join("n_rows", whole.astype(np.int64)),
        weight=join("weight", number),
        threshold=join("threshold", number),
        set_node=np.concatenate([whole, *nodes]).astype(np.int32),
        set_size=join("set_size", whole),
        set_categories=join("set_categories", whole),
        models=LeafModels.join([(part.models, part.n_nodes) for part in parts]),
    )
