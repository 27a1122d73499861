"""Memory of an emulated device, with guard bands that show who writes out of bounds."""

import ctypes
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray

POISON = 0xAB
_ALIGNMENT = 256
_GUARD_BYTES = 1024  # on each side
_GUARD = np.full(_GUARD_BYTES, 0xCD, np.uint8)


class Block:
    """A range of memory between two guard bands, filled with poison.

    Attributes
    ----------
    address : int
    n_bytes : int
    """

    def __init__(self, n_bytes: int) -> None:
        memory = np.empty(n_bytes + 2 * _GUARD_BYTES + _ALIGNMENT, np.uint8)
        first = -memory.ctypes.data % _ALIGNMENT
        self._before = memory[first : first + _GUARD_BYTES]
        items = memory[first + _GUARD_BYTES :][:n_bytes]
        self._after = memory[first + _GUARD_BYTES + n_bytes :][:_GUARD_BYTES]
        self._before[:], items[:], self._after[:] = _GUARD, POISON, _GUARD
        self.address, self.n_bytes = items.ctypes.data, n_bytes

    def find_damage(self) -> str | None:
        """Say which byte out of bounds has been written, or return None."""
        for guard, where in ((self._before, -_GUARD_BYTES), (self._after, self.n_bytes)):
            if not np.array_equal(guard, _GUARD):
                byte = where + int(np.flatnonzero(guard != _GUARD)[0])
                return f"byte {byte} of an array of {self.n_bytes} bytes was written"
        return None


class Allocation:
    """What arrays hold: their block is given back when nothing refers to this any more.

    Attributes
    ----------
    block : Block or None
        None when the memory has been freed.
    """

    def __init__(self, block: Block, give_back: Callable[[Block], None]) -> None:
        self.block: Block | None = block
        weakref.finalize(self, give_back, block).atexit = False
        with _listing:
            _allocations.add(self)


_allocations: "weakref.WeakSet[Allocation]" = weakref.WeakSet()
_listing = threading.Lock()  # several threads may use a device each


def _list_allocations() -> list[Allocation]:
    with _listing:
        return list(_allocations)


def find_allocations(addresses: set[int]) -> "list[weakref.ref[Allocation]]":
    """Return those, of all devices, that addresses lie in."""
    live = [one for one in _list_allocations() if one.block and one.block.n_bytes]
    live.sort(key=lambda one: one.block.address)
    firsts = [one.block.address for one in live]
    found = {}
    for address in addresses:
        place = bisect_right(firsts, address) - 1
        if place >= 0 and address < firsts[place] + live[place].block.n_bytes:
            found[place] = weakref.ref(live[place])
    return list(found.values())


def list_ranges() -> np.ndarray:
    """Return first and last address of all blocks of all devices, in order."""
    blocks = [allocation.block for allocation in _list_allocations()]
    ranges = [(block.address, block.address + block.n_bytes) for block in blocks if block]
    return np.array(sorted(ranges), np.int64).reshape(-1, 2)


def is_freed(array: DeviceArray) -> bool:
    """Whether the memory of an array has been given back."""
    owner = array.owner
    while isinstance(owner, DeviceArray):
        owner = owner.owner
    return isinstance(owner, Allocation) and owner.block is None


def copy_bytes(source: int, target: int, n_bytes: int) -> None:
    """Copy between two addresses."""
    ctypes.memmove(target, source, n_bytes)


def clear_bytes(target: int, n_bytes: int) -> None:
    """Fill with zeros."""
    ctypes.memset(target, 0, n_bytes)
