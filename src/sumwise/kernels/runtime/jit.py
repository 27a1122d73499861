"""How kernels are made: a few decorators.

A *kernel* is called from Python: its machine code is kept on disk, and it runs without the GIL. A
*routine* is called from kernels only and is compiled into them. A *verb* is called from kernels by
its address. An *intrinsic* is written in the language of LLVM.

Nothing here needs Numba. It is imported when a kernel must be compiled, that is, when neither the
library of a wheel nor the cache on disk has its machine code; see ``machine_code``. What Numba
makes of these functions is in ``compiling``.
"""

import ctypes
import importlib
import inspect
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Any

import numpy as np

from sumwise.kernels.runtime import machine_code
from sumwise.kernels.runtime.arguments import (
    ReferenceKind,
    TupleKind,
    find_kind,
    flatten,
    spell_words,
)

# Numba compiles a routine anew for every literal it is called with; NumPy scalars are none.
ZERO, NONE, YES, NO = np.int64(0), np.int64(-1), np.bool_(True), np.bool_(False)


class AbortError(Exception):
    """Ends a member's part in a job that another member or the caller cannot finish."""


class LazyModule:
    """A module that is imported when something in it is needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


# What intrinsics are written with.
cgutils, ir, types = map(LazyModule, ("numba.core.cgutils", "llvmlite.ir", "numba.types"))


class Compiled:
    """A function that Numba compiles where a kernel calls it.

    To Numba it is what ``prepare``, a function of the module ``compiling``, makes of it.
    """

    def __init__(self, function: Callable[..., Any], prepare: str) -> None:
        self.py_func, self._prepare = function, prepare
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._prepared: Any = None

    def prepare(self) -> Any:
        """Return what Numba knows the function by."""
        if self._prepared is None:
            # Import here, because Numba may not be installed.
            from sumwise.kernels.runtime import compiling

            self._prepared = getattr(compiling, self._prepare)(self.py_func)
        return self._prepared

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for it where it meets a global variable that it does not know."""
        from sumwise.kernels.runtime import compiling

        return compiling.find_type(self.prepare())

    @property
    def targetoptions(self) -> Any:
        """Numba asks for it to see whether the function is to be inlined."""
        return self.prepare().targetoptions

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.__name__} is called from kernels only")


def routine(function: Callable[..., Any]) -> Compiled:
    """Compile a function that only kernels call."""
    return Compiled(function, "prepare_routine")


def merged(function: Callable[..., Any]) -> Compiled:
    """Compile a routine whose machine code becomes part of its caller's.

    For small works with many arrays: to pass an array takes seven words.
    """
    return Compiled(function, "prepare_merged")


def inlined(function: Callable[..., Any]) -> Compiled:
    """Put a routine's code into its caller before that is compiled.

    For routines called from one place: it saves most of their compile time. And for those that
    return a view of an array, which others cannot.
    """
    return Compiled(function, "prepare_inlined")


def intrinsic(function: Callable[..., Any]) -> Compiled:
    """Make a function whose code is given in the language of LLVM; see Numba's documentation."""
    return Compiled(function, "prepare_intrinsic")


def rename(function: Callable[..., Any], name: str) -> Any:
    """Give a function that another function has made a name of its own."""
    function.__name__ = function.__qualname__ = name
    return function


class Entry:
    """The machine code of a kernel for one list of kinds: takes a block of words."""

    def __init__(self, address: int, kinds: tuple[Any, ...], result: str) -> None:
        self.address = address
        self.arguments = Struct(spell_words(kinds))
        self._kinds = result
        self._result = Struct(result.replace("?", "q"))
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)
        self._function = prototype(address)

    def call(self, block: bytes) -> Any:
        """Call it with the words of the arguments; return what the kernel returns."""
        if not self._kinds:
            if self._function(block):
                raise AbortError
            return None
        buffer = ctypes.create_string_buffer(block, len(block) + self._result.size)
        if self._function(buffer):
            raise AbortError
        numbers = self._result.unpack_from(buffer, len(block))
        found = tuple(
            bool(number) if kind == "?" else number
            for number, kind in zip(numbers, self._kinds, strict=True)
        )
        return found if len(found) > 1 else found[0]


class Kernel(Compiled):
    """A function that Python calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "prepare_routine")
        self._entries: dict[tuple[Any, ...], Entry] = {}
        # With *args, which are passed as a tuple: the number of parameters before it.
        code = function.__code__
        has_rest = code.co_flags & inspect.CO_VARARGS
        self._n_named = code.co_argcount if has_rest else None

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """What it has been called with."""
        return list(self._entries)

    def __call__(self, *args: Any) -> Any:
        entry, words = self.find_entry(args)
        return entry.call(entry.arguments.pack(*words))

    def bind(self, *args: Any) -> Callable[[], Any]:
        """Return a function that calls it with these arguments, without reading them again.

        Arrays may change what is in them, but neither move nor go: keep them.
        """
        entry, words = self.find_entry(args)
        return partial(entry.call, entry.arguments.pack(*words))

    def find_entry(self, args: tuple[Any, ...]) -> tuple[Entry, list[Any]]:
        """Return the machine code for these arguments, and the words to call it with."""
        key: list[Any] = []
        words: list[Any] = []
        flatten(args, key, words)
        entry = self._entries.get(tuple(key))
        if entry is None:
            kinds = tuple(map(find_kind, args))
            if self._n_named is not None:
                rest = TupleKind(tuple, kinds[self._n_named :])
                kinds = (*kinds[: self._n_named], rest)
            address, result = machine_code.find_entry(self.py_func, kinds)
            entry = self._entries[tuple(key)] = Entry(address, kinds, result)
        return entry, words


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function that Python calls, and keep the machine code on disk.

    It takes numbers, arrays and (named) tuples of them, and returns nothing, a number or a tuple
    of numbers.
    """
    return Kernel(function)


class Verb(Compiled):
    """A function of a reference and integers that returns an integer, compiled on its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "prepare_routine")
        self._addresses: dict[ReferenceKind, int] = {}

    @property
    def signatures(self) -> list[ReferenceKind]:
        """What it has been compiled for."""
        return list(self._addresses)

    def find_address(self, reference: ReferenceKind) -> int:
        """Return its address for references of a kind; compile it if need be."""
        address = self._addresses.get(reference)
        if address is None:
            n_numbers = len(inspect.signature(self.py_func).parameters) - 1
            kinds = (reference, *("int64",) * n_numbers)
            address = self._addresses[reference] = machine_code.find_verb(self.py_func, kinds)
        return address


def verb(function: Callable[..., Any]) -> Verb:
    """Compile a function that kernels call by its address, and keep the machine code on disk."""
    return Verb(function)
