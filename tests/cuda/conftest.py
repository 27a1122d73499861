"""Devices for tests of CUDA code."""

import pytest

from sumwise.cuda.runtime import choosing
from tests.cuda.emulator import EmulatedDevice


@pytest.fixture
def device():
    """A device that executes kernels on the CPU; at the end, its guard bands are checked."""
    with EmulatedDevice() as device:
        yield device


@pytest.fixture
def emulated(monkeypatch):
    """Devices of any number are emulated; the fixture opens one by its number."""
    monkeypatch.setattr(choosing, "device_maker", EmulatedDevice)
    return EmulatedDevice
