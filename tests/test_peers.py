"""A process without peers."""

import numpy as np

from sumwise.peers import Alone, Peers


def test_alone_changes_nothing():
    peers: Peers = Alone()
    assert (peers.rank, peers.size) == (0, 1)
    sums, values = np.arange(3), np.array([1.5, -2.0])
    peers.add(sums, sums)
    assert sums.tolist() == [0, 1, 2]
    assert peers.largest(values).tolist() == [1.5, -2.0]
    assert [own.tolist() for own in peers.gather(sums)] == [[0, 1, 2]]
