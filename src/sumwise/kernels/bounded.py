"""The payload of boosting under constraints: values within bounds, the children's in order.

The value of a node is the best one within its bounds, and its score is what that value takes off
the loss. So the gain of a split is what it takes off the loss under the constraints. Where no
bound binds, gains are those of ``gradients`` bit for bit.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels import gradients
from sumwise.kernels.gradients import leaf_weight, score_of_value
from sumwise.kernels.jit import inlined, routine
from sumwise.kernels.packed import unpack_sums
from sumwise.kernels.split import best_candidate


class BoundedGradients(NamedTuple):
    """Gradients, and what holds for the splits of one node on one feature."""

    gradients: Any
    lower: float  # bounds on values, before the learning rate
    upper: float
    direction: int  # 1: the left child's value is at most the right one's; -1: at least; 0: any


@routine
def _is_free(payload):
    """Whether there is nothing to obey."""
    bounded = (payload.lower > -np.inf) | (payload.upper < np.inf)
    return not bounded and payload.direction == 0


@routine
def bounded_value(payload, gradient, hessian):
    """Return the best value within the bounds, and whether a bound changed it."""
    p = payload.gradients
    free = leaf_weight(gradient, hessian, p.l1, p.l2, p.max_delta_step)
    value = min(max(free, payload.lower), payload.upper)
    return value, value != free


@routine
def _value_and_score(payload, gradient, hessian):
    """Return the value of a node, its score, and whether a bound changed the value."""
    p = payload.gradients
    value, is_bound = bounded_value(payload, gradient, hessian)
    if is_bound:
        score = score_of_value(gradient, hessian, p.l1, p.l2, value)
    else:
        score = gradients.best_score(gradient, hessian, p.l1, p.l2, p.max_delta_step)
    return value, score, is_bound


@routine
def node_score(payload, totals):
    """Score of a node from its integer totals (gradient, hessian, count)."""
    units = payload.gradients.units
    return _value_and_score(payload, totals[0] * units[0], totals[1] * units[1])[1]


@routine
def _gain(payload, g, h, n, totals, parent, min_rows, direction):
    """Gain of the split that sends (g, h, n) of the totals left, -inf if it is not allowed."""
    p = payload.gradients
    hessian_left, hessian_right = h * p.units[1], (totals[1] - h) * p.units[1]
    enough = (n >= min_rows) & (totals[2] - n >= min_rows)
    enough &= (hessian_left >= p.min_child_weight) & (hessian_right >= p.min_child_weight)
    if not enough:
        return -np.inf
    gradient_left, gradient_right = g * p.units[0], (totals[0] - g) * p.units[0]
    left, score_left, left_bound = _value_and_score(payload, gradient_left, hessian_left)
    right, score_right, right_bound = _value_and_score(payload, gradient_right, hessian_right)
    if (direction > 0 and left > right) or (direction < 0 and left < right):
        return -np.inf
    # Two values at the same bound gain nothing, but rounding might say otherwise.
    if left_bound and right_bound and left == right:
        return -np.inf
    return 0.5 * ((score_left + score_right) - parent)


@routine
def split_gain(payload, left, totals, min_rows):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    if _is_free(payload):
        return gradients.split_gain(payload.gradients, left, totals, min_rows)
    parent, direction = node_score(payload, totals), payload.direction
    return _gain(payload, left[0], left[1], left[2], totals, parent, min_rows, direction)


@inlined
def _direction_after(payload, i, n_bins):
    """The order that the split after bin i + 1 must keep: none, if it parts missing from values."""
    return payload.direction if i + 2 < n_bins else 0


@routine
def fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    """Write the gain of a split after each bin: missing to the right, and to the left if asked."""
    if _is_free(payload):
        inner = payload.gradients
        gradients.fill_gains(
            inner, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left
        )
        return
    parent, n_bins = node_score(payload, totals), bins.size // 3
    missing_g, missing_h, missing_n = bins[0], bins[n_bins], bins[2 * n_bins]
    g, h, n = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n_candidates):
        g += bins[i + 1]
        h += bins[n_bins + i + 1]
        n += bins[2 * n_bins + i + 1]
        order = _direction_after(payload, i, n_bins)
        right[i] = _gain(payload, g, h, n, totals, parent, min_rows, order)
        if both_ways:
            with_g, with_h, with_n = g + missing_g, h + missing_h, n + missing_n
            left[i] = _gain(payload, with_g, with_h, with_n, totals, parent, min_rows, order)


@routine
def best_packed_split(payload, words, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """Return (gain, bin, missing goes left) of the best split of a feature with packed sums."""
    if _is_free(payload):
        inner = payload.gradients
        return gradients.best_packed_split(
            inner, words, n_candidates, both_ways, totals, min_rows, prefix, gains
        )
    parent, n_bins = node_score(payload, totals), words.size // 3
    right, left = gains[0], gains[1]
    word = np.int64(0)
    for i in range(n_candidates):
        word += words[i + 1]
        order = _direction_after(payload, i, n_bins)
        g, h, n = unpack_sums(word)
        right[i] = _gain(payload, g, h, n, totals, parent, min_rows, order)
        if both_ways:
            g, h, n = unpack_sums(word + words[0])
            left[i] = _gain(payload, g, h, n, totals, parent, min_rows, order)
    return best_candidate(n_candidates, both_ways, right, left)


@routine
def best_split(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """The same with plain sums."""
    right, left = gains[0], gains[1]
    fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left)
    return best_candidate(n_candidates, both_ways, right, left)
