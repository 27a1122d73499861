"""The binned table: columns, tiles and the places of histograms."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
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
    assert data.table.tile_words.tolist() == [
        2 if min(16, n_features - first) > 8 else 1 for first in range(0, n_features, 16)
    ]
    assert data.table.tiles.size == data.table.tile_words.sum() * 41


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
