"""The container of model files: a JSON header, plain arrays, and a checksum; see native.py."""

import errno
import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ModelFileError

_MAGIC = b"SUMWISE\0"
_PREFIX = 24
_DIGEST = 32


class OpenedFile(NamedTuple):
    """A file whose checksum is right."""

    version: int
    header: dict[str, Any]
    body: bytes  # all but the checksum
    place: int  # where the header ends


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; an old one stays until the new is whole."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to save to", str(path.parent))
    temporary = path.with_name(f".sumwise-{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def pack_file(version: int, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes of a file; the arrays, little-endian already, are listed in the header."""
    entries = [
        {"name": name, "dtype": array.dtype.str, "length": int(array.size)}
        for name, array in arrays.items()
    ]
    header = {**header, "arrays": entries}
    text = json.dumps(header, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    prefix = _MAGIC + version.to_bytes(8, "little") + len(text).to_bytes(8, "little")
    data = bytearray(prefix + text)
    for array in arrays.values():
        data += b"\0" * (-len(data) % 8) + array.tobytes()
    data += hashlib.sha256(data).digest()
    return bytes(data)


def open_file(data: bytes, newest: int) -> OpenedFile:
    """Check the bytes of a file, and read its header."""
    if not data.startswith(_MAGIC):
        raise ModelFileError("not a sumwise model file")
    if len(data) < _PREFIX + _DIGEST:
        raise ModelFileError("the file is truncated")
    version = int.from_bytes(data[8:12], "little")
    if version < 1:
        raise ModelFileError(f"there is no format {version}")
    if version > newest:
        raise ModelFileError(
            f"the file has format {version}, and this version of sumwise reads up to "
            f"{newest}; install a newer sumwise"
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ModelFileError("the checksum does not match: the file is damaged or truncated")
    header_end = _PREFIX + int.from_bytes(data[16:24], "little")
    body = data[:-_DIGEST]
    try:
        header = json.loads(body[_PREFIX:header_end])
        if not isinstance(header["about"], dict):
            raise TypeError("no description")
        for entry in header["arrays"]:
            entry["name"], entry["dtype"], entry["length"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"the header is not valid ({error})") from None
    return OpenedFile(version, header, body, header_end)


def read_arrays(file: OpenedFile, types: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return the arrays of a file, which must be these."""
    if [entry["name"] for entry in file.header["arrays"]] != list(types):
        raise ModelFileError("the header does not describe the arrays of a model")
    arrays = {}
    place = file.place
    for entry in file.header["arrays"]:
        name, dtype, length = entry["name"], entry["dtype"], entry["length"]
        place += -place % 8
        if dtype != types[name] or not isinstance(length, int) or length < 0:
            raise ModelFileError(f"array {name!r} has a wrong type or length")
        size = length * np.dtype(dtype).itemsize
        if place + size > len(file.body):
            raise ModelFileError(f"array {name!r} goes beyond the end of the file")
        array = np.frombuffer(file.body, dtype=dtype, count=length, offset=place)
        arrays[name] = array.astype(np.dtype(dtype).newbyteorder("="))
        place += size
    return arrays


def read_number(file: OpenedFile, name: str, what: str) -> int:
    """Return a positive integer of the header."""
    value = file.header.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelFileError(f"{what} is not a positive integer")
    return value
