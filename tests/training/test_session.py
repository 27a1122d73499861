"""The score that training starts from."""

import numpy as np
import pytest

from sumwise.errors import TrainingError
from sumwise.losses import CustomLoss, Logistic, Multinomial, Poisson, Squared
from sumwise.peers import Shards
from sumwise.training.session import BoostingSettings, TrainingRows, find_base_score
from sumwise.tree import GrowthSettings
from tests.threaded_peers import run_together

RNG = np.random.default_rng(0)
N_ROWS = 60
OWNERS = RNG.choice([0, 2], N_ROWS)  # the second of three processes has no rows
OFFSET = RNG.normal(size=(1, N_ROWS))
WEIGHT = RNG.random(N_ROWS)


def find(loss, target, weight=None, offset=None, peers=None, base_score=None):
    """Return the score of a process, which has all rows if there are no peers."""
    own = np.ones(N_ROWS, dtype=bool) if peers is None else peers.rank == OWNERS
    n_rows = np.count_nonzero(own)
    numbers = np.arange(n_rows, dtype=np.uint32)
    rows = TrainingRows(
        target[own],
        np.empty(0) if weight is None else weight[own],
        numbers,
        numbers[:0],
        None if offset is None else np.ascontiguousarray(offset[:, own]),
        shards=None if peers is None else Shards.of_sizes(peers, [peers.rank], [n_rows]),
    )
    return find_base_score(BoostingSettings(loss, GrowthSettings(), base_score=base_score), rows)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("offset", [None, OFFSET], ids=["none", "offset"])
@pytest.mark.parametrize("loss", [Squared(), Poisson(), Logistic(), Multinomial(2)])
def test_peers_start_from_the_score_of_one_process(loss, weight, offset):
    target = (RNG.random(N_ROWS) < 0.3).astype(loss.target_type)
    expected = find(loss, target, weight, offset)
    for found in run_together(3, lambda peers: find(loss, target, weight, offset, peers)):
        assert found.tobytes() == expected.tobytes()


def test_targets_of_one_process_may_be_too_large_for_all():
    target = np.where(np.arange(N_ROWS) == 5, np.inf, 1.0)
    with pytest.raises(TrainingError, match="mean of the targets is not finite"):
        run_together(3, lambda peers: find(Squared(), target, peers=peers))


def test_a_given_score_needs_no_peers():
    class Start:
        def gradient(self, y, raw):
            raise NotImplementedError

        def initial_score(self, y, weight):
            raise NotImplementedError

    def work(peers):
        found = find(CustomLoss(Start()), np.ones(N_ROWS), peers=peers, base_score=np.array([2.5]))
        return found.tolist(), peers.n_messages

    assert run_together(3, work) == [([2.5], 0)] * 3
