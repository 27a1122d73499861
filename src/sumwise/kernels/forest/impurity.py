"""How good a split is: sums of both sides in, a number out."""

import numpy as np

from sumwise.kernels.forest.layout import QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.runtime.elementary import log
from sumwise.kernels.runtime.jit import routine


@routine
def times_log(x):
    """x log(x), and its limit 0 at 0."""
    return x * log(x) if x > 0.0 else 0.0


@routine
def score_number(criterion, weight, total):
    """The score of one side with one column; the higher, the purer."""
    if criterion == QUADRATIC:
        return total * total / weight
    score = times_log(total)
    if criterion == TWO_CLASS_LOG:
        # Rounding may leave a little less than nothing of the other class.
        return score + times_log(max(weight - total, 0.0)) - times_log(weight)
    return score - total * log(weight)


@routine
def score_columns(criterion, sums):
    """The score of one side with several columns: its weight, then its sums."""
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
    """The score of what is left of the totals."""
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


@routine
def keeps_order(direction, lower, upper, left_value, right_value):
    """Whether the values of two children obey a monotone constraint and the bounds of the node."""
    low, high = min(left_value, right_value), max(left_value, right_value)
    return (
        np.float64(direction) * (right_value - left_value) >= 0.0 and low >= lower and high <= upper
    )
