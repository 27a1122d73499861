"""Conformal quantiles, one score at a time."""

import math


def find_low(scores, weights, tail):
    """Return the largest score that has at most a share ``tail`` of the weight below it.

    The weight below a score includes that of a new row, the mean of all weights; the share is one
    of the total weight, the new row included. -inf if there is no such score.
    """
    new = sum(weights) / len(weights)
    found = -math.inf
    for score in scores:
        below = sum(w for other, w in zip(scores, weights, strict=True) if other < score)
        if (below + new) / (sum(weights) + new) <= tail + 1e-9:
            found = max(found, score)
    return found


def find_high(scores, weights, tail):
    """Return the same of the negated scores."""
    return -find_low([-score for score in scores], weights, tail)


def find_interval(prediction, scale, scores, weights, coverage):
    """Return the bounds of a row whose scores are residuals divided by scales."""
    tail = (1 - coverage) / 2
    low = prediction + scale * find_low(scores, weights, tail)
    return low, prediction + scale * find_high(scores, weights, tail)
