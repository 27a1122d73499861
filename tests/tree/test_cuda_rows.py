"""Rows divided among emulated devices."""

import numpy as np
import pytest

from sumwise.data.device_table import DeviceTable
from sumwise.tree.cuda_rows import DividedRows
from tests.cuda.emulator.compile import explain_missing

N_ROWS = [4, 3, 5]


@pytest.fixture
def devices():
    from tests.cuda.emulator import EmulatedDevice

    if reason := explain_missing():
        pytest.skip(reason)
    with EmulatedDevice() as first, EmulatedDevice(1) as second, EmulatedDevice(2) as third:
        yield [first, second, third]


@pytest.fixture
def divided(devices):
    usable, n_value_bins = np.ones(2, dtype=np.uint8), np.full(2, 3)
    tables = [
        DeviceTable.from_binned(device, np.ones((2, n), dtype=np.uint8), n_value_bins, usable)
        for device, n in zip(devices, N_ROWS, strict=True)
    ]
    return DividedRows(tables)


def list_numbers(parts):
    """Return the rows of each device, whether they are listed or neighbors."""
    return [
        (
            part.numbers.to_host().tolist()
            if part.numbers
            else [*range(part.first, part.first + part.n_rows)]
        )
        for part in parts
    ]


def test_neighbors(divided):
    everything = [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 4]]
    assert list_numbers(divided.divide(None)) == everything
    assert list_numbers(divided.divide(range(12))) == everything
    assert list_numbers(divided.divide(range(2, 6))) == [[2, 3], [0, 1], []]
    assert list_numbers(divided.divide(range(8, 9))) == [[], [], [1]]


def test_listed_rows(divided, devices):
    rows = devices[0].upload(np.array([1, 3, 7, 11], dtype=np.uint32))
    parts = divided.divide(rows)
    assert list_numbers(parts) == [[1, 3], [], [0, 4]]
    assert divided.divide(rows) is parts  # not divided again
    assert [part.numbers.device for part in parts] == devices


def test_items_travel(divided, devices):
    items = devices[0].upload(np.arange(12.0))
    parts = divided.spread("scores", items)
    assert [part.device for part in parts] == devices
    np.testing.assert_array_equal(parts[2].to_host(), [7.0, 8.0, 9.0, 10.0, 11.0])
    devices[2].write(np.full(5, -1.0), parts[2])
    divided.collect("scores", items)
    np.testing.assert_array_equal(items.to_host(), [*range(7), *[-1] * 5])
    gathered = devices[0].zeros(12, np.float64)
    divided.gather([parts[0][:4], *parts[1:]], gathered)
    np.testing.assert_array_equal(gathered.to_host(), [*range(7), *[-1] * 5])


def test_rows_may_be_in_any_order(divided, devices):
    # Rows left out of a tree, then those for validation.
    rows = np.array([1, 5, 11, 0, 4, 8], dtype=np.uint32)
    parts = divided.divide(devices[0].upload(rows))
    assert list_numbers(parts) == [[0, 1], [0, 1], [1, 4]]
