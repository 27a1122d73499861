"""Peers agree on what they have found, and on errors."""

import pytest

from sumwise.data.batches.agreement import agree
from sumwise.errors import DataError
from sumwise.peers import ALONE
from tests.threaded_peers import run_together


def test_all_peers_know_what_each_has_found():
    assert run_together(3, lambda peers: agree(peers, lambda: peers.rank)) == [[0, 1, 2]] * 3
    assert agree(ALONE, lambda: "own") == ["own"]


def test_an_error_of_one_peer_is_an_error_of_all():
    def fail(peers):
        if peers.rank > 0:
            raise DataError(f"rank {peers.rank}")

    def work(peers):
        with pytest.raises(DataError) as caught:
            agree(peers, lambda: fail(peers))
        return str(caught.value)

    assert run_together(3, work) == ["rank 1"] * 3
