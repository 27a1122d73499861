"""From CUDA C++ to machine code: NVRTC, and a cache of its results on disk.

NVRTC is a library: it needs no GPU, no driver and no other compiler. Its results are kept beside
the kernels of the CPU, under the same rules of trust (see ``kernels.runtime.cache``), named after a
hash of all texts that were compiled, of the options, the architecture and NVRTC's version.
"""

import contextlib
import hashlib
import logging
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from sumwise.cuda.runtime.bindings import (
    EXTRAS,
    SAME_MODEL,
    import_bindings,
    read_bindings_version,
)
from sumwise.cuda.runtime.device import Program
from sumwise.errors import DeviceError
from sumwise.kernels.runtime import cache as kernel_cache

logger = logging.getLogger("sumwise")

FOLDER = Path(__file__).resolve().parents[1]
HEADER = "layout.cuh"
# No fused multiply-add and IEEE division: the same bits as on the CPU.
OPTIONS = (
    "--fmad=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
    "--std=c++17",
    "-default-device",
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
# Kernels have a section of machine code each in a cubin, and an entry in PTX.
_SECTION = re.compile(rb"\0\.text\.([A-Za-z_]\w*)(?=\0)")
_ENTRY = re.compile(rb"\.entry\s+([A-Za-z_]\w*)")


def compile_program(program: Program, architecture: int) -> bytes:
    """Return a program as the driver loads it: a cubin, taken from the cache if it is there.

    For an architecture newer than NVRTC it is PTX, which the driver translates.
    """
    folder = f"cuda-{hash_program(program)}"
    image = kernel_cache.load(folder, program.name, _name_machine(f"sm_{architecture}"))
    if image is not None:
        return image  # without the compiler, which takes a tenth of a second to load
    compiler = load_compiler()
    target = choose_target(architecture, find_architectures())
    machine = _name_machine(target)
    image = kernel_cache.load(folder, program.name, machine)
    if image is None:
        kernel_cache.announce_compilation()
        logger.info("compiling the CUDA program %s for %s", program.name, target)
        image, _ = run_compiler(compiler, program, target)
        kernel_cache.save(folder, program.name, machine, image)
    return image


def _name_machine(target: str) -> str:
    return f"{target} NVRTC {identify_compiler()}"


def choose_target(architecture: int, known: list[int]) -> str:
    """Return what to compile for: the machine code of a GPU, or PTX of an older architecture."""
    if architecture in known:
        return f"sm_{architecture}"
    older = [number for number in known if number < architecture]
    if not older:
        raise DeviceError(
            f"the installed NVRTC does not compile for compute capability {architecture / 10}, "
            f"only for {', '.join(str(number / 10) for number in known)}; {SAME_MODEL}"
        )
    return f"compute_{max(older)}"


def run_compiler(
    compiler: ModuleType, program: Program, target: str, options: tuple[str, ...] = ()
) -> tuple[bytes, str]:
    """Compile a program; return a cubin for "sm_90", PTX for "compute_90", and the log."""
    source = "".join(f'#include "{file}"\n' for file in program.files)
    headers = [program.header.encode()], [HEADER.encode()]
    handle = _call(compiler.nvrtcCreateProgram, source.encode(), program.name.encode(), 1, *headers)
    try:
        flags = (f"--gpu-architecture={target}", *OPTIONS, f"--include-path={FOLDER}", *options)
        encoded = [flag.encode() for flag in flags]
        (error,) = compiler.nvrtcCompileProgram(handle, len(encoded), encoded)
        log = _read(compiler.nvrtcGetProgramLogSize, compiler.nvrtcGetProgramLog, handle)
        text = log.rstrip(b"\0").decode(errors="replace").strip()
        if error:
            raise DeviceError(f"the CUDA program {program.name} does not compile:\n{text}")
        if target.startswith("sm_"):
            image = _read(compiler.nvrtcGetCUBINSize, compiler.nvrtcGetCUBIN, handle)
        else:
            image = _read(compiler.nvrtcGetPTXSize, compiler.nvrtcGetPTX, handle)
        return image, text
    finally:
        compiler.nvrtcDestroyProgram(handle)


def _read(measure: Any, fill: Any, handle: Any) -> bytes:
    content = bytes(_call(measure, handle))
    _call(fill, handle, content)  # writes into these bytes, which nobody else has seen
    return content


def find_kernels(image: bytes) -> list[str]:
    """Return the names of the kernels in a cubin or in PTX."""
    pattern = _SECTION if image.startswith(b"\x7fELF") else _ENTRY
    return sorted({name.decode() for name in pattern.findall(image)})


# --- the compiler ---


@cache
def load_compiler() -> ModuleType:
    """Return NVRTC: that of the extra, else that of an installed CUDA toolkit."""
    compiler = import_bindings("nvrtc")
    try:
        _call(compiler.nvrtcVersion)
    except RuntimeError as error:
        raise DeviceError(
            f"NVRTC, the compiler of CUDA kernels, was not found ({error}): {EXTRAS}; {SAME_MODEL}"
        ) from None
    return compiler


@cache
def read_version() -> tuple[int, int]:
    """Return NVRTC's version."""
    major, minor = _call(load_compiler().nvrtcVersion)
    return major, minor


@cache
def identify_compiler() -> str:
    """Return NVRTC's version, that of its package if it comes in one: nothing is loaded then."""
    is_12 = (read_bindings_version() or "").startswith("12.")
    with contextlib.suppress(PackageNotFoundError):
        return version("nvidia-cuda-nvrtc-cu12" if is_12 else "nvidia-cuda-nvrtc")
    return ".".join(map(str, read_version()))


@cache
def find_architectures() -> list[int]:
    """Return the architectures that NVRTC compiles for: 75, 80, and so on."""
    return sorted(_call(load_compiler().nvrtcGetSupportedArchs))


def _call(function: Any, *arguments: Any) -> Any:
    error, *values = function(*arguments)
    if error:
        raise DeviceError(f"the compiler of CUDA kernels has failed: {function.__name__}: {error}")
    return values[0] if len(values) == 1 else values


# --- what a program is made of ---


def hash_program(program: Program) -> str:
    """Hash all texts of a program and the options they are compiled with."""
    digest = hashlib.sha256()
    for name, text in sorted(find_texts(program).items()):
        for part in (name.encode(), text):
            digest.update(len(part).to_bytes(8, "little") + part)
    digest.update(" ".join((program.name, *program.files, *OPTIONS)).encode())
    return digest.hexdigest()[:32]


def find_texts(program: Program) -> dict[str, bytes]:
    """Return the sources of a program and the headers they include, by name."""
    found = {HEADER: program.header.encode()}
    waiting = [*program.files, *_find_includes(FOLDER, found[HEADER])]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = FOLDER / name
        try:
            found[name] = path.read_bytes()
        except OSError as error:
            raise DeviceError(f"a source of the CUDA program {program.name}: {error}") from None
        waiting += _find_includes(path.parent, found[name])
    return found


def _find_includes(folder: Path, text: bytes) -> list[str]:
    """Return the names of the headers that a source includes, seen from the package's folder."""
    names = []
    for name in _INCLUDE.findall(text.decode()):
        beside = folder / name
        is_beside = name != HEADER and beside.exists()
        names.append(beside.resolve().relative_to(FOLDER).as_posix() if is_beside else name)
    return names
