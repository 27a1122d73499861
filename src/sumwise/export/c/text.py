"""Constants, tables and functions as text of C."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.c.runtime import write_functions

# Compilers need not accept longer strings.
_LONGEST_STRING = 4095
_LONGEST_LINE = 96
TEXT = "const char *"


@dataclass
class CParts:
    """The parts of a source; ``@`` stands for the prefix of all names in them.

    Attributes
    ----------
    tables : list of str
        Types and constant arrays.
    needs : set of str
        Names of the functions of ``runtime.py`` that are called.
    functions : list of str
        The functions of this model.
    """

    tables: list[str] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    functions: list[str] = field(default_factory=list)

    def call(self, name: str, *arguments: object) -> str:
        """Return the call of a function of ``runtime.py``."""
        self.needs.add(name)
        return f"@{name}({', '.join(map(str, arguments))})"

    def add_table(self, declaration: str, items: Iterable[str]) -> None:
        """Add a constant array."""
        self.tables.append(write_array(declaration, items))

    def write(self, prefix: str) -> str:
        """Return the text."""
        parts = [*self.tables, write_functions(self.needs), *self.functions]
        return "\n".join(part for part in parts if part).replace("@", prefix)


def write_function(head: str, lines: Sequence[str]) -> str:
    """Return the definition of a function."""
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}", ""])


def write_array(declaration: str, items: Iterable[str]) -> str:
    """Return the definition of a constant array; an empty one gets a zero."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) > _LONGEST_LINE:
            lines.append(line.rstrip())
            line = ""
        line += f"{item}, "
    lines.append(line.rstrip() or "0")
    body = "\n    ".join(lines)
    return f"static const {declaration}[] = {{\n    {body}\n}};\n"


def write_number(value: float) -> str:
    """Return a number as a constant, exactly."""
    if value != value:
        return "NAN"
    if value in (np.inf, -np.inf):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def write_integer(value: int) -> str:
    """Return an integer of 64 bits as a constant."""
    if value == -(1 << 63):
        return "(-9223372036854775807 - 1)"
    return f"UINT64_C({value})" if value >= 1 << 63 else str(value)


def write_string(value: str) -> str:
    """Return a string as a constant, in UTF-8."""
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise ExportError(f"the string {value!r} cannot be written in UTF-8") from None
    if 0 in data or len(data) > _LONGEST_STRING:
        raise ExportError(
            f"the string {value[:40]!r} has a zero byte or more than {_LONGEST_STRING:,} bytes, "
            "which C cannot hold; rename the category or class"
        )
    # Question marks are escaped because two of them may begin a trigraph.
    plain = {c for c in range(32, 127) if chr(c) not in '"\\?'}
    return '"' + "".join(chr(c) if c in plain else f"\\{c:03o}" for c in data) + '"'


def write_values(values: Iterable[Any], value_type: str) -> list[str]:
    """Return values as constants of a type: categories of a feature, or labels."""
    if value_type == TEXT:
        return [write_string(str(value)) for value in values]
    if value_type == "double ":
        return [write_number(float(value)) for value in values]
    return [write_integer(int(value)) for value in values]


def write_local_table(name: str, values: Iterable[Any], value_type: str) -> list[str]:
    """Return the lines that define an array of values inside a function."""
    element = "char *const " if value_type == TEXT else value_type
    return write_array(element + name, write_values(values, value_type)).rstrip().split("\n")


def write_comment(text: str) -> str:
    """Return text that may stand in a comment, in quotes."""
    return ascii(text).replace("\\", "/").replace("*/", "* /").replace("/*", "/ *")
