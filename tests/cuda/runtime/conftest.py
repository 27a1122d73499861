"""A driver without a GPU."""

import struct

import numpy as np
import pytest

from sumwise.cuda.runtime import bindings, driver, gpu, pinned
from tests.cuda.runtime.fake_driver import FakeDriver


def add_to_array(packed):
    """The kernel ``add``: add a number to the n int64 at an address."""
    address, n_items, number = struct.unpack("<Qqq", packed)
    view_at(address, n_items)[:] += number


def view_at(address, n_items):
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_int64 * n_items).from_address(address))


@pytest.fixture
def install(monkeypatch):
    """Put a fake driver in the place of the real one; all that a process keeps starts anew."""

    def install(bindings_version="13.5.0", **options):
        fake = FakeDriver(kernels={"add": ((8, 8, 8), add_to_array)}, **options)
        monkeypatch.setattr(bindings, "import_bindings", lambda name: fake)
        monkeypatch.setattr(bindings, "read_bindings_version", lambda: bindings_version)
        monkeypatch.setattr(bindings, "_started_by", None)
        monkeypatch.setattr(gpu, "_gpus", {})
        monkeypatch.setattr(
            gpu, "compile_program", lambda program, number: b".entry add() .entry x"
        )
        monkeypatch.setattr(driver, "pool", pinned.Pool())
        monkeypatch.setattr(driver, "staging", pinned.Staging())
        return fake

    return install


@pytest.fixture
def fake(install):
    return install()
