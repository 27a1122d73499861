"""Devices for tests of growers."""

from tests.cuda.conftest import device as device
