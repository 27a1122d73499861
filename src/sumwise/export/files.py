"""Reading and writing model files: paths, open files, bytes.

A file on disk is never half written. The bytes go to a temporary file in the same folder, which
then replaces the old file. The temporary file is locked until then. An unlocked one was left by a
process that was killed; the next save of the same file removes it.
"""

import contextlib
import errno
import hashlib
import os
import stat
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sumwise.errors import ModelFileError

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

# Where a model can be saved to, and loaded from.
Target = str | os.PathLike[str] | BinaryIO
Source = str | os.PathLike[str] | BinaryIO | bytes | bytearray | memoryview

# Seconds after which a temporary file counts as abandoned, if files cannot be locked.
_LONGEST_SAVE = 3600.0


def write_bytes(target: Target, data: bytes) -> None:
    """Write to an open file, or to a path, where the old file stays until the new one is complete.

    A link stays a link to the replaced file, and a file keeps its permissions.
    """
    if _is_file_object(target, "write"):
        _write_all(_check_binary(target, "wb"), data)
        return
    path = Path(os.path.realpath(_check_path(target, "save to")))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to save to", str(path.parent))
    try:
        if path.exists() and not path.is_file():  # a pipe or device; a folder raises an error
            path.write_bytes(data)
        else:
            _replace_file(path, data)
    except OSError as error:
        # The error of a full disk names no file, and other errors name the temporary one.
        name = os.fspath(target)  # type: ignore[arg-type]
        raise OSError(error.errno, error.strerror or str(error), name) from error


def read_bytes(source: Source) -> bytes | bytearray | memoryview:
    """Return the content of a path, the rest of an open file, or the bytes themselves."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return source
    if not _is_file_object(source, "read"):
        return Path(_check_path(source, "load from")).read_bytes()
    data = _check_binary(source, "rb").read()
    if not isinstance(data, bytes):
        raise TypeError(f"read() of {source!r} returned {type(data).__name__}, expected bytes")
    return data


@contextlib.contextmanager
def name_source(source: Source) -> Iterator[None]:
    """Put the name of the file, if it has one, before the message of a ModelFileError."""
    try:
        yield
    except ModelFileError as error:
        name = getattr(source, "name", None) if _is_file_object(source, "read") else source
        if not isinstance(name, (str, os.PathLike)):
            raise
        raise ModelFileError(f"{os.fspath(name)}: {error}") from None


def _is_file_object(value: Any, method: str) -> bool:
    return hasattr(value, method) and not isinstance(value, (str, os.PathLike))


def _check_path(value: Any, doing: str) -> Any:
    if not isinstance(value, (str, os.PathLike)):
        what = "a path or a file opened in binary mode"
        what += ", or bytes" if doing == "load from" else ""
        raise TypeError(f"cannot {doing} {type(value).__name__}; pass {what}")
    return value


def _check_binary(file: Any, mode: str) -> Any:
    if hasattr(file, "encoding"):  # as text files and their wrappers have
        raise TypeError(
            f"the file {getattr(file, 'name', file)!r} is open in text mode, and a model file is "
            f"bytes; open it with mode {mode!r}, or use io.BytesIO"
        )
    return file


def _write_all(file: BinaryIO, data: bytes) -> None:
    """Write everything; an unbuffered file may accept only a part at a time."""
    rest = memoryview(data)
    while len(rest):
        n_written = file.write(rest)
        if n_written is None:  # some writers accept everything and return nothing
            return
        rest = rest[n_written:]


def _replace_file(path: Path, data: bytes) -> None:
    prefix = f".sumwise-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"
    _remove_abandoned(path.parent, prefix)
    temporary, file = _open_temporary(path.parent, prefix)
    try:
        with file:
            _write_all(file, data)
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            if fcntl is not None:  # while it is locked, so that it does not count as abandoned
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _open_temporary(folder: Path, prefix: str) -> tuple[Path, BinaryIO]:
    """Create a file and lock it."""
    while True:
        path = folder / f"{prefix}{uuid.uuid4().hex}"
        file = path.open("xb")
        # Another save may have removed the file before it was locked.
        if _lock(file) in (True, None) and path.exists():
            return path, file
        file.close()


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove temporary files that no process is writing."""
    for path in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError), path.open("r+b") as file:
            is_free = _lock(file)
            if is_free is None:
                is_free = path.stat().st_mtime < time.time() - _LONGEST_SAVE
            if fcntl is None:
                file.close()
            if is_free:
                path.unlink(missing_ok=True)


def _lock(file: BinaryIO) -> bool | None:
    """Lock a file until it is closed; return whether it was free, None if locks do not work."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        return None
    return True
