"""Rows drawn by hash on a device: those of the CPU, in their order."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.drawing import RowDrawer
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.lowest_hashes import draw_lowest
from sumwise.sampling import (
    BayesianBootstrap,
    ClassSubsample,
    Goss,
    GroupSubsample,
    RowSource,
    Subsample,
)
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.sampling.device_draws import DeviceDraws
from tests.cuda.emulator import EmulatedDevice

KEY = np.uint64(0xFEDCBA9876543210)


def pick_rows(n_rows, share=1):
    return np.arange(0, share * n_rows, share, dtype=np.uint32)


@pytest.mark.parametrize(
    ("n_rows", "n_drawn"), [(1, 1), (2, 1), (300, 1), (300, 300), (4096, 2000), (9000, 7200)]
)
def test_lowest_hashes(device, n_rows, n_drawn):
    rows = pick_rows(n_rows, 3)
    expected = draw_lowest(KEY, rows, n_drawn)
    found = RowDrawer(DeviceTeam(device), device.upload(rows)).draw_lowest(KEY, n_drawn)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own.to_host(), other)


@pytest.mark.parametrize(("order", "n_processors"), [("reversed", 1), ("shuffled", 4)])
def test_no_order_matters(order, n_processors):
    rows = pick_rows(9000)
    expected = draw_lowest(KEY, rows, 4000)
    with EmulatedDevice(order=order, n_processors=n_processors, check_launches=True) as device:
        found = RowDrawer(DeviceTeam(device), device.upload(rows)).draw_lowest(KEY, 4000)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own.to_host(), other)


SAMPLERS = [Subsample(0.3), Goss(0.3, 0.2), Goss(0.0, 0.5), BayesianBootstrap(0.7)]
SAMPLERS += [ClassSubsample(), ClassSubsample(reweigh=True), ClassSubsample([1.0, 0.5, 0.001, 0.2])]
SAMPLERS += [GroupSubsample(0.4), BootstrapRows()]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_samplers_draw_the_rows_of_the_cpu(device, sampler):
    rng = np.random.default_rng(2)
    n_rows = 900
    target = rng.choice(3, n_rows, p=[0.7, 0.2, 0.1])
    target[target == 2] = 3  # nothing of class 2
    source = RowSource(
        rows=np.sort(rng.choice(n_rows, 700, replace=False)).astype(np.uint32),
        seed=5,
        number=0,
        gradient=rng.normal(size=(2, n_rows)),
        hessian=rng.random((2, n_rows)),
        target=target.astype(np.float64),
        team=Team(1),
        groups=rng.integers(0, 40, n_rows),
        classes=np.arange(4),
    )
    draws = DeviceDraws(sampler, device.upload(source.rows), source, DeviceTeam(device))
    for number in (0, 3):
        expected = sampler.draw(source.at_draw(number))
        found = draws.draw(number, device.upload(source.gradient))
        np.testing.assert_array_equal(found.rows.to_host(), expected.rows)
        np.testing.assert_array_equal(found.factor.to_host(), expected.factor)
        left_out = np.setdiff1d(source.rows, expected.rows)
        np.testing.assert_array_equal(found.left_out.to_host(), left_out)
