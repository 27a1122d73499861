"""The binned table: columns, tiles and positions of histograms."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.kernels.runtime.threads import Team


def make_binned(columns, n_value_bins=None, n_threads=1, min_rows=1):
    columns = np.ascontiguousarray(columns, dtype=np.uint8)
    if n_value_bins is None:
        n_value_bins = np.full(columns.shape[0], 255)
    with Team(n_threads) as team:
        n_value_bins = np.asarray(n_value_bins, dtype=np.int64)
        return BinnedData.from_columns(columns, n_value_bins, team, min_rows=min_rows)


def read_lanes(table):
    """Return the codes of every lane, read from the tiles."""
    n_rows = table.columns.shape[1]
    codes = []
    for tile in range(table.tile_start.size):
        words = table.tile_words[tile]
        part = table.tiles[table.tile_start[tile] :][: words * n_rows].reshape(n_rows, words)
        width = table.tile_first[tile + 1] - table.tile_first[tile]
        codes.append(part.astype("<u8").view(np.uint8)[:, :width].T)
    return np.concatenate(codes)


def unpack(table):
    """Rebuild the columns from the tiles."""
    lanes, columns = table.lanes, np.empty_like(table.columns)
    for lane, codes in enumerate(read_lanes(table)):
        first, last = lanes.first[lane : lane + 2]
        assert codes.max() < lanes.n_codes[lane]
        if last - first == 1:
            columns[lanes.members[first]] = codes
            continue
        for m in range(first, last):
            bin_of_code = np.full(256, lanes.default_bin[m])
            own = slice(lanes.first_entry[m], lanes.first_entry[m + 1])
            bin_of_code[lanes.entry_code[own]] = lanes.entry_bin[own]
            columns[lanes.members[m]] = bin_of_code[codes]
    return columns


def random_columns(rng, n_features, n_rows):
    """Features of few and many bins, with and without missing values."""
    n_value_bins = rng.choice([1, 2, 3, 15, 16, 17, 255], n_features)
    lowest = rng.integers(0, 2, n_features)
    columns = [
        rng.integers(low, n + 1, n_rows) for low, n in zip(lowest, n_value_bins, strict=True)
    ]
    return np.stack(columns), n_value_bins


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 15, 16, 17, 24, 25, 33, 48, 120])
def test_tiles_hold_the_columns(n_features, n_threads):
    columns, n_value_bins = random_columns(np.random.default_rng(n_features), n_features, 41)
    data = make_binned(columns, n_value_bins, n_threads=n_threads, min_rows=0)
    assert (data.n_features, data.n_rows) == (n_features, 41)
    assert np.array_equal(unpack(data.table), columns)
    assert sorted(data.table.lanes.members) == list(range(n_features))
    assert data.table.tile_first[-1] == data.table.lanes.first.size - 1
    widths = np.diff(data.table.tile_first)
    assert data.table.tile_words.tolist() == [2 if width > 8 else 1 for width in widths]
    assert data.table.tiles.size == data.table.tile_words.sum() * 41


@pytest.mark.parametrize("n_threads", [1, 2])
def test_crowds_are_the_fullest_codes_of_each_block(n_threads):
    rng = np.random.default_rng(0)
    n_rows = 2 * 65536 + 5
    columns, n_value_bins = random_columns(rng, 30, n_rows)
    table = make_binned(columns, n_value_bins, n_threads=n_threads, min_rows=0).table
    for lane, codes in enumerate(read_lanes(table)):
        for block in range(3):
            rows = codes[block << 16 : (block + 1) << 16]
            assert table.crowds[lane, block] == np.bincount(rows).max()


def test_the_tile_of_each_feature():
    columns = np.ones((40, 3), dtype=np.uint8)
    columns[1::2] = 200
    data = make_binned(columns, np.where(np.arange(40) % 2, 200, 2), min_rows=0)
    lanes, tile_first = data.table.lanes, data.table.tile_first
    for f, tile in enumerate(data.find_tiles()):
        own = lanes.members[lanes.first[tile_first[tile]] : lanes.first[tile_first[tile + 1]]]
        assert f in own


def test_places_of_histograms():
    data = make_binned(np.ones((3, 2)), [1, 255, 7], min_rows=0)
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


def test_features_that_cannot_be_split_are_in_no_tile():
    columns = np.ones((4, 100), dtype=np.uint8)
    columns[0, :7] = 2
    columns[1, :30] = 0
    columns[2, 50:] = 2
    data = make_binned(columns, [2, 2, 2, 1], min_rows=20)
    assert data.usable.tolist() == [0, 1, 1, 0]
    assert data.table.lanes.members.tolist() == [1, 2]
    assert data.table.bin_start.tolist() == [0, 0, 3, 6, 6]
    assert data.find_tiles().tolist() == [-1, 0, 0, -1]


def test_only_rows_that_train_make_a_feature_usable():
    columns = np.ones((2, 10), dtype=np.uint8)
    columns[0, 8:] = columns[1, 4:] = 2
    with Team(1) as team:
        rows = np.arange(8, dtype=np.uint32)
        data = BinnedData.from_columns(columns, np.array([2, 2]), team, rows)
    assert data.usable.tolist() == [0, 1]
