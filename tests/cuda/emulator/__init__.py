"""A device that executes CUDA C++ on the CPU, thread by thread, to test kernels without a GPU.

Kernels are compiled by g++ (``compile.py``, with ``emulator.h`` in place of what CUDA adds to C++)
and executed by ``runtime.cpp``. Bugs raise :class:`KernelError`. Results must not depend on the
order of blocks and threads: try ``EmulatedDevice(order="shuffled")``. To find missing barriers and
reads out of bounds, run tests with ``SUMWISE_CHECK_ACCESSES=1``.
"""

from tests.cuda.emulator.device import EmulatedDevice
from tests.cuda.emulator.errors import KernelError

__all__ = ["EmulatedDevice", "KernelError"]
