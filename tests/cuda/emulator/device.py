"""EmulatedDevice: kernels run on the CPU, strict about what a GPU does not forgive."""

import ctypes
import os
import random
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device, Mark, Program
from sumwise.errors import DeviceMemoryError
from tests.cuda.emulator.arguments import Arguments
from tests.cuda.emulator.compile import Kernel, find_line, find_stacks, load_kernels
from tests.cuda.emulator.errors import KernelError
from tests.cuda.emulator.graphs import Copied, Passed, RecordedGraph
from tests.cuda.emulator.memory import (
    Allocation,
    Block,
    clear_bytes,
    copy_bytes,
    is_freed,
    list_ranges,
)

_launching = threading.Lock()  # all libraries share the stacks
ORDERS = ("forward", "reversed", "shuffled")
_MESSAGE_BYTES = 2048


class EmulatedDevice(Device):
    """Executes kernels on the CPU at once, each thread of a block as a fiber.

    New memory and shared memory are filled with poison, all arrays have guard bands, and threads
    that diverge at a barrier raise :class:`KernelError`, as do arguments of a wrong kind.

    Parameters
    ----------
    number : int
    n_processors, shared_memory : int
        As attributes of the device.
    memory_limit : int
        Bytes that all arrays may have together.
    order : {"forward", "reversed", "shuffled"}
        In which order blocks, and threads between barriers, are run. A result must not depend on
        it.
    seed : int
        Of the shuffled order.
    check_launches : bool
        Look at all guard bands after each launch, not only when memory is freed: slow, but it
        names the kernel.
    check_accesses : bool or None
        Look at each access of a kernel: whether it is in bounds, and whether another thread of the
        block accesses the same byte with no barrier between. Many times slower. None: if the
        environment has ``SUMWISE_CHECK_ACCESSES``.
    """

    name = "emulated"
    architecture = 90
    stream = 1  # the default one, as __cuda_array_interface__ numbers them

    def __init__(
        self,
        number: int = 0,
        *,
        n_processors: int = 2,
        shared_memory: int = 232_448,
        memory_limit: int = 1 << 32,
        order: str = "forward",
        seed: int = 0,
        check_launches: bool = False,
        check_accesses: bool | None = None,
    ) -> None:
        self.number, self.n_processors = number, n_processors
        self.shared_memory, self.memory_limit = shared_memory, memory_limit
        self._order, self._random = ORDERS.index(order), random.Random(seed)
        self._check_launches = check_launches
        if check_accesses is None:
            check_accesses = bool(os.environ.get("SUMWISE_CHECK_ACCESSES"))
        self._check_accesses = check_accesses
        self._blocks: dict[int, Block] = {}
        self._damages: list[str] = []
        self._recording: RecordedGraph | None = None
        self._is_closed = False

    # --- memory ---

    def allocate(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        self.check_open("allocate", records=False)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
        shape = tuple(int(length) for length in shape)
        n_bytes, n_free = prod(shape) * np.dtype(dtype).itemsize, self.count_free()
        if n_bytes > n_free:
            raise DeviceMemoryError(f"{n_bytes} bytes were asked for, and {n_free} are free")
        block = Block(n_bytes)
        self._blocks[block.address] = block
        return DeviceArray(self, block.address, shape, dtype, Allocation(block, self._give_back))

    def free(self, array: DeviceArray) -> None:
        if self._is_closed:
            return
        self.check_open("free", records=False)
        allocation = array.owner
        if not isinstance(allocation, Allocation) or array.device is not self:
            raise KernelError("only arrays that this device has allocated can be freed, not views")
        if allocation.block is None:
            raise KernelError("an array is freed twice")
        block, allocation.block = allocation.block, None
        self._give_back(block)
        self._raise_damage()

    def count_free(self) -> int:
        return self.memory_limit - sum(block.n_bytes for block in self._blocks.values())

    def write(self, host: np.ndarray, target: DeviceArray) -> None:
        self.check_open("write", records=False)
        host = np.ascontiguousarray(host)
        _check_copy(host, target)
        copy_bytes(host.ctypes.data, target.address, target.nbytes)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        _check_copy(source, target)
        origin, address, n_bytes = source.address, target.address, target.nbytes
        self._do(lambda: copy_bytes(origin, address, n_bytes), {origin, address})

    def clear(self, target: DeviceArray) -> None:
        _check_copy(target, target)
        address, n_bytes = target.address, target.nbytes
        self._do(lambda: clear_bytes(address, n_bytes), {address})

    def download(self, source: DeviceArray) -> np.ndarray:
        self.check_open("download", records=False)
        items = np.empty(source.shape, source.dtype)
        _check_copy(source, items)
        copy_bytes(source.address, items.ctypes.data, source.nbytes)
        return items

    def download_later(self, source: DeviceArray) -> Copied:
        return Copied(self.download(source))

    # --- work ---

    def load(self, program: Program) -> dict[str, Kernel]:
        return load_kernels(program, self._check_accesses)

    def launch(
        self,
        kernel: Kernel,
        n_blocks: int | tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        n_x, n_y = (int(n) for n in (n_blocks if isinstance(n_blocks, tuple) else (n_blocks, 1)))
        self._check_shape(kernel, n_x, n_y, n_threads, shared)
        packed = Arguments(kernel, arguments)
        if n_x and n_y:
            self._do(
                lambda: self._execute(kernel, n_x, n_y, n_threads, packed, shared),
                packed.find_addresses() if self._recording else set(),
            )

    def count_blocks(self, kernel: Kernel, n_threads: int, shared: int = 0) -> int:
        self._check_shape(kernel, 1, 1, n_threads, shared)
        return 2 * self.n_processors

    @contextmanager
    def record(self) -> Iterator[RecordedGraph]:
        self.check_open("record", records=False)
        self._recording = graph = RecordedGraph(self)
        try:
            yield graph
        finally:
            self._recording = None

    def mark(self) -> Passed:
        self.check_open("mark", records=False)
        return Passed(self)

    def wait_for(self, mark: Mark) -> None:
        self.check_open("wait for a mark", records=False)

    def wait(self) -> None:
        self.check_open("wait", records=False)

    def __exit__(self, *error: object) -> None:
        try:
            self.close()
        except KernelError as damage:
            if not isinstance(error[1], BaseException):
                raise
            error[1].add_note(str(damage))  # what has gone wrong first is what matters

    def close(self) -> None:
        self._is_closed = True
        for block in list(self._blocks.values()):
            self._give_back(block)
        self._raise_damage()

    # --- checks ---

    def check_open(self, what: str, *, records: bool) -> None:
        """Raise if the device is closed, or if it is recording what cannot be recorded."""
        if self._is_closed:
            raise KernelError(f"cannot {what}: the device is closed")
        if self._recording and not records:
            raise KernelError(f"cannot {what} while a graph is recorded")

    def _do(self, step: Callable[[], None], addresses: set[int]) -> None:
        self.check_open("queue work", records=True)
        if self._recording:
            self._recording.add(step, addresses)
        else:
            step()

    def _give_back(self, block: Block) -> None:
        """Take note of damages; to raise here would be in vain where an array has just died."""
        if self._blocks.pop(block.address, None) and (damage := block.find_damage()):
            self._damages.append(damage)

    def _raise_damage(self) -> None:
        if self._damages:
            damage = self._damages.pop()
            self._damages.clear()
            raise KernelError(f"{damage}; EmulatedDevice(check_launches=True) finds the kernel")

    def _check_shape(self, kernel: Kernel, n_x: int, n_y: int, n_threads: int, shared: int) -> None:
        if n_threads % 32 or not 32 <= n_threads <= kernel.most_threads:
            most = f"a multiple of 32 threads, at most {kernel.most_threads}"
            raise KernelError(f"{kernel.name} needs {most}: {n_threads}")
        if not (0 <= n_x < 1 << 31 and 0 <= n_y < 1 << 16):
            raise KernelError(f"{kernel.name} cannot have {n_x} x {n_y} blocks")
        if not 0 <= shared <= self.shared_memory:
            raise KernelError(f"{kernel.name} cannot have {shared} bytes of shared memory")

    def _execute(
        self, kernel: Kernel, n_x: int, n_y: int, n_threads: int, arguments: Arguments, shared: int
    ) -> None:
        pointers, _kept = arguments.make_pointers()
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        ranges = list_ranges() if self._check_accesses else np.empty((0, 2), np.int64)
        how = (self._order, self._random.getrandbits(64), ranges.ctypes.data, len(ranges))
        with _launching:
            failed = kernel.library.emulator_launch(
                *(kernel.name.encode(), kernel.address, pointers, n_x, n_y, n_threads, shared),
                *(*how, find_stacks(kernel), message, _MESSAGE_BYTES),
            )
        if failed:
            raise KernelError(_show_places(message.value.decode(), kernel))
        if self._check_launches:
            for block in self._blocks.values():
                if damage := block.find_damage():
                    raise KernelError(f"kernel {kernel.name}: {damage}")


def _show_places(message: str, kernel: Kernel) -> str:
    return re.sub(r"{(0x\w+)}", lambda place: f"({find_line(kernel, place[1])})", message)


def _check_copy(source: Any, target: Any) -> None:
    if source.nbytes != target.nbytes:
        raise KernelError(f"{source.nbytes} bytes cannot be copied to {target.nbytes} bytes")
    for array in (source, target):
        if isinstance(array, DeviceArray) and is_freed(array):
            raise KernelError("an array is used whose memory has been freed")
