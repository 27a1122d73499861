"""Compile the CUDA C++ of a program with g++, and keep the library on disk.

The sources are preprocessed first: the text has everything that a library depends on, so that its
hash names the library. What g++ cannot know of CUDA is replaced in that text.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import sumwise.cuda
from sumwise.cuda.runtime.device import Program

SOURCES = Path(sumwise.cuda.__file__).parent
HERE = Path(__file__).parent

# Floating point as the GPU's with --fmad=false. errno is nothing that a GPU has.
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno"]
FLAGS += ["-fno-strict-aliasing", "-fPIC", "-fvisibility=hidden", "-fno-extern-tls-init"]
# What is an error on a GPU, or has another result there. runtime.cpp has the handlers.
CHECKS = "-fsanitize=alignment,bounds,shift-exponent,integer-divide-by-zero,float-cast-overflow"
# Calls before each access; accesses.h has what is called. Lines tell where in the source it is.
WATCH = ["-fsanitize=thread", "-g"]

_BOUNDS = r"(?:__launch_bounds__\s*\((?P<bounds{}>[^;{{]*?)\)\s*)?"
_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+' + _BOUNDS.format(1) + r"void\s+" + _BOUNDS.format(2)
    + r"(?P<name>\w+)\s*\("
)  # fmt: skip


_stacks: list[int] = []


class Kernel(NamedTuple):
    """A compiled kernel.

    Attributes
    ----------
    name : str
    address : int
    kinds : str
        Of each argument: p for a pointer, i for an integer, d for a double, s for a structure.
    sizes : tuple of int
        Of each argument, in bytes.
    most_threads : int
        That a block may have.
    library : CDLL
        Has the function that executes kernels.
    path : Path
        Of the library.
    """

    name: str
    address: int
    kinds: str
    sizes: tuple[int, ...]
    most_threads: int
    library: ctypes.CDLL
    path: Path


class _Entry(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("kinds", ctypes.c_char_p),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("n_arguments", ctypes.c_int64),
        ("most_threads", ctypes.c_int64),
    )


def explain_missing() -> str | None:
    """Return why nothing can be emulated here, or None if it can."""
    if sys.platform != "linux":
        return "the emulator of CUDA runs on Linux only"
    if shutil.which("g++") is None:
        return "the emulator of CUDA needs g++, which is not installed"
    return None


@cache
def load_kernels(program: Program, check_accesses: bool = False) -> dict[str, Kernel]:
    """Return the kernels of a program by name, compiled before or now.

    Where nothing can be compiled, the test that asks for them is skipped.
    """
    if reason := explain_missing():
        pytest.skip(reason)
    flags = [*FLAGS, "-DEMULATOR_CHECK_ACCESSES"] if check_accesses else FLAGS
    text, n_kernels = _replace_attributes(_preprocess(program, flags))
    runtime = [(HERE / name).read_text() for name in ("runtime.cpp", "accesses.h")]
    key = _hash("\0".join([text, *runtime, *flags, CHECKS, *WATCH, _version()]))
    path = _folder() / f"{program.name}-{key}.so"
    with _lock(path):
        if not path.exists():
            _build(text, path, flags, [CHECKS, *WATCH] if check_accesses else [CHECKS])
    library = ctypes.CDLL(str(path))
    launch = library.emulator_launch
    launch.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 5]
    launch.argtypes += [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64]
    launch.argtypes += [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64]
    entries = (_Entry * n_kernels).in_dll(library, "emulator_kernels")
    return {entry.name.decode(): _read(entry, library, path) for entry in entries}


def _read(entry: _Entry, library: ctypes.CDLL, path: Path) -> Kernel:
    name, kinds = entry.name.decode(), entry.kinds.decode()
    sizes = tuple(entry.sizes[: entry.n_arguments])
    return Kernel(name, entry.call, kinds, sizes, entry.most_threads, library, path)


def find_stacks(kernel: Kernel) -> int:
    """Return the address of stacks for threads: all libraries use those that the first has made."""
    if not _stacks:
        make = kernel.library.emulator_make_stacks
        make.restype = ctypes.c_void_p
        address = make()
        if address is None:
            raise MemoryError("no memory for the stacks of threads")
        _stacks.append(address)
    return _stacks[0]


def find_line(kernel: Kernel, place: str) -> str:
    """Return file and line of code at a place in a library, outside of the emulator's header."""
    # The address is that of a return, after the call.
    place = hex(int(place, 16) - 1)
    lines = _run(["addr2line", "-i", "-e", str(kernel.path), place]).split("\n")
    own = [line.split(" ")[0] for line in lines if line and "emulator.h" not in line]
    return own[0] if own else lines[0]


def _preprocess(program: Program, flags: list[str]) -> str:
    generated = _folder() / f"header-{_hash(program.header)}"
    generated.mkdir(exist_ok=True)
    _write(program.header, generated / "layout.cuh")
    main = "".join(f'#include "{name}"\n' for name in program.files)
    include = ["-I", str(SOURCES), "-I", str(generated), "-include", str(HERE / "emulator.h")]
    return _run(["g++", "-E", *flags, *include, "-x", "c++", "-"], main)


def _replace_attributes(text: str) -> tuple[str, int]:
    """Remove what marks kernels, and append a table of them."""
    found = list(_KERNEL.finditer(text))
    text = _KERNEL.sub(lambda kernel: f'extern "C" void {kernel["name"]}(', text)
    lines = [text, 'extern __attribute__((visibility("default"))) EmulatorKernel']
    lines.append('emulator_kernels[] asm("emulator_kernels") = {')
    for kernel in found:
        bounds = kernel["bounds1"] or kernel["bounds2"] or ""
        name = kernel["name"]
        lines.append(f'emulator::describe<{name}>("{name}", emulator::most_threads({bounds})),')
    return "\n".join([*lines, "};\n"]), len(found)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Let one process compile, while others that want the same wait for it."""
    import fcntl  # Windows has none, nor an emulator

    with open(path.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(text: str, path: Path, flags: list[str], checks: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, made = Path(folder, "program.ii"), Path(folder, "program.o")
        source.write_text(text)
        _run(["g++", *flags, *checks, "-c", "-o", str(made), str(source)])
        library = Path(folder, "program.so")
        _run(["g++", *flags, "-shared", "-o", str(library), str(made), str(HERE / "runtime.cpp")])
        library.rename(path)  # at once: nobody may see a part of it


def _write(text: str, path: Path) -> None:
    if path.exists():
        return
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.replace(file.name, path)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def _version() -> str:
    return _run(["g++", "--version"])


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base, "sumwise-emulator")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout
