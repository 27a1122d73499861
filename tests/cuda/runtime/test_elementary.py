"""The functions of the headers in ``cuda/runtime``: bits of the CPU's, for numbers of all kinds."""

from pathlib import Path

import numpy as np
import pytest

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header
from sumwise.kernels.losses.influence import influence, tanh
from sumwise.kernels.runtime import elementary, fixed_point, random, sort
from sumwise.kernels.runtime.jit import kernel

PROGRAM = Program("elementary", (str(Path(__file__).with_name("elementary.cu")),), make_header())
N_FUNCTIONS = 15
EDGES = [0.0, 1e-320, 2.3e-308, 1e-6, 0.05, np.nextafter(0.05, 0), 0.5, 0.7071067811865476, 1.0]
EDGES += [1.5, 2.5, 708.0, 709.0, 709.8, 745.0, 2.0**50 + 0.5, 2.0**51, 1e308, np.inf]


@kernel
def evaluate(x, out):
    for i in range(x.size):
        value, bits = x[i], sort.as_bits(x[i])
        out[0, i] = sort.as_bits(elementary.exp(value))
        out[1, i] = sort.as_bits(elementary.log(abs(value)))
        out[2, i] = sort.as_bits(elementary.log1p_exp(value))
        out[3, i] = sort.as_bits(elementary.round_to_integer(value))
        out[4, i] = elementary.nearest_integer(value)
        out[5, i] = sort.as_bits(elementary.float_of(np.int64(bits)))
        out[6, i] = sort.as_bits(fixed_point.power_scale(abs(value), 2.0**50))
        out[7, i] = fixed_point.exact_hessian(abs(value), 1024.0)
        out[8, i] = sort.as_bits(tanh(value))
        out[9, i] = sort.as_bits(influence(value, i % 3, 0.75))
        out[10, i] = sort.key_of_float(value, 64)
        out[11, i] = sort.bits_of_key(bits, 64)
        out[12, i] = random.extend_key(bits, i)
        out[13, i] = sort.as_bits(random.uniform(bits, i))
        n_rows = np.int64(bits >> np.uint64(2 + (i & 31)))  # below 2**62
        out[14, i] = sort.as_bits(fixed_point.exact_limit(n_rows))


@kernel
def choose(key, pool, weights, n_chosen, times, chosen, chosen_by_weight):
    random.choose_features(key, pool, n_chosen, chosen)
    random.choose_by_weight(key, pool, weights, n_chosen, times, chosen_by_weight)


def draw_numbers(n):
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64)
    edges = np.array(EDGES)
    small = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, n)
    return np.concatenate([edges, -edges, np.arange(-800.0, 800.0, 0.5), small, any_bits])


def is_nan(bits):
    return (bits & 0x7FFFFFFFFFFFFFFF).astype(np.uint64) > 0x7FF0000000000000


def test_functions_of_numbers_have_the_bits_of_the_cpu(device):
    x = draw_numbers(500_000)
    expected = np.empty((N_FUNCTIONS, x.size), dtype=np.int64)
    evaluate(x, expected)
    out = device.allocate(expected.shape, np.int64)
    device.launch(device.load(PROGRAM)["evaluate"], 4, 64, (device.upload(x), x.size, out))
    found = out.to_host()
    for number in range(N_FUNCTIONS):
        same = found[number] == expected[number]
        same |= is_nan(found[number]) & is_nan(expected[number])
        assert same.all(), (number, x[~same][:5])


@pytest.mark.parametrize("n_features", [1, 7, 100])
@pytest.mark.parametrize("n_chosen", [1, 5, 60])
def test_features_are_chosen_as_on_the_cpu(device, n_features, n_chosen):
    rng = np.random.default_rng(n_features)
    pool = (rng.random(n_features) < 0.8).astype(np.uint8)
    weights = np.where(rng.random(n_features) < 0.2, 0.0, rng.random(n_features).round(1))
    for key in rng.integers(0, 1 << 64, 20, dtype=np.uint64):
        expected = np.empty((2, n_features), dtype=np.uint8)
        choose(key, pool, weights, n_chosen, np.empty(n_features), *expected)
        found = [device.allocate(n_features, np.uint8) for _ in range(2)]
        scratch = device.allocate(n_features, np.float64)
        known = key, device.upload(pool), device.upload(weights), n_features, n_chosen
        device.launch(device.load(PROGRAM)["choose"], 1, 32, (*known, scratch, *found))
        np.testing.assert_array_equal(found[0].to_host(), expected[0])
        np.testing.assert_array_equal(found[1].to_host(), expected[1])
