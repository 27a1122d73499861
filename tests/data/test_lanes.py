"""Which features share a byte, and how wide tiles are."""

import numpy as np
import pytest

from sumwise.data.lanes import plan_lanes, plan_tiles
from sumwise.kernels.runtime.threads import Team


def plan(columns, n_value_bins=None):
    columns = np.ascontiguousarray(columns, dtype=np.uint8)
    if n_value_bins is None:
        n_value_bins = columns.max(axis=1)
    with Team(1) as team:
        n_codes = np.asarray(n_value_bins, dtype=np.int64) + 1
        lanes, source, codes = plan_lanes(columns, n_codes, team)
    split = [part.tolist() for part in np.split(lanes.members, lanes.first[1:-1])]
    return split, lanes, source.tolist(), codes


def random_bins(n_value_bins, lowest=1):
    """Return enough rows that all combinations of a byte occur."""
    rng = np.random.default_rng(0)
    return [rng.integers(lowest, n + 1, 20_000) for n in n_value_bins]


def test_features_with_few_bins_share_a_byte():
    split, lanes, source, codes = plan(random_bins([255, 2, 2, 100, 2, 17, 2]))
    assert split == [[0], [1, 2, 4, 6], [3], [5]]
    assert lanes.n_codes.tolist() == [256, 16, 101, 18]
    assert source == [0, -1, 3, 5]
    assert [part.max() for part in codes] == [15]


def test_a_byte_tells_256_combinations_apart():
    assert [len(part) for part in plan(random_bins([2] * 20))[0]] == [8, 8, 4]
    assert [len(part) for part in plan(random_bins([2] * 20, 0))[0]] == [5, 5, 5, 5]  # 3 bins
    assert plan(random_bins([16, 16, 16]))[0] == [[0, 1], [2]]
    assert plan(random_bins([15, 15], 0))[0] == [[0, 1]]
    assert plan(random_bins([16, 16], 0))[0] == [[0], [1]]
    assert plan(random_bins([1] * 300))[0] == [list(range(300))]  # constant features cost nothing


def test_only_combinations_that_occur_count():
    one_hot = 1 + np.eye(255, dtype=np.uint8)
    split, lanes, _, _ = plan(np.column_stack([one_hot, np.ones(255)]))
    assert split == [list(range(255))]
    assert lanes.n_codes.tolist() == [256]
    assert lanes.entry_bin.tolist() == [2] * 255  # one entry per feature
    assert plan(1 + np.eye(400))[0] == [list(range(255)), list(range(255, 400))]


def test_alone_the_code_is_the_bin():
    split, lanes, source, codes = plan([[1, 5, 5, 0]])
    assert (split, lanes.n_codes.tolist(), source, codes) == ([[0]], [6], [0], [])


def test_no_features():
    lanes = plan(np.empty((0, 3)), [])[1]
    assert lanes.first.tolist() == [0]
    assert lanes.members.size == 0


def test_no_rows():
    split, lanes, _, codes = plan(np.empty((2, 0)), [2, 2])
    assert (split, lanes.n_codes.tolist(), len(codes)) == ([[0, 1]], [0], 1)


@pytest.mark.parametrize(
    ("n_lanes", "n_threads", "widths"),
    [
        (28, 1, [14, 14]),
        (28, 2, [14, 14]),
        (28, 4, [7, 7, 7, 7]),
        (28, 16, [14, 14]),  # too few lanes: threads share the rows
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
