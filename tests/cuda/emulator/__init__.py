"""A device that executes CUDA C++ on the CPU, thread by thread, to test kernels without a GPU."""

from tests.cuda.emulator.device import EmulatedDevice
from tests.cuda.emulator.errors import KernelError

__all__ = ["EmulatedDevice", "KernelError"]
