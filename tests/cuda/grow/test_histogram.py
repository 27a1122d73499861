"""Histograms in shared memory against sums by NumPy."""

import numpy as np
import pytest

from sumwise.cuda.grow import launching
from sumwise.cuda.grow.layout import ROOT
from sumwise.kernels.grow.layout import NO_HISTOGRAMS, SUBTRACT, TREE
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.grow.row_job import RowJob, make_records

WIDE = 2.0**49


@pytest.fixture(autouse=True, params=[0, 1 << 20], ids=["tiles", "slices"])
def sliced_rows(request, monkeypatch):
    """Whether blocks sum whole tiles or slices of them, for any number of rows."""
    monkeypatch.setattr(launching, "_SLICED_ROWS", request.param)


def sum_rows(job, rows, g, h):
    """Return the sums of rows by feature, each (3, bins)."""
    found = []
    for column, n in zip(job.columns, job.n_value_bins, strict=True):
        sums = np.zeros((3, n + 1), dtype=np.int64)
        for row, statistic in zip(sums, (g, h, np.ones_like(g)), strict=True):
            np.add.at(row, column[rows], statistic)
        found.append(sums)
    return found


class Families:
    """Families that share the rows of a job, with random packed or exact values."""

    def __init__(self, job, rng, sizes, modes=None, exact=False, depths=None):
        self.job, self.sizes = job, np.asarray(sizes)
        n = self.sizes.size
        self.modes = [SUBTRACT] * n if modes is None else modes
        order = rng.permutation(job.n_rows)[: self.sizes.sum()]
        self.g, self.h = self._draw_values(rng, exact)
        depths = np.arange(n) % 3 if depths is None else depths
        records = np.zeros((2, job.rows.size), dtype=np.uint64)
        families = job.get("families")
        first, last = job.get("first"), job.get("last")
        build_first = np.zeros(families.size + 1, dtype=np.int64)
        self.rows, at = [], 0
        for k, (size, mode, depth) in enumerate(zip(self.sizes, self.modes, depths, strict=True)):
            own = order[at : at + size]
            self.rows.append(own)
            records[depth & 1, at : at + size] = make_records(own, self.g[own], self.h[own])
            small = 2 + 2 * k
            first[small], last[small] = at, at + size
            families[k]["small"], families[k]["mode"], families[k]["depth"] = small, mode, depth
            families[k]["small_slot"] = n - 1 - k
            build_first[k + 1] = build_first[k] + (0 if mode == NO_HISTOGRAMS else size)
            at += size
        job.state |= {"n_families": n, "exact": int(exact)}
        job.state |= {"exact_scale_g": 1.0, "exact_scale_h": 1.0}
        for name, items in (("families", families), ("records", records)):
            job.set(name, items)
        for name, items in (("first", first), ("last", last), ("build_first", build_first)):
            job.set(name, items)
        job.set("histograms", np.zeros(job.arrays["histograms"].shape))

    def _draw_values(self, rng, exact):
        job, n = self.job, self.job.n_rows
        if not exact:
            return rng.integers(-8191, 8192, n), rng.integers(0, 16384, n)
        job.gradient = np.rint(rng.uniform(-WIDE, WIDE, n))
        job.hessian = np.rint(rng.uniform(0, WIDE, n))
        job.gradient[: n // 4] = rng.integers(-3, 4, n // 4)
        return job.gradient.astype(np.int64), job.hessian.astype(np.int64)

    def check(self, histograms):
        for k, (rows, mode) in enumerate(zip(self.rows, self.modes, strict=True)):
            own = rows if mode != NO_HISTOGRAMS else rows[:0]
            expected = sum_rows(self.job, own, self.g[own], self.h[own])
            for found, right in zip(self.job.split_histogram(histograms[k]), expected, strict=True):
                np.testing.assert_array_equal(found, right)


def check_slots(job, families):
    job.kernels.build_histograms(job.pack())
    n = families.sizes.size
    families.check(job.get("histograms")[:n][::-1])


@pytest.mark.parametrize("exact", [False, True])
def test_root(device, exact):
    rng = np.random.default_rng(0)
    job = RowJob(device, rng, 2900, [255] * 28)
    check_slots(job, Families(job, rng, [2900], [ROOT], exact, [0]))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_families_and_tiles(order, exact):
    rng = np.random.default_rng(1)
    modes = [SUBTRACT, NO_HISTOGRAMS, SUBTRACT, SUBTRACT]
    with EmulatedDevice(n_processors=5, order=order) as device:
        job = RowJob(device, rng, 5000, rng.integers(1, 60, 70))
        check_slots(job, Families(job, rng, [1500, 700, 33, 2600], modes, exact))


@pytest.mark.parametrize("exact", [False, True])
def test_bins_that_do_not_fit_in_shared_memory(exact):
    """A device with little of it takes the bins in ranges."""
    rng = np.random.default_rng(2)
    with EmulatedDevice(shared_memory=48 << 10) as device:
        job = RowJob(device, rng, 1000, [255, 3, 254, 100])
        check_slots(job, Families(job, rng, [600, 31], None, exact))


def test_extreme_values(device):
    """All rows in one bin, and the largest values: no 32-bit sum overflows."""
    rng = np.random.default_rng(3)
    job = RowJob(device, rng, 3000, [1])
    families = Families(job, rng, [3000], [ROOT], False, [0])
    families.g[:], families.h[:] = -8191, 16383
    records = job.get("records")
    records[0] = make_records(families.rows[0], families.g, families.h)
    job.set("records", records)
    check_slots(job, families)


@pytest.mark.parametrize("shared_memory", [24 << 10, 228 << 10])
def test_hessians_that_are_all_the_same(shared_memory):
    rng = np.random.default_rng(9)
    with EmulatedDevice(shared_memory=shared_memory) as device:
        job = RowJob(device, rng, 2000, [255] * 18)
        families = Families(job, rng, [1300, 300])
        families.h[:] = job.state["even_h"] = 8192
        check_slots(job, families)


def test_one_row(device):
    rng = np.random.default_rng(4)
    job = RowJob(device, rng, 50, [7, 9])
    check_slots(job, Families(job, rng, [1, 0, 2]))


def test_on_several_devices_sums_go_to_the_exchange(device):
    rng = np.random.default_rng(5)
    job = RowJob(device, rng, 700, [20] * 5)
    job.peers = [job, job]
    families = Families(job, rng, [300, 200])
    before = job.get("histograms")
    job.kernels.build_histograms(job.pack())
    built = job.get("exchange")[job.exchange_built :].reshape(-1, job.length)
    families.check(built[:2])
    assert not built[2:].any()
    np.testing.assert_array_equal(job.get("histograms"), before)


@pytest.mark.parametrize("n_features", [16, 17, 31, 33, 48])
def test_narrow_tiles(device, n_features):
    rng = np.random.default_rng(7)
    job = RowJob(device, rng, 2000, rng.integers(1, 200, n_features))
    check_slots(job, Families(job, rng, [1500, 17]))


def test_features_that_were_not_drawn(device):
    """They are not summed, nor is a tile of such."""
    rng = np.random.default_rng(8)
    job = RowJob(device, rng, 1500, [9] * 70)
    families = Families(job, rng, [1400])
    drawn = np.zeros(70, dtype=bool)
    drawn[[3, 31, 66]] = True
    allowed = job.get("allowed")
    allowed[TREE] = drawn
    job.set("allowed", allowed)
    job.kernels.build_histograms(job.pack())
    histogram = job.get("histograms")[0]
    rows = families.rows[0]
    expected = sum_rows(job, rows, families.g[rows], families.h[rows])
    for f, found in enumerate(job.split_histogram(histogram)):
        np.testing.assert_array_equal(found, expected[f] if drawn[f] else 0)


def test_nothing_to_do(device):
    rng = np.random.default_rng(6)
    job = RowJob(device, rng, 700, [20] * 5)
    Families(job, rng, [300, 200])
    job.state["n_families"] = 0
    job.kernels.build_histograms(job.pack())
    assert not job.get("histograms").any()
