"""The payload of boosting under constraints: values within bounds, the children's in order.

The value of a node is the best one within its bounds, and its score is what that value takes off
the loss. So the gain of a split is what it takes off the loss under the constraints. Where no
bound binds, gains are those of ``gradients`` bit for bit.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow import gradients
from sumwise.kernels.grow.gradients import score_of_value, smooth_value
from sumwise.kernels.grow.layout import ZERO
from sumwise.kernels.grow.packed import unpack_sums
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.jit import inlined, routine


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
def _solve_child(gradient, hessian, limits):
    """Return the best value without bounds, and its score, as ``gradients`` has them."""
    l1, l2, max_step = limits[2], limits[3], limits[4]
    size, curvature = max(abs(gradient) - l1, 0.0), hessian + l2
    weight = size / curvature if curvature > 0.0 else 0.0
    weight = max_step if (max_step > 0.0) & (weight > max_step) else weight
    best = size * size / curvature if curvature > 0.0 else 0.0
    return -weight if gradient > 0.0 else weight, best


@routine
def _bound_child(free, best, is_given, gradient, hessian, limits):
    """Return a value within the bounds, its score, and whether a bound changed it.

    The score is the ``best``, unless a bound changed the value or it ``is_given``.
    """
    l1, l2, lower, upper = limits[2], limits[3], limits[9], limits[10]
    value = lower if free < lower else free
    value = upper if value > upper else value
    is_bound = value != free
    given = score_of_value(gradient, hessian, l1, l2, value)
    return value, given if is_bound | is_given else best, is_bound


@routine
def _judge_plain(gradient, hessian, limits):
    """The value of a child within the bounds, its score, and whether a bound changed it.

    Values are not smoothed, so there is no branch: loops over it vectorize.
    """
    free, best = _solve_child(gradient, hessian, limits)
    return _bound_child(free, best, limits[4] > 0.0, gradient, hessian, limits)


@routine
def _judge_child(gradient, hessian, n_rows, limits):
    """The same for any values."""
    smooth, center = limits[7], limits[8]
    if smooth == 0.0:
        return _judge_plain(gradient, hessian, limits)
    free, best = _solve_child(gradient, hessian, limits)
    free = smooth_value(free, n_rows, smooth, center)
    return _bound_child(free, best, smooth > 0.0, gradient, hessian, limits)


@inlined
def _limits(payload, min_rows):
    """What a gain depends on beside the sums."""
    p = payload.gradients
    units, direction = p.units, np.float64(payload.direction)
    penalties = (p.l1, p.l2, p.max_delta_step, p.min_child_weight, min_rows)
    bounds = (p.path_smooth, p.center, payload.lower, payload.upper)
    return (units[0], units[1], *penalties, *bounds, direction)


@inlined
def _without_order(limits):
    """The same for a split that parts missing from all values, which may be in any order."""
    return (*limits[:11], 0.0)


@inlined
def _with_more_l2(limits, more_l2):
    """The same with a larger penalty."""
    return (*limits[:3], limits[3] + more_l2, *limits[4:])


@routine
def child_value(payload, totals):
    """Value of a child from its integer totals: the best within the bounds of its parent."""
    limits = _limits(payload, ZERO)
    return _judge_child(totals[0] * limits[0], totals[1] * limits[1], totals[2], limits)[0]


@routine
def node_score(payload, totals):
    """Score of a node from its integer totals (gradient, hessian, count)."""
    if payload.gradients.path_smooth > 0.0:
        return gradients.node_score(payload.gradients, totals)
    limits = _limits(payload, ZERO)
    return _judge_child(totals[0] * limits[0], totals[1] * limits[1], totals[2], limits)[1]


@inlined
def _compare(left, right, n_left, n_right, hessian_left, hessian_right, parent, limits):
    """Gain of a split into children that have been judged, -inf if it is not allowed."""
    value_left, score_left, left_bound = left
    value_right, score_right, right_bound = right
    min_hessian, min_rows, direction = limits[5], limits[6], limits[11]
    gain = 0.5 * ((score_left + score_right) - parent)
    allowed = (n_left >= min_rows) & (n_right >= min_rows)
    allowed &= (hessian_left >= min_hessian) & (hessian_right >= min_hessian)
    allowed &= not (direction * value_left > direction * value_right)
    # Two values at the same bound gain nothing, but rounding might say otherwise.
    allowed &= not (left_bound & right_bound & (value_left == value_right))
    return gain if allowed else -np.inf


@routine
def _plain_gain(g, h, n, totals, parent, limits):
    """Gain of the split that sends (g, h, n) of the totals left, -inf if it is not allowed.

    Values are not smoothed.
    """
    total_g, total_h, total_n = totals
    unit_g, unit_h = limits[0], limits[1]
    hessian_left, hessian_right = h * unit_h, (total_h - h) * unit_h
    left = _judge_plain(g * unit_g, hessian_left, limits)
    right = _judge_plain((total_g - g) * unit_g, hessian_right, limits)
    return _compare(left, right, n, total_n - n, hessian_left, hessian_right, parent, limits)


@routine
def _gain(g, h, n, totals, parent, limits):
    """The same for any values."""
    total_g, total_h, total_n = totals
    unit_g, unit_h = limits[0], limits[1]
    hessian_left, hessian_right = h * unit_h, (total_h - h) * unit_h
    left = _judge_child(g * unit_g, hessian_left, n, limits)
    right = _judge_child((total_g - g) * unit_g, hessian_right, total_n - n, limits)
    return _compare(left, right, n, total_n - n, hessian_left, hessian_right, parent, limits)


@routine
def split_gain(payload, left, totals, min_rows):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    if _is_free(payload):
        return gradients.split_gain(payload.gradients, left, totals, min_rows)
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums = (totals[0], totals[1], totals[2])
    return _gain(left[0], left[1], left[2], sums, parent, limits)


@routine
def penalized_gain(payload, g, h, n, totals, parent, min_rows, more_l2):
    """Gain of the split that sends (g, h, n) left, with a larger penalty on the children."""
    if _is_free(payload):
        inner = payload.gradients
        return gradients.penalized_gain(inner, g, h, n, totals, parent, min_rows, more_l2)
    limits = _with_more_l2(_limits(payload, min_rows), more_l2)
    return _gain(g, h, n, totals, parent, limits)


@routine
def _write_gains(left_g, left_h, left_n, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are those of the arrays plus ``extra``."""
    extra_g, extra_h, extra_n = extra
    if limits[7] > 0.0:
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            gains[i] = _gain(g, h, n, totals, parent, limits)
    else:
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            gains[i] = _plain_gain(g, h, n, totals, parent, limits)


@routine
def gains_after(
    payload, prefix, missing, n_candidates, both_ways, parts, totals, min_rows, right, left
):
    """Write the gains of splits; see ``gradients``."""
    if _is_free(payload):
        split = (prefix, missing, n_candidates, both_ways, parts, totals, min_rows, right, left)
        gradients.gains_after(payload.gradients, *split)
        return
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums, nothing = (totals[0], totals[1], totals[2]), (ZERO, ZERO, ZERO)
    _write_gains(left_g, left_h, left_n, nothing, sums, parent, limits, right[:n_candidates])
    if both_ways:
        _write_gains(left_g, left_h, left_n, missing, sums, parent, limits, left[:n_candidates])
    if parts:
        # The last split has all values on its left; with the missing, nothing on its right.
        last = n_candidates - 1
        g, h, n = left_g[last], left_h[last], left_n[last]
        right[last] = _gain(g, h, n, sums, parent, _without_order(limits))


@routine
def fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    """Write the gain of a split after each bin: missing to the right, and to the left if asked."""
    missing = gradients.sum_prefix(bins, n_candidates, prefix)
    split = (n_candidates, both_ways, both_ways, totals, min_rows, right, left)
    gains_after(payload, prefix, missing, *split)


@routine
def _write_packed_gains(running, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are packed in ``running``, plus ``extra``."""
    if limits[7] > 0.0:
        for i in range(gains.size):
            g, h, n = unpack_sums(running[i] + extra)
            gains[i] = _gain(g, h, n, totals, parent, limits)
    else:
        for i in range(gains.size):
            g, h, n = unpack_sums(running[i] + extra)
            gains[i] = _plain_gain(g, h, n, totals, parent, limits)


@routine
def best_packed_split(payload, words, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """Return (gain, bin, missing goes left) of the best split of a feature with packed sums."""
    if _is_free(payload):
        inner = payload.gradients
        return gradients.best_packed_split(
            inner, words, n_candidates, both_ways, totals, min_rows, prefix, gains
        )
    running = prefix[0]
    word = np.int64(0)
    for i in range(n_candidates):
        word += words[i + 1]
        running[i] = word
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums = (totals[0], totals[1], totals[2])
    _write_packed_gains(running, ZERO, sums, parent, limits, gains[0, :n_candidates])
    if both_ways:
        _write_packed_gains(running, words[0], sums, parent, limits, gains[1, :n_candidates])
        g, h, n = unpack_sums(word)
        gains[0, n_candidates - 1] = _gain(g, h, n, sums, parent, _without_order(limits))
    return best_candidate(n_candidates, both_ways, gains[0], gains[1])


@routine
def best_split(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """The same with plain sums."""
    right, left = gains[0], gains[1]
    fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left)
    return best_candidate(n_candidates, both_ways, right, left)
