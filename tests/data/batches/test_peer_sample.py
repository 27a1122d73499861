"""The sample of all peers, in the order of the whole data."""

import numpy as np
import pytest

import sumwise.data.thresholds
from sumwise.data.batches.peer_sample import PeerSample
from sumwise.data.thresholds import ThresholdRows
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import Shards
from tests.threaded_peers import run_together

SIZES = [300, 0, 200, 250, 50, 200]
STARTS = np.cumsum([0, *SIZES])


@pytest.mark.parametrize("owned", [[[0, 1, 2, 3, 4, 5]], [[0, 4], [1], [], [2, 3, 5]]])
@pytest.mark.parametrize("weighted", ["none", "all", "rank 0"])
@pytest.mark.parametrize("n_drawn", [40, 5000])
def test_sample_is_that_of_one_process(monkeypatch, owned, weighted, n_drawn):
    monkeypatch.setattr(sumwise.data.thresholds, "SAMPLE_ROWS", n_drawn)
    rng, n_rows = np.random.default_rng(0), sum(SIZES)
    X = rng.normal(size=(n_rows, 37)).astype(np.float32)
    whole = np.split(np.arange(n_rows), STARTS[1:-1])
    places = [np.concatenate([whole[0][:0], *(whole[k] for k in own)]) for own in owned]
    weight = rng.choice([0.0, 1.0, 2.5], n_rows)
    if weighted == "rank 0":
        weight[np.setdiff1d(np.arange(n_rows), places[0])] = 1
    features = np.delete(np.arange(37), [3, 20])

    def draw(rows, own_weight, shards=None):
        return ThresholdRows.draw(rows, own_weight, 5, Team(1), shards)

    def work(peers):
        rows, own = places[peers.rank], owned[peers.rank]
        shards = Shards.of_sizes(peers, own, [SIZES[k] for k in own])
        has_weight = weighted == "all" or (weighted == "rank 0" and peers.rank == 0)
        own_weight = weight[rows] if has_weight else None
        drawn = draw(np.arange(rows.size, dtype=np.uint32), own_weight, shards)
        sample = PeerSample.open(drawn, shards)
        columns = list(sample.gather(X[rows][drawn.sample].T, features))
        assert [len(part) for part in columns] == [16, 16, 3]
        return sample.n_rows, sample.weight, np.concatenate(columns)

    expected = draw(np.arange(n_rows, dtype=np.uint32), None if weighted == "none" else weight)
    for n_found, found_weight, columns in run_together(len(owned), work):
        assert n_found == expected.sample.size
        assert found_weight.tolist() == expected.weight.tolist()
        np.testing.assert_array_equal(columns, X[expected.sample][:, features].T)
        assert columns.dtype == np.float32
