"""What an emulated device hands out: recorded work, copies under way, marks."""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.cuda.emulator.errors import KernelError
from tests.cuda.emulator.memory import Allocation, find_allocations

if TYPE_CHECKING:
    from tests.cuda.emulator.device import EmulatedDevice


class RecordedGraph:
    """Work to be done at every launch, in order; it does not keep arrays alive, as on a GPU."""

    def __init__(self, device: "EmulatedDevice") -> None:
        self._device = device
        self._steps: list[Callable[[], None]] = []
        self._uses: list[weakref.ref[Allocation]] = []

    def add(self, step: Callable[[], None], addresses: set[int]) -> None:
        """Record a step that uses memory at some addresses."""
        self._steps.append(step)
        self._uses += find_allocations(addresses)

    def launch(self) -> None:
        self._device.check_open("launch a graph", records=False)
        for use in self._uses:
            allocation = use()
            if allocation is None or allocation.block is None:
                raise KernelError("a graph uses an array whose memory has been freed")
        for step in self._steps:
            step()


class Copied:
    """A copy to the host that is delivered when it is asked for."""

    def __init__(self, items: np.ndarray) -> None:
        self._items = items

    def get(self) -> np.ndarray:
        return self._items


class Passed(NamedTuple):
    """A point in a queue: all work is done at once."""

    device: "EmulatedDevice"
