"""Models of prefixes of a row order: new values of leaves, and what they add to scores."""

from sumwise.kernels.leaves.newton import find_exact_scales, set_node_values
from sumwise.kernels.runtime.fixed_point import exact_gradient, exact_hessian
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share, wait_for_all


@kernel
def update_prefix_models(
    thread, n_threads, sync, models, tree, gradient, hessian, rule, scratch, scores, row_scores
):
    """Add a tree to the scores of prefix models, each by its own gradients.

    Entries ``block_start[j]`` up to ``block_start[j + 1]`` belong to model j, in the order of
    ``rows``; it learns from the first ``n_learned[j]`` of them. ``gradient``, ``hessian`` and
    ``scores`` have an item per entry, ``numbers`` has the number of each. ``tree`` is as in
    ``newton.solve_leaves``. A thread finds the values of whole models: so threads meet three times,
    not for every model. The scores of rows after those that a model learns from are written to
    ``row_scores``.
    """
    numbers, block_start, n_learned, rows = models
    leaf, left, anchor = tree
    ranges, own, totals, value = scratch
    scales = find_exact_scales(thread, n_threads, sync, numbers, gradient, hessian, ranges)
    n_models = n_learned.size
    for j in range(n_models):
        mine = own[j, thread]
        mine[: left.size] = 0
        first, last = share(n_learned[j], thread, n_threads)
        for entry in range(block_start[j] + first, block_start[j] + last):
            node = leaf[rows[entry]]
            mine[node, 0] += exact_gradient(gradient[entry], scales[0])
            mine[node, 1] += exact_hessian(hessian[entry], scales[1])
    wait_for_all(sync, n_threads)
    for j in range(thread, n_models, n_threads):
        totals[thread, : left.size] = 0
        sums = own[j, :n_threads]
        set_node_values(left, anchor, scales, rule, sums, totals[thread], value[j])
    wait_for_all(sync, n_threads)
    for j in range(n_models):
        begin, length = block_start[j], block_start[j + 1] - block_start[j]
        first, last = share(length, thread, n_threads)
        for i in range(first, last):
            entry = begin + i
            row = rows[entry]
            scores[entry] += value[j, leaf[row]]
            if i >= n_learned[j]:
                row_scores[row] = scores[entry]
