"""Records on their way to the children."""

import numpy as np
import pytest

from sumwise.kernels.grow.layout import NO_HISTOGRAMS, SUBTRACT
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.grow.row_job import GARBAGE, ROW, RowJob, goes_left, make_records

BINS = [255, 1, 40, 3, 254]


class Split:
    """Families that are split at random: parents 0, 1, ..., and children from 5 on."""

    def __init__(self, job, rng, sizes, modes=None, splits=None):
        self.job, self.sizes = job, sizes
        n = len(sizes)
        self.modes = [SUBTRACT] * n if modes is None else modes
        families, self.nodes = job.get("families"), job.get("nodes")
        first, last = job.get("first"), job.get("last")
        move_first = np.zeros(families.size + 1, dtype=np.int64)
        order = rng.permutation(job.n_rows)
        g, h = rng.integers(-8191, 8192, job.n_rows), rng.integers(0, 16384, job.n_rows)
        self.records = np.full((2, job.rows.size), GARBAGE, dtype=np.int64).view(np.uint64)
        self.parts, at = [], 0
        for k, (size, mode) in enumerate(zip(sizes, self.modes, strict=True)):
            at += 3  # records of other nodes lie between
            rows = order[at : at + size]
            part = make_records(rows, g[rows], h[rows])
            self.parts.append(part)
            depth = 4 + k % 2
            self.records[depth & 1, at : at + size] = part
            feature = rng.integers(len(BINS))
            split_bin, missing_left = rng.integers(1, BINS[feature] + 1), rng.integers(2)
            if splits is not None:
                feature, split_bin, missing_left = splits[k]
            node = self.nodes[k]
            node["feature"], node["split_bin"] = feature, split_bin
            node["missing_left"], node["depth"], node["left"] = missing_left, depth, 5 + 2 * k
            families[k]["depth"] = depth + 1
            first[k], last[k] = at, at + size
            family = families[k]
            family["parent"], family["left"], family["mode"] = k, 5 + 2 * k, mode
            family["small"], family["small_slot"] = 5 + 2 * k + rng.integers(2), k
            move_first[k + 1] = move_first[k] + size
            at += size
        self.families, self.first = families, first
        job.state["n_families"] = n
        for name, items in (("families", families), ("nodes", self.nodes), ("first", first)):
            job.set(name, items)
        for name, items in (("last", last), ("move_first", move_first)):
            job.set(name, items)
        job.set("records", self.records.view(np.int64))

    def run(self):
        self.job.kernels.partition_rows(self.job.pack())

    def check(self):
        job, found = self.job, self.job.get("records").view(np.uint64)
        first, last = job.get("first"), job.get("last")
        build_first, n_built = job.get("build_first"), 0
        written = np.zeros(found.shape, dtype=bool)
        assert build_first[0] == 0
        for k, part in enumerate(self.parts):
            node, family, start = self.nodes[k], self.families[k], self.first[k]
            is_left = goes_left(job, node, (part >> ROW).astype(np.int64))
            middle = start + is_left.sum()
            left = family["left"]
            assert (first[left], last[left]) == (start, middle)
            assert (first[left + 1], last[left + 1]) == (middle, start + part.size)
            side = (node["depth"] + 1) & 1
            written[side, start : start + part.size] = True
            own = found[side, start : start + part.size]
            n_left = is_left.sum()
            np.testing.assert_array_equal(np.sort(own[:n_left]), np.sort(part[is_left]))
            np.testing.assert_array_equal(np.sort(own[n_left:]), np.sort(part[~is_left]))
            if family["mode"] != NO_HISTOGRAMS:
                n_built += last[family["small"]] - first[family["small"]]
            assert build_first[k + 1] == n_built
        np.testing.assert_array_equal(found[~written], self.records[~written])
        assert not job.get("cursors").any()
        assert job.get_state("n_done") == 0


@pytest.mark.parametrize("order", ["forward", "reversed", "shuffled"])
@pytest.mark.parametrize("sizes", [[9000], [1, 31, 5000, 700], [0, 2048, 0, 0], [100, 0, 64, 4100]])
def test_records_move_to_children(sizes, order):
    rng = np.random.default_rng(len(sizes))
    with EmulatedDevice(n_processors=3, order=order) as device:
        split = Split(RowJob(device, rng, 10000, BINS), rng, sizes)
        split.run()
        split.check()
        assert split.job.get_state("n_families") == len(sizes)


EDGES = [(0, 255, 0), (0, 255, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1), (0, 254, 0)]


@pytest.mark.parametrize("split", EDGES, ids=str)
def test_bins_at_the_edges(device, split):
    rng = np.random.default_rng(1)
    own = Split(RowJob(device, rng, 3000, BINS), rng, [2500], splits=[split])
    own.run()
    own.check()


@pytest.mark.parametrize("n_peers", [1, 2])
def test_histograms_to_be_built_are_cleared(device, n_peers):
    rng = np.random.default_rng(2)
    job = RowJob(device, rng, 1000, BINS)
    job.peers = [job] * n_peers
    exchange = job.get("exchange")
    exchange[:] = GARBAGE
    job.set("exchange", exchange)
    split = Split(job, rng, [300, 50, 100], [SUBTRACT, NO_HISTOGRAMS, SUBTRACT])
    split.run()
    split.check()
    in_slots = ~job.get("histograms").any(axis=1)
    built = job.get("exchange")
    in_exchange = ~built[job.exchange_built :].reshape(-1, job.length).any(axis=1)
    is_clear, is_kept = (in_slots, in_exchange) if n_peers == 1 else (in_exchange, in_slots)
    np.testing.assert_array_equal(np.flatnonzero(is_clear), [0, 2])
    assert not is_kept.any()
    assert np.all(built[: job.exchange_built] == GARBAGE)


def test_many_families(device):
    """More than threads of the block that completes the work."""
    rng = np.random.default_rng(3)
    n = 600
    job = RowJob(device, rng, 3000, [20], n_slots=n, most_families=n, n_nodes=3 * n)
    families, nodes, first, last = map(job.get, ("families", "nodes", "first", "last"))
    records = np.zeros((2, 3000), dtype=np.int64)
    records[0] = make_records(np.arange(3000), np.zeros(3000), np.ones(3000)).view(np.int64)
    for k in range(n):
        nodes[k]["left"], nodes[k]["split_bin"] = n + 2 * k, 10
        first[k], last[k] = 5 * k, 5 * k + 5
        families[k]["parent"], families[k]["left"] = k, n + 2 * k
        families[k]["small"], families[k]["small_slot"] = n + 2 * k + k % 2, k
        families[k]["mode"], families[k]["depth"] = SUBTRACT, 1
    for name, items in (("families", families), ("nodes", nodes), ("first", first), ("last", last)):
        job.set(name, items)
    job.set("records", records)
    job.set("move_first", np.arange(n + 1) * 5)
    job.state["n_families"] = n
    job.kernels.partition_rows(job.pack())
    is_left = goes_left(job, nodes[0], np.arange(3000)).reshape(n, 5).sum(axis=1)
    first, last = job.get("first"), job.get("last")
    np.testing.assert_array_equal(last[n::2] - first[n::2], is_left)
    np.testing.assert_array_equal(last[n + 1 :: 2] - first[n + 1 :: 2], 5 - is_left)
    small = np.where(np.arange(n) % 2 == 0, is_left, 5 - is_left)
    np.testing.assert_array_equal(np.diff(job.get("build_first")), small)


def test_nothing_to_do(device):
    rng = np.random.default_rng(4)
    split = Split(RowJob(device, rng, 1000, BINS), rng, [300])
    split.job.state["n_families"] = 0
    split.run()
    np.testing.assert_array_equal(split.job.get("records").view(np.uint64), split.records)
    assert np.all(split.job.get("build_first") == GARBAGE)
    assert np.all(split.job.get("histograms") == GARBAGE)
