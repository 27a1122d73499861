"""The table on a device against columns on the host."""

from itertools import pairwise

import numpy as np
import pytest

from sumwise.data.device_table import DeviceTable, TableSizes, count_tile_bins, screen_columns
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table import screening


def draw_columns(n_features, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    n_value_bins = rng.integers(1, 256, n_features)
    columns = np.stack([rng.integers(0, n + 1, n_rows) for n in n_value_bins]).astype(np.uint8)
    return columns, n_value_bins


@pytest.mark.parametrize(("n_features", "n_rows"), [(1, 1), (32, 300), (33, 257), (70, 1000)])
def test_lanes_hold_the_bins_of_usable_features(device, n_features, n_rows):
    columns, n_value_bins = draw_columns(n_features, n_rows)
    usable = np.ones(n_features, dtype=np.uint8)
    usable[3:9] = 0
    table = DeviceTable.from_binned(device, columns, n_value_bins, usable)
    features = np.flatnonzero(usable)
    assert (table.n_features, table.n_rows) == (n_features, n_rows)
    assert table.n_tiles == -(-features.size // 32)
    expected = np.zeros((table.n_tiles * 32, n_rows), dtype=np.uint8)
    expected[: features.size] = columns[features]
    expected = expected.reshape(table.n_tiles, 32, n_rows).transpose(0, 2, 1)
    assert np.array_equal(table.tiles.to_host(), expected)
    assert np.array_equal(table.columns.to_host(), columns)
    lane_feature = table.lane_feature.to_host()
    assert lane_feature[: features.size].tolist() == features.tolist()
    assert (lane_feature[features.size :] == -1).all()
    feature_lane = table.feature_lane.to_host()
    assert (feature_lane[features] == np.arange(features.size)).all()
    assert (feature_lane[usable == 0] == -1).all()
    for tile, n_bins in enumerate(table.tile_bins.to_host()):
        assert n_bins == 1 + n_value_bins[features[32 * tile : 32 * tile + 32]].max()


def test_table_without_usable_features(device):
    columns, n_value_bins = draw_columns(3, 10)
    table = DeviceTable.from_binned(device, columns, n_value_bins, np.zeros(3, dtype=np.uint8))
    assert table.n_tiles == 0
    assert table.tiles.shape == (0, 10, 32)


def draw_rows(kind, n_rows):
    if kind == "all":
        return np.arange(n_rows, dtype=np.uint32)
    if kind == "some":
        return np.flatnonzero(np.arange(n_rows) % 3 > 0).astype(np.uint32)
    return np.arange(17, n_rows - 40, dtype=np.uint32)


@pytest.mark.parametrize("kind", ["all", "some", "range"])
@pytest.mark.parametrize("n_rows", [100, 20_000])
def test_screening_is_that_of_the_host(device, kind, n_rows):
    rng = np.random.default_rng(1)
    share = np.array([0, 1 / n_rows, 19 / n_rows, 20 / n_rows, 25 / n_rows, 0.5, 0.01, 0.03])
    above = (rng.random((8, n_rows)) < share[:, None]).astype(np.uint8)
    columns = np.concatenate([1 + above, above, 2 * above, np.where(above, 255, 254)])
    columns = columns.astype(np.uint8)
    n_value_bins = np.maximum(columns.max(axis=1), 1).astype(np.int64)
    min_rows = np.where(np.arange(32) % 5, 20, 1)
    rows = draw_rows(kind, n_rows)
    usable, counts = np.empty(32, dtype=np.uint8), np.empty((1, 256), dtype=np.int64)
    screened = (columns, n_value_bins + 1, rows, min_rows, counts, usable)
    Team(1).run(screening.screen_columns, *screened)
    bounds = [0, 30, n_rows // 3, n_rows]
    parts = [
        (device, device.upload(columns[:, first:last]), first) for first, last in pairwise(bounds)
    ]
    found = screen_columns(parts, n_value_bins, rows, min_rows)
    assert np.array_equal(found, usable)
    assert 0 < found.sum() < 32


@pytest.mark.parametrize("n_usable", [0, 1, 32, 40])
def test_sizes_are_known_before_a_table_is_made(device, n_usable):
    columns, n_value_bins = draw_columns(40, 100)
    usable = (np.arange(40) < n_usable).astype(np.uint8)
    sizes = TableSizes(100, 40, 0, count_tile_bins(n_value_bins, usable))
    table = DeviceTable.from_binned(device, columns, n_value_bins, usable)
    assert sizes.n_bytes == table.columns.nbytes + table.tiles.nbytes
    assert np.array_equal(sizes.host_tile_bins, table.tile_bins.to_host())
    for name in ("n_rows", "n_features", "n_tiles", "n_categorical"):
        assert getattr(sizes, name) == getattr(table, name)
