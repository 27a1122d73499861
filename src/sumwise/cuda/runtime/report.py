"""What there is of CUDA on this machine, for people."""

from collections.abc import Callable

from sumwise.cuda.runtime.bindings import (
    import_bindings,
    read_bindings_version,
    read_driver_version,
    start_driver,
)
from sumwise.cuda.runtime.compiler import read_version
from sumwise.cuda.runtime.gpu import list_gpus
from sumwise.errors import DeviceError


def describe_cuda() -> dict[str, str]:
    """Return what was found, or why there is nothing, part by part; nothing is left in use."""
    driver = _try(lambda: _show(read_driver_version(import_bindings("driver"))))
    compiler = _try(lambda: _show(read_version()))
    gpus = _try(lambda: "\n".join(gpu.describe() for gpu in list_gpus(start_driver())))
    return {
        "cuda-bindings": read_bindings_version() or "not installed",
        "NVIDIA driver": driver,
        "NVRTC": "none" if compiler == driver else compiler,
        "GPUs": "none" if gpus == driver else gpus,
    }


def _show(version: tuple[int, int]) -> str:
    return f"CUDA {version[0]}.{version[1]}"


def _try(read: Callable[[], str]) -> str:
    try:
        return read()
    except DeviceError as error:
        return str(error)
