"""Which features share a byte, and how wide tiles are."""

import numpy as np
import pytest

from sumwise.data.lanes import plan_lanes, plan_tiles


def plan(n_value_bins, has_missing=False):
    n_value_bins = np.array(n_value_bins, dtype=np.int64)
    lanes = plan_lanes(n_value_bins, np.broadcast_to(has_missing, n_value_bins.shape))
    split = np.split(lanes.members, lanes.first[1:-1]) if n_value_bins.size else []
    return [part.tolist() for part in split], lanes


def test_features_with_few_bins_share_a_byte():
    split, lanes = plan([255, 2, 2, 100, 2, 17, 2])
    assert split == [[0], [1, 2, 4, 6], [3], [5]]
    assert lanes.low[[1, 2, 4, 6]].tolist() == [1] * 4
    assert lanes.radix.tolist() == [256, 2, 2, 101, 2, 18, 2]


def test_a_byte_tells_256_combinations_apart():
    assert [len(part) for part in plan([2] * 20)[0]] == [8, 8, 4]
    assert [len(part) for part in plan([2] * 20, has_missing=True)[0]] == [5, 5, 5, 5]  # 3 bins
    assert plan([16, 16, 16])[0] == [[0, 1], [2]]
    assert plan([15, 15], has_missing=True)[0] == [[0, 1]]
    assert plan([16, 16], has_missing=True)[0] == [[0], [1]]
    assert plan([1] * 300)[0] == [list(range(300))]  # constant features cost nothing


def test_alone_the_code_is_the_bin():
    lanes = plan([5])[1]
    assert (lanes.low.tolist(), lanes.radix.tolist()) == ([0], [6])


def test_no_features():
    lanes = plan([])[1]
    assert lanes.first.tolist() == [0]
    assert lanes.members.size == 0


@pytest.mark.parametrize(
    ("n_lanes", "n_threads", "widths"),
    [
        (28, 1, [14, 14]),
        (28, 2, [14, 14]),
        (28, 4, [7, 7, 7, 7]),
        (28, 16, [14, 14]),  # too few lanes for all: the threads share the rows
        (17, 1, [8, 9]),
        (10, 2, [5, 5]),
        (7, 2, [7]),
        (54, 2, [13, 14, 13, 14]),
        (1, 1, [1]),
        (0, 2, []),
    ],
)
def test_tiles_are_even(n_lanes, n_threads, widths):
    assert np.diff(plan_tiles(n_lanes, n_threads)).tolist() == widths
