"""Structures and constants of Python as a C++ header: one source of truth for both.

A structure is declared by its C++ text, and every field takes eight bytes::

    Rows = structure("Rows", "const uint32* numbers; int64 n_rows;")

``Rows(numbers, 7)`` is then a named tuple, which :func:`pack_struct` turns into bytes.
"""

import re
import struct
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

_PREFIX = '#pragma once\n#include "runtime/types.cuh"\n'
_FIELD = re.compile(r"(\w+);")


def structure(name: str, fields: str) -> Any:
    """Return a named tuple class with the fields of a C++ structure."""
    make_class: Any = namedtuple
    made = make_class(name, _FIELD.findall(re.sub(r"//.*", "", fields)))
    made.declaration = f"struct {name} {{{fields}}};"
    return made


def make_header(*structures: Any, constants: Mapping[str, int | float] | None = None) -> str:
    """Return the text of a header with constants and structures; text is taken as it is."""
    lines = [_PREFIX]
    for name, value in (constants or {}).items():
        kind = "double" if isinstance(value, float) else "int64"
        lines.append(f"constexpr {kind} {name} = {_write(value)};")
    lines += [getattr(structure, "declaration", structure) for structure in structures]
    return "\n".join(lines) + "\n"


def _write(value: int | float) -> str:
    return float(value).hex() if isinstance(value, float) else str(int(value))


def declare_records(name: str, dtype: np.dtype) -> str:
    """Return a C++ structure with the fields of an aligned NumPy record type."""
    kinds = {"i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32"}
    kinds |= {"u4": "uint32", "i8": "int64", "u8": "uint64", "f8": "double"}
    assert dtype.fields is not None
    assert dtype.isalignedstruct, "C++ places fields as NumPy does with align=True"
    fields = [f"    {kinds[kind.str[1:]]} {field};" for field, (kind, *_) in dtype.fields.items()]
    check = f"static_assert(sizeof({name}) == {dtype.itemsize});"
    return "\n".join([f"struct {name} {{", *fields, "};", check])


def pack_struct(values: Any) -> bytes:
    """Return a structure as kernels take it by value."""
    return b"".join(pack_word(value) for value in values)


def pack_word(value: Any) -> bytes:
    """Return the eight bytes of an argument."""
    address = getattr(value, "address", None)
    if address is not None:
        return struct.pack("<Q", address)
    if isinstance(value, (float, np.floating)):
        return struct.pack("<d", value)
    value = int(value)
    return struct.pack("<Q" if value > 0x7FFFFFFFFFFFFFFF else "<q", value)
