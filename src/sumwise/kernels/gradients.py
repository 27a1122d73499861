"""The payload of boosting: a bin holds the sums of gradient and hessian, and the row count.

A node with sums G and H scores ``T(G)^2 / (H + l2)``, T being the soft threshold by l1; the gain
of a split is half of (left + right - parent), equation 7 of the XGBoost paper.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.histogram import add_exact_rows, add_packed_rows
from sumwise.kernels.jit import routine
from sumwise.kernels.quantize import quantize_rows


class Gradients(NamedTuple):
    """What the grower knows of the rows, and how it regularizes."""

    gradient: Any  # float64 (n_rows,)
    hessian: Any  # float64 (n_rows,)
    exact_gradient: Any  # int64 (n_rows,)
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


load_rows = quantize_rows


@routine
def count_stats(payload):
    """Gradient, hessian, rows."""
    return 3


@routine
def add_rows(payload, exact, table, tile, records, words, histogram):
    """Add rows to the histograms of a tile's features."""
    if exact:
        gradients, hessians = payload.exact_gradient, payload.exact_hessian
        add_exact_rows(table, tile, records, gradients, hessians, histogram)
    else:
        add_packed_rows(table, tile, records, words, histogram)


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
def _score(gradient, hessian, l1, l2, max_step):
    curvature = hessian + l2
    if max_step > 0.0:
        weight = leaf_weight(gradient, hessian, l1, l2, max_step)
        step = 2.0 * gradient * weight + curvature * weight * weight
        return -(step + 2.0 * l1 * abs(weight))
    threshold = max(abs(gradient) - l1, 0.0)
    return threshold * threshold / curvature if curvature > 0.0 else 0.0


@routine
def node_score(payload, totals):
    """Score of a node from its integer totals (gradient, hessian, count)."""
    gradient = totals[0] * payload.units[0]
    hessian = totals[1] * payload.units[1]
    return _score(gradient, hessian, payload.l1, payload.l2, payload.max_delta_step)


@routine
def _gain(payload, left_g, left_h, left_n, totals, parent_score, min_rows):
    """Gain of one split, -inf where a child is too small."""
    right_n = totals[2] - left_n
    gradient_left = left_g * payload.units[0]
    hessian_left = left_h * payload.units[1]
    gradient_right = (totals[0] - left_g) * payload.units[0]
    hessian_right = (totals[1] - left_h) * payload.units[1]
    l1, l2, step = payload.l1, payload.l2, payload.max_delta_step
    score_left = _score(gradient_left, hessian_left, l1, l2, step)
    score_right = _score(gradient_right, hessian_right, l1, l2, step)
    gain = 0.5 * ((score_left + score_right) - parent_score)
    enough = (left_n >= min_rows) & (right_n >= min_rows)
    enough &= (hessian_left >= payload.min_child_weight) & (
        hessian_right >= payload.min_child_weight
    )
    return gain if enough else -np.inf


@routine
def split_gain(payload, left, totals, min_rows):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    score = node_score(payload, totals)
    return _gain(payload, left[0], left[1], left[2], totals, score, min_rows)


@routine
def fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    """Write the gain of a split after each bin: missing to the right, and to the left if asked.

    ``bins`` is the feature's histogram. Entry i is the split after bin i + 1.
    """
    n_bins = bins.size // 3
    for s in range(3):
        running = np.int64(0)
        values = bins[s * n_bins + 1 : (s + 1) * n_bins]
        for i in range(n_candidates):
            running += values[i]
            prefix[s, i] = running
    score = node_score(payload, totals)
    for i in range(n_candidates):
        right[i] = _gain(payload, prefix[0, i], prefix[1, i], prefix[2, i], totals, score, min_rows)
    if both_ways:
        missing_g, missing_h, missing_n = bins[0], bins[n_bins], bins[2 * n_bins]
        for i in range(n_candidates):
            left[i] = _gain(
                payload,
                prefix[0, i] + missing_g,
                prefix[1, i] + missing_h,
                prefix[2, i] + missing_n,
                totals,
                score,
                min_rows,
            )


@routine
def sum_rows(payload, records, sums):
    """Add the exact values of rows to ``sums``."""
    for i in range(records.size):
        row = np.int64(records[i] >> np.uint64(32))
        sums[0] += payload.exact_gradient[row]
        sums[1] += payload.exact_hessian[row]
    sums[2] += records.size


@routine
def set_value(payload, sums, value):
    """Write a node's value from its exact sums; return its weight, the sum of hessians."""
    gradient = sums[0] * payload.units[2]
    hessian = sums[1] * payload.units[3]
    step = payload.max_delta_step
    weight = leaf_weight(gradient, hessian, payload.l1, payload.l2, step)
    value[0] = payload.learning_rate * weight
    return hessian
