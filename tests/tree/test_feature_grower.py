"""Trees whose features are divided among processes are those of one process."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.bundling import Bundling
from sumwise.data.categories import bins as category_bins
from sumwise.data.categories.bins import collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.paged import PagedData
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import TrainingError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Logistic
from sumwise.peers import ALONE
from sumwise.sampling import Columns, Subsample
from sumwise.training.boost import BoostingSettings, TrainingTable, boost
from sumwise.tree import FeatureGrower, GrowthSettings, Parallel, TreeGrower, workspace
from sumwise.tree.sampled_table import sampling_pays
from tests.sockets.clusters import run_threads
from tests.threaded_peers import run_together
from tests.training.test_boost import make_data, make_rows
from tests.tree.test_category_growth import WIDTHS, Problem
from tests.tree.test_grower import assert_equal_bytes
from tests.tree.test_paged_grower import (
    GROWTHS,
    Table,
    draw_cases,
    draw_gradients,
    make_categories,
    make_table,
)
from tests.tree.test_sampled_table import make_one_hot


class Grown(NamedTuple):
    trees: list
    scores: np.ndarray
    leaves: list
    n_messages: int


def grow(grower, given, n_trees=3):
    """Grow trees on all rows, most of them and few, and ask all that growers tell."""
    g, h = given
    n_rows, rng = g.size, np.random.default_rng(5)
    scores, trees, leaves = np.zeros(n_rows), [], []
    every = np.arange(n_rows, dtype=np.uint32)
    for key, part in enumerate((1.0, 0.7, 0.2)[:n_trees]):
        is_drawn = rng.random(n_rows) < part
        rows, others = every[is_drawn], every[~is_drawn]
        tree = grower.grow_on_gradients(g, h, rows, np.uint64(key), scores)
        own, anchor = grower.get_leaves(tree)
        leaves.append((own[rows].tolist(), anchor.tolist()))
        grower.add_to_scores(tree, others, scores)
        leaves[-1] += (grower.find_leaves(tree, every).tolist(),)
        leaves[-1] += (grower.constrain_values(-tree.value[:, 0]).tolist(),)
        trees.append(tree)
    return Grown(trees, scores, leaves, 0)


def grow_both(make_whole, mapper, settings, given, n_peers, columns=None, exact_rows=0, paged=None):
    """Grow in one process, and in several with other numbers of threads; compare all.

    ``paged`` makes the table of every other process instead. Returns what one process has grown,
    with the number of messages of the others.
    """
    shape = (mapper, settings, columns or Columns(), given[0].size)
    with Team(1) as team:
        one = grow(TreeGrower(make_whole(team), *shape, team, exact_rows), given)

    def work(peers):
        make = make_whole if paged is None or peers.rank % 2 else paged
        with Team(1 + peers.rank % 3) as team:
            grower = FeatureGrower(make(team), *shape, team, exact_rows, peers=peers)
            return grow(grower, given)._replace(n_messages=peers.n_messages)

    for other in run_together(n_peers, work):
        for tree, same in zip(one.trees, other.trees, strict=True):
            assert_equal_bytes(tree, same)
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.leaves == other.leaves
    return one._replace(n_messages=other.n_messages)


@hypothesis_settings(max_examples=120, deadline=None, derandomize=True)
@given(case=draw_cases(), n_peers=st.integers(1, 4))
def test_trees_are_those_of_one_process(case, n_peers):
    table = case["table"]
    given = draw_gradients(np.random.default_rng(0), table, case["tail"])

    def cut(team):
        return table.cut(case["cuts"], team)

    own = (table.make_whole, table.mapper, case["settings"], given, n_peers)
    grow_both(*own, case["columns"], case["exact_rows"], cut)


@pytest.mark.parametrize("growth", GROWTHS)
def test_many_rows_and_leaves(growth):
    """Nodes of more rows than a packed word holds; several tiles per process; many rounds."""
    table = make_table(3, 20_000, 60)
    given = draw_gradients(np.random.default_rng(0), table)
    settings = GrowthSettings(growth=growth, max_leaves=64)
    one = grow_both(table.make_whole, table.mapper, settings, given, 3)
    assert one.trees[0].n_leaves > 30


@pytest.mark.parametrize("growth", GROWTHS)
def test_more_processes_than_features(growth):
    table = make_categories(1, 500)
    given = draw_gradients(np.random.default_rng(0), table)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4)
    one = grow_both(table.make_whole, table.mapper, settings, given, 9)
    assert one.trees[0].n_leaves > 4


@pytest.mark.parametrize("growth", GROWTHS)
def test_of_equal_features_the_first_one_is_split_on(growth):
    """Wherever it is."""
    table = make_table(3, 500, 4)
    twice = Table(np.tile(table.codes, (4, 1)), np.tile(table.n_value_bins, 4))
    given = draw_gradients(np.random.default_rng(0), table)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4)
    one = grow_both(twice.make_whole, twice.mapper, settings, given, 5)
    assert one.trees[0].feature.max() < 4


@pytest.mark.parametrize(("growth", "most"), [("leaf", 15), ("depth", 9), ("symmetric", 20)])
def test_messages_per_tree(growth, most):
    """One per round; in symmetric growth two per level, and one more if it is not split."""
    table = make_table(3, 8000, 9)
    given = draw_gradients(np.random.default_rng(0), table)
    settings = GrowthSettings(growth=growth)
    one = grow_both(table.make_whole, table.mapper, settings, given, 2)
    assert one.trees[0].n_leaves > 20
    assert one.n_messages <= 3 * most


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("n_bytes", [1, 30_000])
def test_few_histograms(growth, n_bytes, monkeypatch):
    monkeypatch.setattr(workspace, "_POOL_BYTES", n_bytes)
    table = make_table(2, 3000, 12)
    given = draw_gradients(np.random.default_rng(0), table)
    settings = GrowthSettings(growth=growth, max_leaves=40, min_samples_leaf=5)
    one = grow_both(table.make_whole, table.mapper, settings, given, 3)
    assert one.trees[0].n_leaves == 40


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("growth", GROWTHS)
def test_wide_categories(growth, width, monkeypatch):
    """Features with more bins than a byte holds, with histograms and without."""
    monkeypatch.setattr(category_bins, "MAX_NARROW", WIDTHS[width][0])
    monkeypatch.setattr(category_bins, "MAX_SUMMED", WIDTHS[width][1])
    n_found = 0
    for seed in range(6):
        problem = Problem(seed, 600)
        wide = [f for f, bins in problem.bins.items() if bins.is_wide]
        n_value_bins = problem.n_value_bins.astype(np.int64)
        n_value_bins[wide] = [problem.bins[f].n_summed for f in wide]
        native = Native(**vars(problem.native))
        mapper = BinMapper([np.arange(1.5, n) for n in problem.n_value_bins], problem.bins, native)

        def make(team, problem=problem, wide=wide, native=native, n_value_bins=n_value_bins):
            own = problem.codes[wide].astype(np.uint32), len(problem.codes), native
            categories = collect_categories(problem.bins, *own) if problem.bins else None
            codes = problem.codes.astype(np.uint8)
            return BinnedData.from_columns(codes, n_value_bins, team, categories=categories)

        settings = GrowthSettings(growth=growth, min_samples_leaf=4, max_leaves=16)
        one = grow_both(make, mapper, settings, (problem.g, problem.h), 3)
        n_found += np.isin(one.trees[0].feature, wide).sum()
    assert (n_found > 0) == (width != "narrow")


@pytest.mark.parametrize("bundling", [None, Bundling()])
@pytest.mark.parametrize("growth", GROWTHS)
def test_sparse_features(growth, bundling):
    """In columns of their own, in shared ones, or in none."""
    X, y = make_one_hot(np.random.default_rng(1))
    matrix = SparseMatrix(X, 0.0)
    with Team(1) as team:
        mapper = BinMapper.fit(matrix, team=team)
    given = y.mean() - y, np.ones(y.size)

    def make(team):
        return mapper.transform(matrix, team, bundling=bundling)

    settings = GrowthSettings(growth=growth, min_samples_leaf=3, max_leaves=16)
    for columns in (Columns(), Columns(by_tree=0.3)):
        one = grow_both(make, mapper, settings, given, 3, columns)
        assert one.trees[0].n_leaves > 8


def test_tables_of_sampled_features_are_not_needed():
    """By themselves, processes would make tables of the features of each tree."""
    table = make_table(7, 30_000, 80)
    given = draw_gradients(np.random.default_rng(0), table)
    columns = Columns(by_tree=0.1)
    with Team(1) as team:
        assert sampling_pays(table.make_whole(team), columns.by_tree, 20_000)
    grow_both(table.make_whole, table.mapper, GrowthSettings(max_leaves=7), given, 2, columns)


def test_a_table_without_rows():
    table = make_table(1, 0)

    def work(peers):
        with Team(1) as team:
            data = PagedData([], table.n_value_bins, np.ones(7, dtype=np.uint8))
            shape = (table.mapper, GrowthSettings(), Columns(), 0, team)
            grower = FeatureGrower(data, *shape, peers=peers)
            none = np.zeros(0)
            return grower.grow_on_gradients(
                none, none, none.astype(np.uint32), np.uint64(0), none
            ).n_nodes

    assert run_together(2, work) == [1, 1]


def test_processes_refuse_gradients_alike():
    table = make_table(0)
    g, h = np.full(400, np.inf), np.ones(400)

    def work(peers):
        with Team(1) as team:
            shape = (table.mapper, GrowthSettings(), Columns(), 400, team)
            grower = FeatureGrower(table.make_whole(team), *shape, peers=peers)
            rows = np.arange(400, dtype=np.uint32)
            with pytest.raises(TrainingError, match="not finite"):
                grower.grow_on_gradients(g, h, rows, np.uint64(0), np.zeros(400))
        return peers.n_messages

    assert run_together(2, work) == [0, 0]


def test_turning_between_tables():
    """Tables of other usable features, back and forth, with another learning rate."""
    one, rng = make_table(0), np.random.default_rng(1)
    codes = (1 + rng.integers(0, one.n_value_bins[:, None], (7, 400))).astype(np.uint8)
    tables = [one, Table(codes, one.n_value_bins)]
    one.codes[:3] = 1  # fewer usable features: the other table needs larger histograms
    g, h = draw_gradients(np.random.default_rng(0), one)
    rows, settings = np.arange(400, dtype=np.uint32), GrowthSettings(min_samples_leaf=3)

    def work(peers):
        with Team(2) as team:
            wholes = [table.make_whole(team) for table in tables]
            shape = (one.mapper, settings, Columns(), 400, team)
            growers = TreeGrower(wholes[0], *shape), FeatureGrower(wholes[0], *shape, peers=peers)
            for key, turn in enumerate((0, 1, 0, 1, 1, 0)):
                trees = []
                for grower in growers:
                    grower.turn_to(wholes[turn])
                    grower.set_learning_rate(0.1 + 0.1 * key)
                    scores = np.zeros(400)
                    trees.append(grower.grow_on_gradients(g, h, rows, np.uint64(key), scores))
                assert_equal_bytes(*trees)

    run_together(3, work)


@pytest.mark.parametrize("growth", GROWTHS)
def test_over_sockets(growth):
    table = make_categories(8, 500)
    given = draw_gradients(np.random.default_rng(0), table)
    shape = (table.mapper, GrowthSettings(growth=growth, min_samples_leaf=4), Columns(), 500)
    with Team(1) as team:
        one = grow(TreeGrower(table.make_whole(team), *shape, team), given)

    def work(peers):
        with Team(1) as team:
            data = table.make_whole(team)
            return grow(FeatureGrower(data, *shape, team, peers=peers), given)

    for other in run_threads(3, work):
        for tree, same in zip(one.trees, other.trees, strict=True):
            assert_equal_bytes(tree, same)


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_fit(growth):
    """A plain fit whose grower has peers, with drawn rows and columns."""
    X, y = make_data()
    rows = make_rows((y > y.mean()).astype(float))

    def fit(peers):
        with Team(1) as team:
            mapper = BinMapper.fit(X)
            settings = BoostingSettings(
                Logistic(),
                GrowthSettings(growth=growth, min_samples_leaf=5, max_leaves=8),
                n_rounds=5,
                sampler=Subsample(0.7),
                columns=Columns(by_tree=0.8, by_node=0.7),
                parallel=Parallel("feature", peers=peers),
            )
            table = TrainingTable([X], mapper.transform(X, team), mapper)
            return boost(table, rows, settings, team).ensemble, getattr(peers, "n_messages", 0)

    expected, _ = fit(ALONE)
    for ensemble, n_messages in run_together(2, fit):
        assert n_messages > 5
        for name in ("feature", "threshold", "value", "gain", "missing_left"):
            assert getattr(ensemble, name).tobytes() == getattr(expected, name).tobytes()
