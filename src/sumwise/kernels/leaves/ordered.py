"""Models of the beginnings of an order: new values of leaves, and what they add to scores."""

import numpy as np

from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.leaves.newton import find_exact_scales
from sumwise.kernels.runtime.fixed_point import exact_gradient, exact_hessian
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all


@routine
def _set_prefix_values(left, anchor, scales, rule, n_threads, own, totals, value):
    """Thread 0: add the sums of the threads to the totals; values of all nodes from these."""
    l1, l2, max_step, learning_rate = rule
    for node in range(left.size - 1, -1, -1):  # children come after parents
        child = np.int64(left[node])
        for s in range(2):
            if child < 0:
                for t in range(n_threads):
                    totals[node, s] += own[t, node, s]
                    own[t, node, s] = 0
            else:
                totals[node, s] = totals[child, s] + totals[child + 1, s]
        sum_g, sum_h = totals[node, 0] / scales[0], totals[node, 1] / scales[1]
        value[node] = learning_rate * leaf_value(sum_g, sum_h, l1, l2, max_step)
    for node in range(left.size):
        value[node] = value[anchor[node]]


@kernel
def update_prefix_models(
    thread,
    n_threads,
    sync,
    numbers,
    block_start,
    n_learned,
    rows,
    leaf,
    left,
    anchor,
    gradient,
    hessian,
    rule,
    ranges,
    own,
    totals,
    value,
    scores,
    row_scores,
):
    """Add a tree to the scores of models of beginnings, each by its own gradients.

    Entries ``block_start[j]`` up to ``block_start[j + 1]`` are those of model j, in the order of
    the rows ``rows``; it learns from the first ``n_learned[j]`` of them. ``gradient``, ``hessian``
    and ``scores`` are of the entries. The scores of rows that follow those a model learns from are
    written to ``row_scores``. ``numbers`` are those of the entries.
    """
    scales = find_exact_scales(thread, n_threads, sync, numbers, gradient, hessian, ranges)
    mine = own[thread]
    for node in range(left.size):
        mine[node, 0] = 0
        mine[node, 1] = 0
    for j in range(n_learned.size):
        begin, length = block_start[j], block_start[j + 1] - block_start[j]
        first, last = share(n_learned[j], thread, n_threads)
        for entry in range(begin + first, begin + last):
            node = leaf[rows[entry]]
            mine[node, 0] += exact_gradient(gradient[entry], scales[0])
            mine[node, 1] += exact_hessian(hessian[entry], scales[1])
        wait_for_all(sync, n_threads)
        if thread == 0:
            for node in range(left.size):
                totals[node, 0] = 0
                totals[node, 1] = 0
            _set_prefix_values(left, anchor, scales, rule, n_threads, own, totals, value)
        wait_for_all(sync, n_threads)
        first, last = share(length, thread, n_threads)
        for i in range(first, last):
            entry = begin + i
            row = rows[entry]
            scores[entry] += value[leaf[row]]
            if i >= n_learned[j]:
                row_scores[row] = scores[entry]
