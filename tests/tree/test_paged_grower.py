"""Trees on a table in pages, also of several processes, are those on the whole table."""

import threading
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.paged import Page, PagedData
from sumwise.errors import TrainingError
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import (
    GrowthSettings,
    PagedGrower,
    TreeConstraints,
    TreeGrower,
    paged_grower,
    workspace,
)
from tests.tree.test_category_growth import Problem, collect_categories
from tests.tree.test_grower import assert_equal_bytes, draw_constraints, make_codes, make_mapper

GROWTHS = ["leaf", "depth", "symmetric"]


class Table:
    """Bins, and how to make one table of them or pages."""

    def __init__(self, codes, n_value_bins, mapper=None, categories=None):
        self.codes, self.n_value_bins = codes, n_value_bins
        self.mapper = make_mapper(n_value_bins) if mapper is None else mapper
        self.categories = categories

    def make_whole(self, team):
        return BinnedData.from_columns(
            self.codes, self.n_value_bins, team, categories=self.categories
        )

    def cut(self, cuts, team, first=0, last=None):
        """Return rows [first, last) in pages that end at ``cuts``, which ascend, and the last."""
        last = self.codes.shape[1] if last is None else last
        ends = [first, *(cut for cut in cuts if first <= cut <= last), last]
        usable, pages = self.make_whole(team).usable, []
        for begin, end in pairwise(ends):
            own = np.ascontiguousarray(self.codes[:, begin:end])
            fixed = {"categories": self.categories, "usable": usable.copy()}
            data = BinnedData.from_columns(own, self.n_value_bins, team, **fixed)
            pages.append(Page(begin - first, data))
        return PagedData(pages, self.n_value_bins, usable, self.categories)


def make_table(seed, n_rows=400, n_features=7):
    return Table(*make_codes(np.random.default_rng(seed), n_features, n_rows, 0.2))


def make_categories(seed, n_rows=400):
    problem = Problem(seed, n_rows)
    native, n_value_bins = Native(**vars(problem.native)), problem.n_value_bins.astype(np.int64)
    no_wide = np.empty((0, n_rows), dtype=np.uint32)
    categories = None
    if problem.bins:
        categories = collect_categories(problem.bins, no_wide, len(problem.codes), native)
    thresholds = [np.arange(1.5, n) for n in problem.n_value_bins]
    mapper = BinMapper(thresholds, problem.bins, native)
    return Table(problem.codes.astype(np.uint8), n_value_bins, mapper, categories)


def draw_gradients(rng, table, tail=1.0):
    n_rows = table.codes.shape[1]
    g = rng.normal(size=n_rows) + table.codes[0] / 60
    if n_rows:
        g[rng.integers(n_rows)] *= tail
    return g, rng.random(n_rows) + 0.1


def grow_both(table, settings, cuts, n_threads=1, columns=None, exact_rows=0, tail=1.0, seed=0):
    """Grow three trees on the table and on its pages; compare all that growers tell.

    Returns the tree of all rows, and the grower of pages.
    """
    rng, n_rows = np.random.default_rng(seed), table.codes.shape[1]
    columns = Columns() if columns is None else columns
    with Team(n_threads) as team:
        fixed = (table.mapper, settings, columns, n_rows, team, exact_rows)
        one = TreeGrower(table.make_whole(team), *fixed)
        other = PagedGrower(table.cut(cuts, team), *fixed)
        all_scores, found = np.zeros((2, n_rows)), []
        for key, share in enumerate((1.0, 0.7, 0.2)):
            g, h = draw_gradients(rng, table, tail)
            is_drawn = rng.random(n_rows) < share
            rows, others = (np.flatnonzero(own).astype(np.uint32) for own in (is_drawn, ~is_drawn))
            trees, leaves = [], []
            for grower, scores in zip((one, other), all_scores, strict=True):
                tree = grower.grow_on_gradients(g, h, rows, np.uint64(key), scores)
                own, anchor = grower.get_leaves(tree)
                leaves.append((own[rows].tolist(), anchor.tolist()))
                grower.add_to_scores(tree, others, scores)
                every = np.arange(n_rows, dtype=np.uint32)
                leaves[-1] += (grower.find_leaves(tree, every).tolist(),)
                leaves[-1] += (grower.constrain_values(-tree.value[:, 0]).tolist(),)
                trees.append(tree)
            assert_equal_bytes(*trees)
            assert leaves[0] == leaves[1]
            assert all_scores[0].tobytes() == all_scores[1].tobytes()
            found.append(trees[0])
    return found[0], other


@st.composite
def draw_cases(draw):
    """A table, settings, and how to cut it: pages of one row and empty ones among them."""
    seed, n_rows = draw(st.integers(0, 1000)), draw(st.sampled_from([1, 2, 60, 300, 700]))
    make = draw(st.sampled_from([make_table, make_categories]))
    table = make(seed, n_rows)
    n_features = len(table.codes)
    constraints = None
    if draw(st.booleans()):
        drawn = draw_constraints(np.random.default_rng(seed), n_features, table.codes)
        is_set = np.zeros(n_features, dtype=bool)
        if table.categories is not None:
            is_set = table.categories.place >= 0
        constraints = TreeConstraints(np.where(is_set, 0, drawn[0]).tolist(), *drawn[1:])
    settings = GrowthSettings(
        growth=draw(st.sampled_from(GROWTHS)),
        max_leaves=draw(st.sampled_from([2, 7, 31])),
        max_depth=draw(st.sampled_from([None, 2, 5])),
        min_samples_leaf=draw(st.sampled_from([1, 5, 20])),
        path_smooth=draw(st.sampled_from([0.0, 3.0])),
        extra_trees=draw(st.sampled_from([False, False, True])),
        constraints=constraints,
    )
    columns = draw(
        st.sampled_from(
            [Columns(), Columns(by_tree=0.5), Columns(by_level=0.6), Columns(by_node=0.5)]
        )
    )
    cuts = sorted(draw(st.lists(st.integers(0, n_rows), max_size=6)))
    return {
        "table": table,
        "settings": settings,
        "cuts": cuts,
        "columns": columns,
        "n_threads": draw(st.sampled_from([1, 2, 4])),
        "exact_rows": draw(st.sampled_from([0, 10**9])),
        "tail": draw(st.sampled_from([1.0, 1e6])),
    }


@hypothesis_settings(max_examples=150, deadline=None, derandomize=True)
@given(case=draw_cases())
def test_trees_are_those_of_the_whole_table(case):
    grow_both(**case)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("growth", GROWTHS)
def test_many_rows_and_leaves(growth, n_threads):
    """Nodes of more rows than a packed word holds, on pages of fewer; and many rounds."""
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.integers(0, 20_000, 9)).tolist()
    settings = GrowthSettings(growth=growth, max_leaves=64)
    tree, _ = grow_both(make_table(3, 20_000, 19), settings, cuts, n_threads)
    assert tree.n_leaves > 30


def test_one_row_per_page():
    settings = GrowthSettings(min_samples_leaf=3)
    tree, _ = grow_both(make_table(1, 90), settings, list(range(90)), 2)
    assert tree.n_leaves > 5


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_few_histograms(growth, monkeypatch):
    """If the pool is used up, both children are summed."""
    monkeypatch.setattr(workspace, "_POOL_BYTES", 30_000)
    settings = GrowthSettings(growth=growth, max_leaves=40, min_samples_leaf=5)
    tree, grower = grow_both(make_table(2, 3000), settings, [700, 1500], 2)
    assert grower._work.free_slots.size < 8
    assert tree.n_leaves == 40


@pytest.mark.parametrize("growth", GROWTHS)
def test_mapped_pages(growth, tmp_path, monkeypatch):
    """Read-only files, which are read ahead if the process has read from disk."""
    table, reads = make_table(3, 3000), count()
    monkeypatch.setattr(paged_grower, "count_reads", lambda: next(reads))
    g, h = draw_gradients(np.random.default_rng(0), table)
    rows, settings = np.arange(3000, dtype=np.uint32), GrowthSettings(growth=growth)
    with Team(2) as team:
        fixed = (table.mapper, settings, Columns(), 3000, team)
        pages = [
            Page(page.first, map_page(page.data, tmp_path / str(page.first)))
            for page in table.cut([800, 2000, 2900], team).pages
        ]
        data = PagedData(pages, table.n_value_bins, table.make_whole(team).usable)
        growers = TreeGrower(table.make_whole(team), *fixed), PagedGrower(data, *fixed)
        for key in range(2):
            args = g, h, rows, np.uint64(key), np.zeros(3000)
            assert_equal_bytes(*(grower.grow_on_gradients(*args) for grower in growers))
    assert next(reads) == 2


def map_page(data, folder):
    folder.mkdir()
    mapped = {}
    for name in ("columns", "tiles"):
        array = getattr(data.table, name)
        (folder / name).write_bytes(array.tobytes())
        mapped[name] = np.memmap(folder / name, array.dtype, "r", shape=array.shape)
    return BinnedData(data.table._replace(**mapped), data.usable)


@pytest.mark.parametrize(("growth", "most"), [("leaf", 12), ("depth", 6), ("symmetric", 6)])
def test_passes_over_the_pages(growth, most, monkeypatch):
    """A pass per level; of 31 leaves, about ten. Symmetric trees have many empty nodes here."""
    table, passes, run = make_table(3, 8000, 9), [], Team.run

    def run_and_count(team, kernel, *args):
        passes.append(kernel.__name__)
        run(team, kernel, *args)

    monkeypatch.setattr(Team, "run", run_and_count)
    grow_both(table, GrowthSettings(growth=growth), [3000])
    assert passes.count("sum_pages") <= 3 * most


def test_no_usable_feature():
    codes = np.ones((2, 50), dtype=np.uint8)
    tree, _ = grow_both(Table(codes, np.array([3, 1])), GrowthSettings(), [20])
    assert tree.n_nodes == 1


def test_gradients_out_of_range():
    table = make_table(0)
    with Team(1) as team:
        grower = PagedGrower(
            table.cut([100], team), table.mapper, GrowthSettings(), Columns(), 400, team
        )
        rows = np.arange(400, dtype=np.uint32)
        for value in (np.nan, np.inf, 1e200):
            g = np.ones(400)
            g[399] = value
            with pytest.raises(TrainingError, match="not finite"):
                grower.grow_on_gradients(g, np.ones(400), rows, np.uint64(0), np.zeros(400))


def test_another_learning_rate():
    table = make_table(0)
    rows, h = np.arange(400, dtype=np.uint32), np.ones(400)
    g, _ = draw_gradients(np.random.default_rng(0), table)
    with Team(2) as team:
        data = table.cut([100], team)
        fixed = (table.mapper, GrowthSettings(), Columns(), 400, team)
        grower = PagedGrower(data, *fixed)
        tree = grower.grow_on_gradients(g, h, rows, np.uint64(0), np.zeros(400))
        grower.set_learning_rate(0.2)
        assert grower.settings.learning_rate == 0.2
        double = grower.grow_on_gradients(g, h, rows, np.uint64(0), np.zeros(400))
    assert np.array_equal(double.value, 2 * tree.value)


def test_turning_between_tables():
    """Tables of other pages and of other usable features, back and forth."""
    one, rng = make_table(0), np.random.default_rng(1)
    codes = (1 + rng.integers(0, one.n_value_bins[:, None], (7, 400))).astype(np.uint8)
    tables = [one, Table(codes, one.n_value_bins)]
    one.codes[:3] = 1  # fewer usable features: the other table needs larger histograms
    g, h = draw_gradients(np.random.default_rng(0), one)
    rows, settings = np.arange(400, dtype=np.uint32), GrowthSettings(min_samples_leaf=3)
    with Team(2) as team:
        fixed = (one.mapper, settings, Columns(), 400, team)
        wholes = [table.make_whole(team) for table in tables]
        paged = [tables[0].cut([7, 200], team), tables[1].cut([350], team)]
        assert wholes[0].usable.tolist() != wholes[1].usable.tolist()
        growers = TreeGrower(wholes[0], *fixed), PagedGrower(paged[0], *fixed)
        for key, turn in enumerate((0, 1, 0, 1, 1, 0)):
            trees = []
            for grower, own in zip(growers, (wholes, paged), strict=True):
                grower.turn_to(own[turn])
                scores = np.zeros(400)
                trees.append(grower.grow_on_gradients(g, h, rows, np.uint64(key), scores))
            assert_equal_bytes(*trees)


def test_rounds_do_not_depend_on_threads(monkeypatch):
    """Also if there is no memory for the histograms of many small nodes."""
    monkeypatch.setattr(paged_grower, "_SCRATCH_BYTES", 1)
    table, settings = make_table(3, 3000), GrowthSettings(growth="symmetric", max_leaves=256)
    n_rounds = []
    for n_threads in (1, 6):
        with Team(n_threads) as team:
            data = table.cut([1000], team)
            grower = PagedGrower(data, table.mapper, settings, Columns(), 3000, team)
            g, h = draw_gradients(np.random.default_rng(0), table)
            rows, run, kernels = np.arange(3000, dtype=np.uint32), Team.run, []

            def run_and_count(team, kernel, *args, run=run, kernels=kernels):
                kernels.append(kernel.__name__)
                run(team, kernel, *args)

            with monkeypatch.context() as patch:
                patch.setattr(Team, "run", run_and_count)
                grower.grow_on_gradients(g, h, rows, np.uint64(0), np.zeros(3000))
        n_rounds.append(kernels.count("sum_pages"))
    assert n_rounds[0] == n_rounds[1] > 8


# Several processes


class Together:
    """Peers that are threads of this process; they meet at a barrier."""

    def __init__(self, rank, size, barrier, mail):
        self.rank, self.size = rank, size
        self._barrier, self._mail = barrier, mail

    def _exchange(self, value):
        self._mail[self.rank] = value
        self._barrier.wait(30)
        found = list(self._mail)
        self._barrier.wait(30)
        return found

    def add(self, *arrays):
        assert all(array.dtype == np.int64 for array in arrays)
        found = self._exchange([array.copy() for array in arrays])
        for i, array in enumerate(arrays):
            array[...] = sum(own[i] for own in found)

    def largest(self, values):
        assert not np.isnan(values).any()
        return np.max(self._exchange(values.copy()), axis=0)

    def gather(self, array):
        return self._exchange(array.copy())


def run_together(size, task):
    """Call ``task(peers)`` in threads; return the results by rank."""
    barrier, mail, found = threading.Barrier(size), [None] * size, [None] * size

    def run(rank):
        try:
            found[rank] = task(Together(rank, size, barrier, mail))
        except TrainingError as error:  # all peers raise it
            found[rank] = error
        except BaseException:
            barrier.abort()
            raise

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def grow_together(table, settings, ends, cuts, rows, gradients, exact_rows=0, columns=None):
    """Each peer has the rows between two of the ``ends``; return its trees and scores."""

    def grow(peers):
        first, last = ends[peers.rank], ends[peers.rank + 1]
        own = rows[(rows >= first) & (rows < last)] - np.uint32(first)
        with Team(2) as team:
            data = table.cut(cuts, team, first, last)
            drawn = columns or Columns()
            fixed = (table.mapper, settings, drawn, own.size, team, exact_rows, peers)
            grower, scores = PagedGrower(data, *fixed), np.zeros(last - first)
            g, h = (values[first:last] for values in gradients)
            trees = [
                grower.grow_on_gradients(g, h, own, np.uint64(key), scores) for key in range(2)
            ]
        return trees, scores

    return run_together(len(ends) - 1, grow)


@pytest.mark.parametrize(
    ("exact_rows", "columns"), [(0, Columns()), (10**9, Columns()), (0, Columns(by_tree=0.5))]
)
@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("ends", [(0, 400), (0, 130, 400), (0, 0, 399, 400)], ids=str)
def test_peers_grow_the_trees_of_one_table(growth, exact_rows, columns, ends):
    table, rng = make_table(4), np.random.default_rng(0)
    settings = GrowthSettings(growth=growth, min_samples_leaf=4, path_smooth=1.0)
    gradients = draw_gradients(rng, table)
    rows = np.sort(rng.choice(400, 300, replace=False)).astype(np.uint32)
    found = grow_together(table, settings, ends, [50, 200], rows, gradients, exact_rows, columns)
    scores = np.zeros(400)
    with Team(1) as team:
        fixed = (table.mapper, settings, columns, 300, team, exact_rows)
        grower = TreeGrower(table.make_whole(team), *fixed)
        for key in range(2):
            tree = grower.grow_on_gradients(*gradients, rows, np.uint64(key), scores)
            for trees, _ in found:
                assert_equal_bytes(tree, trees[key])
    assert np.concatenate([own for _, own in found]).tobytes() == scores.tobytes()


def test_a_peer_without_pages():
    table, settings = make_table(4), GrowthSettings(min_samples_leaf=4)
    rows, gradients = (
        np.arange(400, dtype=np.uint32),
        draw_gradients(np.random.default_rng(0), table),
    )

    def grow(peers):
        with Team(1) as team:
            data = table.cut([50], team)
            if peers.rank == 1:
                data = PagedData([], data.n_value_bins, data.usable)
            own = [values[: data.n_rows] for values in (*gradients, rows)]
            fixed = (table.mapper, settings, Columns(), data.n_rows, team, 0, peers)
            grower = PagedGrower(data, *fixed)
            return grower.grow_on_gradients(*own, np.uint64(0), np.zeros(data.n_rows))

    one, other = run_together(2, grow)
    assert one.n_leaves > 5
    assert_equal_bytes(one, other)


def test_peers_refuse_gradients_alike():
    table = make_table(4)
    g, h = draw_gradients(np.random.default_rng(0), table)
    g[0] = np.inf  # only the first peer sees it
    rows = np.arange(400, dtype=np.uint32)
    found = grow_together(table, GrowthSettings(), (0, 200, 400), [], rows, (g, h))
    assert [type(error) for error in found] == [TrainingError, TrainingError]


@pytest.mark.parametrize(("tail", "is_exact"), [(1e9, True), (1.0, False)])
def test_heavy_tails_need_exact_values(tail, is_exact):
    """Histograms then sum exact values, although there are many rows."""
    table, rows = make_table(0, 5000), np.arange(5000, dtype=np.uint32)
    g, h = draw_gradients(np.random.default_rng(0), table, tail)
    trees = []
    with Team(2) as team:
        for kind, data in (TreeGrower, table.make_whole(team)), (PagedGrower, table.cut([9], team)):
            grower = kind(data, table.mapper, GrowthSettings(), Columns(), 5000, team)
            trees.append(grower.grow_on_gradients(g, h, rows, np.uint64(0), np.zeros(5000)))
            assert (grower._units[0] == grower._units[2]) == is_exact
    assert_equal_bytes(*trees)
