"""Trees with vector leaves: how good a split is for all outputs together.

An output with sums G and H scores ``T(G)^2 / (H + l2)`` in a node, T being the soft threshold by
l1, as a tree of its own would. The gain of a split is the sum over the outputs of half of
(left + right - parent). Where all outputs have one H, their T(G)^2 are added up and divided once.
"""

import numpy as np

from sumwise.kernels.gradients import leaf_weight, score_of_value
from sumwise.kernels.jit import inlined, routine
from sumwise.kernels.layout import CHILD
from sumwise.kernels.partition import left_range
from sumwise.kernels.split import best_candidate
from sumwise.kernels.vector_layout import count_place, hessian_place
from sumwise.kernels.vector_sums import feature_sums, is_own

_ROW = np.uint64(32)


@routine
def _square(gradient, l1):
    """The square of the soft threshold."""
    threshold = max(abs(gradient) - l1, 0.0)
    return threshold * threshold


@routine
def _divide(square, hessian, l2):
    curvature = hessian + l2
    return square / curvature if curvature > 0.0 else 0.0


@routine
def _bounded_score(gradient, hessian, l1, l2, max_step):
    """The score where the leaf's value is bounded by ``max_step``."""
    weight = leaf_weight(gradient, hessian, l1, l2, max_step)
    return score_of_value(gradient, hessian, l1, l2, weight)


@routine
def score_output(payload, sums, k):
    """Score of an output in a node with these sums."""
    place = hessian_place(payload, k)
    gradient, hessian = sums[k] * payload.units[k], sums[place] * payload.units[place]
    l1, l2, max_step = payload.l1, payload.l2, payload.max_delta_step
    if max_step > 0.0:
        return _bounded_score(gradient, hessian, l1, l2, max_step)
    return _divide(_square(gradient, l1), hessian, l2)


@inlined
def _divides_once(payload):
    """Whether the scores of all outputs have one denominator: then squares are added up first."""
    return payload.n_hessians <= 1 and payload.max_delta_step == 0.0


@routine
def score_vector(payload, sums):
    """Score of all outputs in a node."""
    n_outputs, total = payload.gradient.shape[0], 0.0
    if _divides_once(payload):
        for k in range(n_outputs):
            total += _square(sums[k] * payload.units[k], payload.l1)
        return _divide(total, sums[n_outputs] * payload.units[n_outputs], payload.l2)
    for k in range(n_outputs):
        total += score_output(payload, sums, k)
    return total


@routine
def _add_scores(payload, prefix, missing, totals, gains):
    """Add what each output scores on both sides of each split."""
    l1, l2, max_step = payload.l1, payload.l2, payload.max_delta_step
    for k in range(payload.gradient.shape[0]):
        place = hessian_place(payload, k)
        unit_g, unit_h = payload.units[k], payload.units[place]
        left_g, left_h, total_g, total_h = prefix[k], prefix[place], totals[k], totals[place]
        more_g, more_h = missing[k], missing[place]
        for i in range(gains.size):
            g, h = left_g[i] + more_g, left_h[i] + more_h
            gradient_left, gradient_right = g * unit_g, (total_g - g) * unit_g
            hessian_left, hessian_right = h * unit_h, (total_h - h) * unit_h
            if max_step > 0.0:
                left = _bounded_score(gradient_left, hessian_left, l1, l2, max_step)
                right = _bounded_score(gradient_right, hessian_right, l1, l2, max_step)
            else:
                left = _divide(_square(gradient_left, l1), hessian_left, l2)
                right = _divide(_square(gradient_right, l1), hessian_right, l2)
            gains[i] += left + right


@routine
def _add_squares(payload, prefix, missing, totals, squares, gains):
    """The same where all outputs have one hessian; ``squares`` is scratch."""
    n_outputs, l1, l2 = payload.gradient.shape[0], payload.l1, payload.l2
    left, right = squares[0, : gains.size], squares[1, : gains.size]
    left[:] = 0.0
    right[:] = 0.0
    for k in range(n_outputs):
        unit, sums, total, more = payload.units[k], prefix[k], totals[k], missing[k]
        for i in range(left.size):
            g = sums[i] + more
            left[i] += _square(g * unit, l1)
            right[i] += _square((total - g) * unit, l1)
    unit, sums, total = payload.units[n_outputs], prefix[n_outputs], totals[n_outputs]
    more = missing[n_outputs]
    for i in range(gains.size):
        h = sums[i] + more
        gains[i] = _divide(left[i], h * unit, l2) + _divide(right[i], (total - h) * unit, l2)


@routine
def _write_vector_gains(payload, prefix, missing, totals, parent, min_rows, weights, gains):
    """Write the gains of splits with these sums on the left; -inf where a child is too small.

    A child's weight is the mean of the outputs' hessians; ``weights`` is scratch.
    """
    n_outputs = payload.gradient.shape[0]
    gains[:] = 0.0
    if _divides_once(payload):
        _add_squares(payload, prefix, missing, totals, weights, gains)
    else:
        _add_scores(payload, prefix, missing, totals, gains)
    n_hessians = max(payload.n_hessians, 1)
    least = payload.min_child_weight * n_hessians
    left_weight, right_weight = weights[0, : gains.size], weights[1, : gains.size]
    left_weight[:] = 0.0
    right_weight[:] = 0.0
    for place in range(n_outputs, n_outputs + n_hessians):
        left_h, total, more = prefix[place], totals[place], missing[place]
        unit = payload.units[place]
        for i in range(gains.size):
            left_weight[i] += (left_h[i] + more) * unit
            right_weight[i] += (total - (left_h[i] + more)) * unit
    place = count_place(payload)
    left_n, total_n, more_n = prefix[place], totals[place], missing[place]
    for i in range(gains.size):
        n = left_n[i] + more_n
        enough = (n >= min_rows) & (total_n - n >= min_rows)
        enough &= (left_weight[i] >= least) & (right_weight[i] >= least)
        gains[i] = 0.5 * (gains[i] - parent) if enough else -np.inf


@routine
def _sum_vector_prefix(bins, n_stats, n_used, n_candidates, prefix):
    """Write the sums of the bins of values up to each candidate's."""
    for s in range(n_used):
        total, own = np.int64(0), prefix[s]
        for i in range(n_candidates):
            total += bins[(i + 1) * n_stats + s]
            own[i] = total


@routine
def _add_node_gains(gains, sums, n):
    """Add a node's gains; -inf (a child would be too small) adds nothing."""
    for i in range(n):
        before = sums[i] if sums[i] > -np.inf else 0.0
        sums[i] = before + gains[i] if gains[i] > -np.inf else sums[i]


@inlined
def count_missing_rows(job, node, f):
    """The rows of a node that a feature is missing in."""
    return feature_sums(job, node, f)[count_place(job.payload)]


@routine
def score_vector_nodes(job, first, last, child):
    """Find the best split of each of the thread's features for nodes [first, last) together.

    A split's gain is the sum over the nodes, in their order; a node where a child would be too
    small adds nothing.
    """
    work, nodes, payload = job.work, job.nodes, job.payload
    n_stats, n_used = payload.n_stats, count_place(payload) + 1
    prefix, buffers = work.prefix[job.thread], work.gains[job.thread]
    gains, sum_right, sum_left, weights = buffers[0], buffers[1], buffers[2], buffers[3:5]
    nothing = work.sums[job.thread]
    nothing[:] = 0
    for f in range(job.table.n_value_bins.size):
        if not is_own(job, f) or not work.allowed[CHILD + child, f]:
            continue
        both_ways = False
        for node in range(first, last):
            if nodes[node].slot >= 0:
                both_ways |= count_missing_rows(job, node, f) > 0
        # With missing rows, all values against the missing is a split, too.
        n = job.table.n_value_bins[f] - (0 if both_ways else 1)
        for i in range(n):
            sum_right[i] = sum_left[i] = -np.inf
        for node in range(first, last):
            if nodes[node].slot >= 0:
                bins, totals = feature_sums(job, node, f), work.totals[node]
                _sum_vector_prefix(bins, n_stats, n_used, n, prefix)
                parent, min_rows = score_vector(payload, totals), job.options.min_samples_leaf
                rest = (totals, parent, min_rows, weights, gains[:n])
                _write_vector_gains(payload, prefix, nothing, *rest)
                _add_node_gains(gains, sum_right, n)
                if both_ways:
                    _write_vector_gains(payload, prefix, bins[:n_stats], *rest)
                    _add_node_gains(gains, sum_left, n)
        gain, split_bin, missing_left = best_candidate(n, both_ways, sum_right, sum_left)
        work.candidates[child, f].gain = gain
        work.candidates[child, f].split_bin = split_bin
        work.candidates[child, f].missing_left = missing_left


@routine
def sum_vector_side(job, node, f, split_bin, missing_left):
    """Write the totals of the rows of a node that a split sends left."""
    bins, n_stats = feature_sums(job, node, f), job.payload.n_stats
    left = job.work.left_totals[node]
    for s in range(n_stats):
        left[s] = bins[s] if missing_left else 0
        for b in range(1, split_bin + 1):
            left[s] += bins[b * n_stats + s]


@routine
def sum_record_side(job, node, f, split_bin, missing_left):
    """The same for a node without a histogram: it has few rows."""
    work, n_stats, stats = job.work, job.payload.n_stats, job.payload.stats
    left, column = work.left_totals[node], job.table.columns[f]
    skip, bound = left_range(split_bin, missing_left)
    for t in range(job.n_threads):
        records = work.records[job.nodes[node].depth & 1, work.first[t, node] : work.last[t, node]]
        for i in range(records.size):
            row = records[i] >> _ROW
            if np.uint8(column[row] - skip) <= bound:
                for s in range(n_stats):
                    left[s] += stats[row * np.uint64(n_stats) + np.uint64(s)]


@routine
def leaves_enough(payload, totals, left, min_rows):
    """Whether both children of a split have enough rows and weight."""
    n_outputs, place = payload.gradient.shape[0], count_place(payload)
    n_hessians = max(payload.n_hessians, 1)
    left_weight, right_weight = 0.0, 0.0
    for s in range(n_outputs, n_outputs + n_hessians):
        left_weight += left[s] * payload.units[s]
        right_weight += (totals[s] - left[s]) * payload.units[s]
    enough = left[place] >= min_rows and totals[place] - left[place] >= min_rows
    least = payload.min_child_weight * n_hessians
    return enough and left_weight >= least and right_weight >= least
