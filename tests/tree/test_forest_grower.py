"""Trees of forests against the naive twin, node by node."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import CategoryBins
from sumwise.kernels.forest import layout
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime import random
from sumwise.tree import forest_grower, forest_table
from sumwise.tree.forest_grower import ForestGrower, ForestSettings
from sumwise.tree.forest_table import RowTable
from tests.naive import forest as naive

FEATURES = 7


def make_table(rng, n_rows, missing=0.0, categories=()):
    """Columns of few and of many bins, one of them constant; with missing values and categories."""
    n_value_bins = np.array([1, 2, 3, 9, 40, 255, 5])
    bins = np.stack([rng.integers(1, n + 1, n_rows) for n in n_value_bins], axis=1).astype(np.uint8)
    bins[(rng.random(bins.shape) < missing) & (rng.random(FEATURES) < 0.6)] = 0
    thresholds = [np.arange(n - 1) + 0.5 for n in n_value_bins]
    own = {}
    for f in categories:
        thresholds[f] = np.empty(0)
        codes = np.arange(n_value_bins[f])
        own[f] = CategoryBins(
            codes.astype(np.uint32) + 1, np.append(-1, codes).astype(np.int32), False
        )
    usable = np.flatnonzero(bins.min(axis=0) < bins.max(axis=0)).astype(np.int32)
    low, high = np.zeros(FEATURES), n_value_bins - 1.0
    return RowTable(bins, n_value_bins + 1, usable, low, high, BinMapper(thresholds, own))


def make_target(rng, kind, n_rows):
    """A target as kernels take it, its number of columns, and the target as tuples."""
    if kind == "labels":
        label = rng.integers(0, 4, n_rows)
        return Labels(label), 4, [tuple(float(k == c) for k in range(4)) for c in label]
    if kind == "two classes":
        value = rng.integers(0, 2, n_rows).astype(float)
        return Numbers(value), 1, [(v,) for v in value]
    if kind == "outputs":  # of two and of three classes
        label = np.column_stack([rng.integers(0, n, n_rows) for n in (2, 3)])
        tuples = [(*(np.arange(2) == a) * 1.0, *(np.arange(3) == b) * 1.0) for a, b in label]
        first = np.array([0, 2])
        return MultiLabels(label + first, first), 5, tuples
    if kind == "vectors":
        values = rng.integers(-5, 6, (n_rows, 3)).astype(float)
        return Vectors(values), 3, [tuple(row) for row in values]
    value = rng.integers(-20, 21, n_rows).astype(float)
    return Numbers(value), 1, [(v,) for v in value]


def grow_both(rng, kind, n_rows, table, weight=None, n_drawn=3, seed=0, **options):
    """Grow the tree of the kernel and the naive one."""
    target, n_columns, tuples = make_target(rng, kind, n_rows)
    is_class = kind in ("labels", "two classes")
    settings = ForestSettings(is_class=is_class, n_drawn=n_drawn, **options)
    grower = ForestGrower(table, target, n_columns, settings)
    grower.weight[:] = rng.integers(0, 3, n_rows) if weight is None else weight
    key = random.make_key(seed, random.TREES, 0)
    tree = grower.grow(key)
    plan = naive.Plan(
        bins=table.bins,
        n_bins=table.n_bins.tolist(),
        targets=tuples,
        weight=grower.weight.tolist(),
        n_drawn=n_drawn,
        is_class=is_class,
        categories=frozenset(table.mapper.categories),
        centers=grower._table.centers if settings.random_cuts else None,
        min_rows=settings.min_samples_leaf,
        max_depth=settings.max_depth or 1 << 30,
        min_rows_split=settings.min_samples_split,
    )
    return tree, naive.grow(plan, int(key), table.usable.tolist())


def read_sets(tree, is_category):
    """The bins of each set, as the naive tree has them."""
    nodes = [
        n for n in range(tree.n_nodes) if tree.feature[n] >= 0 and is_category(tree.feature[n])
    ]
    return {
        node: frozenset(b for b in range(256) if int(words[b >> 6]) >> (b & 63) & 1)
        for node, words in zip(nodes, tree.sets, strict=True)
    }


def assert_same(tree, nodes):
    sets = read_sets(tree, lambda f: any(node.feature == f and node.chosen for node in nodes))
    assert tree.n_nodes == len(nodes)
    for n, node in enumerate(nodes):
        assert (tree.feature[n], tree.left[n], tree.n_rows[n]) == (
            node.feature,
            node.left,
            len(node.rows),
        ), n
        assert tuple(tree.value[n]) == pytest.approx(node.value, rel=1e-14)
        if node.feature >= 0:
            assert sets.get(n, frozenset()) == node.chosen
            assert tree.missing_left[n] == node.missing_left
            assert node.chosen or tree.split_bin[n] == node.split_bin
            assert tree.gain[n] == pytest.approx(node.gain, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["numbers", "two classes", "labels", "vectors", "outputs"])
@pytest.mark.parametrize("random_cuts", [False, True])
def test_trees_are_the_naive_ones(kind, random_cuts, seed):
    rng = np.random.default_rng(seed)
    table = make_table(rng, 120)
    assert_same(*grow_both(rng, kind, 120, table, seed=seed, random_cuts=random_cuts))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["numbers", "two classes", "labels", "vectors", "outputs"])
@pytest.mark.parametrize("random_cuts", [False, True])
def test_with_missing_values_and_categories(kind, random_cuts, seed):
    rng = np.random.default_rng(seed)
    table = make_table(rng, 100, missing=0.3, categories=(2, 4))
    assert_same(*grow_both(rng, kind, 100, table, seed=seed, random_cuts=random_cuts))


@pytest.mark.parametrize("kind", ["numbers", "two classes", "labels", "vectors"])
@pytest.mark.parametrize("random_cuts", [False, True])
def test_wide_tables_are_stored_by_column(kind, random_cuts, monkeypatch):
    monkeypatch.setattr(forest_grower, "_LONG_ROW", 0)
    monkeypatch.setattr(forest_grower, "_FEATURES_PER_DRAW", 0)
    monkeypatch.setattr(forest_table, "_BLOCK", 64)
    rng = np.random.default_rng(3)
    for n_rows in (50, 200):  # in blocks of rows, too
        table = make_table(rng, n_rows, missing=0.3, categories=(2, 4))
        assert_same(*grow_both(rng, kind, n_rows, table, random_cuts=random_cuts))
        assert "by_column" in vars(table)


@pytest.mark.parametrize("n_drawn", [1, 2, 6, 99])
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_any_number_of_drawn_features(kind, n_drawn):
    rng = np.random.default_rng(n_drawn)
    assert_same(*grow_both(rng, kind, 80, make_table(rng, 80), n_drawn=n_drawn))


@pytest.mark.parametrize("kind", ["numbers", "labels", "vectors", "outputs"])
def test_limits(kind):
    rng = np.random.default_rng(5)
    table = make_table(rng, 150, missing=0.2)
    limits = {"min_samples_leaf": 4, "max_depth": 5, "min_samples_split": 12}
    assert_same(*grow_both(rng, kind, 150, table, **limits))


@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_nodes_larger_than_a_chunk(kind):
    rng = np.random.default_rng(8)
    n_rows = 2 * layout.CHUNK + 100
    table = make_table(rng, n_rows)
    weight = np.ones(n_rows)
    assert_same(*grow_both(rng, kind, n_rows, table, weight, n_drawn=4, max_depth=2))


def test_nodes_of_many_rows_look_at_all_bins():
    rng = np.random.default_rng(9)
    n_rows = layout.FEW_ROWS + 500
    table = make_table(rng, n_rows)
    weight = np.ones(n_rows)
    assert_same(*grow_both(rng, "numbers", n_rows, table, weight, n_drawn=4, max_depth=3))


def test_best_first_growth_splits_the_best_leaves():
    rng = np.random.default_rng(3)
    table = make_table(rng, 200)
    target = Numbers(rng.normal(size=200))
    trees = []
    for max_leaves in (None, 6):
        grower = ForestGrower(table, target, 1, ForestSettings(max_leaves=max_leaves))
        grower.weight[:] = 1.0
        trees.append(grower.grow(np.uint64(7)))
    small = trees[1]
    assert (small.feature < 0).sum() == 6
    # The last split gained no less than any that could have been made in its place: leaves of the
    # small tree are inner nodes of the large one, which has all splits.
    order = [n for n in range(small.n_nodes) if small.feature[n] >= 0]
    by_creation = sorted(order, key=lambda n: small.left[n])
    for earlier, later in pairwise(by_creation):
        is_child = later in (small.left[earlier], small.left[earlier] + 1)
        assert is_child or small.gain[earlier] >= small.gain[later]


def grow_stump(bins, target, weight, categories=()):
    """Split rows by one feature."""
    table = make_table(np.random.default_rng(0), len(bins), categories=categories)
    table.bins[:] = 1
    table.bins[:, 4] = bins
    own = replace(table, usable=np.array([4], dtype=np.int32))
    grower = ForestGrower(own, Numbers(np.array(target, dtype=float)), 1, ForestSettings())
    grower.weight[:] = weight
    return grower.grow(np.uint64(1))


@pytest.mark.parametrize("categories", [(), (4,)])
def test_unseen_missing_values_follow_the_larger_child_by_rows(categories):
    for bins, target, weight, is_left in (
        ([1, 1, 2], [0, 0, 1], [1, 1, 1], 1),
        ([1, 2, 2], [0, 1, 1], [1, 1, 1], 0),
        ([1, 2], [0, 1], [1, 1], 1),  # equal: left
        ([1, 2], [0, 1], [1, 9], 1),  # weights do not count,
        ([1, 2, 2], [0, 1, 1], [9, 1, 1], 0),  # nor how often a row was drawn,
        ([1, 1, 2], [0, 0, 1], [1, 0, 1], 1),  # but rows that were not drawn are not there
        ([1, 2, 2], [0, 1, 1], [1, 0, 1], 1),
    ):
        tree = grow_stump(bins, target, weight, categories)
        assert tree.n_nodes == 3
        assert tree.missing_left[0] == is_left, (bins, weight)
        if categories:
            assert tree.sets[0, 0] & 1 == is_left


def test_weights_are_repetitions():
    rng = np.random.default_rng(4)
    table = make_table(rng, 90)
    value, counts = rng.integers(-9, 10, 90).astype(float), rng.integers(0, 4, 90)
    rows = np.repeat(np.arange(90), counts)
    repeated = RowTable(
        table.bins[rows], table.n_bins, table.usable, table.low, table.high, table.mapper
    )
    grown = []
    for own, target, weight in (
        (table, value, counts.astype(float)),
        (repeated, value[rows], np.ones(rows.size)),
    ):
        # Without draws, and without ties that the number of rows could break.
        grower = ForestGrower(own, Numbers(target), 1, ForestSettings(max_depth=4))
        grower.weight[:] = weight
        grown.append(grower.grow(np.uint64(1)))
    assert np.array_equal(grown[0].value[0], grown[1].value[0])
    assert np.array_equal(grown[0].weight[0], grown[1].weight[0])


def test_values_rise_along_a_feature():
    rng = np.random.default_rng(6)
    n_rows = 400
    table = make_table(rng, n_rows)
    target = rng.normal(size=n_rows) + 0.02 * table.bins[:, 5]
    directions = np.zeros(FEATURES, dtype=np.int8)
    directions[5] = 1
    grower = ForestGrower(table, Numbers(target), 1, ForestSettings(directions=directions))
    grower.weight[:] = 1.0
    tree = grower.grow(np.uint64(2))
    rows = np.repeat(table.bins[:30], 255, axis=0)
    rows[:, 5] = np.tile(np.arange(1, 256), 30)
    predicted = np.array([walk(tree, row) for row in rows]).reshape(30, 255)
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert tree.n_nodes > 20


def walk(tree, row):
    node = 0
    while tree.feature[node] >= 0:
        b = row[tree.feature[node]]
        is_left = tree.missing_left[node] if b == 0 else b <= tree.split_bin[node]
        node = tree.left[node] + (0 if is_left else 1)
    return tree.value[node, 0]


def test_extreme_weights_give_finite_gains():
    rng = np.random.default_rng(2)
    table = make_table(rng, 60)
    settings = ForestSettings(careful=True)
    grower = ForestGrower(table, Numbers(rng.normal(size=60)), 1, settings)
    grower.weight[:] = 10.0 ** rng.integers(-200, 200, 60)
    tree = grower.grow(np.uint64(1))
    assert np.isfinite(tree.gain).all()
    assert np.isfinite(tree.value).all()


@pytest.mark.parametrize("random_cuts", [False, True])
def test_drawn_weights_that_differ_much_give_finite_gains(random_cuts):
    rng = np.random.default_rng(2)
    table = make_table(rng, 60)
    settings = ForestSettings(random_cuts=random_cuts)
    for target, n_columns in (
        (Numbers(rng.normal(size=60)), 1),
        (Labels(rng.integers(0, 3, 60)), 3),
    ):
        grower = ForestGrower(table, target, n_columns, settings)
        for widest in (20, 300):
            grower.weight[:] = 10.0 ** -rng.integers(0, widest, 60)
            tree = grower.grow(np.uint64(1))
            assert np.isfinite(tree.gain).all()
            assert np.isfinite(tree.value).all()


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_leaves_of_poisson_trees_have_events(n_columns, missing):
    """Rounding of ``total - left`` must neither make events nor lose them."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = make_table(rng, 60, missing, categories=(4,))
        events = rng.poisson(0.4, (60, n_columns)) * 0.1
        target = Numbers(events[:, 0]) if n_columns == 1 else Vectors(events)
        grower = ForestGrower(table, target, n_columns, ForestSettings(layout.POISSON))
        grower.weight[:] = rng.random(60)
        tree = grower.grow(np.uint64(1))
        assert tree.value.min() > 1e-6


def test_poisson_trees_lose_no_rare_events():
    table = make_table(np.random.default_rng(0), 2)
    table.bins[:, 5] = 1, 2
    grower = ForestGrower(table, Numbers(np.array([1.0, 1e-30])), 1, ForestSettings(layout.POISSON))
    grower.weight[:] = 1.0
    assert sorted(grower.grow(np.uint64(1)).value[1:, 0]) == [1e-30, 1.0]


def test_random_cuts_between_bins_of_one_value():
    """Neighboring floats and infinities may leave no value between bins."""
    rng = np.random.default_rng(0)
    table = make_table(rng, 50)
    for value in (1.0, np.inf):
        ends = [np.full(own.size, value) for own in table.mapper.thresholds]
        same = np.full(FEATURES, value)
        flat = replace(table, low=same, high=same, mapper=BinMapper(ends))
        for target, n_columns in (
            (Numbers(rng.normal(size=50)), 1),
            (Labels(np.arange(50) % 3), 3),
        ):
            grower = ForestGrower(flat, target, n_columns, ForestSettings(random_cuts=True))
            grower.weight[:] = 1.0
            tree = grower.grow(np.uint64(1))
            assert np.isfinite(tree.gain).all()
            assert tree.n_rows[tree.feature < 0].sum() == 50
            assert tree.n_rows.min() > 0
            assert tree.n_nodes > 20


def test_entropy_and_poisson_agree_with_their_definitions():
    rng = np.random.default_rng(1)
    n_rows = 80
    table = make_table(rng, n_rows)
    label = rng.integers(0, 3, n_rows)
    events = rng.integers(1, 6, n_rows).astype(float)

    def of_classes(rows):
        shares = np.bincount(label[rows], minlength=3) / rows.size
        return rows.size * sum(p * np.log(p) for p in shares if p > 0)

    def of_events(rows):
        return events[rows].sum() * np.log(events[rows].mean())

    def of_two(rows):
        p = (label[rows] > 0).mean()
        return rows.size * sum(q * np.log(q) for q in (p, 1 - p) if q > 0)

    cases = [
        (Labels(label), 3, layout.LOGARITHMIC, of_classes),
        (Numbers(events), 1, layout.POISSON, of_events),
        (Numbers((label > 0).astype(float)), 1, layout.TWO_CLASS_LOG, of_two),
    ]
    for target, n_columns, criterion, score in cases:
        grower = ForestGrower(table, target, n_columns, ForestSettings(criterion, max_depth=1))
        grower.weight[:] = 1.0
        tree = grower.grow(np.uint64(3))
        rows = np.arange(n_rows)
        gains = {
            (f, b): score(rows[table.bins[:, f] <= b])
            + score(rows[table.bins[:, f] > b])
            - score(rows)
            for f in table.usable
            for b in np.unique(table.bins[:, f])[:-1]
        }
        assert tree.gain[0] == pytest.approx(max(gains.values()), rel=1e-9)
