"""KernelError: what only a bug can cause."""

from sumwise.errors import DeviceError


class KernelError(DeviceError):
    """A kernel, or how it is used, has a bug: threads diverge, memory is written out of bounds."""
