"""Trees whose leaves are refitted on a device: the bytes of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.device_table import DeviceTable
from sumwise.errors import TrainingError
from sumwise.kernels.losses.influence import FAIR
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, LeafRefitter, TreeConstraints, TreeGrower, cuda_refit
from sumwise.tree.cuda_grower import CudaGrower
from sumwise.tree.cuda_refit import CudaRefitter
from sumwise.tree.pending_tree import finish_tree
from tests.cuda.emulator import EmulatedDevice

KEY = np.uint64(11)
MEDIAN = Location(0.5)
N_BINS = np.array([30, 9, 3])


class Case:
    """Binned rows with targets, and the rows that trees are grown on."""

    def __init__(self, seed=0, n_rows=600, weighted=False):
        rng = np.random.default_rng(seed)
        self.codes = np.stack([rng.integers(0, n + 1, n_rows) for n in N_BINS]).astype(np.uint8)
        self.target = (self.codes[0] / 10 + self.codes[1] + rng.standard_t(2, n_rows)).round(1)
        self.scores = (self.target.mean() + rng.normal(size=n_rows)).round(1)
        self.weight = rng.choice([0.5, 1.0, 2.5], n_rows) if weighted else np.empty(0)
        self.hessian = self.weight if weighted else np.ones(n_rows)
        self.gradient = np.sign(self.scores - self.target) * self.hessian
        self.rows = np.flatnonzero(rng.random(n_rows) < 0.8).astype(np.uint32)
        self.mapper = BinMapper([np.arange(1.5, n) for n in N_BINS])


def refit_on_cpu(case, settings, location):
    scores = case.scores.copy()
    with Team(1) as team:
        data = BinnedData.from_columns(case.codes, N_BINS, team)
        grower = TreeGrower(data, case.mapper, settings, Columns(), case.rows.size, team)
        none = np.empty(0)
        tree = grower.grow_on_gradients(case.gradient, case.hessian, case.rows, KEY, none)
        refitter = LeafRefitter(grower, case.target, case.weight, case.rows, team)
        return refitter.refit(tree, case.rows, scores, location), scores


def refit_on_devices(devices, case, settings, location):
    _, tree, scores = grow_on_devices(devices, case, settings, location)
    return finish_tree(tree), scores.to_host()


def grow_on_devices(devices, case, settings, location):
    """Return the grower, a tree whose leaves are refitted, and the scores."""
    device, usable = devices[0], np.ones(len(N_BINS), dtype=np.uint8)
    parts = np.array_split(case.codes, len(devices), axis=1)
    tables = [
        DeviceTable.from_binned(one, np.ascontiguousarray(part), N_BINS, usable)
        for one, part in zip(devices, parts, strict=True)
    ]
    g, h, rows, target, weight, scores = map(
        device.upload,
        (case.gradient, case.hessian, case.rows, case.target, case.weight, case.scores),
    )
    grower = CudaGrower(tables, case.mapper, settings, Columns(), case.rows.size)
    tree = grower.grow_on_gradients(g, h, rows, KEY, None)
    refitter = CudaRefitter(grower, target, weight, rows, DeviceTeam(device))
    return grower, refitter.refit(tree, rows, scores, location), scores


def assert_same_bytes(devices, case, location=MEDIAN, **given):
    settings = GrowthSettings(**({"learning_rate": 0.3, "min_samples_leaf": 5} | given))
    expected, expected_scores = refit_on_cpu(case, settings, location)
    tree, scores = refit_on_devices(devices, case, settings, location)
    assert expected.n_nodes > 5
    assert tree.value.tobytes() == expected.value.tobytes()
    assert scores.tobytes() == expected_scores.tobytes()


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("weighted", [False, True])
def test_growths(device, growth, weighted):
    settings = {"growth": growth, "max_depth": 4} | ({"max_leaves": 9} if growth == "leaf" else {})
    assert_same_bytes([device], Case(weighted=weighted), **settings)


def test_robust_steps_that_are_limited(device):
    location = Location(0.5, 0.8, FAIR)
    assert_same_bytes([device], Case(1), location, max_leaves=8, max_delta_step=0.4)


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_monotone_constraints(device, growth):
    constraints = TreeConstraints(np.array([-1, 1, 0]))
    own = {"growth": growth, "max_depth": 4, "constraints": constraints}
    assert_same_bytes([device], Case(2), **own)


def test_large_trees(device, monkeypatch):
    monkeypatch.setattr(cuda_refit, "_MOST_PADDED", 4)
    assert_same_bytes([device], Case(5, weighted=True), max_leaves=12)


def test_rows_that_the_tree_was_not_grown_on(device):
    case, settings = Case(6), GrowthSettings(max_leaves=9, learning_rate=0.5)
    others = np.setdiff1d(np.arange(case.target.size), case.rows).astype(np.uint32)
    expected, _ = refit_on_cpu(case, settings, MEDIAN)
    scores = np.zeros(case.target.size)
    with Team(1) as team:
        data = BinnedData.from_columns(case.codes, N_BINS, team)
        grower = TreeGrower(data, case.mapper, settings, Columns(), case.rows.size, team)
        grower.add_to_scores(expected, others, scores)
    grower, tree, _ = grow_on_devices([device], case, settings, MEDIAN)
    found = device.zeros(case.target.size, np.float64)
    grower.add_to_scores(tree, device.upload(others), found)
    np.testing.assert_array_equal(found.to_host(), scores)


def test_several_devices(device):
    with EmulatedDevice(1) as other:
        assert_same_bytes([device, other], Case(3, weighted=True), max_leaves=7)


def test_targets_that_are_too_large(device):
    case = Case(4)
    case.target[:] = 1.5e308
    case.scores[:] = -1.5e308
    settings = GrowthSettings(max_leaves=4)
    with pytest.raises(TrainingError, match="targets are too large"):
        refit_on_devices([device], case, settings, MEDIAN)
