"""Records and sums of integers against the naive twin."""

import numpy as np
import pytest

from sumwise.cuda.grow.layout import MAXIMA, PACKED_G, PACKED_H, SIZE_G, SUM_G, SUM_H, SUMS
from sumwise.cuda.grow.program import GROW
from tests.cuda.emulator import EmulatedDevice
from tests.cuda.grow.row_job import GARBAGE, RowJob, make_records
from tests.naive import quantize as naive

N_ROWS = 2300


def quantize_naively(gradient, hessian, rows):
    """Return the records, and the five sums."""
    g, h = gradient[rows], np.maximum(hessian[rows], 0.0)  # negative hessians count as none
    packed, exact = naive.quantize_packed(g, h), naive.quantize_wide(g, h)
    values = (np.abs(exact.gi), exact.hi, packed.gi, packed.hi, exact.gi)
    return make_records(rows, packed.gi, packed.hi), [one.sum() for one in values]


def run(job, is_listed=None):
    packed = job.pack(is_listed)
    job.kernels.find_maxima(packed)
    job.kernels.quantize_rows(packed)


def check(job):
    right = quantize_naively(job.gradient, job.hessian, job.rows)
    np.testing.assert_array_equal(job.get("records")[0], right[0])
    order = [SIZE_G, SUM_H, PACKED_G, PACKED_H, SUM_G]
    assert order == list(range(5))
    np.testing.assert_array_equal(job.get("exchange")[SUMS : SUMS + 5], right[1])


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


def draw_rows(rng, kind):
    if kind == "all":
        return None
    if kind == "neighbors":
        return np.arange(100, 2001, dtype=np.uint32)
    return np.flatnonzero(rng.random(N_ROWS) < 0.4).astype(np.uint32)


@pytest.mark.parametrize("kind", ["all", "neighbors", "subset"])
@pytest.mark.parametrize("order", ["forward", "shuffled"])
def test_records_and_sums(rng, kind, order):
    with EmulatedDevice(n_processors=3, order=order) as device:
        job = RowJob(device, rng, N_ROWS, [3, 4], draw_rows(rng, kind))
        run(job)
        check(job)
        assert np.all(job.get("records")[1] == GARBAGE)


def test_listed_rows_without_gaps(device, rng):
    job = RowJob(device, rng, N_ROWS, [3], draw_rows(rng, "neighbors"))
    run(job, is_listed=True)
    check(job)


EXTREMES = {
    "zeros": (0.0, 0.0),
    "negative zeros": (-0.0, -0.0),
    "subnormal": (5e-324, 1e-310),
    "large": (-1e140, 1e140),
    "negative hessians": (1.0, -3.0),
    "heavy tails": (1e9, 1e9),
    "halves": (8191.5, 0.5),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_values(device, rng, name):
    job = RowJob(device, rng, 300, [3])
    g, h = EXTREMES[name]
    if name in ("heavy tails", "halves"):
        job.gradient[7], job.hessian[9] = g, h
    else:
        job.gradient[:] = g * rng.choice([1.0, 0.5, 0.25], 300)
        job.hessian[:] = h * rng.choice([1.0, 0.5, 0.25], 300)
    run(job)
    check(job)


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf, 1.1e140])
@pytest.mark.parametrize("statistic", ["gradient", "hessian"])
def test_values_out_of_range_leave_nothing(device, rng, bad, statistic):
    job = RowJob(device, rng, 300, [3])
    getattr(job, statistic)[123] = bad
    run(job)
    assert np.all(job.get("records") == GARBAGE)
    assert not job.get("exchange")[SUMS : SUMS + 5].any()


def test_the_maxima(device, rng):
    job = RowJob(device, rng, 300, [3])
    job.hessian[:100] *= -5.0
    run(job)
    maxima = job.get("exchange")[MAXIMA : MAXIMA + 3].view(np.float64)
    sizes = np.abs(job.gradient).max(), job.hessian.max(), np.abs(job.hessian).max()
    np.testing.assert_array_equal(maxima, sizes)


@pytest.mark.parametrize("hessians", [[1.0], [0.37], [0.5, 0.5 - 1e-9], [0.5, 0.4], [0.0]])
def test_whether_all_hessians_are_the_same(device, rng, hessians):
    job = RowJob(device, rng, 300, [3])
    job.hessian[:] = hessians[0]
    job.hessian[-1] = hessians[-1]
    packed = naive.quantize_packed(job.gradient, job.hessian).hi
    run(job)
    device.launch(device.load(GROW)["plan_root"], 1, 32, [job.pack()])
    assert job.get_state("even_h") == (packed[0] if packed[0] == packed[-1] else 0)


def test_two_devices_have_the_records_of_one(rng):
    with EmulatedDevice() as first, EmulatedDevice() as second:
        one = RowJob(first, rng, N_ROWS, [3])
        parts = []
        for device, begin, end in ((first, 0, 900), (second, 900, N_ROWS)):
            part = RowJob(device, rng, N_ROWS, [3], np.arange(begin, end, dtype=np.uint32))
            part.gradient, part.hessian, part.all_rows = one.gradient, one.hessian, N_ROWS
            parts.append(part)
        for part in parts:
            part.peers = parts
        packed = [part.pack() for part in parts]
        for part, job in zip(parts, packed, strict=True):
            part.kernels.find_maxima(job)
        for part, job in zip(parts, packed, strict=True):
            part.kernels.quantize_rows(job)
        records, sums = quantize_naively(one.gradient, one.hessian, one.rows)
        found = np.concatenate([part.get("records")[0] for part in parts])
        np.testing.assert_array_equal(found, records)
        by_part = [part.get("exchange")[SUMS : SUMS + 5] for part in parts]
        np.testing.assert_array_equal(np.sum(by_part, axis=0), sums)


@pytest.mark.parametrize("slot", [-1, 0, 2])
@pytest.mark.parametrize("n_peers", [1, 2])
def test_the_root_is_cleared(device, rng, slot, n_peers):
    job = RowJob(device, rng, 300, [3, 7])
    job.peers = [job] * n_peers
    nodes = job.get("nodes")
    nodes[0]["slot"] = slot
    job.set("nodes", nodes)
    exchange = job.get("exchange")
    exchange[job.exchange_built :] = GARBAGE
    job.set("exchange", exchange)
    run(job)
    built = job.get("exchange")[job.exchange_built :].reshape(-1, job.length)
    in_slots, in_exchange = ([slot], []) if n_peers == 1 else ([], [0])
    for histograms, is_clear in ((job.get("histograms"), in_slots), (built, in_exchange)):
        clear = np.flatnonzero(~histograms.any(axis=1))
        np.testing.assert_array_equal(clear, is_clear if slot >= 0 else [])
