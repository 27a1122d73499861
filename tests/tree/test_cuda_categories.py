"""Splits by sets of categories on an emulated device are those of the CPU, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import CategoryBins, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.device_table import DeviceTable
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings
from sumwise.tree.cuda_categories import list_sets, pack_sets
from tests.cuda.emulator.compile import explain_missing
from tests.tree.test_cuda_grower import (
    GROWTHS,
    KEY,
    Case,
    assert_same_bytes,
    draw_settings,
    make_constraints,
    open_growers,
)

FEW = Native(smoothing=1.0, l2=0.5, max_categories=200, min_rows=2)


class CategoryCase(Case):
    """Bins of numbers and of categories; gradients depend on the first two features.

    The first feature has categories, and every other one may have. A rest is never chosen.
    """

    def __init__(self, seed, native=FEW, onehot_limit=3, **options):
        super().__init__(seed, **options)
        rng = np.random.default_rng(seed + 1000)
        self.native, self.bins = native, {}
        for f, n in enumerate(self.n_value_bins):
            if f == 0 or rng.random() < 0.6:
                n_kept = int(n - rng.integers(0, 2))
                codes = np.full(n + 1, -1, dtype=np.int32)
                codes[1 : n_kept + 1] = np.sort(rng.choice(2 * n + 5, n_kept, replace=False))
                self.bins[f] = CategoryBins(np.empty(0), codes, bool(n <= onehot_limit))
        self.mapper = BinMapper(self.mapper.thresholds, self.bins, native)

    @property
    def categories(self):
        no_wide = np.empty((0, 0), dtype=np.uint32)
        return collect_categories(self.bins, no_wide, len(self.codes), self.native)

    def open_data(self, team):
        own = (self.codes, self.n_value_bins, team)
        return BinnedData.from_columns(*own, categories=self.categories)

    def open_table(self, device):
        with Team(1) as team:
            usable = self.open_data(team).usable
        own = (self.n_value_bins, usable, self.categories)
        devices = device if isinstance(device, list) else [device]
        parts = np.array_split(self.codes, len(devices), axis=1)
        tables = [
            DeviceTable.from_binned(one, np.ascontiguousarray(part), *own)
            for one, part in zip(devices, parts, strict=True)
        ]
        return tables if isinstance(device, list) else tables[0]


def count_sets(trees):
    return sum(tree.set_node.size for tree in trees)


# --- growth ---


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("exact_rows", [0, 10_000])
def test_trees(device, growth, exact_rows):
    settings = GrowthSettings(growth=growth, max_leaves=12, max_depth=5, min_samples_leaf=5)
    trees = assert_same_bytes(device, CategoryCase(3), settings, exact_rows=exact_rows)
    assert count_sets(trees) > 5
    assert max(tree.set_size.max() for tree in trees) > 2


@pytest.mark.parametrize("growth", GROWTHS)
def test_all_bins_of_a_byte(device, growth):
    """The set of a feature with 254 categories and a rest."""
    case = CategoryCase(1, n_features=2, n_rows=1500)
    case.n_value_bins[:] = 255
    rng = np.random.default_rng(2)
    case.codes[0] = rng.integers(0, 256, case.g.size)
    case.bins = {0: CategoryBins(np.empty(0), np.append(np.arange(-1, 254), -1), False)}
    case.g = np.sin(case.codes[0].astype(float)) + 0.1 * rng.standard_normal(case.g.size)
    settings = GrowthSettings(growth=growth, max_leaves=8, min_samples_leaf=5)
    trees = assert_same_bytes(device, case, settings)
    assert max(tree.set_size.max() for tree in trees) > 64
    assert max(tree.set_categories.max() for tree in trees) > 240


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "native",
    [
        Native(),
        Native(smoothing=0.0, l2=0.0, max_categories=3, min_rows=0),
        Native(smoothing=2.5, l2=10.0, max_categories=1, min_rows=7),
        Native(smoothing=4.0, min_rows=40),
    ],
    ids=["default", "short", "single", "apart"],
)
def test_candidates(device, growth, native):
    settings = GrowthSettings(growth=growth, max_leaves=8, min_samples_leaf=3)
    trees = assert_same_bytes(device, CategoryCase(5, native), settings, n_trees=1)
    assert count_sets(trees) > 0


@pytest.mark.parametrize("growth", GROWTHS)
def test_one_category_against_the_others(device, growth):
    settings = GrowthSettings(growth=growth, max_leaves=10, min_samples_leaf=2)
    trees = assert_same_bytes(device, CategoryCase(6, onehot_limit=255, missing=0.6), settings)
    assert max(tree.set_size.max() for tree in trees) == 1


@pytest.mark.parametrize("growth", GROWTHS)
def test_ties(device, growth):
    """Few different gradients: equal ratios are ordered by bin, equal gains by candidate."""
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=1)
    case = CategoryCase(4, n_values=1, native=replace_native(FEW, smoothing=0.0))
    assert count_sets(assert_same_bytes(device, case, settings)) > 0


def replace_native(native, **changes):
    return Native(**native.get_params() | changes)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_missing_values(device, share):
    """None at all: they go with the larger child. Otherwise they are part of sets, or not."""
    case, rng = CategoryCase(8, missing=0.0, n_features=1), np.random.default_rng(0)
    case.codes[0, rng.random(case.g.size) < share] = 0
    case.g = rng.normal(size=256)[case.codes[0]] + 0.1 * rng.normal(size=case.g.size)
    settings = GrowthSettings(max_leaves=8, min_samples_leaf=2)
    (tree,) = assert_same_bytes(device, case, settings, n_trees=1)
    node = tree.set_node
    follows = 2 * tree.n_rows[tree.left[node]] >= tree.n_rows[node]
    assert node.size == 7
    assert share > 0.0 or np.array_equal(tree.missing_left[node] != 0, follows)
    assert share == 0.0 or set(tree.missing_left[node]) == {0, 1}


def test_weights_of_rows_and_zero_gradients(device):
    case = CategoryCase(9)
    case.h[::3] = 0.0
    case.g[::3] = 0.0
    assert_same_bytes(device, case, GrowthSettings(growth="depth", min_child_weight=5.0))


# --- options ---


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("kind", ["monotone", "groups", "path"])
def test_constraints(device, growth, kind):
    constraints = make_constraints(3, 7, kind)
    case = CategoryCase(10)
    if kind == "monotone":  # categories have no order
        directions = [0 if f in case.bins else d for f, d in enumerate(constraints.directions)]
        assert any(directions)
        constraints = replace(constraints, directions=tuple(directions))
    settings = GrowthSettings(growth=growth, max_leaves=10, min_samples_leaf=3)
    settings = replace(settings, constraints=constraints, path_smooth=2.0, max_delta_step=0.3)
    assert_same_bytes(device, case, settings)


@pytest.mark.parametrize("growth", GROWTHS)
def test_random_splits_and_columns(device, growth):
    settings = GrowthSettings(growth=growth, max_leaves=12, min_samples_leaf=3, extra_trees=True)
    columns = Columns(by_tree=0.9, by_level=0.8, by_node=0.8)
    assert count_sets(assert_same_bytes(device, CategoryCase(11), settings, columns, n_trees=4)) > 3


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_large_trees(device, growth):
    """Too large for shared memory, and more families than blocks."""
    limits = {"max_leaves": 300} if growth == "leaf" else {"max_depth": 9}
    settings = GrowthSettings(growth=growth, min_samples_leaf=1, **limits)
    case = CategoryCase(12, n_features=3, share=0.9)
    trees = assert_same_bytes(device, case, settings, n_trees=1)
    assert trees[0].n_nodes > 70


@pytest.mark.parametrize("growth", GROWTHS)
def test_several_devices(growth):
    from tests.cuda.emulator import EmulatedDevice

    if reason := explain_missing():
        pytest.skip(reason)
    settings = GrowthSettings(growth=growth, max_leaves=9, min_samples_leaf=3)
    with EmulatedDevice() as first, EmulatedDevice(1, order="shuffled") as second:
        assert_same_bytes([first, second], CategoryCase(13), settings)


@hypothesis_settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_settings(data):
    from tests.cuda.emulator import EmulatedDevice

    if reason := explain_missing():
        pytest.skip(reason)
    n_features = data.draw(st.integers(1, 5))
    native = Native(
        smoothing=data.draw(st.sampled_from([0.0, 1.5, 10.0])),
        l2=data.draw(st.sampled_from([0.0, 10.0])),
        max_categories=data.draw(st.sampled_from([1, 4, 32, 500])),
        min_rows=data.draw(st.sampled_from([0, 5, 60])),
    )
    case = CategoryCase(
        data.draw(st.integers(0, 99)),
        native,
        data.draw(st.sampled_from([0, 3, 40])),
        n_rows=data.draw(st.sampled_from([2, 60, 500])),
        n_features=n_features,
        missing=data.draw(st.sampled_from([0.0, 0.3, 0.9])),
        share=data.draw(st.sampled_from([0.7, 1.0])),
        n_values=data.draw(st.sampled_from([None, 1, 3])),
    )
    settings = data.draw(draw_settings(n_features))
    if settings.constraints is not None:
        directions = np.array(settings.constraints.directions)
        directions[list(case.bins)] = 0
        constraints = replace(settings.constraints, directions=tuple(directions.tolist()))
        settings = replace(settings, constraints=constraints)
    order = data.draw(st.sampled_from(["forward", "reversed", "shuffled"]))
    with EmulatedDevice(order=order, n_processors=data.draw(st.integers(1, 3))) as device:
        assert_same_bytes(device, case, settings)


# --- finished trees ---


@pytest.mark.parametrize("growth", GROWTHS)
def test_finished_trees_are_walked(device, growth):
    case = CategoryCase(15, n_rows=400)
    settings = GrowthSettings(growth=growth, max_leaves=8)
    with Team(1) as team:
        grower, own = open_growers(device, case, settings, team)
        twin = grower.grow_on_gradients(case.g, case.h, case.rows, np.uint64(KEY), np.empty(0))
        others = device.upload(case.others)
        assert twin.set_node.size > 0
        expected = grower.find_leaves(twin, case.others)
        np.testing.assert_array_equal(own.find_leaves(twin, others).to_host(), expected)
        scores, own_scores = np.zeros(case.g.size), device.zeros(case.g.size, np.float64)
        grower.add_to_scores(twin, case.others, scores)
        own.add_to_scores(twin, others, own_scores)
        assert own_scores.to_host().tobytes() == scores.tobytes()


def test_sets_there_and_back(device):
    case = CategoryCase(16)
    settings = GrowthSettings(max_leaves=12, min_samples_leaf=3)
    (tree,) = assert_same_bytes(device, case, settings, n_trees=1)
    bits = pack_sets(tree, case.categories).view(np.uint8)
    nodes = np.zeros(tree.n_nodes, dtype=[("feature", np.int32), ("split_bin", np.uint32)])
    nodes["feature"] = tree.feature
    nodes["split_bin"][tree.set_node] = 256
    for name, items in list_sets(nodes, bits, case.categories).items():
        np.testing.assert_array_equal(items, getattr(tree, name))
    np.testing.assert_array_equal(bits[tree.set_node, 0] & 1, tree.missing_left[tree.set_node])
    assert pack_sets(tree, None) is None
