"""Quantization against its twin, with every number of threads."""

import numpy as np
import pytest

from sumwise.kernels.grow import layout
from sumwise.kernels.grow.layout import Gradients
from sumwise.kernels.grow.quantize import quantize_rows
from sumwise.kernels.runtime.fixed_point import EXACT_BITS, exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import Team
from tests.naive import quantize as naive

LARGEST = np.finfo(np.float64).max


@kernel
def run_quantize(thread, n_threads, sync, payload, rows, records, answers):
    in_range, exact = quantize_rows(payload, thread, n_threads, sync, rows, records)
    answers[thread, 0] = in_range
    answers[thread, 1] = exact


@kernel
def find_scale(maximum, limit):
    return power_scale(maximum, limit)


@kernel
def find_exact_limit(n_rows):
    return exact_limit(n_rows)


class Quantized:
    """What the kernel says of some rows."""

    def __init__(self, g, h, rows=None, n_threads=1, exact_rows=layout.EXACT_ROWS):
        rows = np.arange(g.size) if rows is None else rows
        self.payload = Gradients(
            np.asarray(g, dtype=np.float64),
            np.asarray(h, dtype=np.float64),
            np.full(g.size, -77, dtype=np.int64),
            np.full(g.size, -77, dtype=np.int64),
            np.zeros((n_threads, 8)),
            np.zeros((n_threads, 8), dtype=np.int64),
            np.zeros(4),
            exact_rows,
            *(0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
            np.empty(0),
        )
        self.records = np.zeros(rows.size, dtype=np.uint64)
        answers = np.full((n_threads, 2), -1, dtype=np.int64)
        with Team(n_threads) as team:
            team.run(run_quantize, self.payload, rows.astype(np.uint32), self.records, answers)
        assert np.all(answers == answers[0])  # all threads must agree, or they would part ways
        self.in_range, self.exact = map(bool, answers[0])

    @property
    def row(self):
        return (self.records >> np.uint64(32)).astype(np.int64)

    @property
    def packed_g(self):
        return (
            ((self.records >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint16).view(np.int16)
        )

    @property
    def packed_h(self):
        return (self.records & np.uint64(0xFFFF)).astype(np.uint16)


def assert_equals_twin(found, g, h, rows):
    wide = naive.quantize_wide(g[rows], h[rows])
    packed = naive.quantize_packed(g[rows], h[rows])
    assert found.in_range
    assert found.row.tolist() == rows.tolist()
    if found.exact:
        assert found.payload.exact_gradient[rows].tolist() == wide.gi.tolist()
        assert found.payload.exact_hessian[rows].tolist() == wide.hi.tolist()
    assert found.packed_g.tolist() == packed.gi.tolist()
    assert found.packed_h.tolist() == packed.hi.tolist()
    in_histograms = wide if found.exact else packed
    assert found.payload.units.tolist() == [
        1 / in_histograms.scale_g,
        1 / in_histograms.scale_h,
        1 / wide.scale_g,
        1 / wide.scale_h,
    ]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 100, 5000])
def test_equals_twin(n_rows, n_threads):
    rng = np.random.default_rng(n_rows)
    g, h = rng.normal(size=n_rows) * 3, rng.random(n_rows)
    found = Quantized(g, h, n_threads=n_threads)
    assert found.exact is (n_rows <= layout.EXACT_ROWS)
    assert_equals_twin(found, g, h, np.arange(n_rows))


def test_only_the_given_rows_count():
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=200), rng.random(200)
    rows = np.arange(1, 200, 2)
    g[0] = h[0] = 1e9
    g[2] = np.nan
    found = Quantized(g, h, rows, n_threads=2)
    assert_equals_twin(found, g, h, rows)
    assert np.all(found.payload.exact_gradient[::2] == -77)  # the others are not touched


@pytest.mark.parametrize(
    "g",
    [[1e140, -1e139, 1.0], [1e-310, -3e-311, 0.0], [0.0, 0.0, 0.0], [-8.0, 1.0, 0.5], [1e-300] * 3],
    ids=str,
)
@pytest.mark.parametrize("h", [[1e140, 1.0, 0.0], [1e-310, 0.0, 2e-312], [0.0] * 3], ids=str)
def test_extremes_equal_twin(g, h):
    g, h = np.array(g), np.array(h)
    assert_equals_twin(Quantized(g, h), g, h, np.arange(3))


@pytest.mark.parametrize("largest", [1e140, 1e100, 1.0, 8191.0, 8191.5, 1e-300, 5e-324])
def test_packed_values_stay_within_their_limits(largest):
    g, h = largest * np.array([1.0, -1.0, 0.3]), largest * np.array([1.0, 0.5, 0.0])
    found = Quantized(g, h, exact_rows=0)
    assert np.abs(found.packed_g.astype(int)).max() <= layout.GRADIENT_LIMIT
    assert found.packed_h.max() <= layout.HESSIAN_LIMIT
    # and keep the order of the values
    assert found.packed_g[0] >= found.packed_g[2] >= 0 >= found.packed_g[1]
    assert found.packed_h[0] >= found.packed_h[1] >= found.packed_h[2] == 0
    assert np.abs(found.payload.exact_gradient).max() <= 2**EXACT_BITS


def test_half_of_the_range_is_used_at_least():
    rng = np.random.default_rng(0)
    for scale in 10.0 ** rng.uniform(-280, 139, 50):
        found = Quantized(np.array([scale, 0.0]), np.array([scale, 0.0]))
        assert found.packed_g[0] > layout.GRADIENT_LIMIT // 2
        assert found.packed_h[0] > layout.HESSIAN_LIMIT // 2
        assert found.payload.exact_gradient[0] > 2 ** (EXACT_BITS - 1)


def test_a_positive_hessian_never_becomes_zero():
    h = np.array([1.0, 1e-5, 1e-20, 1e-300, 5e-324, 0.0])
    found = Quantized(np.zeros(6), h)
    assert found.packed_h.tolist() == [8192, 1, 1, 1, 1, 0]
    assert ((found.payload.exact_hessian > 0) == (h > 0)).all()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(
    "bad", [np.nan, -np.nan, np.inf, -np.inf, 1.1 * layout.LARGEST_GRADIENT, LARGEST]
)
@pytest.mark.parametrize("which", [0, 1])
def test_out_of_range_is_noticed_by_all_threads(bad, which, n_threads):
    g, h = np.ones(100), np.ones(100)
    (g, h)[which][97] = bad
    assert not Quantized(g, h, n_threads=n_threads).in_range


def test_squares_of_sums_stay_finite_within_the_range():
    assert np.isfinite((layout.LARGEST_GRADIENT * 2**32) ** 2)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_heavy_tails_need_exact_values(n_threads):
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=4000), np.ones(4000)
    assert not Quantized(g, h, n_threads=n_threads).exact
    heavy = g.copy()
    heavy[17] = 1e6
    assert Quantized(heavy, h, n_threads=n_threads).exact
    h[3999] = 1e6
    assert Quantized(g, h, n_threads=n_threads).exact


def test_all_zero_is_not_heavy():
    assert not Quantized(np.zeros(4000), np.zeros(4000)).exact


@pytest.mark.parametrize("exact_rows", [0, 99, 100, 1000])
def test_exact_up_to_a_number_of_rows(exact_rows):
    found = Quantized(np.ones(100), np.ones(100), exact_rows=exact_rows)
    assert found.exact is (exact_rows >= 100)


@pytest.mark.parametrize("maximum", [0.0, 1.0, 3.0, 8191.0, 8192.0, 1e300, LARGEST, 1e-300, 5e-324])
@pytest.mark.parametrize("limit", [8191.0, 16383.0, 2.0**50])
def test_power_scale_equals_twin(maximum, limit):
    assert find_scale(maximum, limit) == naive.power_scale(maximum, limit)


def test_exact_limit_keeps_sums_within_int64():
    for n_rows in [1, 2, 4095, 4096, 4097, 2**20, 2**20 + 1, 2**31, 2**32 - 1]:
        limit = find_exact_limit(n_rows)
        assert limit == naive.wide_limit(n_rows)
        assert n_rows * int(limit) <= 2**62
        assert limit == 2.0**EXACT_BITS or n_rows * int(limit) > 2**61
