"""Arrays on disk behave as those in memory, and leave nothing behind."""

import errno
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from sumwise.data.batches import storage as module
from sumwise.data.batches.storage import MappedStorage, PlainStorage
from sumwise.errors import DiskSpaceError, ParameterError


def fill(storage, rng):
    """Return arrays of a storage, and what was written to them."""
    written = [
        rng.integers(0, 256, (3, 1000)).astype(np.uint8),
        rng.integers(0, 1 << 60, 77).astype(np.uint64),
        np.empty((0, 5), dtype=np.uint32),
        rng.normal(size=(2, 50)).astype(np.float32),
        rng.integers(0, 256, 5000).astype(np.uint8),
    ]
    arrays = [storage.allocate(values.shape, values.dtype) for values in written]
    for array, values in zip(arrays, written, strict=True):
        array[...] = values
    return arrays, written


@pytest.mark.parametrize("file_bytes", [1 << 30, 4096])
def test_arrays_keep_what_is_written(tmp_path, monkeypatch, file_bytes):
    monkeypatch.setattr(module, "_FILE_BYTES", file_bytes)
    for storage in (PlainStorage(), MappedStorage(tmp_path, 5000), MappedStorage(None, 0)):
        with storage:
            arrays, written = fill(storage, np.random.default_rng(0))
        for array, values in zip(arrays, written, strict=True):
            np.testing.assert_array_equal(array, values)
            assert type(array) is np.ndarray
            assert array.flags.carray  # in one piece, aligned, can be written to


def test_files_have_no_names(tmp_path):
    with MappedStorage(tmp_path, 1 << 20) as storage:
        arrays, _ = fill(storage, np.random.default_rng(0))
        assert os.name == "nt" or list(tmp_path.iterdir()) == []
        del arrays
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_files_are_closed_when_arrays_are_gone(tmp_path):
    def list_open():
        links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        return [link for link in links if link.startswith(str(tmp_path))]

    def fail():
        with MappedStorage(tmp_path, 1 << 20) as storage:
            fill(storage, np.random.default_rng(0))
            assert len(list_open()) == 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    gc.collect()
    assert list_open() == []


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from sumwise.data.batches.storage import MappedStorage\n"
        "array = MappedStorage(sys.argv[1], 1 << 20).allocate((1 << 20,), 'u1')\n"
        "array[:] = 1\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60, check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(DiskSpaceError, match=r"needs .* TB; choose another folder"):
        MappedStorage(tmp_path, 1 << 60)

    def fail(file, n_bytes):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_reserve", fail)
    with pytest.raises(DiskSpaceError, match=r"has no room for .*kB"):
        MappedStorage(tmp_path, 100).allocate((100,), np.uint8)


def test_systems_that_cannot_reserve_write_zeros(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not on this file system")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    assert not MappedStorage(tmp_path, 0).allocate((3 << 20,), np.uint8).any()
    monkeypatch.delattr(os, "posix_fallocate")  # as on macOS
    assert not MappedStorage(tmp_path, 0).allocate((3 << 20,), np.uint8).any()


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(ParameterError, match=r"cache_dir=.*is not a folder"):
        MappedStorage(tmp_path / "missing", 0)
