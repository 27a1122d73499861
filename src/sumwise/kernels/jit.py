"""How kernels are compiled: two decorators, and a cache keyed by the sources of all kernels.

A *kernel* is called from Python: it is cached on disk and releases the GIL. A *routine* is called
from kernels only and is compiled into them. Numba's own cache looks at one file's time stamp and
so misses an edit in a file that a kernel calls into; ours lives in a folder named after a hash of
every file of this package. The classes of Numba it needs are private; they are used here alone.
"""

import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import _dynfunc
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import overload

logger = logging.getLogger("sumwise")

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


def unless(absent: type, name: str, neutral: Any, find: Callable[[str], Any]) -> Any:
    """Make a function of ``(part, ...)`` that returns ``neutral`` where the part's type is absent.

    Otherwise it calls the routine that ``find`` returns for the name. Which of them is known when a
    kernel is compiled, so that fits without the part compile nothing of it. But a call takes long
    to compile if it has many arrays to pass, even if it does nothing: so these functions take few,
    and never the job.
    """

    def function(part, *args):
        raise TypeError(f"{name} is called from kernels only")

    @overload(function, jit_options=ROUTINE_OPTIONS)
    def choose(part, *args):
        if part.instance_class is absent:
            return rename(lambda part, *args: neutral, f"no_{name}")
        implementation = find(name)

        def call(part, *args):
            return implementation(part, *args)

        return rename(call, f"some_{name}")

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
    dispatcher._cache = _open_cache(function)
    return dispatcher


@cache
def hash_sources() -> str:
    """Hash the text of every file in this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def find_cache_folder() -> Path | None:
    """Return the first folder that can be written to, or None: then nothing is cached."""
    for root in _candidate_roots():
        folder = root / hash_sources()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Numba unpickles what lies here, so the folder must be ours alone.
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _candidate_roots() -> Iterator[Path]:
    if chosen := os.environ.get("SUMWISE_CACHE_DIR"):
        yield Path(chosen)
        return
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    if base:
        # expanduser leaves "~" alone where there is no home; that folder must not be made here.
        path = Path(os.path.expanduser(base))
        if path.is_absolute():
            yield path / "sumwise"
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"sumwise-{owner}"


@cache
def _announce_compilation() -> None:
    logger.info(
        "sumwise compiles its kernels for this machine; this takes some seconds, once%s",
        "" if find_cache_folder() else " a process (no folder to keep them in can be written to)",
    )


class _SourceHashLocator(_CacheLocator):
    def __init__(self, function: Callable[..., Any], file: str, folder: Path) -> None:
        self._line = function.__code__.co_firstlineno
        self._folder = folder
        self._own_hash = hashlib.sha256(Path(file).read_bytes()).hexdigest()

    @classmethod
    def from_function(cls, function: Any, file: str) -> "_SourceHashLocator | None":
        folder = find_cache_folder()
        return None if folder is None else cls(function, file, folder)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        # A kernel may also be defined outside this package.
        return hash_sources() + self._own_hash

    def get_disambiguator(self) -> str:
        return str(self._line)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [_SourceHashLocator]  # noqa: RUF012


class _KernelCache(FunctionCache):
    """Numba's function cache, for which a broken or full disk is a miss and never an error."""

    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # Not the public method: it first makes Numba ready to compile, which takes longer than
            # to load. A kernel from the cache needs none of it, and compiling sees to it anyway.
            found = self._load_overload(sig, target_context)
        except Exception:
            logger.debug("unreadable kernel cache entry for %s", self._name, exc_info=True)
            found = None
        if found is None:
            _announce_compilation()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                super().save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # the index is damaged: begin a new one
                self.flush()
                super().save_overload(sig, data)
        except OSError:
            logger.debug("could not write the kernel cache for %s", self._name, exc_info=True)


class _NoCache:
    """Stands in where no folder can be written to."""

    cache_path = None

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _announce_compilation()

    def save_overload(self, sig: Any, data: Any) -> None:
        pass

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        pass


def _open_cache(function: Callable[..., Any]) -> Any:
    return _KernelCache(function) if find_cache_folder() else _NoCache()
