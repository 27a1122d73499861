"""Where the machine code of kernels comes from: a wheel's library, the cache on disk, the compiler.

Machine code is known by a symbol: the kernel's name, and a hash of its sources and of the kinds of
its arguments. So the code of an edited kernel is not found, and it is compiled.
"""

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sumwise.kernels.runtime import cache, library
from sumwise.kernels.runtime.arguments import spell

# Of what a symbol stands for: how a kernel is called.
_FORMAT = 1
# What a kernel returns has a symbol of its own, with this at its end.
RESULT = "_result"

# Held while machine code is loaded or compiled.
_lock = threading.RLock()
# A child of a fork has one thread. If another held the lock, nobody would ever release it in the
# child: so a fork waits until code is loaded.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def name_symbol(function: Callable[..., Any], kinds: tuple[Any, ...]) -> str:
    """Return the symbol of a kernel for arguments of these kinds."""
    module, file = function.__module__, function.__code__.co_filename
    code = hashlib.sha256(function.__code__.co_code).hexdigest()
    parts = (_FORMAT, module, function.__qualname__, code, cache.hash_sources(module, file))
    digest = hashlib.sha256(repr((*parts, *map(spell, kinds))).encode()).hexdigest()
    return f"sumwise_{function.__name__}_{digest[:20]}"


def find_entry(function: Callable[..., Any], kinds: tuple[Any, ...]) -> tuple[int, str]:
    """Return the address of a kernel's entry, and the format of what it returns."""
    symbol = name_symbol(function, kinds)
    with _lock:
        find = _find(function, kinds, symbol, is_verb=False)
        return find(symbol), ctypes.string_at(find(symbol + RESULT)).decode()


def find_verb(function: Callable[..., Any], kinds: tuple[Any, ...]) -> int:
    """Return the address of a verb."""
    symbol = name_symbol(function, kinds)
    with _lock:
        return _find(function, kinds, symbol, is_verb=True)(symbol)


def _find(
    function: Callable[..., Any], kinds: tuple[Any, ...], symbol: str, is_verb: bool
) -> Callable[[str], int]:
    """Load the machine code of a kernel; return what gives the address of a symbol."""
    if library.has_symbol(symbol):
        return library.find_address
    _check_compiler(function)
    # Import here, because llvmlite may not be installed.
    from sumwise.kernels.runtime import loading

    loading.load(make_object(function, kinds, symbol, is_verb))
    return loading.find_address


def make_object(
    function: Callable[..., Any], kinds: tuple[Any, ...], symbol: str, is_verb: bool
) -> bytes:
    """Return the object file of a kernel, from the cache or compiled now."""
    from sumwise.kernels.runtime.loading import describe_machine

    place = cache.name_folder(function), symbol, describe_machine()
    code = cache.load(*place)
    if code is None:
        from sumwise.kernels.runtime.compiling import compile_to_object

        cache.announce_compilation()
        code = compile_to_object(function, kinds, symbol, is_verb)
        cache.save(*place, code)
    return code


def _check_compiler(function: Callable[..., Any]) -> None:
    if find_spec("numba") is None:
        name = f"{function.__module__}.{function.__name__}"
        raise ImportError(
            f"{name} is not in {library.describe()}, and Numba, which compiles it, is not "
            "installed: pip install 'sumwise[compile]'"
        )
