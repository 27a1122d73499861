"""The rows of a process among those of all processes."""

import numpy as np
from hypothesis import given, settings

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.sampling.peer_runs import Runs, find_run
from tests.partitions import Partition, partitions

examples = settings(derandomize=True, deadline=None, max_examples=60)


@kernel
def find_runs(bounds, values, out):
    for i in range(values.size):
        out[i] = find_run(bounds, values[i])


@examples
@given(partitions())
def test_runs_number_the_candidates_of_all_peers(partition):
    candidates = np.flatnonzero(
        np.random.default_rng(partition.n_rows).random(partition.n_rows) < 0.5
    )

    def work(shards, own):
        runs = Runs.find(partition.find_local(shards.peers.rank, candidates), shards)
        sizes = np.diff(runs.end, prepend=0)
        assert np.all(sizes > 0)
        assert np.all(np.diff(runs.first) > sizes[:-1])  # neighbors would be one run
        offset = np.repeat(runs.first - (runs.end - sizes), sizes)
        numbers = np.arange(offset.size) + offset
        assert candidates[numbers].tolist() == np.intersect1d(own, candidates).tolist()

    partition.run(work)


def test_neighbors_make_one_run():
    def work(shards, own):
        runs = Runs.find(np.arange(own.size, dtype=np.uint32), shards)
        return runs.end.tolist(), runs.first.tolist()

    found = Partition([3, 0, 4, 2, 5], [[0, 2, 4], [1], [3]]).run(work)
    assert found == [([7, 12], [0, 9]), ([], []), ([2], [7])]


def test_the_run_of_a_place_is_found():
    for bounds in ([], [5], [2, 5, 9, 10]):
        values = np.arange(-1, 12)
        found = np.empty(values.size, dtype=np.int64)
        find_runs(np.array(bounds, dtype=np.int64), values, found)
        assert found.tolist() == np.searchsorted(bounds, values, side="right").tolist()
