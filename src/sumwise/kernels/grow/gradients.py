"""The payload of boosting: a bin holds the sums of gradient and hessian, and the row count.

A node with sums G and H scores ``T(G)^2 / (H + l2)``, T being the soft threshold by l1; the gain
of a split is half of (left + right - parent), equation 7 of the XGBoost paper.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.histogram import (
    add_exact_rows,
    add_packed_rows,
    clear_tile,
    finish_packed_rows,
)
from sumwise.kernels.grow.packed import first_with_count, unpack_sums
from sumwise.kernels.grow.quantize import exact_gradient, exact_hessian, quantize_rows
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.jit import inlined, routine


class Gradients(NamedTuple):
    """What the grower knows of the rows, and how it regularizes."""

    gradient: Any  # float64 (n_rows,)
    hessian: Any  # float64 (n_rows,)
    exact_gradient: Any  # int64 (n_rows,): filled where histograms sum exact values
    exact_hessian: Any  # int64 (n_rows,)
    ranges: Any  # float64 (n_threads, 8): maxima found by each thread
    sums: Any  # int64 (n_threads, 8)
    units: Any  # float64 (4,): worth of 1 in histograms (g, h) and in exact values (g, h)
    exact_rows: int  # histograms sum exact values up to this many rows
    l1: float
    l2: float
    max_delta_step: float
    min_child_weight: float
    learning_rate: float
    path_smooth: float = 0.0
    values: Any = np.empty(0)  # (n_nodes,): of nodes while the tree grows, if paths are smoothed
    center: float = 0.0  # the value of the node whose splits are judged, if paths are smoothed


load_rows = quantize_rows


@routine
def count_stats(payload):
    """Gradient, hessian, rows."""
    return 3


@routine
def can_pack(payload):
    """Histograms of small nodes may stay packed."""
    return True


@routine
def add_rows(payload, exact, table, tile, records, state, words, histogram):
    """Add rows to the histograms of a tile's features; return the new state."""
    if exact:
        if state[1]:
            clear_tile(table, tile, 3, histogram)
        gradients, hessians = payload.exact_gradient, payload.exact_hessian
        add_exact_rows(table, tile, records, gradients, hessians, words, histogram)
        return 0, False
    return add_packed_rows(table, tile, records, state, words, histogram)


@routine
def finish_rows(payload, exact, table, tile, packed, words, histogram):
    """Complete the histograms of a tile after all rows were added."""
    if not exact:
        finish_packed_rows(table, tile, packed, words, histogram)


@routine
def leaf_weight(gradient, hessian, l1, l2, max_step):
    """The value that minimizes the second-order loss of a leaf."""
    curvature = hessian + l2
    if curvature <= 0.0:
        return 0.0
    weight = max(abs(gradient) - l1, 0.0) / curvature
    if max_step > 0.0:
        weight = min(weight, max_step)
    return -weight if gradient > 0.0 else weight


@routine
def _score(gradient, hessian, l1, l2):
    threshold = max(abs(gradient) - l1, 0.0)
    curvature = hessian + l2
    return threshold * threshold / curvature if curvature > 0.0 else 0.0


@routine
def score_of_value(gradient, hessian, l1, l2, weight):
    """The score of any value: what that value takes off the loss, twice."""
    step = 2.0 * gradient * weight + (hessian + l2) * weight * weight
    return -(step + 2.0 * l1 * abs(weight))


@routine
def smooth_value(value, n_rows, smooth, parent):
    """Draw the value of a node with few rows to that of its parent; ``smooth`` is positive."""
    share = n_rows / (n_rows + smooth)
    return share * value + (1.0 - share) * parent


@routine
def _child_score(gradient, hessian, n_rows, limits):
    """The score of a child whose value is bounded, or drawn to its parent's."""
    _, _, l1, l2, max_step, _, _, smooth, center = limits
    weight = leaf_weight(gradient, hessian, l1, l2, max_step)
    if smooth > 0.0:
        weight = smooth_value(weight, n_rows, smooth, center)
    return score_of_value(gradient, hessian, l1, l2, weight)


@routine
def root_value(payload, totals):
    """Value of the root, which has no parent, before the learning rate."""
    gradient, hessian = totals[0] * payload.units[0], totals[1] * payload.units[1]
    return leaf_weight(gradient, hessian, payload.l1, payload.l2, payload.max_delta_step)


@routine
def child_value(payload, totals):
    """Value of a child from its integer totals, before the learning rate, if paths are smoothed."""
    return smooth_value(root_value(payload, totals), totals[2], payload.path_smooth, payload.center)


@routine
def node_score(payload, totals):
    """Score of a node from its integer totals (gradient, hessian, count)."""
    gradient = totals[0] * payload.units[0]
    hessian = totals[1] * payload.units[1]
    l1, l2 = payload.l1, payload.l2
    if payload.path_smooth > 0.0:
        return score_of_value(gradient, hessian, l1, l2, payload.center)
    if payload.max_delta_step > 0.0:
        weight = leaf_weight(gradient, hessian, l1, l2, payload.max_delta_step)
        return score_of_value(gradient, hessian, l1, l2, weight)
    return _score(gradient, hessian, l1, l2)


@inlined
def _is_plain(limits):
    """Whether values are neither bounded nor smoothed."""
    return limits[4] == 0.0 and limits[7] == 0.0


@inlined
def _if_allowed(gain, n_left, n_right, hessian_left, hessian_right, limits):
    """The gain of a split, -inf if a child is too small."""
    min_hessian, min_rows = limits[5], limits[6]
    enough = (n_left >= min_rows) & (n_right >= min_rows)
    enough &= (hessian_left >= min_hessian) & (hessian_right >= min_hessian)
    return gain if enough else -np.inf


@routine
def _plain_gain(g, h, n, totals, parent, limits):
    """Gain of the split that sends (g, h, n) of the totals left, -inf if a child is too small.

    Values are neither bounded nor smoothed, so there is no branch: loops over it vectorize.
    """
    total_g, total_h, total_n = totals
    unit_g, unit_h, l1, l2 = limits[0], limits[1], limits[2], limits[3]
    hessian_left, hessian_right = h * unit_h, (total_h - h) * unit_h
    score_left = _score(g * unit_g, hessian_left, l1, l2)
    score_right = _score((total_g - g) * unit_g, hessian_right, l1, l2)
    gain = 0.5 * ((score_left + score_right) - parent)
    return _if_allowed(gain, n, total_n - n, hessian_left, hessian_right, limits)


@routine
def _gain(g, h, n, totals, parent, limits):
    """The same for any values."""
    if _is_plain(limits):
        return _plain_gain(g, h, n, totals, parent, limits)
    total_g, total_h, total_n = totals
    unit_g, unit_h = limits[0], limits[1]
    hessian_left, hessian_right = h * unit_h, (total_h - h) * unit_h
    score_left = _child_score(g * unit_g, hessian_left, n, limits)
    score_right = _child_score((total_g - g) * unit_g, hessian_right, total_n - n, limits)
    gain = 0.5 * ((score_left + score_right) - parent)
    return _if_allowed(gain, n, total_n - n, hessian_left, hessian_right, limits)


@inlined
def _limits(payload, min_rows):
    """What a gain depends on beside the sums, as local values: loops over gains vectorize then."""
    p = payload
    units, smoothing = p.units, (p.path_smooth, p.center)
    penalties = (p.l1, p.l2, p.max_delta_step, p.min_child_weight)
    return (units[0], units[1], *penalties, min_rows, *smoothing)


@routine
def split_gain(payload, left, totals, min_rows):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums = (totals[0], totals[1], totals[2])
    return _gain(left[0], left[1], left[2], sums, parent, limits)


@routine
def penalized_gain(payload, g, h, n, totals, parent, min_rows, more_l2):
    """Gain of the split that sends (g, h, n) left, with a larger penalty on the children.

    The parent's score is without it: so a split must gain what the penalty costs.
    """
    limits = _limits(payload, min_rows)
    penalized = (*limits[:3], limits[3] + more_l2, *limits[4:])
    return _gain(g, h, n, totals, parent, penalized)


@routine
def _write_gains(left_g, left_h, left_n, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are those of the arrays plus ``extra``."""
    extra_g, extra_h, extra_n = extra
    if _is_plain(limits):
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            gains[i] = _plain_gain(g, h, n, totals, parent, limits)
    else:
        for i in range(gains.size):
            g, h, n = left_g[i] + extra_g, left_h[i] + extra_h, left_n[i] + extra_n
            gains[i] = _gain(g, h, n, totals, parent, limits)


@routine
def gains_after(
    payload, prefix, missing, n_candidates, both_ways, parts, totals, min_rows, right, left
):
    """Write the gains of splits, missing to the right, and to the left if asked.

    ``prefix`` has the sums of the values on the left of each, and ``missing`` those of the missing
    rows. ``parts`` tells that the last split parts missing from all values.
    """
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums = (totals[0], totals[1], totals[2])
    nothing = (np.int64(0), np.int64(0), np.int64(0))
    gains = right[:n_candidates]
    _write_gains(left_g, left_h, left_n, nothing, sums, parent, limits, gains)
    if both_ways:
        gains = left[:n_candidates]
        _write_gains(left_g, left_h, left_n, missing, sums, parent, limits, gains)


@routine
def sum_prefix(bins, n_candidates, prefix):
    """Write the sums of the bins up to each candidate's; return those of bin 0."""
    n_bins = bins.size // 3
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    bins_g, bins_h, bins_n = bins[1:n_bins], bins[n_bins + 1 : 2 * n_bins], bins[2 * n_bins + 1 :]
    sum_g, sum_h, sum_n = np.int64(0), np.int64(0), np.int64(0)
    for i in range(n_candidates):
        sum_g += bins_g[i]
        sum_h += bins_h[i]
        sum_n += bins_n[i]
        left_g[i], left_h[i], left_n[i] = sum_g, sum_h, sum_n
    return bins[0], bins[n_bins], bins[2 * n_bins]


@routine
def fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    """Write the gain of a split after each bin: missing to the right, and to the left if asked.

    ``bins`` is the feature's histogram. Entry i is the split after bin i + 1.
    """
    missing = sum_prefix(bins, n_candidates, prefix)
    split = (n_candidates, both_ways, both_ways, totals, min_rows, right, left)
    gains_after(payload, prefix, missing, *split)


@routine
def _write_packed_gains(running, extra, totals, parent, limits, gains):
    """Write the gains of splits whose left sums are packed in ``running``, plus ``extra``."""
    if _is_plain(limits):
        for i in range(gains.size):
            g, h, n = unpack_sums(running[i] + extra)
            gains[i] = _plain_gain(g, h, n, totals, parent, limits)
    else:
        for i in range(gains.size):
            g, h, n = unpack_sums(running[i] + extra)
            gains[i] = _gain(g, h, n, totals, parent, limits)


@routine
def best_packed_split(payload, words, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """Return (gain, bin, missing goes left) of the best split of a feature with packed sums.

    As :func:`fill_gains` and ``best_candidate`` would find it; but where nothing is missing, gains
    are computed only of the splits that leave enough rows on both sides.
    """
    running = prefix[0]
    word = np.int64(0)
    for i in range(n_candidates):
        word += words[i + 1]
        running[i] = word
    first, last = 0, n_candidates
    if not both_ways:
        first = first_with_count(running, n_candidates, min_rows)
        last = first_with_count(running, n_candidates, totals[2] - min_rows + 1)
    n = max(last - first, 0)
    whole = min((n + 7) & ~7, running.size - first)  # nothing is left over for a scalar loop
    running = running[first : first + whole]
    parent, limits = node_score(payload, totals), _limits(payload, min_rows)
    sums = (totals[0], totals[1], totals[2])
    _write_packed_gains(running, np.int64(0), sums, parent, limits, gains[0, :whole])
    if both_ways:
        _write_packed_gains(running, words[0], sums, parent, limits, gains[1, :whole])
    gain, split_bin, missing_left = best_candidate(n, both_ways, gains[0], gains[1])
    return gain, first + split_bin, missing_left


@routine
def best_split(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """The same with plain sums."""
    right, left = gains[0], gains[1]
    fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left)
    return best_candidate(n_candidates, both_ways, right, left)


@routine
def sum_rows(payload, rows, leaf, sums):
    """Add the exact values of rows to the sums of their leaves."""
    scale_g, scale_h = 1.0 / payload.units[2], 1.0 / payload.units[3]
    for i in range(rows.size):
        row = rows[i]
        node = leaf[row]
        sums[node, 0] += exact_gradient(payload.gradient[row], scale_g)
        sums[node, 1] += exact_hessian(payload.hessian[row], scale_h)


@routine
def set_value(payload, sums, value):
    """Write a node's value from its exact sums; return its weight, the sum of hessians."""
    gradient = sums[0] * payload.units[2]
    hessian = sums[1] * payload.units[3]
    step = payload.max_delta_step
    weight = leaf_weight(gradient, hessian, payload.l1, payload.l2, step)
    value[0] = payload.learning_rate * weight
    return hessian
