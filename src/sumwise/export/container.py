"""The container of model files: a JSON header, plain arrays, and a checksum; see native.py."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ModelFileError

_MAGIC = b"SUMWISE\0"
_PREFIX = 24
_DIGEST = 32
# A model without names may have more features than its file has bytes, if its trees use only a few.
# Training would not have the memory for more features than this.
_MOST_UNNAMED_FEATURES = 1 << 26


class OpenedFile(NamedTuple):
    """A file with a valid checksum."""

    version: int
    header: dict[str, Any]
    body: memoryview  # without the checksum
    place: int  # end of the header

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self.body) + _DIGEST


class ArrayGroup(NamedTuple):
    """Arrays of a file, the format that brought them, and whether files may lack them."""

    types: Mapping[str, str]  # dtypes by name, in the order of the file
    since: int = 1
    is_optional: bool = False


def pack_file(version: int, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes of a file. The arrays must be little-endian; the header lists them."""
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


def open_file(content: bytes | bytearray | memoryview, newest: int) -> OpenedFile:
    """Check the bytes of a file and read its header."""
    data = memoryview(content).cast("B")
    if data[: len(_MAGIC)] != _MAGIC:
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
        header = json.loads(bytes(body[_PREFIX:header_end]))
        if not isinstance(header["about"], dict):
            raise TypeError("no description")
        for entry in header["arrays"]:
            entry["name"], entry["dtype"], entry["length"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"the header is not valid ({error})") from None
    return OpenedFile(version, header, body, header_end)


def read_arrays(file: OpenedFile, groups: Sequence[ArrayGroup]) -> dict[str, np.ndarray]:
    """Return the arrays of a file, which must be those of its groups."""
    names = [entry["name"] for entry in file.header["arrays"]]
    types: dict[str, str] = {}
    for group in groups:
        is_there = not group.is_optional or any(name in names for name in group.types)
        types |= group.types if is_there and group.since <= file.version else {}
    if names != list(types):
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


def read_n_features(file: OpenedFile) -> int:
    """Return the number of features; refuse a number that is too large for the file."""
    n_features = read_number(file, "n_features", "the number of features")
    check_n_features(n_features, file.size)
    return n_features


def check_n_features(n_features: int, size: int) -> None:
    """Refuse more features than a file of so many bytes may have: each one may cost memory."""
    if n_features > max(_MOST_UNNAMED_FEATURES, size):
        raise ModelFileError(f"{n_features} features are too many for a file of {size} bytes")
