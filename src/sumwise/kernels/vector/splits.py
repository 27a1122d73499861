"""Trees with vector leaves: how good a split is for all outputs together.

An output with sums G and H scores ``T(G)^2 / (H + l2)`` in a node, T being the soft threshold by
l1, as a tree of its own would. The gain of a split is the sum over the outputs of half of
(left + right - parent). Where all outputs have one H, their T(G)^2 are added up and divided once.
"""

import numpy as np

from sumwise.kernels.grow.gain import leaf_value, score_of_value
from sumwise.kernels.grow.layout import CHILD
from sumwise.kernels.grow.partition import left_range
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.jit import inlined, routine
from sumwise.kernels.vector.layout import count_place, hessian_place
from sumwise.kernels.vector.sums import feature_sums, is_own

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
    weight = leaf_value(gradient, hessian, l1, l2, max_step)
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


@inlined
def _is_enough(n, total_n, min_rows, left_weight, right_weight, least):
    """Whether both children have enough rows and weight."""
    enough = (n >= min_rows) & (total_n - n >= min_rows)
    return enough & (left_weight >= least) & (right_weight >= least)


@routine
def _write_shared_gains(payload, prefix, missing, totals, parent, min_rows, scratch, gains):
    """Write the gains of splits where all outputs have one hessian."""
    n_outputs, l1, l2 = payload.gradient.shape[0], payload.l1, payload.l2
    left, right = scratch[0, : gains.size], scratch[1, : gains.size]
    left[:] = 0.0
    right[:] = 0.0
    for k in range(n_outputs):
        unit, sums, total, more = payload.units[k], prefix[k], totals[k], missing[k]
        for i in range(left.size):
            g = sums[i] + more
            left[i] += _square(g * unit, l1)
            right[i] += _square((total - g) * unit, l1)
    unit, least = payload.units[n_outputs], payload.min_child_weight
    sums, total, more = prefix[n_outputs], totals[n_outputs], missing[n_outputs]
    place = count_place(payload)
    counts, total_n, more_n = prefix[place], totals[place], missing[place]
    for i in range(gains.size):
        h, n = sums[i] + more, counts[i] + more_n
        hessian_left, hessian_right = h * unit, (total - h) * unit
        score = _divide(left[i], hessian_left, l2) + _divide(right[i], hessian_right, l2)
        enough = _is_enough(n, total_n, min_rows, hessian_left, hessian_right, least)
        gains[i] = 0.5 * (score - parent) if enough else -np.inf


@routine
def _write_own_gains(payload, prefix, missing, totals, parent, min_rows, scratch, gains):
    """Write the gains of splits where each output has a hessian or a bound of its own."""
    n_outputs, n_hessians = payload.gradient.shape[0], max(payload.n_hessians, 1)
    l1, l2, max_step = payload.l1, payload.l2, payload.max_delta_step
    left_weight, right_weight = scratch[0, : gains.size], scratch[1, : gains.size]
    left_weight[:] = 0.0
    right_weight[:] = 0.0
    gains[:] = 0.0
    for k in range(n_outputs):
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
            if k < n_hessians:
                left_weight[i] += hessian_left
                right_weight[i] += hessian_right
    place, least = count_place(payload), payload.min_child_weight * n_hessians
    counts, total_n, more_n = prefix[place], totals[place], missing[place]
    for i in range(gains.size):
        n, weights = counts[i] + more_n, (left_weight[i], right_weight[i])
        enough = _is_enough(n, total_n, min_rows, weights[0], weights[1], least)
        gains[i] = 0.5 * (gains[i] - parent) if enough else -np.inf


@routine
def _write_vector_gains(payload, prefix, missing, totals, parent, min_rows, scratch, gains):
    """Write the gains of splits with these sums on the left; -inf where a child is too small.

    A child's weight is the mean of the outputs' hessians. ``missing`` are sums that go left, too.
    """
    split = (prefix, missing, totals, parent, min_rows, scratch, gains)
    if _divides_once(payload):
        _write_shared_gains(payload, *split)
    else:
        _write_own_gains(payload, *split)


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
    gains, sum_right, sum_left, scratch = buffers[0], buffers[1], buffers[2], buffers[3:5]
    nothing, min_rows = work.sums[job.thread], job.options.min_samples_leaf
    nothing[:] = 0
    is_alone = last - first == 1
    for f in range(job.table.n_value_bins.size):
        if not is_own(job, f) or not work.allowed[CHILD + child, f]:
            continue
        both_ways = False
        for node in range(first, last):
            if nodes[node].slot >= 0:
                both_ways |= count_missing_rows(job, node, f) > 0
        # With missing rows, all values against the missing is a split, too.
        n = job.table.n_value_bins[f] - (0 if both_ways else 1)
        if not is_alone:
            sum_right[:n] = -np.inf
            sum_left[:n] = -np.inf
        for node in range(first, last):
            if nodes[node].slot >= 0:
                bins, totals = feature_sums(job, node, f), work.totals[node]
                _sum_vector_prefix(bins, n_stats, n_used, n, prefix)
                rest = (totals, score_vector(payload, totals), min_rows, scratch)
                for side in range(2 if both_ways else 1):  # one loop: compiled only once
                    sums = sum_right if side == 0 else sum_left
                    missing = nothing if side == 0 else bins[:n_stats]
                    own = sums[:n] if is_alone else gains[:n]
                    _write_vector_gains(payload, prefix, missing, *rest, own)
                    if not is_alone:
                        _add_node_gains(gains, sums, n)
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
    least = payload.min_child_weight * n_hessians
    return _is_enough(left[place], totals[place], min_rows, left_weight, right_weight, least)
