"""Rows drawn by hash on a device: those of the CPU, in their order."""

import numpy as np
import pytest

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.drawing import RowDrawer
from sumwise.kernels.sampling.lowest_hashes import draw_lowest
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
