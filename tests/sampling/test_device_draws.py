"""Rows that samplers draw on a device: those of the CPU."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.runtime.threads import Team
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
        expected = sampler.draw(replace(source, number=number))
        found = draws.draw(number, device.upload(source.gradient))
        np.testing.assert_array_equal(found.rows.to_host(), expected.rows)
        np.testing.assert_array_equal(found.factor.to_host(), expected.factor)
        left_out = np.setdiff1d(source.rows, expected.rows)
        np.testing.assert_array_equal(found.left_out.to_host(), left_out)
