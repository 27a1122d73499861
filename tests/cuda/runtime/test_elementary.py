"""The functions of the headers in ``cuda/runtime``: bits of the CPU's, for numbers of all kinds."""

from pathlib import Path

import numpy as np

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


def draw_numbers(n):
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64)
    edges = np.array(EDGES)
    small = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, n)
    return np.concatenate([edges, -edges, np.arange(-800.0, 800.0, 0.5), small, any_bits])


def is_nan(bits):
    return (bits & 0x7FFFFFFFFFFFFFFF).astype(np.uint64) > 0x7FF0000000000000


def test_functions_of_numbers_have_the_bits_of_the_cpu(device):
    x = draw_numbers(100_000)
    expected = np.empty((N_FUNCTIONS, x.size), dtype=np.int64)
    evaluate(x, expected)
    out = device.allocate(expected.shape, np.int64)
    device.launch(device.load(PROGRAM)["evaluate"], 4, 64, (device.upload(x), x.size, out))
    found = out.to_host()
    for number in range(N_FUNCTIONS):
        same = found[number] == expected[number]
        same |= is_nan(found[number]) & is_nan(expected[number])
        assert same.all(), (number, x[~same][:5])
