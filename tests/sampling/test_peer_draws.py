"""Rows that samplers draw among peers: those of one process with all rows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling import peer_by_gradient
from sumwise.sampling import (
    BayesianBootstrap,
    ClassSubsample,
    Goss,
    GroupSubsample,
    RowSource,
    Subsample,
)
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.sampling.peer_draws import number_rows
from tests.partitions import SCATTERED, Partition, partitions
from tests.threaded_peers import run_together

examples = settings(derandomize=True, deadline=None, max_examples=40)
CLASSES = np.array(["a", "b", "c"])
SAMPLERS = [
    Subsample(0.5),
    Subsample(0.01),
    ClassSubsample(),
    ClassSubsample([0.2, 0.7, 1.0], reweigh=True),
    GroupSubsample(0.4),
    Goss(),
    Goss(0.0, 0.3),
    Goss(0.7, 0.3),
    BayesianBootstrap(),
    BayesianBootstrap(0.5),
    BootstrapRows(),
]


class Rows:
    """All rows, of which some are drawn from."""

    def __init__(self, n_rows, seed, rate=0.8, decimals=1, n_outputs=1):
        rng = np.random.default_rng(seed)
        self.seed = seed
        self.rows = np.flatnonzero(rng.random(n_rows) < rate).astype(np.uint32)
        gradient = rng.normal(size=(n_outputs, n_rows)) * rng.random(n_rows)
        self.gradient = gradient if decimals is None else gradient.round(decimals)
        self.target = rng.choice([0.0, 1.0, 1.0, 2.0], n_rows)
        self.groups = rng.integers(3, 3 + max(2, n_rows // 5), n_rows)

    def make_source(self, own, local, number, team, shards=None, buffers=None):
        """Return a source of the rows ``own``, and of all candidates among them."""
        return RowSource(
            rows=local,
            seed=self.seed,
            number=number,
            gradient=np.ascontiguousarray(self.gradient[:, own]),
            hessian=np.ones((1, own.size)),
            target=self.target[own],
            team=team,
            groups=self.groups[own],
            classes=CLASSES,
            shards=shards,
            buffers={} if buffers is None else buffers,
        )

    def draw(self, sampler, number=0, shards=None):
        """Return the draw of one process: factors by row, and the rows left out."""
        everything = np.arange(self.target.size)
        drawn = sampler.draw(self.make_source(everything, self.rows, number, Team(1), shards))
        return describe(drawn, everything, self.rows)

    def draw_together(self, sampler, partition, numbers=(0,), n_threads=1):
        """Return the same for several peers, for each of some draws, and how much was sent."""

        def work(shards, own):
            local, buffers = partition.find_local(shards.peers.rank, self.rows), {}
            found, sent = [], []
            with Team(n_threads) as team:
                for number in numbers:
                    before = shards.peers.n_messages
                    source = self.make_source(own, local, number, team, shards, buffers)
                    found.append(describe(sampler.draw(source), own, local))
                    sent.append(shards.peers.n_messages - before)
            return found, sent

        results, sent = zip(*partition.run(work), strict=True)
        assert len({tuple(own) for own in sent}) == 1  # all peers made the same exchanges
        return [unite(own) for own in zip(*results, strict=True)], sent[0]


def describe(drawn, own, local):
    """Check the rows of a draw; return factors by row, and rows left out, by numbers in the whole
    data.
    """
    assert drawn.rows.dtype == np.uint32
    assert np.all(np.diff(drawn.rows.astype(int)) > 0)
    assert drawn.factor.size in (0, drawn.rows.size)
    assert drawn.factor.dtype == np.float64
    left_out = np.setdiff1d(local, drawn.rows)
    assert drawn.left_out is None or drawn.left_out.tolist() == left_out.tolist()
    factor = drawn.factor if drawn.factor.size else np.full(drawn.rows.size, -1.0)
    return dict(zip(own[drawn.rows].tolist(), factor.tolist(), strict=True)), own[left_out].tolist()


def unite(draws):
    factors, left_out = {}, []
    for own, others in draws:
        factors |= own
        left_out += others
    return factors, sorted(left_out)


@examples
@given(partitions(), st.sampled_from(SAMPLERS), st.integers(0, 999), st.integers(1, 3), st.data())
def test_peers_draw_as_one_process(partition, sampler, seed, n_threads, data):
    decimals = data.draw(st.sampled_from([None, 1, 0]))
    n_outputs = data.draw(st.sampled_from([1, 3]))
    rate = data.draw(st.sampled_from([1.0, 0.6]))
    rows = Rows(partition.n_rows, seed, rate, decimals, n_outputs)
    assume(rows.rows.size > 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer_by_gradient, "_FEW", data.draw(st.sampled_from([0, 3, 4096])))
        found, _ = rows.draw_together(sampler, partition, (0, 5), n_threads)
    assert found == [rows.draw(sampler, number) for number in (0, 5)]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_rows_of_shards_that_are_no_neighbors(sampler):
    rows = Rows(SCATTERED.n_rows, 3)
    assert rows.draw_together(sampler, SCATTERED)[0] == [rows.draw(sampler)]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_a_single_process_may_have_shards(sampler):
    rows = Rows(90, 1)
    together, _ = rows.draw_together(sampler, Partition([30, 60], [[0, 1]]))
    assert together == [rows.draw(sampler)]


@pytest.mark.parametrize(
    ("sampler", "first", "later"),
    [
        (Subsample(), 4, 3),
        (ClassSubsample(), 4, 3),
        (GroupSubsample(), 1, 0),
        (Goss(0.0, 0.3), 4, 2),
        (BayesianBootstrap(), 1, 0),
        (BootstrapRows(), 2, 0),
    ],
    ids=repr,
)
def test_what_stays_the_same_is_exchanged_once(sampler, first, later):
    rows = Rows(SCATTERED.n_rows, 0)
    assert rows.draw_together(sampler, SCATTERED, (0, 1, 2))[1] == [first, later, later]


@pytest.mark.parametrize("few", [0, 4096])
def test_equal_gradients_go_to_the_first_rows_of_the_whole_data(few, monkeypatch):
    monkeypatch.setattr(peer_by_gradient, "_FEW", few)
    rows = Rows(SCATTERED.n_rows, 0, rate=1.0)
    rows.gradient[:] = -1.0
    (found,), _ = rows.draw_together(Goss(0.5, 0.1), SCATTERED)
    assert found == rows.draw(Goss(0.5, 0.1))
    assert sorted(row for row, factor in found[0].items() if factor == 1.0) == list(range(100))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_rows(n_threads):
    partition = Partition([20_000, 5000, 15_000], [[1], [0, 2]])
    for decimals, sent in ((None, (5, 7)), (0, (9, 12))):
        rows = Rows(partition.n_rows, 1, decimals=decimals)
        found, (first, later) = rows.draw_together(Goss(), partition, (0, 1), n_threads)
        assert found == [rows.draw(Goss(), number) for number in (0, 1)]
        assert first == later + 2
        assert sent[0] <= first <= sent[1]


def test_weights_depend_on_numbers_in_the_whole_data():
    rows = Rows(SCATTERED.n_rows, 0, rate=0.5)

    def work(shards, own):
        local = SCATTERED.find_local(shards.peers.rank, rows.rows)
        numbers = number_rows(rows.make_source(own, local, 0, Team(1), shards), shards)
        assert numbers.tolist() == own[local].tolist()
        return numbers.size

    assert sum(SCATTERED.run(work)) == rows.rows.size


def test_a_class_or_group_may_be_in_one_partition_only():
    rows = Rows(SCATTERED.n_rows, 2, rate=1.0)
    rows.target = np.repeat([0.0, 1.0, 2.0], [40, 70, 90])
    rows.groups = np.repeat([7, 5, 9], [40, 70, 90])
    for sampler in (ClassSubsample(reweigh=True), GroupSubsample(0.7)):
        assert rows.draw_together(sampler, SCATTERED)[0] == [rows.draw(sampler)]


def test_all_peers_raise_the_same_error():
    rows, errors = Rows(SCATTERED.n_rows, 0), []

    def work(peers):
        own, shards = SCATTERED.list_own(peers.rank), SCATTERED.make_shards(peers)
        local = SCATTERED.find_local(peers.rank, rows.rows)
        try:
            ClassSubsample({"z": 0.5}).draw(rows.make_source(own, local, 0, Team(1), shards))
        except DataError as error:
            errors.append(str(error))

    run_together(3, work)
    assert len(errors) == 3
    assert len(set(errors)) == 1
    assert "rates has 'z', which is not a class of y" in errors[0]
