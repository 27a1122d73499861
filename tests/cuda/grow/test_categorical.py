"""Rows at splits by sets of categories. How sets are chosen is tested by tests/tree."""

import numpy as np
import pytest

from sumwise.cuda.grow import launching
from sumwise.cuda.grow.launching import RowKernels, Rows, pack_tree
from sumwise.cuda.grow.layout import LEAF_SUMS, SET, SET_WORDS
from sumwise.kernels.grow.layout import SUBTRACT
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.grow.row_job import ROW, RowJob, grow_random, make_records

BINS = [255, 1, 40, 255]
SCALE = 2.0**47


class SetJob(RowJob):
    """A tree whose splits are sets, half of them; ``is_left`` tells the bins that go left."""

    def __init__(self, device, rng, n_rows, n_splits):
        super().__init__(device, rng, n_rows, BINS, n_nodes=1 + 2 * n_splits)
        self.nodes = grow_random(rng, self, n_splits)
        by_set = (rng.random(self.nodes.size) < 0.5) & (self.nodes["left"] >= 0)
        by_set[0] = True
        self.nodes["split_bin"][by_set] = SET
        bins = np.arange(32 * SET_WORDS)
        bound, missing_left = self.nodes["split_bin"][:, None], self.nodes["missing_left"][:, None]
        self.is_left = np.where(bins == 0, missing_left != 0, bins <= bound)
        self.is_left[by_set] = rng.random((by_set.sum(), bins.size)) < 0.5
        # Only nodes that split by a set have one.
        self.sets = np.packbits(self.is_left, axis=1, bitorder="little").view(np.uint32)
        self.sets[~by_set] = 0xABABABAB
        self.by_set, self.set_node = by_set, np.flatnonzero(by_set)
        self.arrays["node_sets"] = device.upload(self.sets)
        self.set("nodes", self.nodes)
        self.state |= {"n_nodes": self.nodes.size, "exact_scale_g": SCALE, "exact_scale_h": SCALE}
        self.kernels = RowKernels(device, n_rows, self.tile_bins, has_sets=True)

    def goes_left(self, node, rows):
        return self.is_left[node, self.columns[self.nodes["feature"][node], rows]]

    def find_leaves(self, rows):
        leaves = np.zeros(rows.size, dtype=np.int64)
        for i, row in enumerate(rows):
            while self.nodes["left"][leaves[i]] >= 0:
                left = self.nodes["left"][leaves[i]]
                leaves[i] = left + (not self.goes_left(leaves[i], row))
        return leaves

    def pack_steps(self):
        """Return the steps of the finished tree, where sets have bin 0."""
        nodes = self.nodes.copy()
        nodes["split_bin"][self.set_node] = 0
        fields = (nodes[name] for name in ("feature", "split_bin", "missing_left", "left"))
        return pack_tree(*fields, self.set_node)


@pytest.mark.parametrize("order", ["forward", "reversed", "shuffled"])
def test_records_move_to_children(order):
    rng = np.random.default_rng(0)
    with EmulatedDevice(n_processors=3, order=order) as device:
        job = SetJob(device, rng, 9000, 12)
        families = job.get("families")
        # A set, and a node without one that is no child of the first.
        others = (job.nodes["left"] > 0) & (job.nodes["depth"] > 1) & ~job.by_set
        parents = [0, np.flatnonzero(others)[0]]
        rows = np.array_split(rng.permutation(9000), len(parents))
        records = np.zeros((2, 9000), dtype=np.uint64)
        first, last, at = job.get("first"), job.get("last"), 0
        move_first = np.zeros(families.size + 1, dtype=np.int64)
        for k, (node, own) in enumerate(zip(parents, rows, strict=True)):
            left, depth = job.nodes["left"][node], job.nodes["depth"][node]
            first[node], last[node] = at, at + own.size
            records[depth & 1, at : at + own.size] = make_records(own, own * 0, own * 0)
            family = families[k]
            family["parent"], family["left"], family["small"] = node, left, left
            family["small_slot"], family["mode"], family["depth"] = k, SUBTRACT, depth + 1
            at += own.size
            move_first[k + 1 :] = at
        for name, items in (("families", families), ("first", first), ("last", last)):
            job.set(name, items)
        job.set("move_first", move_first)
        job.set("records", records.view(np.int64))
        job.state["n_families"] = len(parents)
        job.kernels.partition_rows(job.pack())
        found = job.get("records").view(np.uint64)
        for node, own in zip(parents, rows, strict=True):
            left, side = job.nodes["left"][node], (job.nodes["depth"][node] + 1) & 1
            is_left = job.goes_left(node, own)
            for child, expected in ((left, own[is_left]), (left + 1, own[~is_left])):
                span = slice(job.get("first")[child], job.get("last")[child])
                moved = (found[side, span] >> ROW).astype(np.int64)
                np.testing.assert_array_equal(np.sort(moved), np.sort(expected))


@pytest.mark.parametrize("shared_bytes", [48 << 10, 600, 64])
@pytest.mark.parametrize("n_splits", [1, 12])
def test_sums_by_leaf(device, monkeypatch, shared_bytes, n_splits):
    monkeypatch.setattr(launching, "_SUM_BYTES", shared_bytes)
    job = SetJob(device, np.random.default_rng(1), 1500, n_splits)
    job.kernels.sum_leaves(job.pack())
    leaves = job.find_leaves(job.rows)
    np.testing.assert_array_equal(job.get("leaf"), leaves)
    sums = job.get("exchange")[LEAF_SUMS : LEAF_SUMS + 3 * job.nodes.size].reshape(-1, 3)
    np.testing.assert_array_equal(sums[:, 2], np.bincount(leaves, minlength=job.nodes.size))


@pytest.mark.parametrize("is_shared", [True, False])
def test_rows_walk(device, monkeypatch, is_shared):
    monkeypatch.setattr(launching, "_WALK_BYTES", 16384 if is_shared else 64)
    job = SetJob(device, np.random.default_rng(2), 1200, 20)
    numbers, rows = np.arange(100, 1100), Rows(0, 100, 1000)
    leaves, value, columns = job.find_leaves(numbers), job.arrays["value"], job.arrays["columns"]
    steps, sets = device.upload(job.pack_steps()), device.upload(job.sets)
    expected = job.scores.copy()
    job.kernels.add_tree_values(columns, steps, value, rows, job.scores_array, sets)
    job.kernels.add_grown_values(job.pack(), rows, job.scores_array)
    for _ in range(2):
        expected[numbers] += job.get("value")[leaves]
    np.testing.assert_array_equal(job.scores_array.to_host(), expected)
    job.kernels.find_leaves(columns, steps, rows, job.arrays["leaf"], sets)
    np.testing.assert_array_equal(job.get("leaf")[numbers], leaves)


def test_steps_are_packed_alike(device):
    job = SetJob(device, np.random.default_rng(3), 100, 20)
    steps = device.zeros(job.nodes.size, np.uint64)
    job.kernels.pack_steps(job.pack(), job.nodes.size, steps)
    np.testing.assert_array_equal(steps.to_host(), job.pack_steps())
