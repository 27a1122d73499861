"""Compile all kernels ahead of time: one shared library per level of CPU.

``python -m build_tools.library build/compiled_kernels``

`sumwise warmup` tells which kernels there are, and for which arguments: it runs here once, by
kernels for this machine. Then each kernel is compiled for every level, in processes of their own,
because Numba compiles for one CPU per process. Nothing made for another CPU is run here.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from sumwise.kernels.runtime import library, machine_code


class Request(NamedTuple):
    """A kernel, and the kinds of arguments to compile it for."""

    module: str
    name: str
    kinds: tuple[Any, ...]
    is_verb: bool

    def find_function(self) -> Callable[..., Any]:
        """Return the function that the kernel was made of."""
        return getattr(importlib.import_module(self.module), self.name).py_func


def record_requests(work: Callable[[], None]) -> list[Request]:
    """Do some work; return the kernels that were looked for the first time in this process."""
    requests: dict[str, Request] = {}  # by symbol: two threads may look for the same kernel
    find = machine_code._find

    def record(function: Callable[..., Any], kinds: Any, symbol: str, is_verb: bool) -> Any:
        requests[symbol] = Request(function.__module__, function.__name__, kinds, is_verb)
        return find(function, kinds, symbol, is_verb)

    machine_code._find = record
    try:
        work()
    finally:
        machine_code._find = find
    return list(requests.values())


def warm_up() -> None:
    """Call every kernel that the package has, with all kinds of arguments."""
    # Import here: processes that only compile need no estimators.
    from sumwise.cli.compiling import list_steps

    for step in chain.from_iterable(phase.values() for phase in list_steps()):
        step()


def compile_request(folder: Path, request: Request) -> tuple[Path, list[str]]:
    """Write the object file of a kernel; return its path and the symbols in it."""
    function = request.find_function()
    symbol = machine_code.name_symbol(function, request.kinds)
    path = folder / f"{symbol}.o"
    path.write_bytes(machine_code.make_object(function, request.kinds, symbol, request.is_verb))
    return path, [symbol] if request.is_verb else [symbol, symbol + machine_code.RESULT]


def link(parts: Iterable[tuple[Path, list[str]]], path: Path) -> None:
    """Link object files into a shared library."""
    # Import here: setuptools is needed for this alone.
    from setuptools._distutils.ccompiler import new_compiler

    parts = list(parts)
    # Names of routines, which nobody looks for, would take most of the space.
    strip = {"linux": ["-s"], "darwin": ["-Wl,-x"]}.get(sys.platform, [])
    new_compiler().link_shared_object(
        [str(own) for own, _ in parts],
        str(path),
        export_symbols=[symbol for _, symbols in parts for symbol in symbols],
        extra_postargs=strip,
    )


def build_level(requests: list[Request], level: str, output: Path, n_jobs: int) -> Path:
    """Compile kernels for a level of CPU, and link them; return the library's path."""
    folder = output / f"{level}.parts"
    folder.mkdir(parents=True, exist_ok=True)
    # Read by Numba when a process starts. Without features of its own, a level is what its name
    # says; else Numba would add those of this machine.
    os.environ |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(partial(compile_request, folder), requests))
    path = output / library.path_of(level).name
    link(parts, path)
    for own, _ in parts:
        own.unlink()
    folder.rmdir()
    return path


def main() -> None:
    """Build the libraries of all levels of this machine's architecture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=Path, help="folder for the libraries")
    parser.add_argument("--levels", nargs="*", help="levels of CPU (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    options = parser.parse_args()
    os.environ["SUMWISE_KERNELS"] = "compiled"  # not those of an older library
    requests = record_requests(warm_up)
    levels = options.levels or library.LEVELS.get(library.name_architecture())
    if not levels:
        sys.exit(f"no levels of CPU are known for {library.name_architecture()}: give --levels")
    for level in levels:
        path = build_level(requests, level, options.output, options.jobs)
        size = path.stat().st_size / 1e6
        print(f"{path}: {len(requests)} kernels, {size:.1f} MB")


if __name__ == "__main__":
    main()
