"""Quantiles of errors on a device, and the moving delta of Huber's loss: the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.losses import Huber, MultiTarget


def find_deltas(loss, on_device, arrays, rows):
    """Return the delta of a round by the CPU and on the device."""
    device = on_device.errors._team.device
    own = [device.upload(array) for array in (*arrays, rows)]
    return loss.at_round(*arrays, rows).delta, on_device.at_round(*own).delta


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_delta_of_a_round(device, weighted, digits):
    rng = np.random.default_rng(0)
    target, raw = rng.normal(size=500).round(digits), rng.normal(size=(1, 500)).round(digits)
    weight = rng.random(500) if weighted else np.empty(0)
    rows = np.sort(rng.choice(500, 410, replace=False)).astype(np.uint32)
    for level in (0.9, 0.5):
        loss = Huber(quantile=level).adapt(target, weight, rows, raw)
        on_device = loss.on_device(DeviceTeam(device))
        for own_rows in (rows, rows[:100].copy()):
            expected, found = find_deltas(loss, on_device, (target, raw, weight), own_rows)
            assert found == expected


@pytest.mark.parametrize("n_errors", [0, 3])
def test_delta_if_most_errors_are_zero(device, n_errors):
    target, rows = np.zeros(100), np.arange(100, dtype=np.uint32)
    raw, weight = np.zeros((1, 100)), np.empty(0)
    raw[0, :n_errors] = 2.0
    loss = Huber(quantile=0.5).adapt(target, weight, rows, raw)
    on_device = loss.on_device(DeviceTeam(device))
    expected, found = find_deltas(loss, on_device, (target, raw, weight), rows)
    assert found == expected == (0.06 if n_errors else 1.0)


def test_each_target_has_its_own_delta(device):
    rng = np.random.default_rng(1)
    target, raw = rng.normal(size=(80, 2)), rng.normal(size=(2, 80))
    weight, rows = np.empty(0), np.arange(80, dtype=np.uint32)
    loss = MultiTarget([Huber(), Huber()]).adapt(target, weight, rows, raw)
    on_device = loss.on_device(DeviceTeam(device))
    columns = tuple(device.upload(np.ascontiguousarray(column)) for column in target.T)
    own = on_device.at_round(columns, *(device.upload(array) for array in (raw, weight, rows)))
    expected = loss.at_round(target, raw, weight, rows)
    assert [own.at_output(k).delta for k in (0, 1)] == [expected.at_output(k).delta for k in (0, 1)]
