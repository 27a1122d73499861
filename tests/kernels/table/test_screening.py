"""Screening against its naive twin, for columns and for entries."""

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.screening import screen_columns, screen_entries
from tests.naive.screening import can_split


def make_columns(rng, n_rows, n_features=80):
    """Rare values, rare missing ones, constants, a few plain ones."""
    columns = np.full((n_features, n_rows), 1, dtype=np.uint8)
    for f in range(n_features):
        n_other = rng.integers(0, 30)
        rows = rng.choice(n_rows, n_other, replace=False)
        columns[f, rows] = rng.choice([0, 2, 3, 7], n_other)
    columns[::7] = rng.integers(0, 8, (columns[::7].shape[0], n_rows))
    columns[1], columns[2] = 1, 0
    return columns


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("min_rows", [1, 5, 20])
@pytest.mark.parametrize("n_rows", [60, 3000])
def test_the_same_as_all_splits_tried(n_rows, min_rows, n_threads):
    rng = np.random.default_rng(n_rows + min_rows)
    columns = make_columns(rng, n_rows)
    n_features = columns.shape[0]
    rows = np.flatnonzero(rng.random(n_rows) < 0.8).astype(np.uint32)
    expected = [can_split(column[rows], min_rows) for column in columns]
    assert 0 < sum(expected) < n_features
    found = np.full(n_features, 9, dtype=np.uint8)
    counts = np.empty((n_threads, 256), dtype=np.int64)
    n_bins = np.full(n_features, 8, dtype=np.int64)
    with Team(n_threads) as team:
        fewest = np.full(n_features, min_rows, dtype=np.int64)
        team.run(screen_columns, columns, n_bins, rows, fewest, counts, found)
        assert found.tolist() == expected
        usual = np.full(n_features, 1, dtype=np.int64)
        feature, row = np.nonzero(columns != 1)
        start = np.append(0, np.bincount(feature, minlength=n_features).cumsum())
        trains = np.zeros(n_rows, dtype=np.uint8)
        trains[rows] = 1
        entries = (start, row.astype(np.uint32), columns[feature, row], usual)
        found[:] = 9
        team.run(screen_entries, *entries, n_bins, trains, min_rows, counts, found)
    assert found.tolist() == expected
