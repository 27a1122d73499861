"""The gain of a split and the value of a leaf.

A leaf with sums G and H of gradients and hessians has the value ``-T(G) / (H + l2)``, T being the
soft threshold by l1, and scores ``T(G)^2 / (H + l2)``. The gain of a split is half of (left + right
- parent), equation 7 of the XGBoost paper.

A value may be given otherwise: limited by ``max_delta_step``, drawn to that of the parent by
``path_smooth``, or bounded by monotone constraints. Then a node's score is what its value takes off
the loss, twice. Loops over gains come in two versions: the plain one, and one for any values. Both
are branch-free, so that they vectorize; where nothing limits values both give the same bits.
"""

from typing import NamedTuple

import numpy as np

from sumwise.kernels.grow.packed import first_with_count, unpack_sums
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.elementary import float_of
from sumwise.kernels.runtime.jit import ZERO, inlined, routine


class Limits(NamedTuple):
    """What the gains of a node's splits depend on beside sums, as local values."""

    unit_g: float
    unit_h: float
    l1: float
    l2: float
    max_step: float
    min_hessian: float
    min_rows: int
    smooth: float
    center: float  # the node's value, if paths are smoothed
    lower: float  # bounds on the children's values, before the learning rate
    upper: float
    direction: float  # 1: the left child's value is at most the right one's; -1: at least; 0: any


@inlined
def find_limits(job, node, f):
    """Return the limits of a node's splits on a feature; -1 if the feature has no order."""
    p, rules = job.payload, job.constraints
    center = p.values[node] if p.path_smooth > 0.0 else 0.0
    lower, upper, direction = -np.inf, np.inf, 0.0
    if rules.any_direction:
        lower, upper = rules.lower[node], rules.upper[node]
        direction = np.float64(rules.direction[f]) if f >= 0 else 0.0
    return Limits(
        p.units[0],
        p.units[1],
        p.l1,
        p.l2,
        p.max_delta_step,
        p.min_child_weight,
        job.options.min_samples_leaf,
        p.path_smooth,
        center,
        lower,
        upper,
        direction,
    )


@inlined
def without_order(limits):
    """The same for a split of all values against the missing ones, which have no order."""
    return Limits(*limits[:11], 0.0)


@inlined
def with_more_l2(limits, more_l2):
    """The same with a larger penalty on the children's values."""
    return Limits(*limits[:3], limits.l2 + more_l2, *limits[4:])


@inlined
def _is_plain(limits):
    """Whether values are not limited in any way."""
    is_free = (limits.lower == -np.inf) & (limits.upper == np.inf) & (limits.direction == 0.0)
    return is_free & (limits.max_step == 0.0) & (limits.smooth == 0.0)


# Values


@routine
def leaf_value(gradient, hessian, l1, l2, max_step):
    """The value that minimizes the second-order loss of a leaf."""
    curvature = hessian + l2
    if curvature <= 0.0:
        return 0.0
    weight = max(abs(gradient) - l1, 0.0) / curvature
    if max_step > 0.0:
        weight = min(weight, max_step)
    return -weight if gradient > 0.0 else weight


@routine
def score_of_value(gradient, hessian, l1, l2, value):
    """The score of any value: what that value takes off the loss, twice."""
    step = 2.0 * gradient * value + (hessian + l2) * value * value
    return -(step + 2.0 * l1 * abs(value))


@routine
def smooth_value(value, n_rows, smooth, parent):
    """Draw the value of a node with few rows to that of its parent; ``smooth`` is positive."""
    share = n_rows / (n_rows + smooth)
    return share * value + (1.0 - share) * parent


@routine
def _best_score(gradient, hessian, l1, l2):
    """The score of the best value."""
    size, curvature = max(abs(gradient) - l1, 0.0), hessian + l2
    return size * size / curvature if curvature > 0.0 else 0.0


@routine
def _judge_child(gradient, hessian, n_rows, limits):
    """Return the value of a child, its score, and whether a bound changed the value."""
    size, curvature = max(abs(gradient) - limits.l1, 0.0), hessian + limits.l2
    weight = size / curvature if curvature > 0.0 else 0.0
    is_given = limits.max_step > 0.0
    weight = limits.max_step if is_given & (weight > limits.max_step) else weight
    best = size * size / curvature if curvature > 0.0 else 0.0
    free = -weight if gradient > 0.0 else weight
    smoothed = smooth_value(free, n_rows, limits.smooth, limits.center)
    free = smoothed if limits.smooth > 0.0 else free
    is_given |= limits.smooth > 0.0
    value = limits.lower if free < limits.lower else free
    value = limits.upper if value > limits.upper else value
    is_bound = value != free
    given = score_of_value(gradient, hessian, limits.l1, limits.l2, value)
    return value, given if is_bound | is_given else best, is_bound


@routine
def child_value(limits, totals):
    """Value of a child from its integer totals, before the learning rate."""
    return _judge_child(totals[0] * limits.unit_g, totals[1] * limits.unit_h, totals[2], limits)[0]


@routine
def node_score(limits, totals):
    """Score of a node from its integer totals (gradient, hessian, count)."""
    gradient, hessian = totals[0] * limits.unit_g, totals[1] * limits.unit_h
    if limits.smooth > 0.0:
        return score_of_value(gradient, hessian, limits.l1, limits.l2, limits.center)
    return _judge_child(gradient, hessian, totals[2], limits)[1]


# Gains of one split


@inlined
def _has_enough(n_left, n_right, hessian_left, hessian_right, limits):
    """Whether both children have enough rows and hessian."""
    enough = (n_left >= limits.min_rows) & (n_right >= limits.min_rows)
    return enough & (hessian_left >= limits.min_hessian) & (hessian_right >= limits.min_hessian)


@routine
def _plain_gain(left, right, parent, limits):
    """Gain of a split from the sums of its sides, -inf if a child is too small.

    ``left`` and ``right`` are (gradient, hessian, count), the first two as floats.
    """
    hessian_left, hessian_right = left[1] * limits.unit_h, right[1] * limits.unit_h
    score_left = _best_score(left[0] * limits.unit_g, hessian_left, limits.l1, limits.l2)
    score_right = _best_score(right[0] * limits.unit_g, hessian_right, limits.l1, limits.l2)
    gain = 0.5 * ((score_left + score_right) - parent)
    return gain if _has_enough(left[2], right[2], hessian_left, hessian_right, limits) else -np.inf


@routine
def _limited_gain(left, right, parent, limits):
    """The same for any values, -inf also if constraints do not allow the split."""
    hessian_left, hessian_right = left[1] * limits.unit_h, right[1] * limits.unit_h
    value_left, score_left, left_bound = _judge_child(
        left[0] * limits.unit_g, hessian_left, left[2], limits
    )
    value_right, score_right, right_bound = _judge_child(
        right[0] * limits.unit_g, hessian_right, right[2], limits
    )
    gain = 0.5 * ((score_left + score_right) - parent)
    allowed = _has_enough(left[2], right[2], hessian_left, hessian_right, limits)
    allowed &= not (limits.direction * value_left > limits.direction * value_right)
    # Two values at the same bound gain nothing, but rounding might say otherwise.
    allowed &= not (left_bound & right_bound & (value_left == value_right))
    return gain if allowed else -np.inf


@inlined
def _sides(g, h, n, totals):
    """Return (g, h, n), and the rest of the totals, as floats and counts."""
    total_g, total_h, total_n = totals
    right = float_of(total_g - g), float_of(total_h - h), total_n - n
    return (float_of(g), float_of(h), n), right


@inlined
def _packed_sides(word, totals):
    """The same for the sums of a packed word: floats hold their differences exactly."""
    g, h, n = unpack_sums(word)
    total_g, total_h, total_n = totals
    left = np.float64(g), np.float64(h), n
    return left, (np.float64(total_g) - left[0], np.float64(total_h) - left[1], total_n - n)


@routine
def gain_over(parent, limits, g, h, n, totals):
    """Gain of the split that sends (g, h, n) of the totals left, over a given score of the node."""
    left, right = _sides(g, h, n, totals)
    if _is_plain(limits):
        return _plain_gain(left, right, parent, limits)
    return _limited_gain(left, right, parent, limits)


@routine
def split_gain(limits, left, totals):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    sums = (totals[0], totals[1], totals[2])
    return gain_over(node_score(limits, totals), limits, left[0], left[1], left[2], sums)


# Gains of all splits of a feature


@routine
def _write_gains(left_g, left_h, left_n, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are those of the arrays plus ``extra``."""
    extra_g, extra_h, extra_n = extra
    if _is_plain(limits):
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            left, right = _sides(g, h, n, totals)
            gains[i] = _plain_gain(left, right, parent, limits)
    else:
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            left, right = _sides(g, h, n, totals)
            gains[i] = _limited_gain(left, right, parent, limits)


@routine
def gains_after(limits, prefix, missing, n_candidates, both_ways, is_last, totals, right, left):
    """Write the gains of splits, missing to the right, and to the left if asked.

    ``prefix`` has the sums of the values on the left of each, and ``missing`` those of the missing
    rows. If the last split ``is_last`` of the feature, it has all values on its left, and only
    missing ones on its right.
    """
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    parent, sums = node_score(limits, totals), (totals[0], totals[1], totals[2])
    gains = right[:n_candidates]
    _write_gains(left_g, left_h, left_n, (ZERO, ZERO, ZERO), sums, parent, limits, gains)
    if both_ways:
        gains = left[:n_candidates]
        _write_gains(left_g, left_h, left_n, missing, sums, parent, limits, gains)
    if is_last and limits.direction != 0.0:
        i, free = n_candidates - 1, without_order(limits)
        right[i] = gain_over(parent, free, left_g[i], left_h[i], left_n[i], sums)


@routine
def _sum_prefix(bins, n_candidates, prefix):
    """Write the sums of the bins up to each candidate's; return those of bin 0."""
    n_bins = bins.size // 3
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    bins_g, bins_h, bins_n = bins[1:n_bins], bins[n_bins + 1 : 2 * n_bins], bins[2 * n_bins + 1 :]
    sum_g, sum_h, sum_n = ZERO, ZERO, ZERO
    for i in range(n_candidates):
        sum_g += bins_g[i]
        sum_h += bins_h[i]
        sum_n += bins_n[i]
        left_g[i], left_h[i], left_n[i] = sum_g, sum_h, sum_n
    return bins[0], bins[n_bins], bins[2 * n_bins]


@routine
def fill_gains(limits, bins, n_candidates, both_ways, totals, prefix, right, left):
    """Write the gain of a split after each bin: missing to the right, and to the left if asked.

    ``bins`` is the feature's histogram. Entry i is the split after bin i + 1.
    """
    missing = _sum_prefix(bins, n_candidates, prefix)
    gains_after(limits, prefix, missing, n_candidates, both_ways, both_ways, totals, right, left)


@routine
def best_split(limits, bins, n_candidates, both_ways, totals, prefix, gains):
    """Return (gain, bin, missing goes left) of the best split of a feature."""
    fill_gains(limits, bins, n_candidates, both_ways, totals, prefix, gains[0], gains[1])
    return best_candidate(n_candidates, both_ways, gains[0], gains[1])


@routine
def _write_packed_gains(running, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are packed in ``running``, plus ``extra``."""
    if _is_plain(limits):
        for i in range(gains.size):
            left, right = _packed_sides(running[i] + extra, totals)
            gains[i] = _plain_gain(left, right, parent, limits)
    else:
        for i in range(gains.size):
            left, right = _packed_sides(running[i] + extra, totals)
            gains[i] = _limited_gain(left, right, parent, limits)


@routine
def fill_packed_gains(limits, words, n_candidates, both_ways, totals, prefix, gains):
    """The same as :func:`fill_gains` for packed sums; return the first split written, and how many.

    Where nothing is missing, gains are computed only of the splits that leave enough rows on both
    sides. Missing goes right in ``gains[0]``, left in ``gains[1]``.
    """
    running = prefix[0]
    word = ZERO
    for i in range(n_candidates):
        word += words[i + 1]
        running[i] = word
    first, last = 0, n_candidates
    if not both_ways:
        first = first_with_count(running, n_candidates, limits.min_rows)
        last = first_with_count(running, n_candidates, totals[2] - limits.min_rows + 1)
    n = max(last - first, 0)
    whole = min((n + 7) & ~7, running.size - first)  # nothing is left over for a scalar loop
    running = running[first : first + whole]
    parent, sums = node_score(limits, totals), (totals[0], totals[1], totals[2])
    _write_packed_gains(running, ZERO, sums, parent, limits, gains[0, :whole])
    if both_ways:
        _write_packed_gains(running, words[0], sums, parent, limits, gains[1, :whole])
        if limits.direction != 0.0:
            g, h, n_left = unpack_sums(word)
            gains[0, n - 1] = gain_over(parent, without_order(limits), g, h, n_left, sums)
    return first, n


@routine
def best_packed_split(limits, words, n_candidates, both_ways, totals, prefix, gains):
    """The same as :func:`best_split` for packed sums."""
    arrays = words, n_candidates, both_ways, totals, prefix, gains
    first, n = fill_packed_gains(limits, *arrays)
    gain, split_bin, missing_left = best_candidate(n, both_ways, gains[0], gains[1])
    return gain, first + split_bin, missing_left
