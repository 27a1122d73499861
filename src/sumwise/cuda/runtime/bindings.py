"""cuda.bindings: how it is imported and started, and what its return codes mean.

The driver is called through ``cuda.bindings``, NVIDIA's own Python view of the C interface, and
not through ``cuda.core``, the layer above it: the C interface has been stable for years, a call
takes about a microsecond, and there is one layer less to keep up with. Return codes are compared as
numbers, which never change, so that versions 12 and 13 are used alike.
"""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, NoReturn

from sumwise.errors import DeviceError, DeviceMemoryError

EXTRAS = 'pip install "sumwise[cuda13]" (drivers from 580 on) or pip install "sumwise[cuda12]"'
SAME_MODEL = "device='cpu' gives the same model"

_OUT_OF_MEMORY = 2
_NO_DEVICE = 100
# After these the context is lost: every later call in this process gives the same code.
_STICKY = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}

_started_by: int | None = None


def import_bindings(name: str) -> ModuleType:
    """Return a module of cuda.bindings: "driver" or "nvrtc"."""
    try:
        return import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise DeviceError(
            f"a GPU needs the package cuda-bindings, which cannot be imported ({error}): "
            f"{EXTRAS}; {SAME_MODEL}"
        ) from None


def read_bindings_version() -> str | None:
    """Return the version of cuda-bindings, or None if it is not installed."""
    try:
        return version("cuda-bindings")
    except PackageNotFoundError:
        return None


def start_driver() -> ModuleType:
    """Return the driver interface, initialized; DeviceError says what is missing."""
    global _started_by
    cuda = import_bindings("driver")
    if _started_by is not None:
        if is_forked():
            _refuse_fork()
        return cuda
    _check_version(read_driver_version(cuda))
    (error,) = cuda.cuInit(0)
    if error == _NO_DEVICE:
        raise DeviceError(f"there is no NVIDIA GPU that this process can see; {SAME_MODEL}")
    if error:
        raise DeviceError(f"the NVIDIA driver does not start: {name_error(error)}; {SAME_MODEL}")
    _started_by = os.getpid()
    return cuda


def is_forked() -> bool:
    """Whether a parent of this process has started the driver: here it cannot be used."""
    return _started_by is not None and _started_by != os.getpid()


def _refuse_fork() -> NoReturn:
    raise DeviceError(
        "a process forked after its parent has used the GPU cannot use it: start processes with "
        'the method "spawn" or "forkserver"'
    )


def read_driver_version(cuda: ModuleType) -> tuple[int, int]:
    """Return which version of CUDA the installed driver brings."""
    try:
        number = call(cuda.cuDriverGetVersion)
    except RuntimeError as error:
        if isinstance(error, DeviceError):
            raise
        raise DeviceError(
            f"no NVIDIA driver is installed: its library libcuda was not found; {SAME_MODEL}"
        ) from None
    return number // 1000, number % 1000 // 10


def _check_version(driver: tuple[int, int]) -> None:
    bindings = read_bindings_version()
    if bindings is None or driver[0] >= int(bindings.partition(".")[0]):
        return
    raise DeviceError(
        f"the NVIDIA driver is too old: it knows CUDA {driver[0]}.{driver[1]}, and the installed "
        f"cuda-bindings are of version {bindings}; update the driver, or install "
        f'"sumwise[cuda{driver[0]}]"; {SAME_MODEL}'
    )


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the driver; return its result, or raise DeviceError."""
    error, *values = function(*arguments)
    if error:
        fail(error, function)
    return values[0] if len(values) == 1 else values


def fail(error: Any, function: Callable[..., Any], place: str = "") -> NoReturn:
    """Raise the error that a return code of the driver stands for."""
    if is_forked():
        _refuse_fork()
    text = f"{name_error(error)}, returned by {getattr(function, '__name__', function)}{place}"
    if error == _OUT_OF_MEMORY:
        raise DeviceMemoryError(f"the memory of the GPU does not suffice: {text}")
    if int(error) in _STICKY:
        raise DeviceError(
            f"a kernel has failed on the GPU: {text}. This process cannot use the GPU any more: "
            "restart it"
        )
    raise DeviceError(f"the GPU has failed: {text}")


def name_error(error: Any) -> str:
    """Return the name and the text of a return code."""
    cuda = import_bindings("driver")
    words = []
    for describe in (cuda.cuGetErrorName, cuda.cuGetErrorString):
        unknown, text = describe(error)
        if not unknown and text:
            words.append(text.decode())
    return " (".join(words) + ")" if len(words) == 2 else f"CUDA error {int(error)}"
