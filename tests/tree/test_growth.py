"""Limits of trees: defaults filled in."""

import pytest

from sumwise.errors import ParameterError
from sumwise.tree import GrowthSettings


@pytest.mark.parametrize(
    ("settings", "n_rows", "expected"),
    [
        ({}, 10**6, (31, None)),
        ({"max_depth": 3}, 10**6, (8, 3)),
        ({"max_depth": 40}, 10**6, (31, 40)),
        ({"max_leaves": 100}, 10**6, (100, None)),
        ({"max_leaves": 100, "max_depth": 5}, 10**6, (32, 5)),
        ({"max_leaves": 100}, 200, (10, None)),  # no more than rows / min_samples_leaf
        ({"max_leaves": 100, "min_samples_leaf": 1}, 200, (100, None)),
        ({"max_leaves": 100, "min_samples_leaf": 0}, 30, (30, None)),
        ({}, 5, (1, None)),
        ({"max_depth": 0}, 10**6, (1, 0)),
        ({"max_leaves": 1}, 10**6, (1, None)),
        ({"growth": "depth"}, 10**6, (64, 6)),
        ({"growth": "depth", "max_leaves": 10}, 10**6, (10, None)),
        ({"growth": "depth", "max_depth": 2}, 10**6, (4, 2)),
        ({"growth": "depth", "max_depth": 31}, 1000, (50, 31)),
        ({"growth": "symmetric"}, 10**6, (64, 6)),
        ({"growth": "symmetric", "max_leaves": 20}, 10**6, (16, 4)),
        ({"growth": "symmetric", "max_leaves": 1}, 10**6, (1, 0)),
        ({"growth": "symmetric", "max_leaves": 64, "max_depth": 3}, 10**6, (8, 3)),
        ({"growth": "symmetric", "max_depth": 16}, 10, (2**16, 16)),
    ],
    ids=str,
)
def test_limits(settings, n_rows, expected):
    leaves, depth = GrowthSettings(**settings).limits(n_rows)
    assert leaves == expected[0]
    assert depth == expected[1] or (expected[1] is None and depth > 10**9)


def test_symmetric_trees_cannot_be_too_deep():
    with pytest.raises(ParameterError, match=r"max_depth=17.*at most 16"):
        GrowthSettings(growth="symmetric", max_depth=17).limits(100)
    with pytest.raises(ParameterError, match="max_leaves=131072"):
        GrowthSettings(growth="symmetric", max_leaves=2**17).limits(100)
