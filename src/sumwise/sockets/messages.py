"""What is sent between peers: a head that both ends check, then numbers."""

import ast
import struct
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np


class Kind(IntEnum):
    """What the processes do together."""

    ADD = 1
    LARGEST = 2
    GATHER = 3


_NAMES = {Kind.ADD: "a sum", Kind.LARGEST: "a maximum", Kind.GATHER: "gathered arrays"}
_HEAD = struct.Struct("<BBxxIIIQ")
HEAD_SIZE = _HEAD.size
_ALIGNMENT = 16


@dataclass(frozen=True)
class Head:
    """Where the sender is: peers that are in step agree on all of it.

    Attributes
    ----------
    kind : Kind
    stage : int
        Number of the message within the exchange.
    step : int
        Number of the exchange.
    checksum : int
        CRC-32 of the results of all exchanges so far.
    form_size : int
        Bytes of the description of an array that precedes it; gathered arrays have one.
    size : int
        Bytes of the whole exchange; of gathered arrays, those of the sender.
    """

    kind: Kind
    stage: int
    step: int
    checksum: int
    form_size: int
    size: int

    def pack(self) -> bytes:
        return _HEAD.pack(
            self.kind, self.stage, self.step, self.checksum, self.form_size, self.size
        )

    @classmethod
    def unpack(cls, data: bytes | bytearray) -> "Head | None":
        """Return the head that was packed; None if the bytes are none."""
        kind, *others = _HEAD.unpack(data)
        return cls(Kind(kind), *others) if kind in {1, 2, 3} else None

    def at_stage(self, stage: int) -> "Head":
        return replace(self, stage=stage) if stage else self

    def agrees_with(self, other: "Head") -> bool:
        """Whether both processes are in step; gathered arrays may differ in size."""
        if self.kind != Kind.ADD:
            other = replace(other, form_size=self.form_size, size=self.size)
        return self == other

    def describe(self) -> str:
        size = "" if self.kind == Kind.GATHER else f" of {self.size:,} bytes"
        return f"{_NAMES[self.kind]}{size} as exchange {self.step}"


@lru_cache(maxsize=256)
def describe_form(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Return dtype and shape as bytes, filled up so that the numbers after them are aligned."""
    form = repr((np.lib.format.dtype_to_descr(dtype), shape)).encode()
    return form + b" " * (-len(form) % _ALIGNMENT)


@lru_cache(maxsize=256)
def parse_form(form: bytes) -> tuple[np.dtype, tuple[int, ...]]:
    """Return the dtype and the shape that ``describe_form`` has described."""
    descr, shape = ast.literal_eval(form.decode().strip())
    return np.lib.format.descr_to_dtype(descr), shape


def view_bytes(array: np.ndarray) -> list[memoryview]:
    """Return the memory of a contiguous array, if it has any."""
    if array.nbytes == 0:
        return []
    return [array.reshape(-1).view(np.uint8).data]
