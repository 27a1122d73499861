"""Shapley values found on a device have the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.explain import LOW_LEVELS, MOST_LEVELS, MOST_POINTS
from sumwise.data.device_reading import read_device_matrix
from sumwise.errors import DeviceError
from sumwise.inspection import device_walks
from sumwise.inspection.device_values import find_path_values
from sumwise.inspection.path_values import find_outcomes
from sumwise.inspection.shap import shap_values
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.runtime.threads import Team
from tests import forests
from tests.cuda.arrays import FakeArray
from tests.tree.test_device_predictor import draw_many

pytestmark = pytest.mark.usefixtures("emulated")

TEAM = Team(1)
# Deeper than what is walked in registers, and with more features on a way than points of one walk.
DEEP = [(31, "random"), (2, "random"), (24, "left"), (1, "random"), (64, "balanced"), (8, "left")]


def assert_same_values(device, trees, X, matrix):
    expected, _ = shap_values(trees, X, TEAM)
    found = find_path_values(device, TreeWalks(trees), matrix, TEAM)
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    assert np.array_equal(found.view(np.int64), expected.view(np.int64))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_rows", [1, 64, 257, 600])
def test_small_trees(device, n_outputs, n_rows):
    """With so many rows, the CPU looks up the outcomes of few tests, or walks every row."""
    ensemble, X = draw_many(5, n_outputs, n_rows)
    assert_same_values(device, ensemble, X, X)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_features", [4, 30])
def test_deep_trees(device, seed, n_features):
    ensemble, X = draw_many(seed, 1 + seed % 3, 130, shapes=DEEP, n_features=n_features)
    walks = TreeWalks(ensemble)
    assert walks.n_levels > 2 * LOW_LEVELS
    assert (walks.n_points > MOST_POINTS) == (n_features > 4)
    assert_same_values(device, ensemble, X, X)


def test_every_number_of_points(device):
    """Trees of one to many points, in one pass and in several of different sizes."""
    ensemble, X = draw_many(3, 1, 70, shapes=[(n, "left") for n in range(2, 42)], n_features=60)
    n_points = (TreeWalks(ensemble).tape.n_unique + 1) // 2
    assert set(range(1, 2 * MOST_POINTS + 2)) <= set(n_points.tolist())
    assert_same_values(device, ensemble, X, X)


def test_order_of_threads_and_sums_in_memory(emulated):
    """Sums of many features do not fit in shared memory."""
    for shared_memory, order in ((8_000, "shuffled"), (100_000, "reversed")):
        with emulated(shared_memory=shared_memory, order=order, n_processors=1) as device:
            ensemble, X = draw_many(9, 2, 200, shapes=DEEP, n_features=30)
            assert_same_values(device, ensemble, X, X)


def test_little_scratch_memory(device, monkeypatch):
    monkeypatch.setattr(device_walks, "_SCRATCH_BYTES", 1)
    ensemble, X = draw_many(9, 1, 200, shapes=DEEP, n_features=30)
    assert_same_values(device, ensemble, X, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_a_device(device, dtype):
    ensemble, X = draw_many(7, 2, 300)
    with np.errstate(over="ignore"):
        X = X.astype(dtype, order="F")
    assert_same_values(device, ensemble, X, read_device_matrix(FakeArray(X)))


def test_trees_of_several_columns(device):
    """Leaves have a value for each output; trees are not tabulated."""
    grown = forests.grow("three", n_rows=60, n_trees=3)
    assert TreeWalks(grown.forest).value.shape[1] > 1
    assert_same_values(device, grown.forest, grown.X, grown.X)


def test_symmetric_trees_are_tabulated(device):
    ensemble, X = draw_many(31, 1, 130, shapes=[(64, "symmetric"), (8, "symmetric")], n_features=8)
    outcomes, _ = find_outcomes(TreeWalks(ensemble))
    assert outcomes.n_tests.any()
    assert_same_values(device, ensemble, X, X)


def test_trees_without_splits(device):
    ensemble, X = draw_many(23, 1, 20, shapes=[(1, "random"), (1, "random")])
    assert_same_values(device, ensemble, X, X)


def test_very_deep_trees_are_refused(device):
    ensemble, X = draw_many(1, 1, 2, shapes=[(MOST_LEVELS + 1, "left")])
    assert_same_values(device, ensemble, X, X)
    ensemble, X = draw_many(1, 1, 2, shapes=[(MOST_LEVELS + 2, "left")])
    with pytest.raises(DeviceError, match=r"65 levels of splits.*device='cpu'"):
        find_path_values(device, TreeWalks(ensemble), X, TEAM)


def test_no_memory_is_left(device):
    ensemble, X = draw_many(5, 1, 64)
    n_free = device.count_free()
    find_path_values(device, TreeWalks(ensemble), X, TEAM)
    assert device.count_free() == n_free
