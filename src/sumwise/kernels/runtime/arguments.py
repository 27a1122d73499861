"""What kernels are passed: kinds of arguments, and how they lie in memory. Knows nothing of Numba.

The *kind* of an argument is what machine code depends on: the type of a number, the dtype and
dimensions of an array, the fields of a named tuple. A kernel is compiled once per list of kinds.

A call passes one block of 8-byte words. A number is one word; an array is the address of its NumPy
object, from which the kernel reads where the data are; a tuple is its items, one after the other. A
:class:`TupleMemory` is the address of a named tuple that was written to memory before: for what
stays the same over many calls.
"""

from collections.abc import Iterable
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

# The fields of a NumPy array that its C API lays open come behind the head of any Python object.
_HEAD = object.__basicsize__
# Flags of arrays: C-contiguous and aligned.
_PLAIN = 0x0101
# Numbers by their Python type: kind, and format in the language of :mod:`struct`.
_NUMBERS = {
    bool: "bool",
    np.bool_: "bool",
    int: "int64",
    np.int64: "int64",
    np.uint64: "uint64",
    float: "float64",
    np.float64: "float64",
}
WORDS = {"bool": "q", "int64": "q", "uint64": "Q", "float64": "d"}


class ArrayKind(NamedTuple):
    """An array; a plain one is C-contiguous and aligned."""

    dtype: np.dtype
    ndim: int
    is_plain: bool


class TupleKind(NamedTuple):
    """A tuple, or a named tuple of a class."""

    owner: type
    items: tuple[Any, ...]


class ReferenceKind:
    """A reference to a named tuple in memory."""

    def __init__(self, target: TupleKind) -> None:
        self.target = target
        self.text = f"reference to {spell(target)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceKind) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@cache
def refer_to(target: TupleKind) -> ReferenceKind:
    """Return the kind of a reference to a named tuple."""
    return ReferenceKind(target)


def find_kind(value: Any) -> Any:
    """Return the kind of an argument."""
    if isinstance(value, np.ndarray):
        return ArrayKind(value.dtype, value.ndim, value.flags.num & _PLAIN == _PLAIN)
    if isinstance(value, tuple):
        return TupleKind(type(value), tuple(map(find_kind, value)))
    if isinstance(value, TupleMemory):
        return value.reference
    if type(value) not in _NUMBERS:
        raise TypeError(f"kernels take no {type(value).__name__}: {value!r}")
    return _NUMBERS[type(value)]


def spell(kind: Any) -> str:
    """Describe a kind by all that machine code depends on."""
    if isinstance(kind, ArrayKind):
        own = kind.dtype.descr if kind.dtype.fields else kind.dtype.str
        return f"{own}*{kind.ndim}{'' if kind.is_plain else ' strided'}"
    if isinstance(kind, TupleKind):
        owner = kind.owner
        name = f"{owner.__module__}.{owner.__qualname__}"
        fields = getattr(owner, "_fields", None) or map(str, range(len(kind.items)))
        items = (f"{field}: {spell(item)}" for field, item in zip(fields, kind.items, strict=True))
        return f"{name}({', '.join(items)})"
    return kind.text if isinstance(kind, ReferenceKind) else kind


# --- the block of a call ---


def flatten(values: Iterable[Any], key: list[Any], words: list[Any]) -> None:
    """Append the words of arguments, and to ``key`` something that tells their kinds, quickly."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray or isinstance(value, np.ndarray):
            key.append(value.dtype)
            key.append(value.ndim if value.flags.num & _PLAIN == _PLAIN else -value.ndim)
            words.append(id(value) + _HEAD)
        elif kind in _NUMBERS:
            key.append(_NUMBERS[kind])
            words.append(bool(value) if kind is np.bool_ else value)
        elif isinstance(value, tuple):
            key.append(kind)
            key.append(len(value))
            flatten(value, key, words)
        elif kind is TupleMemory:
            key.append(value.reference)
            words.append(value.address)
        else:
            raise TypeError(f"kernels take no {kind.__name__}: {value!r}")


def spell_words(kinds: Iterable[Any]) -> str:
    """Return the format of a block, one letter per word."""
    letters = ""
    for kind in kinds:
        if isinstance(kind, TupleKind):
            letters += spell_words(kind.items)
        else:
            letters += WORDS.get(kind, "q") if isinstance(kind, str) else "q"
    return letters


# --- named tuples in memory ---


class _Field(NamedTuple):
    """Where a field of a named tuple begins, and what it holds."""

    offset: int
    struct: Struct
    kind: Any


class Layout(NamedTuple):
    """How a named tuple lies in memory: as a C struct, arrays described by values."""

    size: int
    alignment: int
    fields: dict[str, _Field]


def _spell_struct(kind: Any) -> str:
    """Return the format of a field. Of an array: memory info, parent, size, itemsize, data, …"""
    if isinstance(kind, ArrayKind):
        return f"{5 + 2 * kind.ndim}q"  # … shape and strides
    if isinstance(kind, TupleKind):
        inside = "".join(map(_spell_struct, kind.items))
        # A struct begins and ends at a multiple of its alignment.
        return inside if _is_packed(inside) else f"0q{inside}0q"
    return "?" if kind == "bool" else WORDS[kind]


def _is_packed(letters: str) -> bool:
    return not letters.strip("?")


@cache
def find_layout(kind: TupleKind) -> Layout:
    """Lay out the fields of a named tuple."""
    fields, end, widest = {}, 0, 1
    for name, item in zip(kind.owner._fields, kind.items, strict=True):
        struct = Struct(_spell_struct(item))
        alignment = 1 if _is_packed(struct.format) else 8
        begin = -(-end // alignment) * alignment
        fields[name] = _Field(begin, struct, item)
        end, widest = begin + struct.size, max(widest, alignment)
    return Layout(-(-end // widest) * widest, widest, fields)


def _describe(value: Any, numbers: list[Any]) -> None:
    """Append the numbers that a value is in memory."""
    if isinstance(value, np.ndarray):
        address, _ = value.__array_interface__["data"]
        numbers += (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for own in value:
            _describe(own, numbers)
    else:
        numbers.append(value)


class TupleMemory:
    """Copies of a named tuple in memory, end to end: what Python passes as a reference.

    Kernels refer to the first; ``reference.item`` to any. It keeps the arrays alive.
    """

    def __init__(self, values: Any, n_copies: int) -> None:
        kind = find_kind(values)
        self.reference = refer_to(kind)
        self._layout = find_layout(kind)
        self._values: dict[str, Any] = {}
        self._memory = np.zeros((n_copies, self._layout.size), dtype=np.uint8)
        self.address = self._memory.ctypes.data
        self._write(values._asdict())

    def replace(self, **values: Any) -> None:
        """Write other values of the same kinds, by the names of their fields."""
        for name, value in values.items():
            if find_kind(value) != self._layout.fields[name].kind:
                raise TypeError(f"{name} has other types than what kernels were compiled for")
        self._write(values)

    def _write(self, values: dict[str, Any]) -> None:
        self._values |= values
        for name, value in values.items():
            offset, struct, _ = self._layout.fields[name]
            numbers: list[Any] = []
            _describe(value, numbers)
            struct.pack_into(self._memory[0], offset, *numbers)
        self._memory[1:] = self._memory[0]
