"""Device: memory, kernels and a queue of work on one GPU, as algorithms see them.

Work is queued: it is done in order, after the call has returned. Only :meth:`Device.download`,
:meth:`Device.read`, :meth:`Later.get` and :meth:`Device.wait` wait for it. A fit opens a device of
its own, with its own queue, and closes it in the end, which frees all its memory: fits in several
threads do not meet.

Queues of several devices are independent of each other. :meth:`Device.mark` and
:meth:`Device.wait_for` order them: a device that reads what another one has written waits for a
mark of it. Where all work is done at once, as in an emulator, both have nothing to do.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, Self

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program

__all__ = ["Device", "Graph", "Later", "Mark", "Program", "Slot"]


class Later(Protocol):
    """A copy to the host that is under way."""

    def get(self) -> np.ndarray:
        """Return the copy, when it is there."""


class Graph(Protocol):
    """Recorded launches, which can be queued at once, any number of times."""

    def launch(self) -> None:
        """Queue the recorded work."""


class Mark(Protocol):
    """A point in the queue of a device."""

    @property
    def device(self) -> "Device":
        """Whose queue it is in."""


class Slot:
    """Memory of the host that devices copy from.

    Attributes
    ----------
    memory : ndarray of uint8
    """

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory

    def wait(self) -> None:
        """Wait until no copy reads the memory any more."""


class Device(ABC):
    """A GPU with a queue of its own; a context manager that frees all memory in the end.

    Attributes
    ----------
    name : str
    number : int
        Which of the GPUs of the machine.
    architecture : int
        Compute capability times ten: 90 for Hopper.
    n_processors : int
        Number of multiprocessors.
    shared_memory : int
        Most bytes of shared memory that a block can have.
    stream : int
        The queue, as CUDA knows it.
    """

    name: str
    number: int
    architecture: int
    n_processors: int
    shared_memory: int
    stream: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- memory ---

    @abstractmethod
    def allocate(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return a new array with any contents; DeviceMemoryError if memory does not suffice."""

    @abstractmethod
    def free(self, array: DeviceArray) -> None:
        """Give the memory of an array back before the device is closed; afterwards, do nothing."""

    @abstractmethod
    def count_free(self) -> int:
        """Return how many bytes are free."""

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return a new array of zeros."""
        array = self.allocate(shape, dtype)
        self.clear(array)
        return array

    def upload(self, host: np.ndarray) -> DeviceArray:
        """Return a new array with the items of a host array."""
        array = self.allocate(host.shape, host.dtype)
        self.write(host, array)
        return array

    @abstractmethod
    def write(self, host: np.ndarray, target: DeviceArray) -> None:
        """Queue a copy from the host; the host array may be changed at once."""

    def lend_slots(self, n_bytes: int) -> AbstractContextManager[Sequence[Slot]]:
        """Lend two pieces of memory from which copies are quickest, each of so many bytes.

        They take turns: one is filled while devices copy the other one by :meth:`write_from`.
        """
        return nullcontext([Slot(np.empty(n_bytes, dtype=np.uint8)) for _ in range(2)])

    def write_from(self, slot: Slot, host: np.ndarray, target: DeviceArray) -> None:
        """Queue a copy of a part of a slot, which can be changed after ``slot.wait()``."""
        self.write(host, target)

    @abstractmethod
    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Queue a copy between arrays of the same size, which may be on two devices."""

    @abstractmethod
    def clear(self, target: DeviceArray) -> None:
        """Queue filling an array with zeros."""

    @abstractmethod
    def download(self, source: DeviceArray) -> np.ndarray:
        """Return a copy on the host, after all work queued before."""

    def read(self, source: DeviceArray, target: np.ndarray) -> None:
        """Copy to a contiguous array of the host, after all work queued before."""
        target[...] = self.download(source)

    @abstractmethod
    def download_later(self, source: DeviceArray) -> Later:
        """Queue a copy to the host, and return at once."""

    # --- work ---

    @abstractmethod
    def load(self, program: Program) -> dict[str, Any]:
        """Return the kernels of a program by name, compiled for this device if need be."""

    @abstractmethod
    def launch(
        self,
        kernel: Any,
        n_blocks: int | tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Queue a kernel.

        Every argument takes eight bytes or is a structure of such: an array (its address), an int
        (int64), a NumPy integer (64 bits), a float (double), a bool (int64), or bytes (a structure
        by value, see structs.py). ``shared`` is the dynamic shared memory of a block in bytes.
        """

    @abstractmethod
    def count_blocks(self, kernel: Any, n_threads: int, shared: int = 0) -> int:
        """Return how many blocks of a kernel the whole device holds at once."""

    @abstractmethod
    def record(self) -> AbstractContextManager[Graph]:
        """Record kernels, copies and clears queued in a ``with`` block instead of doing them."""

    @abstractmethod
    def mark(self) -> Mark:
        """Mark the end of the work queued so far, for :meth:`wait_for` of other devices."""

    def can_read(self, other: "Device") -> bool:
        """Whether kernels of this device can read the memory of another one."""
        return True

    @abstractmethod
    def wait_for(self, mark: Mark) -> None:
        """Queue a wait: work queued from now on begins when another device has reached its mark."""

    def wait_for_stream(self, stream: int) -> None:  # noqa: B027 - an emulator has no other queues
        """Wait for the work of another library's queue on this GPU, which CUDA knows as a number.

        1 is the queue that libraries use unless they are told otherwise.
        """

    @abstractmethod
    def wait(self) -> None:
        """Wait for all work; raise DeviceError if a kernel has failed."""

    @abstractmethod
    def close(self) -> None:
        """Wait for the work, and free all memory of this device."""
