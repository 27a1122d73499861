"""Votes and elections, against sorted lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.paged import PagedData
from sumwise.kernels.grow import layout, plan
from sumwise.kernels.grow.messages import PAIR_ROWS
from sumwise.kernels.grow.pages import find_page_maxima
from sumwise.kernels.grow.voting import _rank, copy_elected_sums, elect
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, VotingGrower
from tests.naive import voting as naive
from tests.tree.test_grower import make_mapper

N_FAMILIES = 3


@kernel
def _rank_all(features, n_votes, own_gains, ranking, votes, gains, found):
    n = 0
    for i in range(features.size):
        n = _rank(ranking, votes, gains, n, features[i], n_votes[i], own_gains[i])
    found[0] = n


@hypothesis_settings(deadline=None)
@given(
    scores=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 0.0, 2.5])), max_size=12),
    most=st.integers(1, 6),
)
def test_ranking(scores, most):
    features = np.arange(len(scores))
    votes, gains = np.array(scores).reshape(-1, 2).T
    ranking, found = np.full(most, -1), np.zeros(1, dtype=np.int64)
    room = np.zeros(most, dtype=np.int64), np.zeros(most)
    _rank_all(features, votes.astype(np.int64), gains.copy(), ranking, *room, found)
    expected = sorted(features.tolist(), key=lambda f: (-votes[f], -gains[f], f))[:most]
    assert ranking[: found[0]].tolist() == expected


class Polling:
    """A round of some nodes that were split, as a grower would have it."""

    def __init__(self, n_features, top_k, n_threads):
        self.n_value_bins = 1 + np.arange(n_features) % 5
        data = PagedData([], self.n_value_bins, np.ones(n_features, dtype=np.uint8))
        self.team = Team(n_threads)
        mapper, settings = make_mapper(self.n_value_bins), GrowthSettings(max_leaves=16)
        shape = (data, mapper, settings, Columns(), 100, self.team)
        self.grower = VotingGrower(*shape, top_k=top_k)
        self.jobs, _, _ = self.grower._prepare_pages(np.zeros(0), np.zeros(0))
        self.work, self.poll = self.grower._work, self.grower._poll
        self.work.plan.sizes[plan.N_FAMILIES] = N_FAMILIES
        families = self.work.plan.families[:N_FAMILIES]
        families[:, plan.LEFT] = 1 + 2 * np.arange(N_FAMILIES)
        families[:, plan.F_MODE] = layout.BUILD_BOTH
        # Jobs learn at the beginning of a tree which threads they are for.
        nothing = np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.uint32), np.uint64(0), 0
        self.team.run(find_page_maxima, self.jobs, *nothing)
        self.nodes = self.grower._nodes
        self.nodes["slot"] = np.arange(self.nodes.size)
        self.nodes["splittable"] = 1
        self.work.allowed[layout.CHILD :] = 1


@st.composite
def draw_elections(draw):
    """Gains of features by place and process; of equal ones there are many."""
    n_features, top_k = draw(st.integers(3, 9)), draw(st.integers(1, 3))
    n_peers, n_places = draw(st.integers(2, 5)), 2 * N_FAMILIES
    gain = st.sampled_from([-np.inf, -np.inf, -1.0, 0.0, 1.0, 2.0])
    size = n_peers * n_places * n_features
    gains = np.array(draw(st.lists(gain, min_size=size, max_size=size)))
    allowed = draw(
        st.lists(st.booleans(), min_size=n_places * n_features, max_size=n_places * n_features)
    )
    shape = (n_places, n_features)
    return gains.reshape(n_peers, *shape), np.array(allowed).reshape(shape), top_k


@hypothesis_settings(max_examples=60, deadline=None, derandomize=True)
@given(election=draw_elections(), n_threads=st.integers(1, 3))
def test_elections_are_those_of_the_naive_twin(election, n_threads):
    gains, allowed, top_k = election
    n_peers, n_places, n_features = gains.shape
    polling = Polling(n_features, top_k, n_threads)
    polling.work.allowed[layout.CHILD :][:n_places] = allowed
    features = np.full((n_peers, n_places, top_k), -1)
    of_votes = np.full(features.shape, -np.inf)
    expected = []
    for place in range(n_places):
        choice = np.flatnonzero(allowed[place]).tolist()
        known = [
            {f: gains[rank, place, f] for f in choice if gains[rank, place, f] > -np.inf}
            for rank in range(n_peers)
        ]
        for rank, own in enumerate(known):
            for i, f in enumerate(naive.vote(own, top_k)):
                features[rank, place, i], of_votes[rank, place, i] = f, own[f]
        expected.append(naive.elect(known, choice, top_k))
    with polling.team as team:
        team.run(elect, polling.jobs, polling.poll, features, of_votes)
    for place, own in enumerate(expected):
        n = polling.poll.n_elected[place]
        assert sorted(polling.poll.elected[place, :n].tolist()) == own
        assert np.flatnonzero(polling.work.allowed[layout.CHILD + place]).tolist() == own
    assert not polling.poll.n_votes.any()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_only_sums_of_elected_features_are_sent(n_threads):
    polling = Polling(8, 1, n_threads)
    poll, histograms, nodes = polling.poll, polling.work.histograms, polling.nodes
    nodes["splittable"][2], nodes["packed"][3] = 0, 1
    polling.work.totals[:, layout.COUNT] = PAIR_ROWS + 1  # the others are sent as they are
    features = np.arange(4 * N_FAMILIES).reshape(2, -1, 1) % 8
    starts = np.append(0, (polling.n_value_bins + 1).cumsum())
    histograms[:] = np.arange(histograms.size).reshape(histograms.shape)
    before = histograms.copy()
    expected = []
    with polling.team as team:
        team.run(elect, polling.jobs, poll, features, np.zeros(features.shape))
        for place in range(2 * N_FAMILIES):
            node = 1 + place
            if nodes["splittable"][node]:
                for f in poll.elected[place, : poll.n_elected[place]]:
                    n_bins = starts[f + 1] - starts[f]
                    n = n_bins if nodes["packed"][node] else 3 * n_bins
                    expected += before[node, 3 * starts[f] :][:n].tolist()
        message = np.zeros(poll.length[0], dtype=np.int64)
        team.run(copy_elected_sums, polling.jobs, poll, message, False)
        assert message.tolist() == expected
        message *= -1
        team.run(copy_elected_sums, polling.jobs, poll, message, True)
    changed = histograms != before
    assert np.array_equal(histograms[changed], -before[changed])
    assert before[changed].sum() == sum(expected)
