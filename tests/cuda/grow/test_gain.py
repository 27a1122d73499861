"""Gains and values on a device have the bits of the CPU's, for sums and limits of all kinds."""

from pathlib import Path

import numpy as np

from sumwise.cuda.grow.layout import make_grow_header
from sumwise.cuda.runtime.program import Program
from sumwise.kernels.grow.candidates import add_gain
from sumwise.kernels.grow.gain import (
    Limits,
    child_value,
    leaf_value,
    node_score,
    split_gain,
    without_order,
)
from sumwise.kernels.runtime.jit import kernel

PROGRAM = Program("gain", (str(Path(__file__).with_name("gain.cu")),), make_grow_header())
N = 20_000


@kernel
def evaluate(limits, left, totals, out):
    for i in range(left.shape[0]):
        own = limits[i]
        sides = (own[0], own[1], own[2], own[3], own[4], own[5], np.int64(own[6]))
        found = Limits(*sides, own[7], own[8], own[9], own[10], own[11])
        out[0, i] = split_gain(found, left[i], totals[i])
        out[1, i] = node_score(found, totals[i])
        out[2, i] = child_value(found, left[i])
        sums = totals[i, 0] * own[0], totals[i, 1] * own[1]
        out[3, i] = leaf_value(*sums, own[2], own[3], own[4])
        out[4, i] = split_gain(without_order(found), left[i], totals[i])
        out[5, i] = add_gain(out[0, i], out[4, i] if i % 3 else -np.inf)


def draw_limits(rng):
    """Limits of every kind: plain ones, and any combination of others."""
    limits = np.zeros((N, 12))
    limits[:, 0] = 2.0 ** rng.integers(-60, 60, N)
    limits[:, 1] = 2.0 ** rng.integers(-60, 20, N)
    limits[:, 2] = rng.choice([0.0, 0.0, 0.3, 1e5], N)  # l1
    limits[:, 3] = rng.choice([0.0, 1.0, 1e-8], N)  # l2
    limits[:, 4] = rng.choice([0.0, 0.0, 0.2, 1e6], N)  # largest step
    limits[:, 5] = rng.choice([0.0, 1e-3, 5.0], N)
    limits[:, 6] = rng.choice([1, 1, 20], N)
    limits[:, 7] = rng.choice([0.0, 0.0, 3.0], N)  # smoothing
    limits[:, 8] = np.where(limits[:, 7] > 0, rng.standard_normal(N), 0.0)
    limits[:, 9] = rng.choice([-np.inf, -np.inf, -0.1, 0.0, 2.0], N)
    has_lower = limits[:, 9] > -np.inf
    limits[:, 10] = np.where(has_lower, limits[:, 9], 0.0) + rng.choice([0.0, 0.5, np.inf], N)
    limits[:, 11] = rng.choice([0.0, 0.0, 1.0, -1.0], N)
    limits[: N // 3, 2:] = 0.0  # plain
    limits[: N // 3, 9], limits[: N // 3, 10] = -np.inf, np.inf
    return limits


def draw_sums(rng):
    """Totals and parts of them, from few rows to sums beyond 2**53, often on the edge."""
    bits = rng.integers(1, 61, N)
    totals, left = np.zeros((2, N, 3), dtype=np.int64)
    for sums in (totals, left):
        sums[:, 0] = rng.integers(-(1 << 62), 1 << 62, N) >> (61 - bits)
        sums[:, 1] = rng.integers(0, 1 << 62, N) >> (61 - bits)
        sums[:, 2] = rng.choice([0, 1, 19, 20, 1000], N)
    totals[:, 1:] += left[:, 1:]
    is_same = rng.random(N) < 0.1
    totals[is_same] = left[is_same]
    return left, totals


def test_gains_and_values(device):
    rng = np.random.default_rng(0)
    limits, (left, totals) = draw_limits(rng), draw_sums(rng)
    expected = np.empty((6, N))
    evaluate(limits, left, totals, expected)
    out = device.allocate((6, N), np.float64)
    uploaded = (device.upload(items) for items in (limits, left, totals))
    device.launch(device.load(PROGRAM)["evaluate"], 4, 128, (*uploaded, N, out))
    found = out.to_host()
    is_nan = np.isnan(expected)  # of any sign
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    assert (found.view(np.int64) == expected.view(np.int64))[~is_nan].all()
    assert 0.2 < np.isfinite(expected[0]).mean() < 0.9


def test_order_of_gains(device):
    gains = np.array([-np.inf, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300, np.inf])
    gains = np.append(gains, [np.nan, -np.nan])
    out = device.allocate(gains.size, np.int64)
    kernel = device.load(PROGRAM)["order_gains"]
    device.launch(kernel, 1, 32, (device.upload(gains), gains.size, out))
    order = out.to_host()
    assert (np.diff(order[:-2]) > 0).all()
    assert (order[-2:] == order[0]).all()  # what is not a number is no gain
