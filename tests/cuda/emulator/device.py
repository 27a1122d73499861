"""EmulatedDevice: kernels run on the CPU, strict about what a GPU does not forgive."""

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device, Program
from sumwise.cuda.runtime.structs import pack_word
from sumwise.errors import DeviceMemoryError
from tests.cuda.emulator.compile import Library, Parameters, load_library
from tests.cuda.emulator.memory import Allocation, clear_bytes, copy_bytes

ORDERS = ("forward", "reversed", "shuffled")
_MESSAGE_BYTES = 2048


class KernelError(AssertionError):
    """A kernel, or how it is used, has a bug: threads diverge, memory is written out of bounds."""


class Kernel(NamedTuple):
    """A compiled kernel."""

    name: str
    address: int
    parameters: Parameters
    library: Library


class Copied:
    """A copy to the host that is delivered when it is asked for."""

    def __init__(self, items: np.ndarray) -> None:
        self._items = items

    def get(self) -> np.ndarray:
        return self._items


class Passed(NamedTuple):
    """A point in a queue: all work is done at once."""

    device: "EmulatedDevice"


class RecordedGraph:
    """Work to be done at every launch, in order."""

    def __init__(self, device: "EmulatedDevice") -> None:
        self._device = device
        self.steps: list[Callable[[], None]] = []

    def launch(self) -> None:
        self._device.check_usable("launch a graph")
        for step in self.steps:
            step()


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
    """

    name = "emulated"
    architecture = 90
    stream = 0

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
    ) -> None:
        self.number, self.n_processors = number, n_processors
        self.shared_memory, self.memory_limit = shared_memory, memory_limit
        self._order, self._random = ORDERS.index(order), random.Random(seed)
        self._check_launches = check_launches
        self._allocations: dict[int, Allocation] = {}
        self._recording: list[Callable[[], None]] | None = None
        self._is_closed = False

    # --- memory ---

    def allocate(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        self._refuse_recording("allocate")
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        n_bytes = prod(shape) * np.dtype(dtype).itemsize
        if n_bytes > self.count_free():
            raise DeviceMemoryError(
                f"{n_bytes} bytes were asked for, and {self.count_free()} are free"
            )
        allocation = Allocation(n_bytes)
        self._allocations[allocation.address] = allocation
        return DeviceArray(self, allocation.address, shape, dtype, allocation)

    def free(self, array: DeviceArray) -> None:
        self._refuse_recording("free")
        allocation = array.owner
        if not isinstance(allocation, Allocation) or array.device is not self:
            raise KernelError("only arrays that this device has allocated can be freed, not views")
        if allocation.is_free:
            raise KernelError("an array is freed twice")
        self._forget(allocation)

    def count_free(self) -> int:
        return self.memory_limit - sum(one.n_bytes for one in self._allocations.values())

    def write(self, host: np.ndarray, target: DeviceArray) -> None:
        self._refuse_recording("write")
        host = np.ascontiguousarray(host)
        _compare_sizes(host, target)
        self._check_array(target)
        copy_bytes(host.ctypes.data, target.address, target.nbytes)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        _compare_sizes(source, target)
        self._check_array(source)
        self._check_array(target)
        self._do(lambda: copy_bytes(source.address, target.address, target.nbytes))

    def clear(self, target: DeviceArray) -> None:
        self._check_array(target)
        self._do(lambda: clear_bytes(target.address, target.nbytes))

    def download(self, source: DeviceArray) -> np.ndarray:
        self._refuse_recording("download")
        self._check_array(source)
        items = np.empty(source.shape, source.dtype)
        copy_bytes(source.address, items.ctypes.data, source.nbytes)
        return items

    def download_later(self, source: DeviceArray) -> Copied:
        return Copied(self.download(source))

    # --- work ---

    def load(self, program: Program) -> dict[str, Kernel]:
        library = load_library(program)
        return {
            name: Kernel(name, address, parameters, library)
            for name, (address, parameters) in library.kernels.items()
        }

    def launch(
        self,
        kernel: Kernel,
        n_blocks: int | tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        n_x, n_y = n_blocks if isinstance(n_blocks, tuple) else (n_blocks, 1)
        self._check_shape(kernel, int(n_x), int(n_y), n_threads, shared)
        words = self._pack(kernel, arguments)
        self._do(lambda: self._execute(kernel, int(n_x), int(n_y), n_threads, words, shared))

    def count_blocks(self, kernel: Kernel, n_threads: int, shared: int = 0) -> int:
        self._check_shape(kernel, 1, 1, n_threads, shared)
        return 2 * self.n_processors

    @contextmanager
    def record(self) -> Iterator[RecordedGraph]:
        self._refuse_recording("record")
        graph = RecordedGraph(self)
        self._recording = graph.steps
        try:
            yield graph
        finally:
            self._recording = None

    def mark(self) -> "Passed":
        return Passed(self)

    def wait_for(self, mark: "Passed") -> None:
        self.check_usable("wait for a mark")

    def wait(self) -> None:
        self._refuse_recording("wait")

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        damages = [one.find_damage() for one in self._allocations.values()]
        for allocation in self._allocations.values():
            allocation.is_free = True
        self._allocations.clear()
        for damage in filter(None, damages):
            raise KernelError(f"{damage}; EmulatedDevice(check_launches=True) finds the kernel")

    # --- checks ---

    def check_usable(self, what: str) -> None:
        if self._is_closed:
            raise KernelError(f"cannot {what}: the device is closed")

    def _refuse_recording(self, what: str) -> None:
        self.check_usable(what)
        if self._recording is not None:
            raise KernelError(f"cannot {what} while a graph is recorded")

    def _do(self, step: Callable[[], None]) -> None:
        self.check_usable("queue work")
        if self._recording is None:
            step()
        else:
            self._recording.append(step)

    def _forget(self, allocation: Allocation) -> None:
        allocation.is_free = True
        del self._allocations[allocation.address]
        if damage := allocation.find_damage():
            raise KernelError(f"{damage}; EmulatedDevice(check_launches=True) finds the kernel")

    def _check_array(self, array: DeviceArray) -> None:
        if not isinstance(array, DeviceArray):
            raise KernelError(f"an array of a device is needed, not {type(array).__name__}")
        owner = array
        while isinstance(owner, DeviceArray):
            owner = owner.owner
        if isinstance(owner, Allocation) and owner.is_free:
            raise KernelError("an array is used whose memory has been freed")

    def _check_shape(self, kernel: Kernel, n_x: int, n_y: int, n_threads: int, shared: int) -> None:
        most_threads = kernel.parameters.most_threads
        if n_threads % 32 or not 32 <= n_threads <= most_threads:
            raise KernelError(
                f"{kernel.name} needs a multiple of 32 threads, at most {most_threads}: {n_threads}"
            )
        if not (1 <= n_x < 1 << 31 and 1 <= n_y < 1 << 16):
            raise KernelError(f"{kernel.name} cannot have {n_x} x {n_y} blocks")
        if not 0 <= shared <= self.shared_memory:
            raise KernelError(f"{kernel.name} cannot have {shared} bytes of shared memory")

    def _pack(self, kernel: Kernel, arguments: Sequence[Any]) -> list[bytes]:
        kinds, sizes = kernel.parameters.kinds, kernel.parameters.sizes
        if len(arguments) != len(kinds):
            raise KernelError(f"{kernel.name} takes {len(kinds)} arguments, not {len(arguments)}")
        words = []
        for i, (value, kind, size) in enumerate(zip(arguments, kinds, sizes, strict=True)):
            if kind not in _find_kinds(value):
                raise KernelError(
                    f"argument {i} of {kernel.name} is a {_KINDS[kind]}, not {type(value).__name__}"
                )
            if isinstance(value, DeviceArray):
                self._check_array(value)
            words.append(value if isinstance(value, bytes) else pack_word(value))
            if len(words[-1]) != size:
                raise KernelError(
                    f"argument {i} of {kernel.name} has {size} bytes, not {len(words[-1])}"
                )
        return words

    def _execute(
        self, kernel: Kernel, n_x: int, n_y: int, n_threads: int, words: list[bytes], shared: int
    ) -> None:
        # Copies: a kernel may change its arguments, as they are variables of its own.
        buffers = [ctypes.create_string_buffer(word, len(word)) for word in words]
        pointers = (ctypes.c_void_p * len(words))(*[ctypes.addressof(one) for one in buffers])
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        seed = self._random.getrandbits(64)
        failed = kernel.library.launch(
            kernel.name.encode(), kernel.address, pointers, n_x, n_y, n_threads, shared,
            self._order, seed, message, _MESSAGE_BYTES,
        )  # fmt: skip
        if failed:
            raise KernelError(message.value.decode())
        if self._check_launches:
            for allocation in self._allocations.values():
                if damage := allocation.find_damage():
                    raise KernelError(f"kernel {kernel.name}: {damage}")


_KINDS = {"p": "pointer", "i": "integer", "d": "double", "s": "structure"}


def _find_kinds(value: Any) -> str:
    """Return for which arguments of a kernel a value may be passed."""
    if isinstance(value, bytes):
        return "s"
    if isinstance(value, DeviceArray):
        return "p"
    if isinstance(value, (float, np.floating)):
        return "d"
    return "pi" if isinstance(value, (int, np.integer, np.bool_)) else ""


def _compare_sizes(source: Any, target: DeviceArray) -> None:
    if source.nbytes != target.nbytes:
        raise KernelError(f"{source.nbytes} bytes cannot be copied to {target.nbytes} bytes")
