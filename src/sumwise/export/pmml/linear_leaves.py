"""Linear models of leaves as expressions of PMML.

A tree predicts the number of its leaf. Tables have the coefficients, limits and value of each leaf.
"""

from collections.abc import Callable, Sequence

import numpy as np

from sumwise.export.pmml.fields import Fields, map_values
from sumwise.export.pmml.trees import apply, constant, read
from sumwise.export.pmml.xml import number
from sumwise.export.portable import TreeSum

_MOST = float(np.finfo(np.float64).max)


def write_linear_leaf(
    node: TreeSum, tree: int, leaf: str, fields: Fields, derive: Callable[[str, str], str]
) -> str:
    """Return the field of what a tree adds, given the field that has the node of its leaf."""
    models = node.trees.models
    assert models is not None
    own = np.arange(node.start[tree], node.start[tree + 1])
    leaves = own[node.trees.feature[own] < 0]
    linear = leaves[models.size[leaves] > 0]

    def look_up(nodes: np.ndarray, values: np.ndarray) -> str:
        finite = np.clip(values, -_MOST, _MOST)
        cells = [number(place) for place in nodes], [number(value) for value in finite]
        return map_values("double", [leaf], cells, {})

    value = look_up(leaves, node.trees.value[leaves, 0])
    if linear.size == 0:
        return derive("value", value)
    # The sum is missing if the leaf has no model, or if a feature of the model is missing. Infinite
    # numbers are missing, too: their differences are no numbers, which JPMML refuses.
    total = look_up(linear, models.constant[linear])
    for feature, nodes, slopes in _list_terms(node, linear):
        slope = read(derive("slope", look_up(nodes, slopes)))
        x = _keep_finite(read(fields.find_field(node.columns[feature])))
        term = read(derive("term", apply("*", slope, read(derive("x", x)))))
        is_absent = apply("isMissing", slope)
        total = apply("+", total, apply("if", is_absent, constant(0.0), _keep_finite(term)))
    line = read(derive("line", _keep_finite(read(derive("line", total)))))
    low, high = (look_up(linear, limits[linear]) for limits in (models.low, models.high))
    limited = apply("min", apply("max", line, low), high)
    return derive("value", apply("if", apply("isMissing", line), value, limited))


def _keep_finite(x: str) -> str:
    """Return an expression that is missing unless it is finite."""
    is_low_enough = apply("lessOrEqual", x, constant(_MOST))
    is_finite = apply("and", is_low_enough, apply("greaterOrEqual", x, constant(-_MOST)))
    return apply("if", apply("isNotMissing", x), apply("if", is_finite, x))


def _list_terms(node: TreeSum, linear: np.ndarray) -> Sequence[tuple[int, np.ndarray, np.ndarray]]:
    """Return each feature of the models of some leaves, with its leaves and its coefficients."""
    models = node.trees.models
    assert models is not None
    places = np.concatenate(
        [np.arange(models.first[leaf], models.first[leaf + 1]) for leaf in linear]
    )
    leaf_of = np.repeat(linear, models.size[linear])
    terms = []
    for feature in np.unique(models.feature[places]):
        chosen = models.feature[places] == feature
        terms.append((int(feature), leaf_of[chosen], models.coefficient[places[chosen]]))
    return terms
