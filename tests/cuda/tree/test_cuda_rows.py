"""Rows divided among devices."""

import numpy as np

from sumwise.data.device_table import DeviceTable
from sumwise.tree.cuda_rows import DividedRows
from tests.cuda.emulator import EmulatedDevice


def test_rows_may_be_in_any_order(device):
    with EmulatedDevice(1) as other:
        tables = [
            DeviceTable.from_binned(one, np.ones((1, n), np.uint8), np.array([1]), np.array([1]))
            for one, n in ((device, 60), (other, 40))
        ]
        rows = np.concatenate([np.arange(0, 100, 7), np.arange(3, 100, 7)]).astype(np.uint32)
        divided = DividedRows(tables).divide(device.upload(rows))
        first, second = (part.numbers.to_host() for part in divided)
        np.testing.assert_array_equal(first, np.sort(rows[rows < 60]))
        np.testing.assert_array_equal(second, np.sort(rows[rows >= 60]) - 60)
