"""All programs of the package: they are the Program objects in its modules."""

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module

import sumwise.cuda
from sumwise.cuda.runtime.bindings import start_driver
from sumwise.cuda.runtime.compiler import compile_program
from sumwise.cuda.runtime.gpu import OLDEST_ARCHITECTURE, list_gpus
from sumwise.cuda.runtime.program import Program
from sumwise.errors import DeviceError


def list_programs() -> list[Program]:
    """Return all programs, by name."""
    found: set[Program] = set()
    for module in pkgutil.walk_packages(sumwise.cuda.__path__, "sumwise.cuda."):
        members = vars(import_module(module.name)).values()
        found.update(member for member in members if isinstance(member, Program))
    return sorted(found)


def find_gpu_architectures() -> list[int]:
    """Return the architectures of the GPUs of this machine that can be used; often none."""
    try:
        found = {gpu.architecture for gpu in list_gpus(start_driver())}
    except DeviceError:
        return []
    return sorted(number for number in found if number >= OLDEST_ARCHITECTURE)


def compile_all(architectures: Sequence[int]) -> Iterator[str]:
    """Compile all programs, so that no fit waits for it; yield a line for each of them."""
    for architecture in architectures:
        for program in list_programs():
            compile_program(program, architecture)
            yield f"CUDA program {program.name} for sm_{architecture}"
