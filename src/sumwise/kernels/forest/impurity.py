"""How good a split is, and whether it is allowed.

Impurities are not computed. A split is as good as the scores of its two sides, and its gain is the
sum of these scores less that of the node: the decrease of the weighted impurity. With weight w and
sums s of the target columns, a side scores

``QUADRATIC``
    ``sum s * s / w``: Gini impurity, squared error. Two classes are one column of 0 and 1, for
    which Gini impurity is twice the squared error.
``LOGARITHMIC``
    ``sum s * log(s / w)``: entropy.
``TWO_CLASS_LOG``
    The same for two classes in one column: the sum of the other class is ``w - s``.
``POISSON``
    ``sum s * log(s / w)``: half the Poisson deviance. Each side must have events.
"""

import numpy as np

from sumwise.kernels.forest.layout import QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.runtime.elementary import log
from sumwise.kernels.runtime.jit import inlined, routine


@routine
def times_log(x):
    """x log(x), and its limit 0 at 0."""
    return x * log(x) if x > 0.0 else 0.0


@routine
def score_number(criterion, weight, total):
    """Score one side with one column."""
    if criterion == QUADRATIC:
        return total * total / weight
    score = times_log(total)
    if criterion == TWO_CLASS_LOG:
        # Rounding may make the rest slightly negative.
        return score + times_log(max(weight - total, 0.0)) - times_log(weight)
    return score - total * log(weight)


@inlined
def scaled_gain(w, s, total_weight, total):
    """The gain by QUADRATIC times the node's weight, if the left side has weight w and sum s."""
    apart = s * total_weight - total * w
    return apart * apart / (w * (total_weight - w))


@inlined
def separates_classes(w, s, total_weight, total):
    """Whether each side has one of two classes only, s being the weight of the second."""
    is_left_pure = (s == 0.0) | (s == w)
    return is_left_pure & ((s == total) | (total - s == total_weight - w))


@routine
def score_columns(criterion, sums):
    """Score one side with several columns, given its weight followed by its sums."""
    weight, score = sums[0], 0.0
    if criterion == QUADRATIC:
        for k in range(1, sums.size):
            score += sums[k] * sums[k]
        return score / weight
    of_weight = log(weight)
    for k in range(1, sums.size):
        if sums[k] > 0.0:
            score += sums[k] * (log(sums[k]) - of_weight)
    return score


@routine
def score_others(criterion, totals, sums):
    """Score the other side: what remains of the totals."""
    weight, score = totals[0] - sums[0], 0.0
    if criterion == QUADRATIC:
        for k in range(1, sums.size):
            rest = totals[k] - sums[k]
            score += rest * rest
        return score / weight
    of_weight = log(weight)
    for k in range(1, sums.size):
        rest = totals[k] - sums[k]
        if rest > 0.0:
            score += rest * (log(rest) - of_weight)
    return score


@inlined
def has_enough(options, left_weight, right_weight, n_left, n_right):
    """Whether both sides have enough weight and rows; rows are counted only if it matters."""
    enough = min(left_weight, right_weight) >= options.min_weight_leaf
    return enough and (options.min_rows_leaf <= 1 or min(n_left, n_right) >= options.min_rows_leaf)


@routine
def keeps_order(direction, lower, upper, left_value, right_value):
    """Whether the values of two children obey a monotone constraint and the node's bounds."""
    low, high = min(left_value, right_value), max(left_value, right_value)
    return (
        np.float64(direction) * (right_value - left_value) >= 0.0 and low >= lower and high <= upper
    )
