"""Leaves refitted to the residuals of several processes, whose tables are in pages."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.paged import PagedData
from sumwise.errors import TrainingError
from sumwise.kernels.losses.influence import FAIR, TANH
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location, peer_locations
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, LeafRefitter, PagedGrower, TreeConstraints, TreeGrower
from tests.threaded_peers import run_together
from tests.tree.test_grower import assert_equal_bytes
from tests.tree.test_paged_grower import make_table

N_ROWS = 300
LOCATIONS = [
    Location(0.5),
    Location(0.9),
    Location(0.5, 0.8),
    Location(0.5, 0.8, FAIR),
    Location(0.5, 1.0, TANH),
]


class Problem:
    """A table and targets; each process has the rows between two ends, some of them are used."""

    def __init__(self, seed, settings, location, weighted=False, factors=False):
        rng = np.random.default_rng(seed)
        self.table, self.settings, self.location = make_table(seed, N_ROWS), settings, location
        self.y = (self.table.codes[0] / 9 + rng.standard_t(2, N_ROWS)).round(1)
        self.start = rng.normal(size=N_ROWS).round(1)
        self.weight = rng.random(N_ROWS) * 2.0 ** rng.integers(-30, 3, N_ROWS)
        self.weight = self.weight if weighted else np.empty(0)
        self.factor = rng.random(N_ROWS) + 0.5 if factors else None
        # Trees are drawn from some of the rows.
        self.is_used = rng.random(N_ROWS) < rng.choice([0.5, 1.0])
        self.is_drawn = self.is_used & (rng.random(N_ROWS) < rng.choice([0.3, 0.8, 1.0]))
        self.is_drawn[:5] = self.is_used[:5] = True

    def refit(self, first=0, last=N_ROWS, cuts=(), n_threads=1, peers=None):
        """Return two refitted trees, the leaves found anew, and the scores of these rows."""
        rows, drawn = (
            np.flatnonzero(own[first:last]).astype(np.uint32)
            for own in (self.is_used, self.is_drawn)
        )
        y, scores = self.y[first:last], self.start[first:last].copy()
        weight = self.weight[first:last] if self.weight.size else self.weight
        if self.factor is not None and not weight.size:
            weight = np.ones(y.size)
        gradient = np.sign(scores - y)
        with Team(n_threads) as team:
            fixed = (self.table.mapper, self.settings, Columns(), drawn.size, team, 0)
            if peers is None:
                grower = TreeGrower(self.table.make_whole(team), *fixed)
                refitter = LeafRefitter(grower, y, weight, rows, team)
            else:
                grower = PagedGrower(self.cut(cuts, team, first, last), *fixed, peers)
                refitter = LeafRefitter(grower, y, weight, rows, team, peers=peers)
            trees, found = [], []
            for key in range(2):
                if self.factor is not None:
                    factor = self.factor[first:last][drawn] * (key + 1)
                    refitter.weigh(drawn, weight, factor)
                own = gradient, np.ones(y.size), drawn, np.uint64(key), np.empty(0)
                tree = refitter.refit(grower.grow_on_gradients(*own), drawn, scores, self.location)
                every = np.arange(y.size, dtype=np.uint32)
                found.append(grower.find_leaves(tree, every).copy())
                trees.append(refitter.find_values(tree, rows, scores, self.location))
                trees.append(tree)
        return trees, np.concatenate(found), scores

    def cut(self, cuts, team, first, last):
        data = self.table.cut(cuts, team, first, last)
        return data if last > first else PagedData([], data.n_value_bins, data.usable)


def check(problem, ends, cuts, n_threads=1):
    """Compare all peers' trees with those of one process; return these."""
    trees, leaves, scores = problem.refit()
    among = range(len(ends) - 1)
    found = run_together(
        len(ends) - 1,
        lambda peers: problem.refit(
            ends[peers.rank], ends[peers.rank + 1], cuts, n_threads, peers=peers
        ),
    )
    for own, _, _ in found:
        for tree, expected in zip(own, trees, strict=True):
            assert_equal_bytes(tree, expected)
    assert np.concatenate([own[2] for own in found]).tobytes() == scores.tobytes()
    for k, half in enumerate(np.split(leaves, 2)):
        own = [np.split(found[rank][1], 2)[k] for rank in among]
        assert np.concatenate(own).tolist() == half.tolist()
    return trees


@st.composite
def draw_cases(draw):
    constraints = None
    if draw(st.booleans()):
        constraints = TreeConstraints(directions=np.array([-1, 0, 1, 0, 0, 0, 0], dtype=np.int8))
    settings = GrowthSettings(
        growth=draw(st.sampled_from(["leaf", "depth", "symmetric"])),
        max_leaves=draw(st.sampled_from([2, 31])),
        max_depth=draw(st.sampled_from([None, 2, 6])),
        min_samples_leaf=draw(st.sampled_from([1, 5])),
        max_delta_step=draw(st.sampled_from([0.0, 0.3])),
        learning_rate=0.3,
        constraints=constraints,
    )
    kinds = draw(st.sampled_from(LOCATIONS)), draw(st.booleans()), draw(st.booleans())
    bounds = st.lists(st.integers(0, N_ROWS), max_size=3)
    ends = [0, *sorted(draw(bounds)), N_ROWS]
    return {
        "problem": Problem(draw(st.integers(0, 1000)), settings, *kinds),
        "ends": ends if len(ends) > 2 else [0, 0, N_ROWS],  # one of two has no rows
        "cuts": sorted(draw(bounds)),
        "n_threads": draw(st.sampled_from([1, 2])),
        "few": draw(st.sampled_from([0, 10, 1 << 16])),
    }


@hypothesis_settings(max_examples=80, deadline=None, derandomize=True)
@given(case=draw_cases())
def test_peers_refit_the_leaves_of_one_process(case):
    few = case.pop("few")
    with patch.multiple(peer_locations, _FEW_KEYS=few, _MOST_KEYS=few):
        check(**case)


@pytest.mark.parametrize("location", LOCATIONS, ids=str)
def test_leaves_in_one_process_only(location):
    """Rows in the order of the first feature: many leaves have rows of one process only."""
    settings = GrowthSettings(min_samples_leaf=5, learning_rate=0.3)
    problem = Problem(0, settings, location, weighted=True)
    order = np.argsort(problem.table.codes[0], kind="stable")
    problem.table.codes[:] = problem.table.codes[:, order]
    problem.y[:] = problem.y[order]
    trees = check(problem, [0, 60, 200, 200, N_ROWS], [100])
    assert trees[0].n_leaves > 5


def test_leaves_without_rows_in_any_process():
    """A deep symmetric tree has such leaves: they take the location of a node above."""
    settings = GrowthSettings(growth="symmetric", max_depth=8, min_samples_leaf=5)
    trees = check(Problem(1, settings, LOCATIONS[2]), [0, 130, N_ROWS], [50])
    assert (trees[0].n_rows[trees[0].left < 0] == 0).any()


@pytest.mark.parametrize(("location", "most"), [(LOCATIONS[1], 2), (LOCATIONS[2], 3)], ids=str)
@pytest.mark.parametrize("max_leaves", [4, 31])
def test_a_tree_takes_few_messages(location, most, max_leaves):
    """Whatever the number of leaves: numbers, candidates, and sums of a robust step."""
    problem = Problem(0, GrowthSettings(max_leaves=max_leaves, min_samples_leaf=2), location)
    counts = []
    original = LeafRefitter.refit

    def count(refitter, *args):
        peers = refitter._finder._peers
        before = peers.n_messages
        tree = original(refitter, *args)
        counts.append(peers.n_messages - before)
        return tree

    with patch.object(LeafRefitter, "refit", count):
        run_together(
            2, lambda peers: problem.refit(150 * peers.rank, 150 + 150 * peers.rank, peers=peers)
        )
    assert counts == [most] * 4


def test_all_peers_refuse_residuals_without_bound():
    problem = Problem(0, GrowthSettings(), Location(0.9))
    problem.y[::2], problem.start[:] = 1e308, -1e308

    def work(peers):
        with pytest.raises(TrainingError, match="too large"), np.errstate(over="ignore"):
            problem.refit(100 * peers.rank, 100 + 100 * peers.rank, peers=peers)
        return True

    assert run_together(3, work) == [True] * 3
