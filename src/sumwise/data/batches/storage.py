"""Memory for the arrays of pages: plain, or mapped files that no crash leaves behind."""

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sumwise.data.batches.memory import show_size
from sumwise.errors import DiskSpaceError, ParameterError

# Arrays share files of this size: every mapped file takes a descriptor.
_FILE_BYTES = 1 << 30
# Arrays begin at multiples of this, as cache lines do.
_ALIGNMENT = 64


def open_storage(
    keeps: bool, n_bytes: int, cache_dir: str | os.PathLike[str] | None
) -> "PlainStorage":
    """Return memory for arrays of ``n_bytes`` in all, or files in ``cache_dir``."""
    return PlainStorage() if keeps else MappedStorage(cache_dir, n_bytes)


class PlainStorage:
    """Arrays in memory."""

    def allocate(self, shape: Sequence[int], dtype: DTypeLike) -> np.ndarray:
        """Return an array of unset values."""
        return np.empty(tuple(shape), dtype=dtype)

    def __enter__(self) -> "PlainStorage":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class MappedStorage(PlainStorage):
    """Arrays in temporary files, which the system reads and writes as memory allows.

    The files never have a name that others see (on Windows, until they are closed). So nothing is
    left behind, even if the process is killed. Their room is given back when the storage is closed
    and the last array is gone.

    The mapping is shared and can be written to, because kernels are compiled for such arrays;
    unlike private memory, it does not count as memory that the process needs.

    Parameters
    ----------
    folder : path or None
        Where the files are, None for the system's folder of temporary files.
    n_bytes : int
        The expected size of all arrays. Raises DiskSpaceError if the folder has less room.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, n_bytes: int) -> None:
        self._folder = Path(tempfile.gettempdir() if folder is None else folder)
        if not self._folder.is_dir():
            raise ParameterError(f"cache_dir={str(folder)!r} is not a folder")
        # Some room is lost where an array does not fit into the rest of a file.
        self._expected = n_bytes + n_bytes // 64 + (1 << 16)
        self._file: mmap.mmap | None = None
        self._used = 0
        free = shutil.disk_usage(self._folder).free
        if free < n_bytes:
            raise self._refuse(f"has {show_size(free)} left")

    def allocate(self, shape: Sequence[int], dtype: DTypeLike) -> np.ndarray:
        """Return a mapped array; its room on the disk is reserved."""
        dtype = np.dtype(dtype)
        n_bytes = prod(shape) * dtype.itemsize
        if n_bytes == 0:
            return np.empty(tuple(shape), dtype=dtype)
        if self._file is None or self._used + n_bytes > len(self._file):
            self._file = self._map(max(n_bytes, min(_FILE_BYTES, self._expected)))
            self._used = 0
        array = np.frombuffer(self._file, dtype, prod(shape), self._used).reshape(tuple(shape))
        self._used += -(-n_bytes // _ALIGNMENT) * _ALIGNMENT
        self._expected -= n_bytes
        return array

    def _map(self, n_bytes: int) -> mmap.mmap:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                _reserve(file, n_bytes)
                return mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_WRITE)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise self._refuse(f"has no room for {show_size(n_bytes)}") from error

    def _refuse(self, what: str) -> DiskSpaceError:
        needed = show_size(max(0, self._expected))
        return DiskSpaceError(
            f"{self._folder} {what}, and the binned table needs {needed}; "
            "choose another folder by cache_dir, or raise memory_limit if memory is free"
        )

    def __enter__(self) -> "MappedStorage":
        return self

    def __exit__(self, *_: object) -> None:
        self._file = None  # arrays keep their file as long as they live


def _reserve(file: Any, n_bytes: int) -> None:
    """Give a file its size: writing to a mapped file on a full disk would kill the process."""
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    except AttributeError:
        pass  # not on this system
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
    zeros = bytes(1 << 20)
    for first in range(0, n_bytes, len(zeros)):
        file.write(zeros[: n_bytes - first])
    file.flush()
