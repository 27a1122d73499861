"""The library of compiled kernels that a wheel brings: found, loaded and asked for symbols.

A wheel for a platform has one shared library per level of CPU, the best of which is loaded. It
holds the machine code of all kernels that `sumwise warmup` knows. Set ``SUMWISE_KERNELS`` to the
name of a level to choose another, or to ``compiled`` to do without it.
"""

import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "compiled_kernels"
# Of each architecture: levels of CPU, the best first, and the feature that NumPy must find.
LEVELS = {
    "x86_64": {"x86-64-v4": "AVX512_SKX", "x86-64-v3": "AVX2"},
    "aarch64": {"generic": "NEON"},
}
_ARCHITECTURES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


def name_architecture() -> str:
    """Return the architecture of this machine, by one name on all systems."""
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def path_of(level: str) -> Path:
    """Return where the library of a level is, if there is one."""
    suffix = ".dll" if sys.platform == "win32" else ".so"
    return FOLDER / f"{level}{suffix}"


def _has_feature(name: str) -> bool:
    """Whether this CPU has a feature: NumPy has looked already."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__
    except ImportError:  # NumPy before 2
        from numpy.core._multiarray_umath import __cpu_features__
    return bool(__cpu_features__.get(name))


def choose_level() -> str | None:
    """Return the level of the library to load, None for no library."""
    levels = LEVELS.get(name_architecture(), {})
    chosen = os.environ.get("SUMWISE_KERNELS", "auto")
    if chosen == "auto":
        if "NUMBA_CPU_NAME" in os.environ:
            return None  # kernels are to be compiled for that CPU
        found = (name for name, feature in levels.items() if _has_feature(feature))
        return next((name for name in found if path_of(name).is_file()), None)
    if chosen == "compiled":
        return None
    if chosen not in levels:
        raise ValueError(
            f"SUMWISE_KERNELS={chosen}: must be one of {', '.join(('auto', 'compiled', *levels))}"
        )
    if not _has_feature(levels[chosen]):
        raise ValueError(f"SUMWISE_KERNELS={chosen}: this CPU has no {levels[chosen]}")
    if not path_of(chosen).is_file():
        raise ValueError(
            f"SUMWISE_KERNELS={chosen}: there is no {path_of(chosen)}; this installation has no "
            "compiled kernels of that level"
        )
    return chosen


@cache
def _load() -> ctypes.CDLL | None:
    level = choose_level()
    return None if level is None else ctypes.CDLL(str(path_of(level)))


def describe() -> str:
    """Say which library is used, for messages."""
    loaded = _load()
    return "a library of compiled kernels" if loaded is None else f"the library {loaded._name}"


def has_symbol(symbol: str) -> bool:
    """Whether there is a library with a symbol."""
    loaded = _load()
    return loaded is not None and hasattr(loaded, symbol)


def find_address(symbol: str) -> int:
    """Return the address of a symbol of the library."""
    return ctypes.cast(getattr(_load(), symbol), ctypes.c_void_p).value or 0
