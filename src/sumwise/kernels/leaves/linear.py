"""Linear models in leaves: how they are fitted, and what they add to scores.

A leaf with gradients g and hessians h of its rows and the features x_1, .., x_d of its path has
    f(x) = c + sum_j b_j (x_j - m_j),
where m are the means of the features by hessian. The Newton step in (c, b) then separates:
    c = -G / (H + l2), as for a leaf without a model, and (C + ridge * S^2) b = -sum g (x - m),
with C = sum h (x - m)(x - m)^T and S^2 the variances of the features, so that the ridge does not
depend on their units. (Shi, Li and Li, 2019: Gradient boosting with piece-wise linear regression
trees.)

Unless a model may extrapolate, what it adds is clipped to the range of what it adds for its own
rows: otherwise a row with a value out of range could get a prediction far beyond all targets.

One thread fits a leaf, with its rows in order, so nothing depends on the number of threads.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share

# A feature that varies by less than this fraction of its mean is constant in a leaf.
_LEAST_SPREAD = 1e-13
# A feature that the others explain up to this fraction of its variance is omitted.
_LEAST_PIVOT = 1e-10


class Models(NamedTuple):
    """The models of the nodes of one tree or of many, end to end.

    Terms ``first[node]`` up to ``first[node + 1]`` are those of a node. Without terms, a node has
    only its value.
    """

    first: Any  # int64 (n_nodes + 1,)
    feature: Any  # int32 (n_terms,)
    coefficient: Any  # float64 (n_terms,)
    constant: Any  # float64 (n_nodes,): where all features of the model are zero
    low: Any  # float64 (n_nodes,): the least that a model adds
    high: Any  # float64 (n_nodes,): the most
    value: Any  # float64 (n_nodes,): without the model, and where a feature is missing


class ModelRule(NamedTuple):
    """How leaves are penalized."""

    l1: float
    l2: float
    max_step: float
    learning_rate: float
    ridge: float
    extrapolates: bool


@routine
def evaluate(values, place, column_stride, models, node):
    """What a leaf adds to the score of a row: its value if the model gives no finite number."""
    first, last = models.first[node], models.first[node + 1]
    if first == last:
        return models.value[node]
    total = models.constant[node]
    for k in range(first, last):
        total += models.coefficient[k] * np.float64(
            values[place + column_stride * models.feature[k]]
        )
    if not math.isfinite(total):
        return models.value[node]
    return min(max(total, models.low[node]), models.high[node])


@routine
def _read_row(values, place, column_stride, features, x):
    """Write the features of a row to ``x``; return whether all of them are finite."""
    is_complete = True
    for j in range(features.size):
        x[j] = np.float64(values[place + column_stride * features[j]])
        is_complete &= math.isfinite(x[j])
    return is_complete


@routine
def _standardize(matrix, sum_h, mean, d, target, scale):
    """Divide by the standard deviations; a constant feature has a scale of 0."""
    for j in range(d):
        spread = math.sqrt(matrix[j, j] / sum_h)
        scale[j] = spread if spread > _LEAST_SPREAD * abs(mean[j]) else 0.0
    for j in range(d):
        target[j] = target[j] / scale[j] if scale[j] > 0.0 else 0.0
        for k in range(j + 1):
            both = scale[j] * scale[k]
            matrix[j, k] = matrix[j, k] / both if both > 0.0 else 0.0


@routine
def _solve(matrix, d, least, target, scale):
    """Solve for ``target`` by Cholesky decomposition; omitted features get 0."""
    for j in range(d):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if scale[j] == 0.0 or not pivot > least:
            scale[j] = 0.0
            for k in range(j):
                matrix[j, k] = 0.0
            for i in range(j + 1, d):
                matrix[i, j] = 0.0
            matrix[j, j] = 1.0
            target[j] = 0.0
            continue
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, d):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / root
    for j in range(d):
        for k in range(j):
            target[j] -= matrix[j, k] * target[k]
        target[j] /= matrix[j, j]
    for j in range(d - 1, -1, -1):
        for i in range(j + 1, d):
            target[j] -= matrix[i, j] * target[i]
        target[j] /= matrix[j, j]


@routine
def _fit_leaf(values, stride, rows, features, gradient, hessian, rule, scratch, coefficient):
    """Fill the coefficients of a leaf; return its constant, NaN where it has no model."""
    d = features.size
    matrix, mean, target, scale, x = scratch[4:], scratch[0], scratch[1], scratch[2], scratch[3]
    n_rows, sum_g, sum_h = 0, 0.0, 0.0
    for j in range(d):
        mean[j] = 0.0
        target[j] = 0.0
        for k in range(j + 1):
            matrix[j, k] = 0.0
    for i in range(rows.size):
        row = np.int64(rows[i])
        if _read_row(values, row, stride, features, x):
            n_rows += 1
            sum_g += gradient[row]
            sum_h += hessian[row]
            for j in range(d):
                mean[j] += hessian[row] * x[j]
    if n_rows <= d or not sum_h > 0.0:
        return np.nan
    for j in range(d):
        mean[j] /= sum_h
    for i in range(rows.size):
        row = np.int64(rows[i])
        if _read_row(values, row, stride, features, x):
            g, h = gradient[row], hessian[row]
            for j in range(d):
                x[j] -= mean[j]
                target[j] -= g * x[j]
                for k in range(j + 1):
                    matrix[j, k] += h * x[j] * x[k]
    _standardize(matrix, sum_h, mean, d, target, scale)
    for j in range(d):
        matrix[j, j] += rule.ridge
    _solve(matrix, d, _LEAST_PIVOT * (sum_h + rule.ridge), target, scale)
    step = leaf_value(sum_g, sum_h, rule.l1, rule.l2, rule.max_step)
    constant = rule.learning_rate * step
    for j in range(d):
        slope = target[j] / scale[j] if scale[j] > 0.0 else 0.0
        coefficient[j] = rule.learning_rate * slope
        constant -= coefficient[j] * mean[j]
    return constant


@routine
def _find_range(values, stride, rows, features, constant, coefficient, x):
    """The lowest and the highest value that a model adds for its complete rows."""
    low, high = np.inf, -np.inf
    for i in range(rows.size):
        if _read_row(values, np.int64(rows[i]), stride, features, x):
            total = constant
            for j in range(features.size):
                total += coefficient[j] * x[j]
            low, high = min(low, total), max(high, total)
    return low, high


@kernel
def fit_leaf_models(
    thread,
    n_threads,
    sync,
    values,
    column_stride,
    order,
    group_first,
    models,
    gradient,
    hessian,
    rule,
    scratch,
):
    """Fill coefficients and constants of the leaves that have terms.

    ``order`` has the rows grouped by node, those of a node from ``group_first[node]`` on.
    """
    for node in range(thread, models.value.size, n_threads):
        first, last = models.first[node], models.first[node + 1]
        if last > first:
            rows = order[group_first[node] : group_first[node + 1]]
            coefficient, own = models.coefficient[first:last], scratch[thread]
            leaf = (values, column_stride, rows, models.feature[first:last])
            constant = _fit_leaf(*leaf, gradient, hessian, rule, own, coefficient)
            models.constant[node] = constant
            if not rule.extrapolates:
                low, high = _find_range(*leaf, constant, coefficient, own[3])
                models.low[node], models.high[node] = low, high


@kernel
def add_model_values(thread, n_threads, sync, values, column_stride, rows, leaf, models, scores):
    """Add the models of their leaves to the scores of ``rows`` of the table of a fit."""
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        row = np.int64(rows[i])
        scores[row] += evaluate(values, row, column_stride, models, np.int64(leaf[row]))


@kernel
def add_model_predictions(thread, n_threads, sync, matrix, leaves, start, output, models, out):
    """Add the values of trees to ``out`` (n_rows, n_outputs), in the order of the trees.

    ``leaves`` (n_rows, n_trees) count within the trees, which begin at the nodes ``start``.
    """
    first, last = share(matrix.n_rows, thread, n_threads)
    values, stride = matrix.values, matrix.column_stride
    for i in range(first, last):
        for tree in range(start.size):
            node = start[tree] + leaves[i, tree]
            out[i, output[tree]] += evaluate(values, i * matrix.row_stride, stride, models, node)
