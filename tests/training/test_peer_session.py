"""Draws of a session among peers, and what is measured on the rows that they leave out."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute, Logistic, Squared
from sumwise.sampling import (
    BayesianBootstrap,
    ClassSubsample,
    DrawnRows,
    Goss,
    GroupSubsample,
    Mvs,
    Subsample,
)
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.training import session as session_module
from sumwise.training.session import BoostingSettings, TrainingRows, TrainingTable
from sumwise.training.sessions import open_session
from sumwise.training.stopping import OOB, EarlyStopping
from sumwise.tree import GrowthSettings
from tests.partitions import SCATTERED, Partition, partitions
from tests.threaded_peers import run_together

SAMPLERS = [
    None,
    Subsample(0.6),
    ClassSubsample([0.3, 0.8], reweigh=True),
    GroupSubsample(0.5),
    Goss(),
    BayesianBootstrap(),
    BootstrapRows(),
]


class Problem:
    """All rows of a fit: each trains, validates or is of weight zero."""

    def __init__(self, n_rows, seed=0, loss=None, weighted=True, **settings):
        rng = np.random.default_rng(seed)
        self.loss = loss or Logistic()
        self.target = rng.integers(0, 2, n_rows).astype(self.loss.target_type)
        self.weight = rng.random(n_rows)
        self.weighted = weighted
        self.role = rng.choice(3, n_rows, p=[0.7, 0.2, 0.1])
        self.role[:5] = 0
        self.groups = rng.integers(0, 12, n_rows)
        self.score = rng.normal(size=n_rows).round(1)
        self.settings = BoostingSettings(self.loss, GrowthSettings(), seed=seed, **settings)

    def open(self, own, shards=None):
        """Return the session of a process, with gradients at scores that are not those it had."""
        train, valid = (np.flatnonzero(self.role[own] == k).astype(np.uint32) for k in (0, 1))
        weight = np.where(self.role[own] == 2, 0.0, self.weight[own])
        rows = TrainingRows(
            self.target[own],
            weight if self.weighted else np.empty(0),
            train,
            valid,
            groups=self.groups[own],
            classes=np.arange(2),
            shards=shards,
        )
        session = open_session(TrainingTable([]), rows, self.settings, Team(1), None)
        session.raw[0] = self.score[own]
        session.take_gradient(session.raw)
        return session

    @property
    def everything(self):
        return np.arange(self.role.size)


def describe(session, sample, own):
    """Return a draw and the gradients after it, by the numbers of rows in the whole data."""
    train = session.rows.train
    assert sample.factor.size in (0, sample.seen.size)
    return {
        "seen": own[sample.seen].tolist(),
        "unseen": own[sample.unseen].tolist(),
        "left_out": own[sample.left_out].tolist(),
        "factor": list(zip(own[sample.seen].tolist(), sample.factor.tolist(), strict=False)),
        "gradient": list(
            zip(own[train].tolist(), session.gradient[0, train].tolist(), strict=True)
        ),
        "hessian": list(zip(own[train].tolist(), session.hessian[0, train].tolist(), strict=True)),
    }


def unite(described):
    return {name: sorted(chain(*(own[name] for own in described))) for name in described[0]}


@settings(derandomize=True, deadline=None, max_examples=40)
@given(partitions(), st.sampled_from(SAMPLERS), st.integers(0, 99), st.booleans())
def test_peers_draw_as_one_process(partition, sampler, seed, weighted):
    problem = Problem(partition.n_rows + 8, seed, weighted=weighted, sampler=sampler)
    partition = Partition([*partition.sizes, 8], [*partition.dealt, [len(partition.sizes)]])
    problem.role[-5:] = 0

    def draw(own, shards=None):
        session = problem.open(own, shards)
        return [describe(session, session.draw_rows(number), own) for number in (0, 3)]

    found = partition.run(lambda shards, own: draw(own, shards))
    expected = [unite([own]) for own in draw(problem.everything)]
    assert [unite(own) for own in zip(*found, strict=True)] == expected


@pytest.mark.parametrize("most", [1 << 14, 16, 3])
@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize(
    "sampler", [Subsample(0.5), ClassSubsample(), GroupSubsample(0.5)], ids=repr
)
def test_improvements_on_left_out_rows_are_those_of_one_process(sampler, stops, most, monkeypatch):
    monkeypatch.setattr(session_module, "MOST_LEFT_OUT", most)
    stopping = EarlyStopping(5, watched=OOB) if stops else None
    problem = Problem(SCATTERED.n_rows, sampler=sampler, stopping=stopping)

    def measure(own, shards=None):
        session = problem.open(own, shards)
        found = []
        for number in range(3):
            session.begin_left_out(session.draw_rows(number), session.raw)
            session.raw[0] += 0.1 * (2 * problem.target[own] - 1.0) - 0.01
            found.append(session.find_improvement(session.raw))
        return found

    expected = measure(problem.everything)
    assert SCATTERED.run(lambda shards, own: measure(own, shards)) == [expected] * 3
    assert all(value > 0 for value in expected)


def test_peers_that_leave_no_rows_out_cannot_stop_by_them():
    stopping = EarlyStopping(5, watched=OOB)
    problem = Problem(SCATTERED.n_rows, sampler=Subsample(1.0), stopping=stopping)
    n_train = np.count_nonzero(problem.role == 0)

    def work(shards, own):
        session = problem.open(own, shards)
        with pytest.raises(ParameterError, match=f"leaves none of the {n_train} rows out"):
            session.begin_left_out(session.draw_rows(0), session.raw)
        return True

    assert all(SCATTERED.run(work))


class Recorder:
    """Stands for a refitter, which exchanges something when weights change."""

    def __init__(self, peers):
        self.peers, self.weights = peers, []

    def weigh(self, rows, weight, factor):
        total = np.array([rows.size])
        self.peers.add(total)
        self.weights.append((int(total[0]), rows.tolist(), factor.tolist()))


@pytest.mark.parametrize("sampler", SAMPLERS[1:], ids=repr)
def test_refitters_of_all_peers_learn_new_weights_together(sampler):
    """Also of those from whose rows none are drawn; or of none, if there are no factors."""
    problem = Problem(40, loss=Absolute(), weighted=False, sampler=sampler)
    problem.role[:] = 0
    partition = Partition([1, 38, 1, 0], [[0], [1], [2], [3]])

    def work(shards, own):
        session = problem.open(own, shards)
        recorder = Recorder(shards.peers)
        session.__dict__.update(_refitters=[recorder], _location_weights=[np.empty(0)])
        for number in range(3):
            sample = session.draw_rows(number)
            if recorder.weights:
                assert recorder.weights[-1][1:] == (sample.seen.tolist(), sample.factor.tolist())
        return [n_rows for n_rows, *_ in recorder.weights]

    found = partition.run(work)
    assert found == [found[0]] * 4
    assert len(found[0]) == (3 if sampler.has_factors else 0)


class Own(Subsample):
    """A sampler of a user."""

    def draw(self, source):
        return DrawnRows(source.rows)


@pytest.mark.parametrize("sampler", [Mvs(0.5), Own()], ids=repr)
def test_samplers_of_a_single_process_are_refused(sampler):
    problem = Problem(SCATTERED.n_rows, sampler=sampler)

    def work(shards, own):
        with pytest.raises(ParameterError) as caught:
            problem.open(own, shards)
        assert shards.peers.n_messages == 0
        return str(caught.value)

    for message in SCATTERED.run(work):
        assert message.startswith(f"sampler={sampler!r} draws from the rows of a single process")
        assert message.endswith(
            "Subsample, Goss, BayesianBootstrap, ClassSubsample, GroupSubsample"
        )
    problem.open(problem.everything).draw_rows(0)


def test_validation_rows_of_one_process_are_those_of_all():
    problem = Problem(30, loss=Squared())
    problem.role[:] = np.repeat([0, 1], [20, 10])

    def work(peers):
        own = np.arange(20) if peers.rank == 0 else np.arange(20, 30)
        shards = Partition([20, 10], [[0], [1]]).make_shards(peers)
        rows = problem.open(own, shards).rows
        return rows.n_train, rows.n_valid

    assert run_together(2, work) == [(20, 10)] * 2
