"""Gradients and mean losses on a device: the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import (
    Absolute,
    CrossEntropy,
    Exponential,
    Fair,
    Gamma,
    Huber,
    LogCosh,
    Logistic,
    Multinomial,
    MultiTarget,
    Percentage,
    Poisson,
    Quantile,
    Squared,
    SquaredLog,
    Tweedie,
)

N_ROWS = 700
LOSSES = [Logistic(), Exponential(), CrossEntropy(), Squared(), SquaredLog(), Absolute()]
LOSSES += [Percentage(), LogCosh(), Quantile(0.3), Huber(0.7), Fair(1.3), Poisson(), Gamma()]
LOSSES += [Tweedie(1.4), Multinomial(3), Multinomial(7), Quantile([0.1, 0.6])]
LOSSES += [MultiTarget([Squared(), Squared()]), MultiTarget([Huber(0.2), Huber(2.0)])]
SCORES = [0.0, -0.0, 1e-320, -1e-310, 800, -800, 1e308, -1e308, 1e-9, -1e-9, 36, -36, 709, -708]
SCORES += [710, -745, 0.05, -0.05, 1.0, np.inf, -np.inf, np.nan]


def name_loss(loss):
    return f"{type(loss).__name__}{loss.n_outputs}"


def draw_target(loss, rng):
    if isinstance(loss, Multinomial):
        return rng.integers(0, loss.n_outputs, N_ROWS).astype(np.float64)
    if isinstance(loss, (Logistic, Exponential)) and not isinstance(loss, CrossEntropy):
        return rng.integers(0, 2, N_ROWS).astype(np.uint8)
    target = 0.01 + 0.98 * rng.random(N_ROWS)
    return np.stack([target, 3 * target], axis=1) if isinstance(loss, MultiTarget) else target


def upload_target(device, target):
    if target.ndim == 1:
        return device.upload(target)
    return tuple(device.upload(np.ascontiguousarray(column)) for column in target.T)


def assert_same_bits(found, expected):
    same = found.view(np.int64) == expected.view(np.int64)
    same |= np.isnan(found) & np.isnan(expected)
    assert same.all(), np.argwhere(~same)[:5]


@pytest.mark.parametrize("loss", LOSSES, ids=name_loss)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_have_the_bits_of_the_cpu(device, loss, weighted):
    rng = np.random.default_rng(0)
    raw = 3 * rng.normal(size=(loss.n_outputs, N_ROWS))
    raw[:, : len(SCORES)] = SCORES
    target = draw_target(loss, rng)
    weight = rng.random(N_ROWS) if weighted else np.empty(0)
    expected = np.empty_like(raw), np.empty_like(raw)
    loss.gradient(Team(1), target, raw, weight, *expected)
    found = [device.allocate(raw.shape, np.float64) for _ in range(2)]
    arrays = upload_target(device, target), device.upload(raw), device.upload(weight)
    loss.gradient(DeviceTeam(device), *arrays, *found)
    for own, other in zip(found, expected, strict=True):
        assert_same_bits(own.to_host(), other)


@pytest.mark.parametrize("loss", LOSSES, ids=name_loss)
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_losses_have_the_bits_of_the_cpu(device, loss, weighted):
    rng = np.random.default_rng(1)
    raw = 3 * rng.normal(size=(loss.n_outputs, N_ROWS))
    target = draw_target(loss, rng)
    weight = rng.random(N_ROWS) if weighted else np.empty(0)
    team = DeviceTeam(device)
    arrays = upload_target(device, target), device.upload(raw), device.upload(weight)
    for n_chosen in (N_ROWS, 300, 1):
        rows = np.sort(rng.choice(N_ROWS, n_chosen, replace=False)).astype(np.uint32)
        later = loss.measure(team, *arrays, device.upload(rows))
        assert later.get() == loss.value(target, raw, weight, rows)


@pytest.mark.parametrize("score", [np.inf, np.nan])
def test_mean_of_losses_that_are_not_finite_is_nan(device, score):
    raw = np.array([[0.0, score, 1.0]])
    arrays = [device.upload(array) for array in (np.ones(3), raw, np.empty(0))]
    rows = device.upload(np.arange(3, dtype=np.uint32))
    assert np.isnan(Squared().measure(DeviceTeam(device), *arrays, rows).get())


def test_mean_loss_does_not_depend_on_the_order_of_blocks():
    from tests.cuda.emulator import EmulatedDevice

    rng = np.random.default_rng(2)
    target, raw, weight = rng.random(5000), rng.normal(size=(1, 5000)), rng.random(5000)
    rows = np.arange(5000, dtype=np.uint32)
    expected = Poisson().value(target, raw, weight, rows)
    for order, n_processors in [("reversed", 1), ("shuffled", 5)]:
        with EmulatedDevice(order=order, n_processors=n_processors) as device:
            arrays = [device.upload(array) for array in (target, raw, weight, rows)]
            assert Poisson().measure(DeviceTeam(device), *arrays).get() == expected
