"""Naive twin of exported models: computes the outputs of one row as PortableModel describes them.

A row is a list of Python values, one per input: numbers, categories, None or NaN for missing.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Median,
    Node,
    PortableModel,
    Share,
    TreeSum,
    Vote,
)

UNKNOWN = -1


def predict_row(model: PortableModel, row: Sequence[Any]) -> list[float]:
    """Return the outputs of a row."""
    return evaluate(model.output, model.inputs, row)


def predict_label(model: PortableModel, row: Sequence[Any]) -> Any:
    """Return the label of a row, for a classifier of one target."""
    outputs = predict_row(model, row)
    return model.classes[0].tolist()[outputs.index(max(outputs))]


def evaluate(node: Node, inputs: Sequence[Input], row: Sequence[Any]) -> list[float]:
    if isinstance(node, TreeSum):
        return _add_trees(node, inputs, row)
    if isinstance(node, Median):
        return [_find_median(node, inputs, row)]
    if isinstance(node, Affine):
        terms = [x for child in node.of for x in evaluate(child, inputs, row)]
        direct = [_read_column(column, inputs, row) for column in node.columns]
        terms += [0.0 if math.isnan(x) else x for x in direct]
        slopes = node.coefficient
        if node.column_coefficient is not None:
            slopes = np.column_stack([slopes, node.column_coefficient])
        return [
            _add_products(first, own, terms)
            for first, own in zip(node.intercept.tolist(), slopes.tolist(), strict=True)
        ]
    if isinstance(node, Vote):
        votes = [0.0] * node.n_outputs
        for child, weight in zip(node.of, node.weights, strict=True):
            outputs = evaluate(child, inputs, row)
            votes[outputs.index(max(outputs))] += float(weight)
        return votes
    outputs = evaluate(node.of, inputs, row)
    if isinstance(node, Link):
        return _apply_link(node.name, outputs)
    if isinstance(node, Share):
        positive = [max(x, 0.0) for x in outputs]
        total = sum(positive)
        return [x / total if total > 0 else 1 / len(positive) for x in positive]
    assert isinstance(node, Curve)
    return [
        float(np.interp(x, own_x, own_y))
        for x, own_x, own_y in zip(outputs, node.x, node.y, strict=True)
    ]


def _add_products(total: float, slopes: list[float], terms: list[float]) -> float:
    for slope, term in zip(slopes, terms, strict=True):
        if slope != 0.0:  # 0 times infinity would be NaN
            total += slope * term
    return total


def _add_trees(node: TreeSum, inputs: Sequence[Input], row: Sequence[Any]) -> list[float]:
    columns = [_read_column(column, inputs, row) for column in node.columns]
    boosts = node.divisor == 1.0
    sums = node.base_score.tolist() if boosts else [0.0] * node.n_outputs
    for tree in range(node.n_trees):
        leaf = _find_leaf(node, tree, columns)
        for k, output in enumerate(node.find_outputs(tree)):
            sums[output] += _find_value(node, leaf, k, columns)
    if boosts:
        return sums
    return [b + s / node.divisor for b, s in zip(node.base_score.tolist(), sums, strict=True)]


def _find_leaf(node: TreeSum, tree: int, columns: Sequence[float]) -> int:
    nodes, sets = node.trees, node.trees.left_categories
    place = int(node.start[tree])
    while nodes.feature[place] >= 0:
        x = columns[nodes.feature[place]]
        if math.isnan(x):
            goes_left = bool(nodes.missing_left[place])
        elif place in sets:
            goes_left = int(x) in sets[place].tolist()
        else:
            goes_left = x <= nodes.threshold[place]
        place = int(nodes.left[place]) + (0 if goes_left else 1)
    return place


def _find_value(node: TreeSum, leaf: int, k: int, columns: Sequence[float]) -> float:
    value, models = float(node.trees.value[leaf, k]), node.trees.models
    if models is None or models.size[leaf] == 0:
        return value
    total = float(models.constant[leaf])
    for term in range(models.first[leaf], models.first[leaf + 1]):
        total += float(models.coefficient[term]) * columns[models.feature[term]]
    if not math.isfinite(total):
        return value
    return min(max(total, float(models.low[leaf])), float(models.high[leaf]))


def _find_median(node: Median, inputs: Sequence[Input], row: Sequence[Any]) -> float:
    columns = [_read_column(column, inputs, row) for column in node.of.columns]
    leaves = [_find_leaf(node.of, tree, columns) for tree in range(node.of.n_trees)]
    values = [float(node.of.trees.value[leaf, 0]) for leaf in leaves]
    order = sorted(range(len(values)), key=lambda tree: values[tree])
    half, so_far = 0.5 * float(node.weights.sum()), 0.0
    for tree in order:
        so_far += float(node.weights[tree])
        if so_far >= half:
            break
    return values[tree]


def _read_column(column: Column, inputs: Sequence[Input], row: Sequence[Any]) -> float:
    if column.node is not None:
        return evaluate(column.node, inputs, row)[column.output]
    if column.lookup is None:
        place = column.inputs[0]
        if inputs[place].kind != CATEGORY:
            return math.nan if row[place] is None else float(row[place])
        code = _find_code(inputs[place], row[place])
        return math.nan if code in (UNKNOWN, len(inputs[place].categories)) else float(code)
    key = 0
    for place, base in zip(column.inputs, column.lookup.bases, strict=True):
        code = _find_code(inputs[place], row[place])
        if code == UNKNOWN:
            return column.lookup.default
        key = key * base + code
    known = dict(zip(column.lookup.keys.tolist(), column.lookup.values.tolist(), strict=True))
    return known.get(key, column.lookup.default)


def _find_code(known: Input, value: Any) -> int:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return len(known.categories)
    return known.categories.index(value) if value in known.categories else UNKNOWN


def _apply_link(name: str, scores: list[float]) -> list[float]:
    if name == "log":
        return [math.exp(f) for f in scores]
    if name == "log1p":
        return [math.expm1(f) for f in scores]
    if name == "sigmoid":
        return [_sigmoid(f) for f in scores]
    if name == "sorted":
        return sorted(scores)
    if name in ("logistic", "half_logistic"):
        f = scores[0] * (1.0 if name == "logistic" else 2.0)
        return [_sigmoid(-f), _sigmoid(f)]
    if name == "softmax":
        shares = [math.exp(f - max(scores)) for f in scores]
        return [share / sum(shares) for share in shares]
    assert name == "identity"
    return scores


def _sigmoid(f: float) -> float:
    return 1.0 / (1.0 + math.exp(-f)) if f > -700 else math.exp(f)
