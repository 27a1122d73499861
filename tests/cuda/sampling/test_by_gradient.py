"""Rows drawn by gradient, their factors and Bayesian weights: the bytes of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.by_gradient import draw_bayesian_weights
from sumwise.cuda.sampling.drawing import RowDrawer
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling import by_gradient
from tests.cuda.emulator import EmulatedDevice

KEY = np.uint64(0x1234567890ABCDEF)


def choose_on_cpu(gradient, rows, n_top, n_other, out):
    scratch = np.empty(rows.size, np.uint64), np.empty(rows.size, np.uint64)
    counters = np.empty((1, by_gradient.N_DIGIT_VALUES), np.int64)
    given = gradient, rows, n_top, n_other, 2.5, KEY, (*scratch, counters), out
    Team(1).run(by_gradient.choose_by_gradient, *given)


def assert_same_draw(device, gradient, rows, n_top, n_other):
    n_chosen = n_top + n_other
    kinds = (n_chosen, np.uint32), (n_chosen, np.float64), (rows.size - n_chosen, np.uint32)
    expected = tuple(np.empty(*kind) for kind in kinds)
    choose_on_cpu(gradient, rows, n_top, n_other, expected)
    drawer, own = RowDrawer(DeviceTeam(device), device.upload(rows)), device.upload(gradient)
    for _ in range(2):  # buffers are used again
        found = drawer.choose_by_gradient(own, n_top, n_other, 2.5, KEY)
        for array, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array.to_host(), other)


@pytest.mark.parametrize(
    ("n_rows", "n_top", "n_other"),
    [(1, 0, 1), (2, 1, 1), (300, 60, 30), (300, 0, 40), (300, 200, 100), (4097, 819, 410)],
)
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_draws_by_gradient_are_those_of_the_cpu(device, n_rows, n_top, n_other, digits):
    rng = np.random.default_rng(n_rows)
    gradient = rng.normal(size=(2, 5000)).round(digits)  # few digits: many ties
    rows = np.sort(rng.choice(5000, n_rows, replace=False)).astype(np.uint32)
    assert_same_draw(device, gradient, rows, n_top, n_other)


@pytest.mark.parametrize(("order", "n_processors"), [("reversed", 1), ("shuffled", 4)])
def test_draws_do_not_depend_on_the_order_of_blocks(order, n_processors):
    rng = np.random.default_rng(0)
    gradient, rows = rng.normal(size=(1, 9000)).round(1), np.arange(9000, dtype=np.uint32)
    with EmulatedDevice(order=order, n_processors=n_processors, check_launches=True) as device:
        assert_same_draw(device, gradient, rows, 1800, 900)


def test_multiplies_rows_as_the_cpu_does(device):
    rng = np.random.default_rng(3)
    values, rows = rng.normal(size=(3, 500)), np.arange(0, 500, 3, dtype=np.uint32)
    factor, found = rng.random(rows.size), device.upload(values)
    Team(1).run(by_gradient.multiply_rows, rows, factor, values)
    arrays = device.upload(rows), device.upload(factor), found
    DeviceTeam(device).run(by_gradient.multiply_rows, *arrays)
    np.testing.assert_array_equal(found.to_host(), values)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 100.0])
def test_bayesian_weights_are_those_of_the_cpu(device, temperature):
    rows = np.arange(0, 3000, 2, dtype=np.uint32)
    expected, found = np.empty(rows.size), device.allocate(rows.size, np.float64)
    by_gradient.draw_bayesian_weights(KEY, temperature, rows, expected)
    draw_bayesian_weights(DeviceTeam(device), KEY, temperature, device.upload(rows), found)
    np.testing.assert_array_equal(found.to_host(), expected)
