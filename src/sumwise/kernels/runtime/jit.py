"""How kernels are compiled: a few decorators.

A *kernel* is called from Python: it is cached on disk and releases the GIL. A *routine* is called
from kernels only and is compiled into them. Neither counts references, which halves the time to
compile; in return, kernels must not allocate, and a routine can return a view of an array only if
it is inlined. The classes of Numba that this needs are private; they are used here, in ``cache``
and in ``reference`` alone.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite.binding import ffi
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock

from sumwise.kernels.runtime.cache import KernelCache

# Numba compiles a routine anew for every literal it is called with; NumPy scalars are none.
ZERO, NONE, YES, NO = np.int64(0), np.int64(-1), np.bool_(True), np.bool_(False)

# "numpy": a division by zero gives inf or nan instead of a branch that stops vectorization.
# Never fastmath: it lets the compiler reorder sums, and the model's bytes would follow.
# No counting of references: kernels allocate nothing, and without it they compile faster.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


class _RoutineLibrary(JITCodeLibrary):
    """Code that is linked into kernels and optimized there: no machine code of its own."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _RoutineCompiler(Compiler):
    """Numba's compiler, but for what a routine does not need; saves a quarter of the time."""

    def __init__(self, typing_context: Any, target_context: Any, *args: Any) -> None:
        super().__init__(typing_context, target_context, *args)
        self.state.flags.no_compile = True
        self.state.library = _RoutineLibrary(target_context.codegen(), "routine")

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        # Numba knows a function by the object that Python would call, so there must be one.
        result = super().compile_extra(function)
        parts = (result.library,)
        module, name = sys.modules[__name__], function.__name__
        entry = _dynfunc.make_function(module, name, "", 0, result.environment, parts)
        self.state.targetctx.insert_user_function(entry, result.fndesc, parts)
        return result._replace(entry_point=entry)


# Python never calls a routine, so it needs no way in.
ROUTINE_OPTIONS = {
    **_OPTIONS,
    "no_cpython_wrapper": True,
    "pipeline_class": _RoutineCompiler,
}
MERGED_OPTIONS = {**ROUTINE_OPTIONS, "forceinline": True}

_names: set[tuple[str, str]] = set()


def rename(function: Callable[..., Any], name: str) -> Any:
    """Give a function that another function has made a name of its own.

    Numba names machine code by the name and the types of a function, and a number that tells
    functions of one name apart in one process. A kernel from the cache has the numbers of another
    process: of two routines with one name, it would bring the wrong one into this.
    """
    function.__name__ = function.__qualname__ = name
    return function


def _claim_name(function: Callable[..., Any]) -> None:
    """Refuse a second routine of the same name; see :func:`rename`."""
    name = function.__module__, function.__qualname__
    if name in _names:
        raise ValueError(f"there is a routine {name[1]} in {name[0]} already: rename this one")
    _names.add(name)


def routine(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    _claim_name(function)
    return numba.njit(**ROUTINE_OPTIONS)(function)


def merged(function: Callable[..., Any]) -> Any:
    """Compile a routine whose machine code becomes part of its caller's.

    For small works with many arrays: to pass an array takes seven words.
    """
    _claim_name(function)
    return numba.njit(**MERGED_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Put a routine's code into its caller before that is compiled.

    For routines called from one place: it saves most of their compile time. And for those that
    return a view of an array, which others cannot.
    """
    _claim_name(function)
    return numba.njit(**ROUTINE_OPTIONS, inline="always")(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result on disk."""
    dispatcher = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


def export(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call by its address, and keep the result on disk."""
    _claim_name(function)
    return kernel(function)


def _lock_compiler() -> None:
    global_compiler_lock.acquire()
    ffi.lib._lock.__enter__()


def _unlock_compiler() -> None:
    ffi.lib._lock.__exit__()
    global_compiler_lock.release()


# A child of a fork has one thread. If another held these locks while it loaded or compiled a
# kernel, nobody would ever release them in the child: so a fork waits until that is done.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock_compiler, after_in_parent=_unlock_compiler, after_in_child=_unlock_compiler
    )
