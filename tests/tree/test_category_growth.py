"""Trees that split by sets of categories: the compiled grower against its naive twin."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.categories import bins as category_bins
from sumwise.data.categories.bins import CategoryBins, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import TreeGrower
from tests.naive import grow as naive
from tests.naive.categories import CategoricalFeature, NativeOptions
from tests.naive.predict import predict_binned
from tests.tree.test_grower import as_settings, draw_constraints, draw_features

GROWTHS = ["leaf", "depth", "symmetric"]
# Most bins of narrow features, and of wide ones with histograms.
WIDTHS = {"narrow": (255, 4096), "wide": (3, 4096), "very wide": (3, 30)}


class Problem:
    """Random bins of numeric and categorical features, and gradients that depend on some."""

    def __init__(self, seed, n_rows, n_features=6):
        rng = np.random.default_rng(seed)
        self.n_value_bins = rng.choice([1, 2, 3, 4, 9, 40, 200], size=n_features)
        self.codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in self.n_value_bins])
        missing = rng.choice([0.0, 0.02, 0.3], (n_features, 1))
        self.codes[rng.random(self.codes.shape) < missing] = 0
        self.kinds = {}
        self.bins = {}
        for f in range(n_features):
            if rng.random() < 0.7:
                n = int(self.n_value_bins[f])
                n_choices = n + int(rng.random() < 0.5)  # with or without a rest
                one_hot = n <= 3
                self.kinds[f] = CategoricalFeature(n_choices, one_hot)
                code_of_bin = np.full(n + 1, -1)
                code_of_bin[1:n_choices] = 3 + 2 * np.arange(n_choices - 1)
                self.bins[f] = CategoryBins(np.empty(0), code_of_bin.astype(np.int32), one_hot)
        effects = rng.normal(size=(n_features, 256))
        self.g = rng.normal(size=n_rows)
        for f in range(0, n_features, 2):
            self.g += effects[f, self.codes[f]]
        self.h = np.ones(n_rows) if seed % 3 == 0 else rng.random(n_rows) + 0.01
        self.rows = np.sort(rng.choice(n_rows, size=int(0.8 * n_rows), replace=False))
        self.native = NativeOptions(
            smoothing=float(rng.choice([0.0, 1.5, 4.0, 10.0])),
            l2=float(rng.choice([0.0, 0.5, 10.0])),
            max_categories=int(rng.choice([1, 2, 7, 32])),
            min_rows=int(rng.choice([0, 3, 15])),
        )

    def grow_twin(self, options):
        return naive.grow_tree(self.codes, self.n_value_bins, self.g, self.h, self.rows, options)

    def grow(self, options, n_threads, exact_rows, columns=None, key=7):
        columns = Columns() if columns is None else columns
        wide = [f for f, bins in self.bins.items() if bins.is_wide]
        n_value_bins = self.n_value_bins.astype(np.int64)
        n_value_bins[wide] = [self.bins[f].n_summed for f in wide]
        native = Native(**vars(self.native))
        parts = (len(self.codes), native)
        categories = None
        if self.bins:
            categories = collect_categories(self.bins, self.codes[wide].astype(np.uint32), *parts)
        scores = np.zeros(self.codes.shape[1])
        thresholds = [np.arange(1.5, n) for n in self.n_value_bins]
        with Team(n_threads) as team:
            data = BinnedData.from_columns(
                self.codes.astype(np.uint8), n_value_bins, team, categories=categories
            )
            mapper = BinMapper(thresholds, self.bins, native)
            grower = TreeGrower(
                data,
                mapper,
                as_settings(options),
                columns,
                self.rows.size,
                team,
                exact_rows=exact_rows,
            )
            rows = self.rows.astype(np.uint32)
            tree = grower.grow_on_gradients(self.g, self.h, rows, np.uint64(key), scores)
            others = np.setdiff1d(np.arange(self.codes.shape[1]), self.rows)
            grower.add_to_scores(tree, others.astype(np.uint32), scores)
        return tree, scores

    def check(self, tree, scores, twin):
        """Compare with the twin; sets are lists of categories, which stand for bins."""
        sets = np.split(tree.set_categories, np.cumsum(tree.set_size))[:-1]
        members = [None] * tree.n_nodes
        for node, categories in zip(tree.set_node, sets, strict=True):
            code_of_bin = self.bins[tree.feature[node]].code_of_bin.tolist()
            assert (np.diff(categories) > 0).all()
            members[node] = frozenset(code_of_bin.index(code) for code in categories)
        assert tree.feature.tolist() == twin.feature
        assert members == twin.members
        assert tree.split_bin.tolist() == twin.split_bin
        assert tree.missing_left.tolist() == twin.missing_left
        assert tree.left.tolist() == twin.left
        assert tree.n_rows.tolist() == twin.n_rows
        assert tree.gain.tolist() == twin.gain
        assert tree.weight.tolist() == twin.sum_hessian
        assert tree.value[:, 0].tolist() == twin.value
        leaves = predict_binned(twin, self.codes)
        assert scores.tolist() == tree.value[leaves, 0].tolist()


@pytest.fixture(params=WIDTHS)
def width(request, monkeypatch):
    """With fewer narrow bins most categorical features are wide."""
    monkeypatch.setattr(category_bins, "MAX_NARROW", WIDTHS[request.param][0])
    monkeypatch.setattr(category_bins, "MAX_SUMMED", WIDTHS[request.param][1])


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(7))
def test_tree_equals_naive_twin(growth, exact, seed, width):
    rng = np.random.default_rng(seed)
    problem = Problem(seed, int(rng.integers(60, 500)))
    options = naive.GrowOptions(
        growth=growth,
        max_leaves=int(rng.integers(2, 20)) if seed % 2 else None,
        max_depth=int(rng.integers(2, 6)),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        min_gain=float(rng.choice([0.0, 0.2])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        wide=exact,
        learning_rate=0.5,
        categorical=problem.kinds,
        native=problem.native,
    )
    twin = problem.grow_twin(options)
    for n_threads in (1, 3):
        problem.check(*problem.grow(options, n_threads, 10**9 if exact else 0), twin)


@pytest.mark.parametrize("growth", GROWTHS)
def test_large_nodes_equal_naive_twin(growth, width):
    """Beyond 4,095 rows sums are not packed, or each bin has fewer."""
    sizes = set()
    for seed in range(3):
        problem = Problem(seed, 12_000)
        problem.native = NativeOptions(smoothing=1.5, l2=0.5, max_categories=64, min_rows=20)
        options = naive.GrowOptions(
            growth=growth,
            max_depth=3,
            min_samples_leaf=20,
            categorical=problem.kinds,
            native=problem.native,
        )
        twin = problem.grow_twin(options)
        problem.check(*problem.grow(options, 2, 0), twin)
        sizes |= {len(members) for members in twin.members if members}
    assert max(sizes) > 10


@pytest.mark.parametrize("growth", GROWTHS)
def test_drawn_columns_equal_naive_twin(growth, width):
    columns = Columns(by_tree=0.5, by_node=0.5)
    for seed in range(4):
        problem = Problem(seed, 300, n_features=8)
        lowest, highest = problem.codes.min(axis=1), problem.codes.max(axis=1)
        usable = np.flatnonzero(lowest < highest).tolist()
        key = int(random.make_key(seed, random.TREES, 5))
        options = naive.GrowOptions(
            growth=growth,
            max_depth=4,
            min_samples_leaf=5,
            wide=True,
            features=draw_features(columns, usable, key, growth),
            categorical=problem.kinds,
            native=problem.native,
        )
        twin = problem.grow_twin(options)
        for n_threads in (1, 3):
            problem.check(*problem.grow(options, n_threads, 10**9, columns, key), twin)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_constrained_tree_equals_naive_twin(growth, exact, seed, width):
    """Sets obey the bounds that numeric features above them give."""
    rng = np.random.default_rng(seed)
    problem = Problem(seed, int(rng.integers(60, 500)))
    options = draw_constrained(problem, rng, growth, exact)
    twin = problem.grow_twin(options)
    for n_threads in (1, 3):
        problem.check(*problem.grow(options, n_threads, 10**9 if exact else 0), twin)


@pytest.mark.parametrize("growth", GROWTHS)
def test_large_constrained_nodes_equal_naive_twin(growth, width):
    """Beyond 4,095 rows sums are not packed, or each bin has fewer."""
    kinds = set()
    for seed in range(2):
        problem = Problem(seed, 6_000)
        options = draw_constrained(problem, np.random.default_rng(seed), growth, exact=False)
        options = replace(options, groups=(), max_path_features=0)
        twin = problem.grow_twin(options)
        problem.check(*problem.grow(options, 2, 0), twin)
        kinds |= {options.directions[f] != 0 for f in twin.feature if f >= 0}
    assert kinds == {False, True}


def draw_constrained(problem, rng, growth, exact):
    """Options with constraints; two numeric features at least are monotone, and matter."""
    n_features = len(problem.codes)
    for f in (0, 2):
        if problem.n_value_bins[f] < 9:
            problem.n_value_bins[f] = 9
            problem.codes[f] = rng.integers(0, 10, problem.codes.shape[1])
        problem.kinds.pop(f, None)
        problem.bins.pop(f, None)
        problem.g -= (f - 1) * np.sqrt(problem.codes[f])
    directions, groups, most = draw_constraints(rng, n_features, problem.codes)
    directions[0], directions[2] = 1, -1
    for f in problem.kinds:
        directions[f] = 0
    return naive.GrowOptions(
        growth=growth,
        max_depth=int(rng.integers(3, 6)),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        wide=exact,
        learning_rate=0.3,
        categorical=problem.kinds,
        native=problem.native,
        directions=directions,
        groups=groups,
        max_path_features=most,
    )


def make_one_feature(codes, g, one_hot=False, n_choices=None, **native):
    problem = Problem(0, 10, n_features=1)
    n = int(max(codes))
    problem.codes, problem.n_value_bins = np.array([codes]), np.array([n])
    n_choices = n + 1 if n_choices is None else n_choices
    problem.kinds = {0: CategoricalFeature(n_choices, one_hot)}
    code_of_bin = np.append(np.arange(-1, n_choices - 1), np.full(n + 1 - n_choices, -1))
    problem.bins = {0: CategoryBins(np.empty(0), code_of_bin.astype(np.int32), one_hot)}
    problem.g, problem.h = np.array(g, dtype=float), np.ones(len(codes))
    problem.rows = np.arange(len(codes))
    problem.native = NativeOptions(**{"smoothing": 0.0, "l2": 0.0, "min_rows": 0, **native})
    return problem


def grow_stump(problem, **options):
    options = naive.GrowOptions(
        max_leaves=2, wide=True, categorical=problem.kinds, native=problem.native, **options
    )
    tree, scores = problem.grow(options, 1, 10**9)
    problem.check(tree, scores, problem.grow_twin(options))
    return tree


def test_the_best_set_is_found(width):
    """Categories 0 and 3 differ from the others, which no threshold could tell apart."""
    codes = np.repeat([1, 2, 3, 4, 5, 6], 10)
    problem = make_one_feature(codes, np.isin(codes, [1, 4]) - 0.3)
    tree = grow_stump(problem)
    assert tree.set_categories.tolist() == [0, 3]
    assert tree.n_rows.tolist() == [60, 20, 40]
    assert tree.missing_left.tolist() == [False, False, False]


def test_one_category_against_the_rest(width):
    codes = np.repeat([1, 2, 3, 4], 10)
    tree = grow_stump(make_one_feature(codes, np.isin(codes, [1, 3]) - 0.3, one_hot=True))
    assert tree.set_categories.size == 1


def test_missing_rows_are_a_category(width):
    codes = np.repeat([0, 1, 2, 3], 10)
    tree = grow_stump(make_one_feature(codes, 0.3 - np.isin(codes, [0, 2])))
    assert tree.set_categories.tolist() == [1]
    assert tree.missing_left[0]
    # Nothing but the missing rows goes left.
    tree = grow_stump(make_one_feature(codes, (codes == 0) - 0.3))
    assert (tree.set_node.tolist(), tree.set_size.tolist()) == ([0], [0])
    assert tree.n_rows.tolist() == [40, 10, 30]


def test_missing_goes_with_the_larger_child_if_there_was_none(width):
    codes = np.array([1] * 30 + [2] * 10 + [3] * 4)
    assert grow_stump(make_one_feature(codes, 0.3 - (codes == 1))).missing_left[0]
    assert not grow_stump(make_one_feature(codes, 0.3 - (codes == 3))).missing_left[0]


def test_rare_categories_go_with_the_rest(width):
    codes = np.repeat([1, 2, 3, 4, 5], [20, 20, 20, 3, 20])
    g = np.isin(codes, [2, 4]) - 0.3
    tree = grow_stump(make_one_feature(codes, g, smoothing=4.0))
    assert tree.set_categories.tolist() == [1]
    # The rest is never chosen, however many rows it has.
    tree = grow_stump(make_one_feature(codes, (codes == 5) - 0.3, n_choices=5))
    assert 4 not in tree.set_categories


def test_sets_have_at_most_so_many_categories(width):
    codes = np.repeat(np.arange(1, 21), 5)
    g = np.where(codes % 2 == 0, 1.0, -1.0) + codes * 1e-3
    assert grow_stump(make_one_feature(codes, g, max_categories=4)).set_size.tolist() == [4]
    assert grow_stump(make_one_feature(codes, g)).set_size.tolist() == [10]


def test_equal_ratios_are_ordered_by_code(width):
    codes = np.tile(np.arange(1, 101), 3)
    tree = grow_stump(make_one_feature(codes, np.ones(300) * (codes > 0) + (codes == 50)))
    assert tree.set_categories.tolist() == [49]
    tree = grow_stump(
        make_one_feature(codes, np.where(codes % 10, 1.0, 2.0), max_categories=4, min_rows=12)
    )
    assert tree.set_categories.size == 4
