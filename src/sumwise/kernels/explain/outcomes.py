"""Trees with few tests: explained once for every outcome of their tests, then looked up.

A symmetric tree has one test per level, so that 64 outcomes are all that six levels can tell of a
row. The same holds for small trees of any shape. The values of an outcome are those of a row with
this outcome, found by the walk of ``values.py``; a row adds those of its own outcome.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.jit import inlined, routine

# So that a block has room for all outcomes.
MAX_TESTS = 8


class Outcomes(NamedTuple):
    """The distinct tests of trees with few of them, and the values of their outcomes.

    The values of a tree are a matrix of shape (features of the tree, outcomes). Bit k of an outcome
    says that test k sends the row left.
    """

    n_tests: Any  # int64 (n_trees,): 0 for trees with many tests
    first_test: Any  # int64 (n_trees + 1,)
    column: Any  # int64 (all tests,): as in Splits
    skip: Any  # uint8
    bound: Any  # uint8
    first_slot: Any  # int64 (n_trees + 1,)
    slot: Any  # int64: the features of each tree
    first_value: Any  # int64 (n_trees + 1,)
    values: Any  # float64, or empty if rows are so few that they are explained one by one


@routine
def find_outcomes(codes, tree, outcomes, found):
    """Write the outcomes of a block's rows to ``found`` (uint8, BLOCK)."""
    found[:] = 0
    first = outcomes.first_test[tree]
    for k in range(outcomes.n_tests[tree]):
        own = codes[outcomes.column[first + k]]
        skip, bound = outcomes.skip[first + k], outcomes.bound[first + k]
        bit = np.uint8(1 << k)
        for i in range(np.uint64(BLOCK)):
            found[i] |= bit if np.uint8(own[i] - skip) <= bound else np.uint8(0)


@routine
def add_outcomes(codes, tree, outcomes, found, n_rows, sums):
    """Add the values of the outcomes of a block's rows to ``sums`` (n_slots, BLOCK)."""
    find_outcomes(codes, tree, outcomes, found)
    n_outcomes = np.int64(1) << outcomes.n_tests[tree]
    for k in range(outcomes.first_slot[tree], outcomes.first_slot[tree + 1]):
        own = sums[outcomes.slot[k]]
        begin = outcomes.first_value[tree] + (k - outcomes.first_slot[tree]) * n_outcomes
        values = outcomes.values[begin : begin + n_outcomes]
        for i in range(np.uint64(n_rows)):
            own[i] += values[np.uint64(found[i])]


@inlined
def clear_slots(tree, outcomes, sums):
    """Set the sums of the features of a tree to zero."""
    for k in range(outcomes.first_slot[tree], outcomes.first_slot[tree + 1]):
        sums[outcomes.slot[k], :] = 0.0


@inlined
def add_slots(tree, outcomes, own, n_rows, sums):
    """Add the sums of a single tree to those of all."""
    for k in range(outcomes.first_slot[tree], outcomes.first_slot[tree + 1]):
        slot = outcomes.slot[k]
        for i in range(np.uint64(n_rows)):
            sums[slot, i] += own[slot, i]


@inlined
def keep_slots(tree, outcomes, own):
    """Keep the values of all outcomes of a tree."""
    n_outcomes = np.int64(1) << outcomes.n_tests[tree]
    place = outcomes.first_value[tree]
    for k in range(outcomes.first_slot[tree], outcomes.first_slot[tree + 1]):
        for i in range(n_outcomes):
            outcomes.values[place] = own[outcomes.slot[k], i]
            place += 1
