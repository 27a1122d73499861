"""Trees grown on an emulated device are those of the CPU, bit by bit."""

from dataclasses import fields

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.device_table import DeviceTable
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeConstraints, TreeGrower
from sumwise.tree.cuda_grower import CudaGrower

KEY = np.uint64(7)


def make_table(rng, n_rows, n_features, missing=0.3):
    """Random bins: columns of few and of many values, some with missing rows."""
    n_value_bins = rng.choice([1, 2, 3, 9, 40], size=n_features)
    codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in n_value_bins])
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, (n_features, 1))] = 0
    return codes.astype(np.uint8), n_value_bins.astype(np.int64)


def make_gradients(rng, codes, n_values=None):
    """Gradients that depend on some features; of few distinct values if asked, for ties."""
    signal = np.sin(codes[0].astype(float)) + 0.3 * (codes[1 % len(codes)] == 0)
    g = signal + 0.5 * rng.standard_normal(codes.shape[1])
    h = rng.uniform(0.1, 1.0, size=g.size)
    if n_values:
        g, h = np.round(g * n_values / 4) / 2, np.ones_like(h)
    return g, h


def grow_on_cpu(codes, n_value_bins, g, h, rows, settings, columns, exact_rows=256, n_trees=1):
    scores, trees = np.zeros(codes.shape[1]), []
    mapper = BinMapper([np.arange(1.5, n) for n in n_value_bins])
    with Team(1) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(data, mapper, settings, columns, rows.size, team, exact_rows)
        for number in range(n_trees):
            key = KEY + np.uint64(number)
            trees.append(grower.grow_on_gradients(g, h, rows, key, scores))
            others = np.setdiff1d(np.arange(scores.size), rows).astype(np.uint32)
            grower.add_to_scores(trees[-1], others, scores)
        usable = data.usable.copy()
    return trees, scores, usable


def grow_on_device(
    device, codes, n_value_bins, usable, g, h, rows, settings, columns, exact_rows=256, n_trees=1
):
    mapper = BinMapper([np.arange(1.5, n) for n in n_value_bins])
    table = DeviceTable.from_binned(device, codes, n_value_bins, usable)
    grower = CudaGrower(table, mapper, settings, columns, rows.size, exact_rows)
    gradient, hessian = device.upload(g), device.upload(h)
    scores = device.zeros(codes.shape[1], np.float64)
    others = device.upload(np.setdiff1d(np.arange(scores.size), rows).astype(np.uint32))
    own = device.upload(rows) if rows.size < scores.size else None
    trees = []
    for number in range(n_trees):
        key = KEY + np.uint64(number)
        trees.append(grower.grow_on_gradients(gradient, hessian, own, key, scores))
        grower.add_to_scores(trees[-1], others, scores)
    return [tree.finish() for tree in trees], scores.to_host()


def assert_same_bytes(device, codes, n_value_bins, g, h, rows, settings, columns=None, **others):
    columns = columns or Columns()
    data = (codes, n_value_bins)
    trees, scores, usable = grow_on_cpu(*data, g, h, rows, settings, columns, **others)
    own, own_scores = grow_on_device(
        device, *data, usable, g, h, rows, settings, columns, **others
    )
    for tree, twin in zip(own, trees, strict=True):
        for field in fields(twin):
            expected, found = getattr(twin, field.name), getattr(tree, field.name)
            if isinstance(expected, np.ndarray):
                assert found.dtype == expected.dtype, field.name
                np.testing.assert_array_equal(found, expected, err_msg=field.name)
                assert found.tobytes() == expected.tobytes(), field.name
            else:
                assert found == expected
    assert own_scores.tobytes() == scores.tobytes()
    return trees


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("exact_rows", [0, 10_000])
def test_trees(device, growth, exact_rows):
    rng = np.random.default_rng(3)
    codes, n_value_bins = make_table(rng, 700, 9)
    g, h = make_gradients(rng, codes)
    rows = np.sort(rng.permutation(700)[:600]).astype(np.uint32)
    settings = GrowthSettings(growth=growth, max_leaves=12, max_depth=5, min_samples_leaf=5)
    trees = assert_same_bytes(
        device, codes, n_value_bins, g, h, rows, settings, exact_rows=exact_rows, n_trees=2
    )
    assert trees[0].n_nodes == (15 if growth == "symmetric" else 23)
