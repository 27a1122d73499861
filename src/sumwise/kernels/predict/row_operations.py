"""Operations on the numbers of one row: what follows the trees, up to the outputs.

A *program* is a list of operations on numbers in ``state``. A line is (operation, source, number of
inputs, target, number of outputs, place of its parameters, detail, detail).
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.losses.links import (
    exponential,
    exponential_less_one,
    sigmoid,
    softmax,
    two_sigmoids,
)
from sumwise.kernels.runtime.jit import inlined, routine

ADD_TREES, LIST_TREES, COMBINE, ADD_COLUMNS, VOTE, MEDIAN, SHARE, INTERPOLATE = range(8)
EXP, EXP_LESS_ONE, SIGMOID, SORT, TWO_SIGMOIDS, SOFTMAX, LARGEST, IS_POSITIVE = range(8, 16)
FILL_COLUMN = 16
LINE_SIZE = 8


class Row(NamedTuple):
    """Memory of one prediction."""

    values: Any  # float64 (2 * n_columns + 1,): the columns twice, then -inf
    bits: Any  # int64 (2 * n_columns + 1,): of categories
    leaves: Any  # float64 (n_trees + 1,): what the trees lead to
    state: Any  # float64 (n_numbers,): what the operations compute
    state_2d: Any  # the same, (1, n_numbers)


@inlined
def _add_columns(values, n_columns, parameters, out):
    """Add linear functions of columns, given by numbers and coefficients; missing adds nothing."""
    for k in range(out.size):
        for j in range(n_columns):
            factor = parameters[(k + 1) * n_columns + j]
            value = values[np.int64(parameters[j])]
            if factor != 0.0 and not np.isnan(value):
                out[k] += factor * value


@inlined
def _combine(terms, parameters, out):
    """Linear functions of some numbers: for each the intercept, then the coefficients."""
    place = 0
    for k in range(out.size):
        out[k] = parameters[place]
        for j in range(terms.size):
            out[k] += parameters[place + 1 + j] * terms[j]
        place += 1 + terms.size


@routine
def _find_largest(numbers):
    """The position of the largest number, the first of equals; of the first NaN if there is one."""
    best = 0
    for k in range(numbers.size):
        if np.isnan(numbers[k]):
            return k
        if numbers[k] > numbers[best]:
            best = k
    return best


@routine
def _sort(source, out):
    """Insertion sort, NaN last; there are few quantiles."""
    for k in range(source.size):
        j = k
        while j > 0 and (
            out[j - 1] > source[k] or (np.isnan(out[j - 1]) and source[k] == source[k])
        ):
            out[j] = out[j - 1]
            j -= 1
        out[j] = source[k]


@routine
def _find_median(values, weights, order):
    """The value at which the weights reach half of their sum; ``order`` is scratch."""
    for k in range(weights.size):
        j = k
        while j > 0 and values[np.int64(order[j - 1])] > values[k]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
    total = 0.0
    for k in range(weights.size):
        total += weights[np.int64(order[k])]
    half, reached, place = 0.5 * total, 0.0, 0
    for k in range(weights.size):
        place = np.int64(order[k])
        reached += weights[place]
        if reached >= half:
            break
    return values[place]


@routine
def _share(source, out):
    """Numbers, negative ones as 0, divided by their sum; equal shares if it is 0."""
    total = 0.0
    for k in range(out.size):
        out[k] = max(source[k], 0.0)
        total += out[k]
    for k in range(out.size):
        out[k] = out[k] / total if total > 0.0 else 1.0 / out.size


@routine
def _interpolate(x, xs, ys):
    """A piecewise linear function, constant beyond its ends; as ``numpy.interp``."""
    if np.isnan(x) or x <= xs[0]:
        return x if np.isnan(x) else ys[0]
    low, high = 0, xs.size
    while low < high:  # the first point above x
        middle = (low + high) >> 1
        if xs[middle] <= x:
            low = middle + 1
        else:
            high = middle
    if low == xs.size:
        return ys[xs.size - 1]
    slope = (ys[low] - ys[low - 1]) / (xs[low] - xs[low - 1])
    return slope * (x - xs[low - 1]) + ys[low - 1]


@inlined
def _fill_column(values, column, number):
    """Set a column, in both copies of the values, to a number that an operation has computed."""
    values[column] = number
    values[(values.size >> 1) + column] = -np.inf if np.isnan(number) else number


@routine
def apply_operation(line, row, parameters):
    """Apply an operation that knows nothing of trees."""
    operation, source, n_inputs = line[0], line[1], line[2]
    target, n_outputs, place = line[3], line[4], line[5]
    given, out = row.state[source : source + n_inputs], row.state[target : target + n_outputs]
    if operation == TWO_SIGMOIDS:
        two_sigmoids(given, parameters[place], out)
    elif operation == SOFTMAX:
        scores = row.state_2d[:, source : source + n_inputs]
        softmax(scores, row.state_2d[:, target : target + n_outputs])
    elif operation == EXP:
        exponential(given, 1.0, out)
    elif operation == EXP_LESS_ONE:
        exponential_less_one(given, out)
    elif operation == SIGMOID:
        sigmoid(given, 1.0, out)
    elif operation == SORT:
        _sort(given, out)
    elif operation == LARGEST:
        out[0] = _find_largest(given)
    elif operation == IS_POSITIVE:
        out[0] = 1.0 if given[0] > 0.0 else 0.0
    elif operation == COMBINE:
        _combine(given, parameters[place:], out)
    elif operation == ADD_COLUMNS:
        _add_columns(row.values, line[6], parameters[place:], out)
    elif operation == VOTE:
        out[:] = 0.0
        for k in range(n_inputs // n_outputs):
            best = _find_largest(given[k * n_outputs : (k + 1) * n_outputs])
            out[best] += parameters[place + k]
    elif operation == MEDIAN:
        weights = parameters[place : place + n_inputs]
        out[0] = _find_median(row.leaves[:n_inputs], weights, given)
    elif operation == SHARE:
        _share(given, out)
    elif operation == FILL_COLUMN:
        _fill_column(row.values, line[6], given[0])
    elif operation == INTERPOLATE:
        n_points = line[6]
        xs = parameters[place : place + n_points]
        out[0] = _interpolate(given[0], xs, parameters[place + n_points : place + 2 * n_points])
