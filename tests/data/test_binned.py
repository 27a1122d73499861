"""The binned table: columns, tiles and the places of histograms."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData, plan_tiles
from sumwise.kernels.threads import Team


def make_binned(columns, n_value_bins=None, n_threads=1):
    columns = np.ascontiguousarray(columns, dtype=np.uint8)
    if n_value_bins is None:
        n_value_bins = np.full(columns.shape[0], 255)
    with Team(n_threads) as team:
        return BinnedData.from_columns(columns, np.asarray(n_value_bins, dtype=np.int64), team)


def unpack(table):
    """The columns again, read from the tiles."""
    n_rows = table.columns.shape[1]
    columns = []
    for tile in range(table.tile_start.size):
        words = table.tile_words[tile]
        part = table.tiles[table.tile_start[tile] :][: words * n_rows].reshape(n_rows, words)
        width = table.tile_first[tile + 1] - table.tile_first[tile]
        columns.append(part.astype("<u8").view(np.uint8)[:, :width].T)
    return np.concatenate(columns)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 15, 16, 17, 24, 25, 33, 48])
def test_tiles_hold_the_columns(n_features, n_threads):
    columns = np.random.default_rng(0).integers(0, 256, (n_features, 41)).astype(np.uint8)
    data = make_binned(columns, n_threads=n_threads)
    assert (data.n_features, data.n_rows) == (n_features, 41)
    assert np.array_equal(unpack(data.table), columns)
    assert data.table.tile_first[-1] == n_features
    widths = np.diff(data.table.tile_first)
    assert data.table.tile_words.tolist() == [2 if width > 8 else 1 for width in widths]
    assert data.table.tiles.size == data.table.tile_words.sum() * 41


@pytest.mark.parametrize(
    ("n_features", "n_threads", "widths"),
    [
        (28, 1, [14, 14]),
        (28, 2, [14, 14]),
        (28, 4, [7, 7, 7, 7]),
        (28, 16, [14, 14]),  # too few features for all: the threads share the rows
        (17, 1, [8, 9]),
        (10, 2, [5, 5]),
        (7, 2, [7]),
        (54, 2, [13, 14, 13, 14]),
        (1, 1, [1]),
        (0, 2, []),
    ],
)
def test_tiles_are_even(n_features, n_threads, widths):
    assert np.diff(plan_tiles(n_features, n_threads)).tolist() == widths


@pytest.mark.parametrize("n_threads", [1, 2])
def test_crowds_are_the_fullest_bins_of_each_block(n_threads):
    rng = np.random.default_rng(0)
    n_rows = 2 * 65536 + 5
    columns = np.stack([rng.integers(0, 3 + 10 * f, n_rows) for f in range(20)])
    table = make_binned(columns, n_threads=n_threads).table
    for tile in range(table.tile_start.size):
        for block in range(3):
            part = columns[table.tile_first[tile] : table.tile_first[tile + 1]]
            rows = part[:, block << 16 : (block + 1) << 16]
            expected = max(np.bincount(column).max() for column in rows)
            assert table.crowds[tile, block] == expected


def test_places_of_histograms():
    data = make_binned(np.ones((3, 2)), [1, 255, 7])
    assert data.table.bin_start.tolist() == [0, 2, 258, 266]


def test_usable_features_have_rows_in_two_bins():
    columns = [[1, 1, 1], [0, 0, 0], [0, 1, 1], [3, 3, 4], [255, 255, 255], [0, 0, 255]]
    assert make_binned(columns).usable.tolist() == [0, 0, 1, 1, 0, 1]


def test_no_rows():
    data = make_binned(np.empty((3, 0)))
    assert data.n_rows == 0
    assert data.usable.tolist() == [0, 0, 0]


def test_no_features():
    data = make_binned(np.empty((0, 5)))
    assert (data.n_features, data.n_rows) == (0, 5)
    assert data.table.bin_start.tolist() == [0]
    assert data.table.tile_first.tolist() == [0]
    assert data.usable.size == data.table.tiles.size == 0
