"""Memory of an emulated device, with guard bands that show who writes out of bounds."""

import ctypes

import numpy as np

POISON = 0xAB
_ALIGNMENT = 256
_GUARD_BYTES = 1024  # on each side
_GUARD = np.full(_GUARD_BYTES, 0xCD, np.uint8)


class Allocation:
    """A range of memory between two guard bands, filled with poison.

    Attributes
    ----------
    address : int
    n_bytes : int
    is_free : bool
    """

    def __init__(self, n_bytes: int) -> None:
        n_all = n_bytes + 2 * _GUARD_BYTES + _ALIGNMENT
        memory = np.empty(n_all, np.uint8)
        first = -memory.ctypes.data % _ALIGNMENT
        self._before = memory[first : first + _GUARD_BYTES]
        self._items = memory[first + _GUARD_BYTES :][:n_bytes]
        self._after = memory[first + _GUARD_BYTES + n_bytes :][:_GUARD_BYTES]
        self._before[:], self._items[:], self._after[:] = _GUARD, POISON, _GUARD
        self.address, self.n_bytes, self.is_free = self._items.ctypes.data, n_bytes, False

    def find_damage(self) -> str | None:
        """Say which byte out of bounds has been written, or return None."""
        for guard, where in ((self._before, -_GUARD_BYTES), (self._after, self.n_bytes)):
            if not np.array_equal(guard, _GUARD):
                byte = where + int(np.flatnonzero(guard != _GUARD)[0])
                return f"byte {byte} of an array of {self.n_bytes} bytes was written"
        return None


def copy_bytes(source: int, target: int, n_bytes: int) -> None:
    """Copy between two addresses."""
    ctypes.memmove(target, source, n_bytes)


def clear_bytes(target: int, n_bytes: int) -> None:
    """Fill with zeros."""
    ctypes.memset(target, 0, n_bytes)
