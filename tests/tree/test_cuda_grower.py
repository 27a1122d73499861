"""Trees grown on an emulated device are those of the CPU, bit by bit."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.cuda.grow import deciding
from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.device_table import DeviceTable
from sumwise.errors import DeviceMemoryError, TrainingError
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeConstraints, TreeGrower, cuda_grower, cuda_memory
from sumwise.tree.cuda_grower import CudaGrower
from sumwise.tree.cuda_memory import count_growth
from tests.cuda.emulator.compile import explain_missing

KEY = 7
GROWTHS = ["leaf", "depth", "symmetric"]


class Case:
    """Binned rows with gradients, and the rows that trees are grown on."""

    def __init__(self, seed, n_rows=700, n_features=7, missing=0.3, share=0.8, n_values=None):
        rng = np.random.default_rng(seed)
        widest = 255 if seed % 4 == 0 else 60  # an emulated thread per bin takes its time
        self.n_value_bins = rng.choice([1, 2, 3, 9, 40, widest], size=n_features).astype(np.int64)
        self.n_value_bins[0] = 40
        codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in self.n_value_bins])
        codes[rng.random(codes.shape) < missing * rng.integers(0, 2, (n_features, 1))] = 0
        self.codes = codes.astype(np.uint8)
        # Gradients depend on two features.
        self.g = np.sin(codes[0].astype(float)) + 0.5 * (codes[1 % n_features] <= 1)
        self.g += 0.5 * rng.standard_normal(n_rows)
        self.h = rng.uniform(0.1, 1.0, size=n_rows)
        if n_values is not None:  # few different ones: many splits gain the same
            self.g, self.h = np.round(self.g * n_values), np.ones(n_rows)
        n_seen = max(1, int(share * n_rows))
        self.rows = np.sort(rng.permutation(n_rows)[:n_seen]).astype(np.uint32)
        self.others = np.setdiff1d(np.arange(n_rows), self.rows).astype(np.uint32)
        self.mapper = BinMapper([np.arange(1.5, n) for n in self.n_value_bins])

    def open_data(self, team):
        return BinnedData.from_columns(self.codes, self.n_value_bins, team)

    def open_table(self, device):
        """Return the table on a device, or on each of several ones a part of its rows."""
        with Team(1) as team:
            usable = self.open_data(team).usable
        own = (self.n_value_bins, usable)
        if not isinstance(device, list):
            return DeviceTable.from_binned(device, self.codes, *own)
        parts = np.array_split(self.codes, len(device), axis=1)
        parts = [np.ascontiguousarray(part) for part in parts]
        return [
            DeviceTable.from_binned(one, part, *own)
            for one, part in zip(device, parts, strict=True)
        ]


def grow_on_cpu(case, settings, columns, exact_rows, n_trees):
    scores, trees = np.zeros(case.g.size), []
    with Team(1) as team:
        own = (case.mapper, settings, columns, case.rows.size, team, exact_rows)
        grower = TreeGrower(case.open_data(team), *own)
        for number in range(n_trees):
            key = np.uint64(KEY + number)
            trees.append(grower.grow_on_gradients(case.g, case.h, case.rows, key, scores))
            grower.add_to_scores(trees[-1], case.others, scores)
    return trees, scores


def grow_on_device(device, case, settings, columns, exact_rows, n_trees):
    table = case.open_table(device)
    grower = CudaGrower(table, case.mapper, settings, columns, case.rows.size, exact_rows)
    device = device[0] if isinstance(device, list) else device
    g, h, rows = device.upload(case.g), device.upload(case.h), device.upload(case.rows)
    scores, others = device.zeros(case.g.size, np.float64), device.upload(case.others)
    pending = []
    for number in range(n_trees):
        pending.append(grower.grow_on_gradients(g, h, rows, np.uint64(KEY + number), scores))
        grower.add_to_scores(pending[-1], others, scores)
    return [tree.finish() for tree in pending], scores.to_host()


def assert_same_tree(tree, twin):
    for field in fields(twin):
        expected, found = getattr(twin, field.name), getattr(tree, field.name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype, field.name
            np.testing.assert_array_equal(found, expected, err_msg=field.name)
            assert found.tobytes() == expected.tobytes(), field.name
        else:
            assert found == expected, field.name


def assert_same_bytes(device, case, settings, columns=None, exact_rows=256, n_trees=2):
    """Grow trees on both, compare them and the scores of all rows, and return them."""
    own = (case, settings, columns or Columns(), exact_rows, n_trees)
    twins, scores = grow_on_cpu(*own)
    trees, own_scores = grow_on_device(device, *own)
    for tree, twin in zip(trees, twins, strict=True):
        assert_same_tree(tree, twin)
    assert own_scores.tobytes() == scores.tobytes()
    return trees


# --- growth ---


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("exact_rows", [0, 10_000])
def test_trees(device, growth, exact_rows):
    settings = GrowthSettings(growth=growth, max_leaves=12, max_depth=5, min_samples_leaf=5)
    trees = assert_same_bytes(device, Case(3), settings, exact_rows=exact_rows)
    assert trees[0].n_nodes == (15 if growth == "symmetric" else 23)


@pytest.mark.parametrize("growth", GROWTHS)
def test_ties(device, growth):
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=1)
    trees = assert_same_bytes(device, Case(4, n_values=1), settings)
    gains = trees[0].gain[trees[0].left >= 0]
    assert gains.size > 6 or growth == "symmetric"


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_large_trees(device, growth):
    limits = {"max_leaves": 500} if growth == "leaf" else {"max_depth": 9}
    settings = GrowthSettings(growth=growth, min_samples_leaf=2, **limits)
    case = Case(5, n_rows=900, n_features=3, share=1.0)
    trees = assert_same_bytes(device, case, settings, n_trees=1)
    assert trees[0].n_nodes > 70


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_chains(device, growth):
    case = Case(5, n_rows=60, n_features=1, missing=0.0, share=1.0)
    case.codes, case.n_value_bins = np.arange(1, 61, dtype=np.uint8)[None], np.array([60])
    case.mapper = BinMapper([np.arange(1.5, 60)])
    case.g, case.h = (-1.7) ** np.arange(60), np.ones(60)  # each split cuts the largest off
    settings = GrowthSettings(growth=growth, max_leaves=50, min_samples_leaf=1, l2=0.0)
    trees = assert_same_bytes(device, case, settings, n_trees=1)
    depth = np.zeros(99, dtype=int)
    for node, left in enumerate(trees[0].left):
        if left >= 0:
            depth[left : left + 2] = depth[node] + 1
    assert depth.max() > 40


def test_graphs_of_few_steps(device, monkeypatch):
    monkeypatch.setattr(cuda_grower, "_MOST_STEPS", 4)
    settings = GrowthSettings(max_leaves=14, min_samples_leaf=20)
    assert_same_bytes(device, Case(6), settings)


@pytest.mark.parametrize("guess_rows", [0, 60])
@pytest.mark.parametrize("most_guesses", [1, 64])
def test_few_guesses(device, monkeypatch, guess_rows, most_guesses):
    monkeypatch.setattr(cuda_memory, "_GUESS_ROWS", guess_rows)
    monkeypatch.setattr(cuda_memory, "_MOST_GUESSES", most_guesses)
    settings = GrowthSettings(max_leaves=20, max_depth=6, min_samples_leaf=2)
    trees = assert_same_bytes(device, Case(22, n_rows=400), settings, n_trees=1)
    assert trees[0].n_nodes > 20


def test_scoring_and_choosing_apart(device, monkeypatch):
    monkeypatch.setattr(deciding, "_MANY_BLOCKS", 0)
    settings = GrowthSettings(max_leaves=12, min_samples_leaf=5)
    assert_same_bytes(device, Case(23, n_rows=400), settings, n_trees=1)


def test_heavy_tails_need_exact_sums(device):
    case = Case(7, n_rows=3000, n_features=3)
    case.g *= 1e-3
    case.g[case.rows[5]] = 1e4
    trees = assert_same_bytes(device, case, GrowthSettings(max_leaves=8, min_samples_leaf=20))
    assert trees[0].n_nodes > 1


def test_nothing_to_split_on(device):
    case = Case(8, n_rows=50)
    trees = assert_same_bytes(device, case, GrowthSettings(min_samples_leaf=60))
    assert trees[0].n_nodes == 1
    case.codes[:] = 1
    assert assert_same_bytes(device, case, GrowthSettings())[0].n_nodes == 1


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("kind", ["none", "groups", "path"])
def test_wide_tables(device, growth, kind):
    case = Case(9, n_rows=200, n_features=70)
    weights = np.random.default_rng(1).integers(0, 3, 70) if kind == "groups" else None
    columns = Columns(by_tree=0.9, by_level=0.8, by_node=0.7, weights=weights)
    settings = GrowthSettings(growth=growth, max_leaves=4, min_samples_leaf=5)
    settings = replace(settings, constraints=make_constraints(5, 70, kind))
    for own in (Columns(), columns):
        assert_same_bytes(device, case, settings, own, n_trees=1)


# --- values and constraints ---


def make_constraints(seed, n_features, kind):
    rng = np.random.default_rng(seed)
    directions = tuple(int(d) for d in rng.integers(-1, 2, n_features))
    groups = [tuple(np.flatnonzero(rng.random(n_features) < 0.6).tolist()) for _ in range(3)]
    return {
        "monotone": TreeConstraints(directions),
        "groups": TreeConstraints((0,) * n_features, groups),
        "path": TreeConstraints((0,) * n_features, (), 2),
        "both": TreeConstraints(directions, groups),
        "none": None,
    }[kind]


CONSTRAINTS = ["monotone", "groups", "path", "both"]


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_constraints(device, growth, kind):
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=3)
    settings = replace(settings, constraints=make_constraints(2, 7, kind))
    trees = assert_same_bytes(device, Case(10, n_rows=500), settings)
    assert trees[0].n_nodes > 5


@pytest.mark.parametrize("growth", GROWTHS)
def test_smoothed_and_limited_values(device, growth):
    settings = GrowthSettings(
        growth=growth, max_leaves=16, min_samples_leaf=3, path_smooth=4.0, max_delta_step=0.3
    )
    assert_same_bytes(device, Case(11), replace(settings, l1=0.2, l2=0.0))
    constraints = make_constraints(3, 7, "monotone")
    assert_same_bytes(device, Case(12), replace(settings, constraints=constraints))


# --- columns ---


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_columns(device, growth, is_weighted):
    weights = [0.0, 1.0, 0.2, 3.0, 1.0, 0.5, 2.0] if is_weighted else None
    columns = Columns(by_tree=0.8, by_level=0.7, by_node=0.6, weights=weights)
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=3)
    assert_same_bytes(device, Case(13), settings, columns, n_trees=4)


@pytest.mark.parametrize("growth", GROWTHS)
def test_random_splits(device, growth):
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=3, extra_trees=True)
    trees = assert_same_bytes(device, Case(14, missing=0.6), settings)
    assert trees[0].n_nodes > 5


# --- anything ---


@st.composite
def draw_settings(draw, n_features):
    growth = draw(st.sampled_from(GROWTHS))
    kind = draw(st.sampled_from(["none", "none", *CONSTRAINTS]))
    return GrowthSettings(
        growth=growth,
        max_leaves=draw(st.sampled_from([None, 2, 3, 8, 13, 31])),
        max_depth=draw(st.sampled_from([1, 2, 4, 5] + [None] * (growth != "symmetric"))),
        min_samples_leaf=draw(st.sampled_from([1, 2, 20])),
        min_child_weight=draw(st.sampled_from([0.0, 1e-3, 5.0])),
        min_gain=draw(st.sampled_from([0.0, 0.0, 0.3])),
        l1=draw(st.sampled_from([0.0, 0.2])),
        l2=draw(st.sampled_from([0.0, 1.0])),
        max_delta_step=draw(st.sampled_from([0.0, 0.1])),
        learning_rate=draw(st.sampled_from([0.1, 1.0])),
        path_smooth=draw(st.sampled_from([0.0, 2.0])),
        extra_trees=draw(st.booleans()),
        constraints=make_constraints(draw(st.integers(0, 9)), n_features, kind),
    )


@hypothesis_settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_settings(data):
    from tests.cuda.emulator import EmulatedDevice

    if reason := explain_missing():
        pytest.skip(reason)
    n_features = data.draw(st.integers(1, 6))
    case = Case(
        data.draw(st.integers(0, 99)),
        n_rows=data.draw(st.sampled_from([2, 30, 260, 600])),
        n_features=n_features,
        missing=data.draw(st.sampled_from([0.0, 0.3, 0.9])),
        share=data.draw(st.sampled_from([0.7, 1.0])),
        n_values=data.draw(st.sampled_from([None, 1, 3])),
    )
    rates = [data.draw(st.sampled_from([1.0, 1.0, 0.5])) for _ in range(3)]
    order = data.draw(st.sampled_from(["forward", "reversed", "shuffled"]))
    settings = data.draw(draw_settings(n_features))
    with EmulatedDevice(order=order, n_processors=data.draw(st.integers(1, 3))) as device:
        assert_same_bytes(device, case, settings, Columns(*rates))


# --- several devices ---


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("exact_rows", [0, 10_000])
def test_rows_divided_among_devices(growth, exact_rows):
    from tests.cuda.emulator import EmulatedDevice

    if reason := explain_missing():
        pytest.skip(reason)
    case = Case(21)
    kind = "both" if growth == "symmetric" else "none"
    settings = GrowthSettings(growth=growth, max_leaves=8, min_samples_leaf=5)
    settings = replace(settings, constraints=make_constraints(2, 7, kind))
    columns = Columns(by_node=0.7 if growth == "depth" else 1.0)
    own = (case, settings, columns, exact_rows, 2)
    twins, scores = grow_on_cpu(*own)
    with EmulatedDevice() as first, EmulatedDevice(1) as second, EmulatedDevice(2) as third:
        devices = [first, second, third]
        trees, own_scores = grow_on_device(devices, *own)
    for tree, twin in zip(trees, twins, strict=True):
        assert_same_tree(tree, twin)
    assert own_scores.tobytes() == scores.tobytes()


# --- methods beside growing ---


def open_growers(device, case, settings, team):
    own = (case.mapper, settings, Columns(), case.rows.size)
    return (
        TreeGrower(case.open_data(team), *own, team),
        CudaGrower(case.open_table(device), *own),
    )


@pytest.mark.parametrize("growth", GROWTHS)
def test_leaves_and_changed_values(device, growth):
    case = Case(15, n_rows=300)
    constraints = make_constraints(3, 7, "monotone")
    settings = GrowthSettings(growth=growth, max_leaves=8, constraints=constraints)
    with Team(1) as team:
        grower, own = open_growers(device, case, settings, team)
        twin = grower.grow_on_gradients(case.g, case.h, case.rows, np.uint64(KEY), np.empty(0))
        g, h, rows = device.upload(case.g), device.upload(case.h), device.upload(case.rows)
        tree = own.grow_on_gradients(g, h, rows, np.uint64(KEY), None)
        expected, found = grower.get_leaves(twin), own.get_leaves(tree)
        np.testing.assert_array_equal(found[0].to_host()[case.rows], expected[0][case.rows])
        np.testing.assert_array_equal(found[1], expected[1])
        changed = np.linspace(-1.0, 1.0, twin.n_nodes)[::-1].copy()
        expected_values = grower.constrain_values(changed)
        assert own.constrain_values(changed).tobytes() == expected_values.tobytes()
        expected_leaves = grower.find_leaves(twin, case.others)
        np.testing.assert_array_equal(
            own.find_leaves(tree, device.upload(case.others)).to_host(), expected_leaves
        )
        scores, own_scores = np.zeros(case.g.size), device.zeros(case.g.size, np.float64)
        changed_tree = replace(twin, value=changed[:, None])
        grower.add_to_scores(changed_tree, case.others, scores)
        own.add_to_scores(changed_tree, device.upload(case.others), own_scores)
        assert own_scores.to_host().tobytes() == scores.tobytes()


def test_another_table_and_rate(device):
    first, second = Case(16), Case(16, n_features=9)
    second.codes, second.n_value_bins = first.codes.copy(), first.n_value_bins
    second.codes[2] = 1  # a feature less
    settings = GrowthSettings(max_leaves=8)
    g, h, rows = device.upload(first.g), device.upload(first.h), device.upload(first.rows)
    tables = [first.open_table(device), second.open_table(device)]
    with Team(1) as team:
        data = [first.open_data(team), second.open_data(team)]
        own = (first.mapper, settings, Columns(), first.rows.size)
        # From fewer features to more, which need larger histograms, and back.
        grower, cuda = TreeGrower(data[1], *own, team), CudaGrower(tables[1], *own)
        for which, rate in [(1, 0.1), (0, 0.5), (1, 0.5), (0, 0.2)]:
            for one, table in ((grower, data[which]), (cuda, tables[which])):
                one.turn_to(table)
                one.set_learning_rate(rate)
            key = np.uint64(KEY + which)
            twin = grower.grow_on_gradients(first.g, first.h, first.rows, key, np.empty(0))
            assert_same_tree(cuda.grow_on_gradients(g, h, rows, key, None).finish(), twin)
    assert cuda.settings.learning_rate == 0.2


def test_many_trees_may_be_pending(device, monkeypatch):
    monkeypatch.setattr(cuda_grower, "_MOST_PENDING", 2)
    assert_same_bytes(device, Case(17, n_rows=60), GrowthSettings(max_leaves=3), n_trees=5)


# --- errors ---


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e141])
def test_gradients_out_of_range(device, bad):
    case = Case(18, n_rows=50)
    case.g[case.rows[3]] = bad
    with pytest.raises(TrainingError, match="gradients are not finite or beyond 1e"):
        grow_on_device(device, case, GrowthSettings(), Columns(), 256, 1)


def test_values_that_are_not_finite(device):
    case = Case(19, n_rows=50)
    case.h[:] = 1e-300
    settings = GrowthSettings(l2=0.0, min_child_weight=0.0, learning_rate=1e300)
    with pytest.raises(TrainingError, match="a leaf's value is not finite"):
        grow_on_device(device, case, settings, Columns(), 256, 1)


def test_memory(device):
    case, settings = Case(20), GrowthSettings(max_leaves=31)
    table = case.open_table(device)
    needed = count_growth(table, settings, Columns(), case.rows.size)
    before = device.count_free()
    own = (table, case.mapper, settings, Columns(), case.rows.size)
    grower = CudaGrower(*own)
    assert needed <= before - device.count_free() < needed + 4096
    assert grower.settings is settings
    device.memory_limit -= device.count_free() - needed // 2
    with pytest.raises(DeviceMemoryError, match="lower max_bins, max_leaves or max_depth"):
        CudaGrower(*own)
