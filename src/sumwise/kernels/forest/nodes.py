"""Values, errors and sums of the nodes of finished trees."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.forest.walk import left_child
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share

_ONE = np.uint64(1)


class Truth(NamedTuple):
    """The true targets of rows, classes or numbers, in one form: kernels are compiled only once."""

    label: Any  # int64 (n_rows, n_outputs); no rows if targets are numbers
    first: Any  # int64 (n_outputs,): the first column of an output
    number: Any  # float64 (n_rows, n_columns); no rows if targets are classes


def make_truth(target: Numbers | Labels | Vectors | MultiLabels, is_class: bool) -> Truth:
    """Convert a target; if it has two classes, they are the numbers 0 and 1."""
    no_numbers, only = np.empty((0, 1)), np.zeros(1, dtype=np.int64)
    if isinstance(target, MultiLabels):
        return Truth(target.column - target.first, target.first, no_numbers)
    if isinstance(target, Labels):
        return Truth(target.label[:, np.newaxis], only, no_numbers)
    number = np.asarray(target.value, dtype=np.float64)
    number = number.reshape(number.shape[0], -1)
    if is_class:
        return Truth(number.astype(np.int64), only, no_numbers)
    return Truth(np.empty((0, 1), dtype=np.int64), only, number)


def guess_classes(value: np.ndarray, truth: Truth) -> np.ndarray:
    """Return the most likely classes of each node, (n_nodes, n_outputs); ties go to the first."""
    if value.shape[1] == 1:  # the probability of the second of two classes
        return (value > 0.5).astype(np.int64)
    bounds = [*truth.first.tolist(), value.shape[1]]
    return np.column_stack([value[:, a:b].argmax(axis=1) for a, b in pairwise(bounds)])


@routine
def measure_row(truth, guess, value, row, node):
    """Return the 0-1 error or the squared error of a row at a node; the mean over outputs."""
    error = 0.0
    if truth.label.shape[0]:
        for k in range(truth.label.shape[1]):
            error += np.float64(truth.label[row, k] != guess[node, k])
        return error / truth.label.shape[1]
    for k in range(value.shape[1]):
        apart = truth.number[row, k] - value[node, k]
        error += apart * apart
    return error / value.shape[1]


@routine
def add_row(truth, row, weight, node, sums):
    """Add weight times target to the sums of a node; a class is a column of ones and zeros."""
    n_columns = sums.shape[1]
    if truth.label.shape[0] == 0:
        for k in range(n_columns):
            sums[node, k] += weight * truth.number[row, k]
    elif n_columns == 1:
        sums[node, 0] += weight * truth.label[row, 0]
    else:
        for k in range(truth.label.shape[1]):
            sums[node, truth.first[k] + truth.label[row, k]] += weight


@routine
def fill_tree(forest, tree, weight, leaf_value, out):
    """Write the values of a tree's nodes; that of an inner node is the mean of its children's."""
    root = np.uint64(forest.start[tree])
    n_nodes = np.uint64(forest.start[tree + 1]) - root
    for i in range(n_nodes):
        number = n_nodes - _ONE - i  # children come after parents
        node = root + number
        left = left_child(forest, node)
        if left == node:
            for k in range(out.shape[1]):
                out[number, k] = leaf_value[forest.leaf[node], k]
        else:
            of_left, of_right = np.float64(weight[left]), np.float64(weight[left + _ONE])
            if of_left + of_right == 0.0:  # rounded to zero
                of_left = of_right = 1.0
            child = left - root
            for k in range(out.shape[1]):
                total = of_left * out[child, k] + of_right * out[child + _ONE, k]
                out[number, k] = total / (of_left + of_right)


@kernel
def fill_node_values(thread, n_threads, sync, forest, weight, leaf_value, out):
    """Write the values of all nodes of all trees."""
    first, last = share(forest.start.size - 1, thread, n_threads)
    for tree in range(first, last):
        fill_tree(forest, tree, weight, leaf_value, out[forest.start[tree] :])
