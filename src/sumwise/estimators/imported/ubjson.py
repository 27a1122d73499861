"""Reader of Universal Binary JSON, the format in which XGBoost saves models by default.

Numbers are big-endian. Arrays of one type of numbers become NumPy arrays. No count of the file is
trusted: every item takes at least one byte, so memory is bounded by the size of the content.
"""

import struct
from typing import Any

import numpy as np

from sumwise.errors import ModelFileError

_NUMBERS = {
    ord("i"): ">b",
    ord("U"): ">B",
    ord("I"): ">h",
    ord("l"): ">i",
    ord("L"): ">q",
    ord("d"): ">f",
    ord("D"): ">d",
}
_INTEGERS = b"iUIlL"
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
# Models of XGBoost have about ten levels.
_MOST_LEVELS = 64


def parse_ubjson(content: bytes) -> Any:
    """Return the value that the content holds; raise ModelFileError if it is not valid."""
    reader = _Reader(content)
    value = reader.read_value(reader.read_marker(), 0)
    if reader.place != len(content):
        raise ModelFileError("the file has more bytes after its end")
    return value


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def _take(self, size: int) -> bytes:
        if size < 0 or size > len(self._content) - self.place:
            raise ModelFileError("the file is truncated")
        self.place += size
        return self._content[self.place - size : self.place]

    def read_marker(self) -> int:
        """Return the next marker that is not a no-op."""
        marker = self._take(1)[0]
        while marker == ord("N"):
            marker = self._take(1)[0]
        return marker

    def _peek(self) -> int:
        if self.place >= len(self._content):
            raise ModelFileError("the file is truncated")
        return self._content[self.place]

    def read_value(self, marker: int, level: int) -> Any:
        """Return the value after its marker."""
        if level > _MOST_LEVELS:
            raise ModelFileError(f"the file is nested more than {_MOST_LEVELS} levels deep")
        if marker in _NUMBERS:
            return self._read_number(marker)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker == ord("C"):
            return self._take(1).decode("latin-1")
        if marker == ord("S"):
            return self._read_string()
        if marker == ord("H"):
            return float(self._read_string())
        if marker == ord("["):
            return self._read_array(level)
        if marker == ord("{"):
            return self._read_object(level)
        raise ModelFileError(f"there is no marker {bytes([marker])!r}")

    def _read_number(self, marker: int) -> Any:
        kind = _NUMBERS[marker]
        return struct.unpack(kind, self._take(struct.calcsize(kind)))[0]

    def _read_count(self) -> int:
        marker = self.read_marker()
        if marker not in _INTEGERS:
            raise ModelFileError("a length is not an integer")
        count: int = self._read_number(marker)
        if not 0 <= count <= len(self._content) - self.place:
            raise ModelFileError("a length goes beyond the end of the file")
        return count

    def _read_string(self) -> str:
        return self._take(self._read_count()).decode()

    def _read_kind(self) -> tuple[int | None, int | None]:
        """Return the common type and the number of the items of a container, None if not given."""
        kind = None
        if self._peek() == ord("$"):
            self._take(1)
            kind = self.read_marker()
            if kind in _CONSTANTS:
                raise ModelFileError("items of a container have no bytes")
            if self._peek() != ord("#"):
                raise ModelFileError("a container has a type and no length")
        if self._peek() != ord("#"):
            return kind, None
        self._take(1)
        return kind, self._read_count()

    def _read_array(self, level: int) -> Any:
        kind, count = self._read_kind()
        if count is not None and kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind].replace("q", "i8"))
            own = np.frombuffer(self._take(count * dtype.itemsize), dtype=dtype)
            return own.astype(dtype.newbyteorder("="))
        if count is not None:
            return [self._read_item(kind, level) for _ in range(count)]
        items = []
        while (marker := self.read_marker()) != ord("]"):
            items.append(self.read_value(marker, level + 1))
        return items

    def _read_object(self, level: int) -> dict[str, Any]:
        kind, count = self._read_kind()
        if count is not None:
            return {self._read_string(): self._read_item(kind, level) for _ in range(count)}
        entries = {}
        while self._peek() != ord("}"):
            if self._peek() == ord("N"):
                self._take(1)
                continue
            name = self._read_string()
            entries[name] = self._read_item(None, level)
        self._take(1)
        return entries

    def _read_item(self, kind: int | None, level: int) -> Any:
        return self.read_value(self.read_marker() if kind is None else kind, level + 1)
