"""Rows that walk through finished trees."""

import numpy as np
import pytest

from sumwise.cuda.grow import launching
from sumwise.cuda.grow.launching import Rows, pack_tree
from sumwise.kernels.grow.layout import OUT_OF_RANGE
from tests.cuda.grow.row_job import RowJob, find_leaves, grow_random

N_ROWS = 1500


@pytest.fixture
def grown(device):
    rng = np.random.default_rng(0)
    job = RowJob(device, rng, N_ROWS, [255, 1, 40, 3], n_nodes=41)
    nodes = grow_random(rng, job, 20)
    job.set("nodes", nodes)
    job.state["n_nodes"] = nodes.size
    return job, nodes


def draw_rows(job, kind):
    """Return rows as numbers, and as kernels take them."""
    rng = np.random.default_rng(1)
    if kind == "neighbors":
        return np.arange(200, 1400), Rows(0, 200, 1200)
    rows = np.flatnonzero(rng.random(N_ROWS) < 0.5)
    return rows, Rows(job.device.upload(rows.astype(np.uint32)), 0, rows.size)


def pack(nodes):
    return pack_tree(*(nodes[name] for name in ("feature", "split_bin", "missing_left", "left")))


@pytest.mark.parametrize("kind", ["neighbors", "listed"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_values_of_a_tree_are_added(grown, kind, is_shared, monkeypatch):
    monkeypatch.setattr(launching, "_WALK_BYTES", 16384 if is_shared else 64)
    job, nodes = grown
    numbers, rows = draw_rows(job, kind)
    leaves = find_leaves(job, nodes, numbers)
    expected = job.scores.copy()
    steps, value = job.device.upload(pack(nodes)), job.arrays["value"]
    for _ in range(2):
        job.kernels.add_tree_values(job.arrays["columns"], steps, value, rows, job.scores_array)
        expected[numbers] += job.get("value")[leaves]
    job.kernels.add_grown_values(job.pack(), rows, job.scores_array)
    expected[numbers] += job.get("value")[leaves]
    np.testing.assert_array_equal(job.scores_array.to_host(), expected)
    job.kernels.find_leaves(job.arrays["columns"], steps, rows, job.arrays["leaf"])
    found = job.get("leaf")
    np.testing.assert_array_equal(found[numbers], leaves)
    assert np.all(np.delete(found, numbers) == 1 << 30)


def test_steps_are_packed_alike(grown):
    job, nodes = grown
    steps = job.device.zeros(nodes.size, np.uint64)
    job.kernels.pack_steps(job.pack(), nodes.size, steps)
    np.testing.assert_array_equal(steps.to_host(), pack(nodes))


def test_a_tree_that_was_not_grown(grown):
    job, _ = grown
    job.state["status"] = OUT_OF_RANGE
    job.kernels.add_grown_values(job.pack(), draw_rows(job, "listed")[1], job.scores_array)
    np.testing.assert_array_equal(job.scores_array.to_host(), job.scores)
