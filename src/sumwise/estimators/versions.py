"""What this installation consists of: for reports of bugs, and to see whether a GPU is found."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from sumwise.estimators.input.jobs import count_cpus

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "joblib", "threadpoolctl", "numba")
_SETTINGS = (
    "OMP_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "SUMWISE_CACHE_DIR",
    "SUMWISE_KERNELS",
    "CUDA_VISIBLE_DEVICES",
)


def show_versions() -> None:
    """Print the versions of sumwise and of what it uses, and the GPUs that it finds.

    Where a GPU cannot be used, the report says what is missing. ``sumwise info`` prints the same.

    Examples
    --------
    >>> import sumwise
    >>> sumwise.show_versions()  # doctest: +ELLIPSIS
    sumwise ...
    Python ...
    """
    print(describe_versions())


def describe_versions() -> str:
    """Return the report that :func:`show_versions` prints."""
    from sumwise import __version__
    from sumwise.cuda.runtime.report import describe_cuda
    from sumwise.kernels.runtime import cache, library

    places = {
        "kernels": library.choose_level() or "compiled on this machine",
        "kernel cache": str(cache.find_writable_root() or "no folder can be written to"),
    }
    lines = {
        "sumwise": __version__,
        "Python": sys.version.replace("\n", " "),
        "system": platform.platform(),
        "CPUs": f"{os.cpu_count()}, of which fits use up to {count_cpus()}",
        **{name: os.environ[name] for name in _SETTINGS if name in os.environ},
        **{name: _find_version(name) for name in _PACKAGES},
        **places,
        **describe_cuda(),
    }
    width = max(map(len, lines)) + 1
    indented = {name: text.replace("\n", "\n" + " " * width) for name, text in lines.items()}
    return "\n".join(f"{name:{width}}{text}" for name, text in indented.items())


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
