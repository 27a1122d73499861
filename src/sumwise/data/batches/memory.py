"""How much memory a fit may use, and how a table is cut so that it suffices."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from sumwise.data.batches.sources import BATCH_ROWS
from sumwise.data.binned import lay_out_tiles
from sumwise.data.thresholds import SAMPLE_ROWS
from sumwise.errors import MemoryLimitError, ParameterError

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS |= {f"{_letter}b": 1000**_power, _letter: 1000**_power, f"{_letter}ib": 1024**_power}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
# If the system does not say how much memory it has.
_UNKNOWN = 4 << 30

PAGE_ROWS = 1 << 18
_FEWEST_PAGE_ROWS = 1 << 12
_FEWEST_BATCH_ROWS = 1 << 10
# Bytes per value of a batch: as Arrow holds it, decoded ahead, and as numbers.
_BATCH_BYTES = 32
# Bytes per value of a page while it is made: columns, tiles, and codes of shared lanes.
_PAGE_BYTES = 3
# Bytes per row: its target, weight, record, leaf and number; and for each output, its score,
# gradient and hessian.
_ROW_BYTES, _OUTPUT_BYTES = 20, 24


def read_memory_limit(memory_limit: int | str | None) -> int:
    """Return the bytes that ``memory_limit`` stands for; None for the memory that is free.

    >>> read_memory_limit("1.5GB"), read_memory_limit("512 MiB")
    (1500000000, 536870912)
    """
    if memory_limit is None:
        return find_free_memory()
    size = None
    if isinstance(memory_limit, Integral) and not isinstance(memory_limit, bool):
        size = int(memory_limit)
    elif isinstance(memory_limit, str):
        found = _SIZE.fullmatch(memory_limit)
        if found and found[2].lower() in _UNITS:
            size = int(float(found[1]) * _UNITS[found[2].lower()])
    if size is None or size <= 0:
        raise ParameterError(
            f"memory_limit={memory_limit!r} must be a positive number of bytes, a text such as "
            "'4GB', '512MB' or '1.5GiB', or None for the memory that is free"
        )
    return size


def find_free_memory() -> int:
    """Return the bytes that this process may still use: of the machine, container and limits."""
    known = [*_read_machine(), *_read_control_groups(Path("/")), *_read_own_limit()]
    return max(0, min(known, default=_UNKNOWN))


def _read_machine() -> Iterator[int]:
    """Yield the free memory of the machine, if it says so."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        yield sizes["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        if sys.platform == "win32":
            yield from _read_windows()
        elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            # Others may use half of it.
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _read_windows() -> Iterator[int]:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *(
                (name, ctypes.c_ulonglong)
                for name in ("total", "available", "a", "b", "c", "d", "e")
            ),
        ]

    status = Status(length=ctypes.sizeof(Status))
    if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        yield int(status.available)


def _read_control_groups(root: Path) -> Iterator[int]:
    """Yield what is free in each control group of this process (Linux, versions 1 and 2)."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        own = top / path.lstrip("/")
        # Inside a container the path may be that of the host; then the top is the container's.
        groups = [own, *own.parents] if own.is_dir() else [top]
        for group in groups:
            if controllers:
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            else:
                names = ("memory.max", "memory.current", "inactive_file")
            yield from _read_group(group, *names)
            if group == top:
                break


def _read_group(group: Path, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Yield limit - usage of one group; files in the cache are given up when memory is needed."""
    try:
        most, used = int((group / limit).read_text()), int((group / usage).read_text())
        lines = (group / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):
        return  # "max": no limit; the root group has no such files
    yield most - used + sum(int(line.split()[1]) for line in lines if line.startswith(f"{cached} "))


def _read_own_limit() -> Iterator[int]:
    """Yield what is left of the limit on the address space (``ulimit -v``)."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            n_pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - n_pages * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return


def choose_batch_rows(limit: int, n_features: int) -> int:
    """Return how many rows are read at a time: at most an eighth of the memory is theirs."""
    fitting = limit // (8 * _BATCH_BYTES * n_features)
    return int(min(BATCH_ROWS, max(_FEWEST_BATCH_ROWS, fitting)))


@dataclass(frozen=True)
class MemoryPlan:
    """How a table is cut so that a fit stays within its memory.

    Attributes
    ----------
    page_rows : int
        The rows of a page.
    binned_bytes : int
        The size of all pages.
    sample_bytes : int
        The size of the sample that quantiles come from.
    keeps_pages, keeps_sample : bool
        Whether they stay in memory; otherwise they are files.
    """

    page_rows: int
    binned_bytes: int
    sample_bytes: int
    keeps_pages: bool
    keeps_sample: bool


def plan_memory(
    limit: int,
    n_rows: int,
    n_features: int,
    n_outputs: int = 1,
    reserved: int = 0,
    n_threads: int = 1,
) -> MemoryPlan:
    """Cut a table into pages; raise MemoryLimitError if not even one page at a time would fit.

    Parameters
    ----------
    limit : int
        Bytes, see :func:`read_memory_limit`.
    n_rows, n_features, n_outputs : int
    reserved : int
        Bytes that the fit needs besides: histograms, for example.
    n_threads : int
        Tables for more threads have more and narrower tiles.
    """
    state = n_rows * (_ROW_BYTES + _OUTPUT_BYTES * n_outputs) + reserved
    batch = choose_batch_rows(limit, n_features) * n_features * _BATCH_BYTES
    page_rows = PAGE_ROWS
    while page_rows > _FEWEST_PAGE_ROWS and page_rows * n_features * _PAGE_BYTES > limit // 8:
        page_rows >>= 1
    needed = state + batch + page_rows * n_features * _PAGE_BYTES
    if needed > limit:
        raise MemoryLimitError(
            f"{n_rows} rows of {n_features} features need at least {show_size(needed)} of memory "
            f"({show_size(state)} for scores, gradients and other numbers per row), and "
            f"{show_size(limit)} may be used; raise memory_limit, or train on fewer rows"
        )
    n_words = lay_out_tiles(n_features, 1, n_threads)[-1]
    binned = n_rows * (n_features + 8 * n_words)
    sample = min(n_rows, SAMPLE_ROWS) * n_features * 8
    # The sample is given up before there are pages and scores.
    keeps_sample = batch + sample <= limit // 2
    return MemoryPlan(page_rows, binned, sample, needed + binned <= limit, keeps_sample)


def show_size(n_bytes: int) -> str:
    """Return a number of bytes in words.

    >>> show_size(1_500_000_000)
    '1.5 GB'
    """
    size, unit = float(n_bytes), "bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"
