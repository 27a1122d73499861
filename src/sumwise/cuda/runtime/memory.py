"""Memory of a GPU that one device has: blocks, which are used again before new ones are asked for.

A block whose arrays are gone is kept for the next array of its size. All work of a device is done
in order, so nobody needs to wait for the work that still uses the block, as the driver would before
it takes memory back. :meth:`Memory.release` and closing the device do give memory back, and so does
every array that another library has seen, whose work is not in this order.
"""

from typing import Any

from sumwise.cuda.runtime.bindings import SAME_MODEL, call, fail
from sumwise.cuda.runtime.gpu import Gpu
from sumwise.errors import DeviceMemoryError

_OUT_OF_MEMORY = 2
_LARGE = 1 << 20
_MOST_SPARE = 256 << 20  # bytes of blocks that nobody uses, when a new one is needed
_LARGE_UNIT, _SMALL_UNIT = 2 << 20, 512  # what sizes are multiples of


class Block:
    """Memory on a GPU, usable again when nothing refers to this object.

    Attributes
    ----------
    address : int
    n_bytes : int
    is_released : bool
        Whether it was given back.
    is_shared : bool
        Whether other libraries may use it.
    """

    def __init__(self, memory: "Memory", address: int, n_bytes: int) -> None:
        self.address, self.n_bytes = address, n_bytes
        self.is_released = self.is_shared = False
        self._memory = memory

    def __del__(self) -> None:
        self._memory.recycle(self)


class Memory:
    """All blocks of a device, which are used by the work of one queue."""

    def __init__(self, gpu: Gpu, stream: Any) -> None:
        self._gpu, self._stream = gpu, stream
        self._sizes: dict[int, int] = {}  # bytes by address, of all blocks
        self._spare: dict[int, list[int]] = {}  # addresses by size, of unused blocks
        self._returned: list[int] = []  # addresses of unused blocks that were shared

    def take(self, n_bytes: int) -> Block:
        """Return a block with any contents; DeviceMemoryError if there is none."""
        unit = _LARGE_UNIT if n_bytes > _LARGE else _SMALL_UNIT
        size = max(1, -(-n_bytes // unit)) * unit
        while self._returned:
            self._give_back(self._returned.pop())
        spare = self._spare.get(size)
        return Block(self, spare.pop() if spare else self._allocate(size), size)

    def _allocate(self, size: int) -> int:
        if self._count_spare() > _MOST_SPARE:
            self._release_spare()
        allocate = self._gpu.cuda.cuMemAlloc
        error, address = allocate(size)
        if error == _OUT_OF_MEMORY and self._spare:
            self._release_spare()
            error, address = allocate(size)
        if error == _OUT_OF_MEMORY:
            raise DeviceMemoryError(self._explain(size))
        if error:
            fail(error, allocate)
        self._sizes[int(address)] = size
        return int(address)

    def _explain(self, size: int) -> str:
        free, total = call(self._gpu.cuda.cuMemGetInfo)
        gpu, used = self._gpu.properties, sum(self._sizes.values())
        asked, left, all_of_it, own = map(show_bytes, (size, free, total, used))
        return (
            f"GPU {gpu.number} ({gpu.name}) has not enough memory: {asked} are asked for, "
            f"{left} of {all_of_it} are free, {own} are in use here; {SAME_MODEL}"
        )

    def has(self, block: Block) -> bool:
        """Whether a block has not been given back."""
        return not block.is_released and block.address in self._sizes

    def recycle(self, block: Block) -> None:
        """Keep a block for another array."""
        if not self.has(block):
            return
        if block.is_shared:
            self._returned.append(block.address)
        else:
            self._spare.setdefault(block.n_bytes, []).append(block.address)

    def release(self, block: Block) -> None:
        """Give a block back to the GPU, after all work that uses it."""
        call(self._gpu.cuda.cuStreamSynchronize, self._stream)
        block.is_released = True
        self._give_back(block.address)

    def _release_spare(self) -> None:
        call(self._gpu.cuda.cuStreamSynchronize, self._stream)
        while self._spare:
            _, addresses = self._spare.popitem()
            for address in addresses:
                self._give_back(address)

    def _give_back(self, address: int) -> None:
        """Return memory to the driver, which waits for work of others that may use it."""
        del self._sizes[address]
        call(self._gpu.cuda.cuMemFree, address)

    def _count_spare(self) -> int:
        return sum(size * len(addresses) for size, addresses in list(self._spare.items()))

    def count_free(self) -> int:
        """Return how many bytes arrays could still get."""
        free, _ = call(self._gpu.cuda.cuMemGetInfo)
        return int(free) + self._count_spare()

    def close(self) -> None:
        """Give everything back, whatever has happened; the work must be done."""
        self._spare.clear()
        self._returned.clear()
        while self._sizes:
            address, _ = self._sizes.popitem()
            self._gpu.cuda.cuMemFree(address)


def show_bytes(n_bytes: int) -> str:
    """Return a number of bytes as people read it."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n_bytes >= size:
            return f"{n_bytes / size:.2f} {unit}"
    return f"{n_bytes} bytes"
