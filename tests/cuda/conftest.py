"""Devices for tests of CUDA code."""

import pytest

from tests.cuda.emulator import EmulatedDevice


@pytest.fixture
def device():
    """A device that executes kernels on the CPU; at the end, its guard bands are checked."""
    with EmulatedDevice() as device:
        yield device
