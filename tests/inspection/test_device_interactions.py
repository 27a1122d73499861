"""Shapley interaction values found on a device have the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.data.device_reading import read_device_matrix
from sumwise.inspection import device_rows, device_walks
from sumwise.inspection.device_interactions import find_path_interactions
from sumwise.inspection.shap import shap_interactions
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.runtime.threads import Team
from tests import forests
from tests.cuda.arrays import FakeArray
from tests.inspection.test_device_values import DEEP
from tests.tree.test_device_predictor import draw_many

pytestmark = pytest.mark.usefixtures("emulated")

TEAM = Team(1)


def assert_same_values(device, trees, X, matrix):
    expected, _ = shap_interactions(trees, X, TEAM)
    found = find_path_interactions(device, TreeWalks(trees), matrix, TEAM)
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    assert np.array_equal(found.view(np.int64), expected.view(np.int64))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_rows", [1, 64, 257])
def test_small_trees(device, n_outputs, n_rows):
    ensemble, X = draw_many(5, n_outputs, n_rows)
    assert_same_values(device, ensemble, X, X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [4, 30])
def test_deep_trees(device, seed, n_features):
    ensemble, X = draw_many(seed, 1 + seed, 70, shapes=DEEP, n_features=n_features)
    assert_same_values(device, ensemble, X, X)


def test_every_number_of_points(device):
    ensemble, X = draw_many(3, 1, 40, shapes=[(n, "left") for n in range(2, 42)], n_features=60)
    assert_same_values(device, ensemble, X, X)


def test_little_memory(emulated, monkeypatch):
    monkeypatch.setattr(device_walks, "_SCRATCH_BYTES", 1)
    monkeypatch.setattr(device_rows, "_RESULT_BYTES", 1)
    monkeypatch.setattr(device_rows, "_BUSY_THREADS", 1)
    with emulated(shared_memory=8_000, order="shuffled") as device:
        ensemble, X = draw_many(9, 2, 300, shapes=DEEP, n_features=30)
        assert_same_values(device, ensemble, X, X)


def test_rows_on_a_device(device, emulated):
    ensemble, X = draw_many(7, 2, 300)
    assert_same_values(device, ensemble, X, read_device_matrix(FakeArray(X)))


def test_trees_of_several_columns(device):
    grown = forests.grow("three", n_rows=60, n_trees=3)
    assert_same_values(device, grown.forest, grown.X, grown.X)


def test_trees_without_splits_or_pairs(device):
    for n_leaves in (1, 2):
        ensemble, X = draw_many(23, 1, 20, shapes=[(n_leaves, "random")])
        assert_same_values(device, ensemble, X, X)
