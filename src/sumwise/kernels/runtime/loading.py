"""Load machine code into this process, by LLVM. Needs llvmlite, which Numba brings; not Numba."""

import os
from functools import cache
from importlib.metadata import version
from typing import Any

import llvmlite.binding as llvm


@cache
def describe_machine() -> str:
    """Describe all that machine code depends on, apart from its sources."""
    chosen = [os.environ.get(name) for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    features = llvm.get_host_cpu_features().flatten()
    own = (llvm.get_process_triple(), llvm.get_host_cpu_name(), features, *chosen)
    return repr((version("numba"), version("llvmlite"), *own))


def start_llvm() -> None:
    """Prepare LLVM for making and loading machine code of this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _get_engine() -> Any:
    start_llvm()
    module = llvm.parse_assembly("")
    triple = llvm.get_process_triple()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", jit=True)
    return llvm.create_mcjit_compiler(module, machine)


def load(code: bytes, symbol: str) -> bool:
    """Load an object file; return whether it has a symbol."""
    engine = _get_engine()
    try:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
    except RuntimeError:
        return False
    return find_address(symbol) != 0


def find_address(symbol: str) -> int:
    """Return the address of what was loaded."""
    return _get_engine().get_global_value_address(symbol)
