"""Compiled kernels kept on disk: what a file is named after, which folders are trusted.

A file holds one kernel compiled for one list of argument kinds and one CPU: an object file, with a
checksum before it. Its folder is named after a hash of the kernel's module and of every module that
this one imports, directly or not: an edit recompiles what depends on it and nothing else. (Numba's
own cache looks at one file's time stamp and misses edits in files that a kernel calls into.)

Files hold machine code, so they are read only from folders that belong to this user or to root and
that nobody else can write to, and only if their checksum is right. A cache
that cannot be read or written is never an error: the kernel is compiled. Set
``SUMWISE_CACHE_DIR`` to choose the folder.
"""

import hashlib
import logging
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

logger = logging.getLogger("sumwise")

# How machine code is kept and loaded changes nothing in it.
_UNRELATED = ("cache", "library", "loading", "machine_code")
_DIGEST_LENGTH = hashlib.sha256().digest_size
# "import a.b", "from a import b, c" and the same with names in parentheses, on several lines.
_IMPORT = re.compile(
    r"^\s*(?:import\s+([\w.]+)|from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*))", re.M
)
_WORD = re.compile(r"\w+")


# --- what a kernel is made of ---


class _Source(NamedTuple):
    """What a module consists of."""

    digest: bytes
    needs: list[str]  # modules of its package that it imports


@cache
def hash_sources(module: str, file: str) -> str:
    """Hash the text of a module and of all modules of its package that it needs."""
    digest = hashlib.sha256()
    for name in sorted(find_closure(module, file)):
        source = _read_source(_path_of(name, module, file), module.partition(".")[0])
        digest.update(name.encode() + b"\0" + (b"" if source is None else source.digest))
    return digest.hexdigest()[:16]


def find_closure(module: str, file: str) -> set[str]:
    """Return the names of a module and of all modules of its package that it needs."""
    package = module.partition(".")[0]
    found, waiting = {module}, [module]
    while waiting:
        source = _read_source(_path_of(waiting.pop(), module, file), package)
        for name in source.needs if source is not None else ():
            if name not in found and _read_source(_path_of(name, module, file), package):
                found.add(name)
                waiting.append(name)
    return found


@cache
def _read_source(path: str, package: str) -> _Source | None:
    """Read a module; None if there is no such file, as for a name that is no module."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return None
    names = []
    for plain, source, members in _IMPORT.findall(text.decode()):
        module = plain or source
        if module.startswith(package):
            names += [module, *(f"{module}.{member}" for member in _WORD.findall(members))]
    needs = [name for name in names if name.rpartition(".")[2] not in _UNRELATED]
    return _Source(hashlib.sha256(text).digest(), needs)


@cache
def _path_of(name: str, module: str, file: str) -> str:
    """Return the file of a module, given the name and the file of one of the same package."""
    if name == module:
        return file
    top = Path(file).parents[module.count(".") - 1]
    return os.path.join(top, *name.split(".")[1:]) + ".py"


# --- where it is kept ---


def find_roots() -> list[Path]:
    """Return the folders that may hold kernels, existing or not, the best first."""
    if chosen := os.environ.get("SUMWISE_CACHE_DIR"):
        return [Path(chosen)]
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    roots = []
    if base:
        # expanduser leaves "~" alone where there is no home; that folder must not be made here.
        path = Path(os.path.expanduser(base))
        if path.is_absolute():
            roots.append(path / "sumwise")
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return [*roots, Path(tempfile.gettempdir()) / f"sumwise-{owner}"]


def is_ours(folder: Path) -> bool:
    """Whether a folder is there and belongs to this user or to root."""
    try:
        status = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_owned(status)


def _is_owned(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid in (os.getuid(), 0)


@cache
def find_writable_root() -> Path | None:
    """Return the first folder that can be written to, made if need be, or None."""
    for root in find_roots():
        try:
            root.mkdir(mode=0o755, parents=True, exist_ok=True)
            if is_ours(root):
                with tempfile.TemporaryFile(dir=root):
                    return root
        except OSError:
            continue
    return None


def _read_trusted(path: Path) -> bytes | None:
    """Return the content of a file in a folder that only this user and root can have written to.

    The folder is opened first, so that it is the one that was checked. Raises OSError.
    """
    if not hasattr(os, "getuid"):
        return path.read_bytes()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(folder)
        if not _is_owned(status) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return None
        with open(os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
            return file.read()
    finally:
        os.close(folder)


def _read_checked(path: Path, description: bytes) -> bytes | None:
    """Return what was written for a description; None if there is nothing, or it is damaged."""
    if not is_ours(path.parent.parent):
        return None
    try:
        content = _read_trusted(path)
    except OSError:
        return None
    if content is None:
        return None
    digest, data = content[:_DIGEST_LENGTH], content[_DIGEST_LENGTH:]
    if digest != hashlib.sha256(description + data).digest():
        logger.debug("damaged kernel cache file %s", path)
        return None
    return data


def _write_checked(path: Path, description: bytes, data: bytes) -> None:
    """Write data with a checksum, so that nobody ever sees a part of it.

    Others may read it: a cache that root has filled serves all users.
    """
    path.parent.mkdir(mode=0o755, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(unfinished, flags, 0o644), "wb") as file:
        try:
            file.write(hashlib.sha256(description + data).digest() + data)
            file.close()
            os.replace(unfinished, path)
        except BaseException:
            file.close()
            os.unlink(unfinished)
            raise


# --- the cache of a kernel ---


def name_folder(function: Callable[..., Any]) -> str:
    """Return the name of the folder for the kernels of a function's module, as it is now."""
    module, file = function.__module__, function.__code__.co_filename
    return f"{module.rpartition('.')[2]}-{hash_sources(module, file)}"


def _path_in(root: Path, folder: str, symbol: str, machine: str) -> Path:
    own = hashlib.sha256(machine.encode()).hexdigest()[:8]
    return root / folder / f"{symbol}-{own}.kernel"


def load(folder: str, symbol: str, machine: str) -> bytes | None:
    """Return the object file with a symbol for a machine, if it was kept."""
    for root in find_roots():
        try:
            path = _path_in(root, folder, symbol, machine)
            code = _read_checked(path, _describe(symbol, machine))
            if code is not None:
                return code
        except Exception:
            logger.debug("unreadable kernel cache entry %s", symbol, exc_info=True)
    return None


def save(folder: str, symbol: str, machine: str, code: bytes) -> None:
    """Keep an object file, if there is a folder for it."""
    root = find_writable_root()
    if root is None:
        return
    try:
        path = _path_in(root, folder, symbol, machine)
        _write_checked(path, _describe(symbol, machine), code)
    except OSError:
        logger.debug("could not write the kernel cache for %s", symbol, exc_info=True)


def _describe(symbol: str, machine: str) -> bytes:
    return f"{symbol} {machine}".encode()


# --- what users are told ---

_announced = False


def announce_nothing() -> None:
    """Do not tell that kernels are being compiled: the caller does."""
    global _announced
    _announced = True


def announce_compilation() -> None:
    """Tell once why the first fit takes long: on a terminal or in a notebook, else in the log."""
    global _announced
    if _announced:
        return
    _announced = True
    once = "once" if find_writable_root() else "in every process: no folder can be written to"
    message = (
        "sumwise compiles its kernels for this machine; this takes about half a minute, "
        f"{once} (`sumwise warmup` compiles all of them)"
    )
    if _is_watched(sys.stderr):
        print(message, file=sys.stderr, flush=True)
    else:
        logger.info(message)


def _is_watched(stream: Any) -> bool:
    """Whether a person sees what is written: a terminal or a notebook."""
    if stream is None:
        return False
    if type(stream).__module__.startswith("ipykernel"):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
