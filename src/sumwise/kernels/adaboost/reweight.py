"""Weights of rows between two rounds of AdaBoost: measure errors, change weights, draw rows.

Floats are summed over fixed blocks of rows, and the sums of blocks are added in order: no result
depends on the number of threads. A positive weight never becomes zero.
"""

import numpy as np

from sumwise.kernels.runtime.elementary import exp, log
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.random import uniform
from sumwise.kernels.runtime.threads import share

BLOCK = 4096
LINEAR, SQUARE, EXPONENTIAL = 0, 1, 2
_SMALLEST = 2.0**-1022


@kernel
def look_up(thread, n_threads, sync, place, table, out):
    """Write the item of a table at each row's place."""
    first, last = share(place.size, thread, n_threads)
    for row in range(first, last):
        out[row] = table[place[row]]


@inlined
def _own_blocks(n_rows, thread, n_threads):
    """The thread's blocks."""
    first, last = share((n_rows + BLOCK - 1) // BLOCK, thread, n_threads)
    return range(first, last)


@inlined
def _rows_of(block, n_rows):
    """The rows of a block."""
    return range(block * BLOCK, min((block + 1) * BLOCK, n_rows))


@routine
def _keep_positive(before, after):
    """Return the new weight of a row; it stays positive if it was."""
    return after if (after >= _SMALLEST) | (before == 0.0) else _SMALLEST


@kernel
def find_wrong(thread, n_threads, sync, class_idx, predicted, weight, wrong, sums):
    """Mark wrong predictions; write the weight of wrong rows and of all rows of each block."""
    for block in _own_blocks(weight.size, thread, n_threads):
        first, last = block * BLOCK, min((block + 1) * BLOCK, weight.size)
        own, marks = weight[first:last], wrong[first:last]
        labels, answers = class_idx[first:last], predicted[first:last]
        for i in range(np.uint64(marks.size)):
            marks[i] = answers[i] != labels[i]
        of_wrong, of_all = 0.0, 0.0
        for i in range(np.uint64(own.size)):
            of_wrong += own[i] * marks[i]  # to add or not would be a branch
            of_all += own[i]
        sums[block, 0], sums[block, 1] = of_wrong, of_all


@kernel
def multiply_weights(thread, n_threads, sync, wrong, right_factor, wrong_factor, weight):
    """Multiply the weights of rows by one of two factors."""
    first, last = share(weight.size, thread, n_threads)
    own, is_wrong = weight[first:last], wrong[first:last]
    for i in range(np.uint64(own.size)):
        factor = wrong_factor if is_wrong[i] else right_factor
        own[i] = _keep_positive(own[i], own[i] * factor)


@kernel
def measure_distances(thread, n_threads, sync, y, predicted, weight, distance, largest):
    """Write the distance of each prediction from y, and the largest of each block.

    Rows without weight do not count for the largest.
    """
    for block in _own_blocks(weight.size, thread, n_threads):
        most = 0.0
        for row in _rows_of(block, weight.size):
            distance[row] = abs(predicted[row] - y[row])
            most = max(most, distance[row] if weight[row] > 0.0 else 0.0)
        largest[block] = most


@kernel
def measure_losses(thread, n_threads, sync, kind, largest, weight, distance, sums):
    """Turn distances into losses in [0, 1]; write the weighted sum and the weight of each block."""
    for block in _own_blocks(weight.size, thread, n_threads):
        of_losses, of_all = 0.0, 0.0
        for row in _rows_of(block, weight.size):
            loss = min(distance[row] / largest, 1.0)
            if kind == SQUARE:
                loss = loss * loss
            elif kind == EXPONENTIAL:
                loss = 1.0 - exp(-loss)
            distance[row] = loss
            of_losses += weight[row] * loss
            of_all += weight[row]
        sums[block, 0], sums[block, 1] = of_losses, of_all


@kernel
def shrink_weights(thread, n_threads, sync, loss, rate, weight, sums):
    """Multiply weights by ``exp(rate * (1 - loss))``; write the sum of each block."""
    for block in _own_blocks(weight.size, thread, n_threads):
        total = 0.0
        for row in _rows_of(block, weight.size):
            shrunk = weight[row] * exp(rate * (1.0 - loss[row]))
            weight[row] = _keep_positive(weight[row], shrunk)
            total += weight[row]
        sums[block, 0] = total


@kernel
def draw_by_weight(key, weight, counts):
    """Draw as many rows as there are, with replacement; write how often each is drawn.

    Sorted uniform numbers are partial sums of exponential ones divided by their total. The rows
    are therefore found in order, in one pass.
    """
    n_rows = weight.size
    total, last = 0.0, ZERO
    for row in range(n_rows):
        counts[row] = 0
        total += weight[row]
        if weight[row] > 0.0:
            last = row
    length = 0.0
    for i in range(n_rows + 1):
        length -= log(1.0 - uniform(key, i))
    walked, passed, row = 0.0, 0.0, ZERO
    for i in range(n_rows):
        walked -= log(1.0 - uniform(key, i))
        place = walked / length * total
        while row < last and passed + weight[row] <= place:
            passed += weight[row]
            row += 1
        counts[row] += 1
