"""The k-th lowest key of all peers; draws are tested with the sampler."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling import peer_by_gradient
from sumwise.kernels.sampling.peer_by_gradient import KthKey, find_kth_key
from tests.threaded_peers import run_together

examples = settings(derandomize=True, deadline=None, max_examples=60)


def find_naively(keys, n_bits, k):
    valid = sorted(key for key in keys if key < 1 << n_bits)
    key = valid[k - 1]
    return KthKey(key, k - sum(own < key for own in valid), valid.count(key))


def find_together(parts, n_bits, k, n_threads=1):
    def work(peers):
        own = np.array(parts[peers.rank], dtype=np.uint64)
        with Team(n_threads) as team:
            return find_kth_key(own, n_bits, k, peers, team), peers.n_messages

    found = run_together(len(parts), work)
    assert len(set(found)) == 1
    return found[0]


@examples
@given(
    n_bits=st.sampled_from([5, 12, 13, 58, 63]),
    n_peers=st.integers(1, 4),
    n_threads=st.integers(1, 3),
    few=st.sampled_from([0, 1, 5, 4096]),
    data=st.data(),
)
def test_peers_find_the_kth_key_of_all(n_bits, n_peers, n_threads, few, data):
    distinct = data.draw(st.lists(st.integers(0, (1 << n_bits) - 1), min_size=1, max_size=20))
    taken = (1 << 64) - 1
    lists = st.lists(st.sampled_from([*distinct, taken]), max_size=30)
    parts = [data.draw(lists) for _ in range(n_peers)]
    parts[data.draw(st.integers(0, n_peers - 1))].append(distinct[0])
    keys = [key for own in parts for key in own]
    k = data.draw(st.integers(1, sum(key != taken for key in keys)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer_by_gradient, "_FEW", few)
        found, _ = find_together(parts, n_bits, k, n_threads)
    assert found == find_naively(keys, n_bits, k)


@pytest.mark.parametrize(("keys", "n_messages"), [("random", 2), ("equal", 6), ("one digit", 3)])
def test_few_keys_are_gathered(keys, n_messages):
    own = np.random.default_rng(0).integers(0, 1 << 63, (2, 10_000), dtype=np.uint64)
    if keys == "equal":
        own[:] = 7
    elif keys == "one digit":
        own >>= np.uint64(12)
    expected = find_naively(own.ravel().tolist(), 63, 4000)
    assert find_together(own, 63, 4000) == (expected, n_messages)
