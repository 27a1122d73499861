"""Leaves of rows, exact sums by leaf, and scores."""

import numpy as np
import pytest

from sumwise.cuda.grow import launching
from sumwise.cuda.grow.layout import LEAF_SUMS
from sumwise.kernels.grow.layout import OUT_OF_RANGE
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.grow.row_job import RowJob, find_leaves, grow_random

SCALE_G, SCALE_H = 2.0**47, 2.0**48


def make_job(device, rng, n_rows, n_splits, rows=None, bins=(255, 1, 40, 3)):
    job = RowJob(device, rng, n_rows, bins, rows, n_nodes=1 + 2 * n_splits)
    nodes = grow_random(rng, job, n_splits)
    job.set("nodes", nodes)
    job.state |= {"n_nodes": nodes.size, "exact_scale_g": SCALE_G, "exact_scale_h": SCALE_H}
    return job, nodes


def check(job, nodes):
    """Compare leaves and sums with those of rows that walk one by one."""
    leaves = find_leaves(job, nodes, job.rows)
    unused = np.setdiff1d(np.arange(job.n_rows), job.rows)
    found = job.get("leaf")
    np.testing.assert_array_equal(found[job.rows], leaves)
    assert np.all(found[unused] == 1 << 30)
    sums = np.zeros((nodes.size, 3), dtype=np.int64)
    g = np.rint(job.gradient[job.rows] * SCALE_G).astype(np.int64)
    h = np.rint(job.hessian[job.rows] * SCALE_H).astype(np.int64)
    h = np.maximum(h, job.hessian[job.rows] > 0)
    for s, values in enumerate((g, h, np.ones_like(g))):
        np.add.at(sums[:, s], leaves, values)
    end = LEAF_SUMS + 3 * nodes.size
    np.testing.assert_array_equal(job.get("exchange")[LEAF_SUMS:end].reshape(-1, 3), sums)


@pytest.mark.parametrize("order", ["forward", "shuffled"])
@pytest.mark.parametrize("n_splits", [0, 1, 7, 63])
def test_sums_by_leaf(order, n_splits):
    rng = np.random.default_rng(n_splits)
    with EmulatedDevice(order=order) as device:
        job, nodes = make_job(device, rng, 3000, n_splits)
        job.hessian[:50] = 1e-300  # a positive hessian never rounds to nothing
        job.hessian[50:60] = -1.0
        job.kernels.sum_leaves(job.pack())
        check(job, nodes)


@pytest.mark.parametrize("shared_bytes", [1024, 256, 64])
def test_trees_that_do_not_fit_in_shared_memory(device, monkeypatch, shared_bytes):
    """Fewer copies of the sums; none; and not even the steps."""
    monkeypatch.setattr(launching, "_SUM_BYTES", shared_bytes)
    rng = np.random.default_rng(1)
    job, nodes = make_job(device, rng, 700, 12)
    job.kernels.sum_leaves(job.pack())
    check(job, nodes)


def test_rows_of_a_sample(device):
    rng = np.random.default_rng(2)
    rows = np.flatnonzero(rng.random(2000) < 0.3).astype(np.uint32)
    job, nodes = make_job(device, rng, 2000, 15, rows)
    packed = job.pack()
    job.kernels.sum_leaves(packed)
    check(job, nodes)
    job.kernels.add_leaf_values(packed)
    expected = job.scores.copy()
    expected[rows] += job.get("value")[find_leaves(job, nodes, rows)]
    np.testing.assert_array_equal(job.scores_array.to_host(), expected)


@pytest.mark.parametrize("what", ["neighbors", "no scores", "out of range"])
def test_scores(device, what):
    rng = np.random.default_rng(3)
    rows = np.arange(7, 900, dtype=np.uint32)
    job, nodes = make_job(device, rng, 1000, 15, rows)
    expected = job.scores.copy()
    if what == "out of range":
        job.state["status"] = OUT_OF_RANGE
    packed = job.pack(scores=what != "no scores")
    job.kernels.sum_leaves(packed)
    job.kernels.add_leaf_values(packed)
    if what == "neighbors":
        expected[rows] += job.get("value")[find_leaves(job, nodes, rows)]
    np.testing.assert_array_equal(job.scores_array.to_host(), expected)
    if what == "out of range":
        assert not job.get("exchange").any()
    else:
        check(job, nodes)
