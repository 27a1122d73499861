"""Arguments of a launch, checked against what the kernel declares."""

import ctypes
from collections.abc import Sequence
from struct import iter_unpack
from typing import Any

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.structs import pack_word
from tests.cuda.emulator.compile import Kernel
from tests.cuda.emulator.errors import KernelError
from tests.cuda.emulator.memory import is_freed

_KINDS = {"p": "pointer", "i": "integer", "d": "double", "s": "structure"}


class Arguments:
    """What a kernel is called with, as bytes."""

    def __init__(self, kernel: Kernel, values: Sequence[Any]) -> None:
        if len(values) != len(kernel.kinds):
            raise KernelError(f"{kernel.name} takes {len(kernel.kinds)} arguments: {len(values)}")
        self._words = [
            _pack(value, kind, size, f"argument {i} of {kernel.name}")
            for i, (value, kind, size) in enumerate(
                zip(values, kernel.kinds, kernel.sizes, strict=True)
            )
        ]

    def find_addresses(self) -> set[int]:
        """Return all words: those that are addresses, and others."""
        return {word for words in self._words for (word,) in iter_unpack("<Q", words)}

    def make_pointers(self) -> tuple[Any, Any]:
        """Return an array of pointers, and what it points to: a kernel may change its arguments."""
        buffers = [ctypes.create_string_buffer(word, len(word)) for word in self._words]
        addresses = [ctypes.addressof(buffer) for buffer in buffers]
        return (ctypes.c_void_p * len(addresses))(*addresses), buffers


def _pack(value: Any, kind: str, size: int, where: str) -> bytes:
    if kind not in _find_kinds(value):
        raise KernelError(f"{where} is a {_KINDS[kind]}, not {type(value).__name__}")
    if isinstance(value, DeviceArray) and is_freed(value):
        raise KernelError(f"{where} is an array whose memory has been freed")
    words = value if isinstance(value, bytes) else pack_word(value)
    if len(words) != size:
        raise KernelError(f"{where} has {size} bytes, not {len(words)}")
    return words


def _find_kinds(value: Any) -> str:
    """Return for which arguments of a kernel a value may be passed."""
    if isinstance(value, bytes):
        return "s"
    if isinstance(value, DeviceArray):
        return "p"
    if isinstance(value, (float, np.floating)):
        return "d"
    return "pi" if isinstance(value, (int, np.integer, np.bool_)) else ""
