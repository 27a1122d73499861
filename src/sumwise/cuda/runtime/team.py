"""DeviceTeam: what a :class:`Team` of threads is on the CPU, for kernels and arrays on a device."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.bindings import SAME_MODEL
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.program import Program
from sumwise.errors import DeviceError

_THREADS = 256
# Blocks per multiprocessor: all of them together hold 2,048 threads.
_BLOCKS = 8
# Where the twins of kernels are, by the module of the kernel. Such a module has find_twin(name).
_TWINS = {
    "sumwise.kernels.losses.pointwise": "sumwise.cuda.losses.gradients",
    "sumwise.kernels.losses.multinomial": "sumwise.cuda.losses.gradients",
    "sumwise.kernels.sampling.by_gradient": "sumwise.cuda.sampling.by_gradient",
    "sumwise.kernels.leaves.refit": "sumwise.cuda.leaves.refit",
}


class DeviceTeam:
    """Runs the twins of kernels on a device: the same names and arguments, with DeviceArrays.

    Work is queued: :meth:`run` does not wait for it. Algorithms that hand their kernels to a team
    run on a device unchanged.

    Parameters
    ----------
    device : Device
    """

    n_threads = 1

    def __init__(self, device: Device) -> None:
        self.device = device
        self._most_blocks = _BLOCKS * device.n_processors
        self._kernels: dict[tuple[str, str], Any] = {}
        self._twins: dict[Any, Callable[..., None]] = {}
        self._buffers: dict[str, DeviceArray] = {}

    def run(self, kernel: Any, *args: Any) -> None:
        """Queue the twin of a kernel of ``sumwise.kernels``."""
        if kernel not in self._twins:
            self._twins[kernel] = _find_twin(kernel)
        self._twins[kernel](self, *args)

    run_alone = run

    def launch(
        self, program: Program, name: str, n_items: int, *args: Any, shared: int = 0
    ) -> None:
        """Queue a kernel with about one thread per item, at most as many as run at once.

        ``shared`` is the dynamic shared memory of a block in bytes.
        """
        kernel = self._kernels.get((program.name, name))
        if kernel is None:
            kernel = self._kernels[program.name, name] = self.device.load(program)[name]
        n_blocks = max(1, min(self._most_blocks, -(-n_items // _THREADS)))
        self.device.launch(kernel, n_blocks, _THREADS, args, shared)

    def borrow(self, name: str, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """Return scratch memory: an array with any contents, valid until its name is used again."""
        shape = (shape,) if isinstance(shape, int) else shape
        n_bytes = max(8, int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < n_bytes:
            self._buffers.pop(name, None)
            buffer = self._buffers[name] = self.device.allocate(n_bytes, np.uint8)
        return DeviceArray(self.device, buffer.address, shape, dtype, buffer)


def _find_twin(kernel: Any) -> Callable[..., None]:
    module = _TWINS.get(kernel.py_func.__module__)
    twin = import_module(module).find_twin(kernel.__name__) if module else None
    if twin is None:
        raise DeviceError(f"{kernel.__name__} is not available on a GPU; {SAME_MODEL}")
    return twin
