"""Trees whose features processes elect, against the naive twin and against all features."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.paged import PagedData
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, PagedGrower, VotingGrower, workspace
from tests.naive import grow as naive
from tests.naive import voting as naive_voting
from tests.threaded_peers import ThreadedPeers, run_together
from tests.tree.test_category_growth import Problem
from tests.tree.test_grower import (
    as_settings,
    assert_equal_bytes,
    draw_constraints,
    draw_features,
)
from tests.tree.test_paged_grower import Table, draw_gradients, make_categories, make_table

GROWTHS = ["leaf", "depth", "symmetric"]
KEY = 7


class CountingPeers:
    """Peers that count the bytes they send."""

    def __init__(self, peers: ThreadedPeers) -> None:
        self.rank, self.size = peers.rank, peers.size
        self._peers, self.n_bytes = peers, 0

    def add(self, *arrays):
        self.n_bytes += sum(array.nbytes for array in arrays)
        self._peers.add(*arrays)

    def largest(self, values):
        self.n_bytes += values.nbytes
        return self._peers.largest(values)

    def gather(self, array):
        self.n_bytes += array.nbytes
        return self._peers.gather(array)


class Rows(NamedTuple):
    """The rows of a tree, their gradients, and where the rows of the next process begin."""

    rows: np.ndarray
    gradients: tuple[np.ndarray, np.ndarray]
    ends: tuple[int, ...]

    @property
    def owners(self) -> np.ndarray:
        """The process of each row."""
        return np.searchsorted(self.ends[1:], self.rows, side="right")


class Grown(NamedTuple):
    trees: list[Any]
    scores: np.ndarray
    n_bytes: int


def grow_together(
    table, settings, given, top_k=None, n_threads=1, cuts=(), columns=None, exact_rows=0, n_trees=1
):
    """Return the trees of all processes, after they were compared, and the scores of all rows.

    Without ``top_k`` the histograms of all features are added up.
    """
    ends = given.ends

    def grow(threaded):
        peers = CountingPeers(threaded)
        first, last = ends[peers.rank], ends[peers.rank + 1]
        is_own = (given.rows >= first) & (given.rows < last)
        own = (given.rows[is_own] - first).astype(np.uint32)
        g, h = (values[first:last] for values in given.gradients)
        others = np.setdiff1d(np.arange(last - first), own).astype(np.uint32)
        scores, trees = np.zeros(last - first), []
        with Team(n_threads) as team:
            data = table.cut(cuts, team, first, last)
            if first == last:
                data = PagedData([], data.n_value_bins, data.usable, data.categories)
            shape = (table.mapper, settings, columns or Columns(), own.size, team, exact_rows)
            if top_k is None:
                grower = PagedGrower(data, *shape, peers)
            else:
                grower = VotingGrower(data, *shape, peers, top_k)
            for k in range(n_trees):
                trees.append(grower.grow_on_gradients(g, h, own, np.uint64(KEY + k), scores))
                grower.add_to_scores(trees[-1], others, scores)
        return Grown(trees, scores, peers.n_bytes)

    found = run_together(len(ends) - 1, grow)
    for other in found[1:]:
        for tree, same in zip(found[0].trees, other.trees, strict=True):
            assert_equal_bytes(tree, same)
    scores = np.concatenate([own.scores for own in found])
    return Grown(found[0].trees, scores, sum(own.n_bytes for own in found))


def assert_same_trees(found, expected):
    for tree, other in zip(found.trees, expected.trees, strict=True):
        assert_equal_bytes(tree, other)
    assert found.scores.tobytes() == expected.scores.tobytes()


def draw_ends(rng, n_rows, n_peers):
    """Where the rows of each process begin; some may have none."""
    cuts = rng.integers(0, n_rows + 1, n_peers - 1)
    cuts[rng.random(n_peers - 1) < 0.2] = n_rows
    return (0, *np.sort(cuts).tolist(), n_rows)


def as_table(problem):
    n_value_bins, categories = problem.n_value_bins.astype(np.int64), None
    native = Native(**vars(problem.native))
    if problem.bins:
        no_wide = np.empty((0, problem.codes.shape[1]), dtype=np.uint32)
        categories = collect_categories(problem.bins, no_wide, len(problem.codes), native)
    thresholds = [np.arange(1.5, n) for n in n_value_bins]
    mapper = BinMapper(thresholds, problem.bins, native)
    return Table(problem.codes.astype(np.uint8), n_value_bins, mapper, categories)


def draw_options(rng, problem, growth, exact, columns):
    """Anything that shapes a tree: constraints, few rows, random splits, smooth paths."""
    directions, groups, most = None, (), 0
    if rng.random() < 0.5:
        directions, groups, most = draw_constraints(rng, len(problem.codes), problem.codes)
        for f in problem.kinds:
            directions[f] = 0
    usable = np.flatnonzero(problem.codes.min(axis=1) < problem.codes.max(axis=1)).tolist()
    return naive.GrowOptions(
        growth=growth,
        max_leaves=int(rng.integers(2, 12)) if rng.random() < 0.5 else None,
        max_depth=int(rng.integers(1, 5)),
        min_samples_leaf=int(rng.integers(1, 12)),
        min_child_weight=float(rng.choice([0.0, 4.0])),
        min_gain=float(rng.choice([0.0, 0.2])),
        l1=float(rng.choice([0.0, 0.3])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        path_smooth=float(rng.choice([0.0, 0.0, 3.0])),
        random_key=KEY if rng.random() < 0.2 else None,
        wide=exact,
        learning_rate=0.5,
        features=draw_features(columns, usable, KEY, growth),
        categorical=problem.kinds,
        native=problem.native,
        directions=directions,
        groups=groups,
        max_path_features=most,
    )


@hypothesis_settings(max_examples=120, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    growth=st.sampled_from(GROWTHS),
    n_peers=st.integers(2, 4),
    top_k=st.sampled_from([1, 1, 2, 3]),
    exact=st.booleans(),
    columns=st.sampled_from([Columns()] * 3 + [Columns(0.8, 0.9, 0.7), Columns(by_level=0.7)]),
    n_threads=st.integers(1, 3),
)
def test_trees_are_those_of_the_naive_twin(seed, growth, n_peers, top_k, exact, columns, n_threads):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([2, 30, 150, 400]))
    problem = Problem(seed, n_rows, n_features=int(rng.integers(2, 10)))
    if rng.random() < 0.5:  # processes disagree about noise
        problem.g = rng.normal(size=n_rows)
    options = draw_options(rng, problem, growth, exact, columns)
    given = Rows(problem.rows, (problem.g, problem.h), draw_ends(rng, n_rows, n_peers))
    cuts = np.sort(rng.integers(0, n_rows, 3)).tolist()
    found = grow_together(
        as_table(problem),
        as_settings(options),
        given,
        top_k,
        n_threads,
        cuts,
        columns,
        exact_rows=10**9 if exact else 0,
    )
    twin = naive_voting.grow_tree(
        problem.codes,
        problem.n_value_bins,
        problem.g,
        problem.h,
        problem.rows,
        options,
        owners=given.owners,
        top_k=top_k,
    )
    problem.check(found.trees[0], found.scores, twin)


@pytest.mark.parametrize("growth", GROWTHS)
def test_many_rows_equal_naive_twin(growth):
    """More rows than a packed word holds, in all processes and in each of them."""
    problem = Problem(5, 14_000, n_features=9)
    columns = Columns()
    options = naive.GrowOptions(growth=growth, max_depth=3, min_samples_leaf=20, l2=1.0)
    options = naive.GrowOptions(**vars(options) | {"categorical": problem.kinds})
    options = naive.GrowOptions(**vars(options) | {"native": problem.native})
    given = Rows(problem.rows, (problem.g, problem.h), (0, 6_000, 6_500, 14_000))
    table = as_table(problem)
    found = grow_together(table, as_settings(options), given, 2, 2, [2000, 9000], columns)
    twin = naive_voting.grow_tree(
        *(problem.codes, problem.n_value_bins, problem.g, problem.h, problem.rows),
        options,
        owners=given.owners,
        top_k=2,
    )
    problem.check(found.trees[0], found.scores, twin)
    assert found.trees[0].n_leaves == 8


def draw_rows(seed, table, ends, tail=1.0):
    rng, n_rows = np.random.default_rng(seed), table.codes.shape[1]
    rows = np.sort(rng.choice(n_rows, int(0.8 * n_rows), replace=False))
    return Rows(rows, draw_gradients(rng, table, tail), ends)


@pytest.mark.parametrize("make", [make_table, make_categories])
@pytest.mark.parametrize("growth", GROWTHS)
def test_if_all_features_are_elected_trees_are_those_of_all_sums(growth, make):
    table = make(3, 600)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4)
    given = draw_rows(0, table, (0, 250, 250, 600))
    expected = grow_together(table, settings, given, n_trees=2)
    assert expected.trees[0].n_leaves > 5
    for top_k in (4, 10**6):
        found = grow_together(table, settings, given, top_k, 2, [100], n_trees=2)
        assert_same_trees(found, expected)
        assert found.n_bytes == expected.n_bytes


@pytest.mark.parametrize("growth", GROWTHS)
def test_if_nodes_draw_few_features_all_of_them_are_elected(growth):
    table, columns = make_table(1, 600, 20), Columns(by_node=0.3)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4)
    given = draw_rows(0, table, (0, 150, 600))
    found = grow_together(table, settings, given, 4, columns=columns)
    assert_same_trees(found, grow_together(table, settings, given, columns=columns))


@pytest.mark.parametrize("tail", [1.0, 1e9])
@pytest.mark.parametrize("growth", GROWTHS)
def test_if_one_process_has_all_rows_it_decides(growth, tail):
    table = make_categories(8, 900)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4)
    given = draw_rows(0, table, (0, 0, 900, 900), tail)
    found = grow_together(table, settings, given, 1, n_trees=2)
    assert found.trees[0].n_leaves > 5
    assert_same_trees(found, grow_together(table, settings, given, n_trees=2))


def test_a_single_process_needs_no_votes():
    table, settings = make_table(1, 400, 12), GrowthSettings()
    given = draw_rows(0, table, (0, 400))
    found = grow_together(table, settings, given, 1)
    assert_same_trees(found, grow_together(table, settings, given))


@pytest.mark.parametrize("growth", GROWTHS)
def test_trees_depend_neither_on_threads_nor_on_pages(growth):
    table = make_table(2, 3000, 19)
    settings = GrowthSettings(growth=growth, max_leaves=32, min_samples_leaf=5)
    given = draw_rows(1, table, (0, 1200, 3000))
    expected = grow_together(table, settings, given, 2, n_trees=2)
    for n_threads, cuts in ((2, [500, 2000]), (4, [1, 100, 1300, 2999])):
        found = grow_together(table, settings, given, 2, n_threads, cuts, n_trees=2)
        assert_same_trees(found, expected)


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_few_histograms(growth, monkeypatch):
    """If the pool is used up, both children are summed."""
    table = make_table(2, 3000, 12)
    settings = GrowthSettings(growth=growth, max_leaves=40, min_samples_leaf=5)
    given = draw_rows(1, table, (0, 1200, 3000))
    expected = grow_together(table, settings, given, 2)
    monkeypatch.setattr(workspace, "_POOL_BYTES", 30_000)
    assert_same_trees(grow_together(table, settings, given, 2, 2), expected)
    assert expected.trees[0].n_leaves == 40


def make_wide_table(n_rows=2000, n_features=300):
    """Only every fiftieth feature matters."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 33, (n_features, n_rows)).astype(np.uint8)
    table = Table(codes, np.full(n_features, 32))
    g = (codes[::50] > 16).astype(float).T @ (2.0 ** np.arange(6)) + rng.normal(size=n_rows)
    return table, Rows(np.arange(n_rows), (g - g.mean(), np.ones(n_rows)), (0, 700, 1300, n_rows))


@pytest.mark.parametrize("growth", GROWTHS)
def test_votes_are_much_shorter_than_the_sums_of_all_features(growth):
    table, given = make_wide_table()
    settings = GrowthSettings(growth=growth, max_leaves=16, min_samples_leaf=20)
    expected = grow_together(table, settings, given)
    found = grow_together(table, settings, given, 4)
    assert found.n_bytes < expected.n_bytes / 10
    assert found.trees[0].n_leaves == 16
    # Of rows that are divided at random, the best features are elected.
    assert_same_trees(found, expected)


def test_no_process_can_vote():
    """Where each process has one row, none knows a split, though all together do."""
    codes = np.array([[1, 1, 2, 2]] * 6, dtype=np.uint8)
    table, settings = Table(codes, np.full(6, 2)), GrowthSettings(min_samples_leaf=1)
    gradients = np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    given = Rows(np.arange(4), gradients, (0, 1, 2, 3, 4))
    assert grow_together(table, settings, given).trees[0].n_leaves == 2
    assert grow_together(table, settings, given, 2).trees[0].n_leaves == 1


def test_turning_between_tables():
    """Tables of other pages and of other usable features, back and forth."""
    one, rng = make_table(0, 400, 9), np.random.default_rng(1)
    codes = (1 + rng.integers(0, one.n_value_bins[:, None], (9, 400))).astype(np.uint8)
    tables = [one, Table(codes, one.n_value_bins)]
    one.codes[:3] = 1  # fewer usable features: the other table needs larger histograms
    given = draw_rows(0, one, (0, 150, 400))
    settings, turns = GrowthSettings(min_samples_leaf=3), (0, 1, 0, 1, 1, 0)

    def grow(peers):
        first, last = given.ends[peers.rank : peers.rank + 2]
        g, h = (values[first:last] for values in given.gradients)
        own = given.rows[(given.rows >= first) & (given.rows < last)] - first
        with Team(2) as team:
            shape = (one.mapper, settings, Columns(), own.size, team, 0, peers, 2)
            paged = [table.cut([100], team, first, last) for table in tables]
            grower, trees = VotingGrower(paged[0], *shape), []
            for turn in turns:
                grower.turn_to(paged[turn])
                rows = own.astype(np.uint32)
                tree = grower.grow_on_gradients(g, h, rows, np.uint64(KEY), np.zeros(last - first))
                trees.append(tree)
        return trees

    expected = [grow_together(table, settings, given, 2).trees[0] for table in tables]
    for trees in run_together(2, grow):
        for turn, tree in zip(turns, trees, strict=True):
            assert_equal_bytes(tree, expected[turn])


def test_equal_bins_are_no_split():
    codes = np.ones((5, 60), dtype=np.uint8)
    codes[:, 30:] = 2  # each process sees one bin only, and knows no split
    table = Table(codes, np.full(5, 2))
    given = Rows(np.arange(60), (np.where(codes[0] == 1, 1.0, -1.0), np.ones(60)), (0, 30, 60))
    found = grow_together(table, GrowthSettings(min_samples_leaf=1), given, 1)
    assert found.trees[0].n_leaves == 1


def test_the_twin_of_one_process_is_the_usual_one():
    problem = Problem(3, 200)
    options = naive.GrowOptions(max_depth=3, categorical=problem.kinds, native=problem.native)
    fixed = (problem.codes, problem.n_value_bins, problem.g, problem.h, problem.rows, options)
    owners = np.zeros(problem.rows.size, dtype=np.int64)
    twin = naive_voting.grow_tree(*fixed, owners=owners, top_k=1)
    other = naive.grow_tree(*fixed)
    assert (twin.feature, twin.gain, twin.value) == (other.feature, other.gain, other.value)
    assert twin.n_leaves > 3
