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


@cache
def _get_engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("")
    triple = llvm.get_process_triple()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", jit=True)
    # All sections of an object file in one piece: code reaches its constants by 32-bit offsets.
    return llvm.create_mcjit_compiler(module, machine, use_lmm=True)


def load(code: bytes) -> None:
    """Load an object file."""
    engine = _get_engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()


def find_address(symbol: str) -> int:
    """Return the address of what was loaded."""
    return _get_engine().get_global_value_address(symbol)
