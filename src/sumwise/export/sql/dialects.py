"""Dialects of SQL: literals, names, and the functions that databases name differently."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from sumwise.errors import ExportError

LARGEST = 1.7976931348623157e308
# SQLite reads tiny literals with an error; they are written as a product with a power of two.
_SMALLEST_EXACT = 1e-250
_SCALE = 2.0**600
_DIGITS = 18
_MOST_ARGUMENTS = 50


@dataclass(frozen=True)
class Dialect:
    """How a database writes what the standard leaves open.

    Attributes
    ----------
    name : str
    double : str
        The type of numbers in double precision.
    integer : str
        The type of integers of 64 bits.
    materialized : str
        Comes after AS in a common table expression, so that its columns are computed once.
    greatest : str
        The function that returns the largest of its arguments.
    not_a_number : str
        The literal NaN, if numbers can be NaN; it is read as missing.
    most_leaves : int
        The largest tree that the parser can read.
    ignores_case : bool
        Whether quoted names that differ only by the case of ASCII letters are the same.
    """

    name: str
    double: str = "DOUBLE PRECISION"
    integer: str = "BIGINT"
    materialized: str = ""
    greatest: str = "GREATEST"
    not_a_number: str = ""
    most_leaves: int = 1 << 30
    ignores_case: bool = False

    def write_number(self, value: float) -> str:
        """Return a number as a literal in double precision, exactly."""
        if not isfinite(value):
            raise ExportError(f"the number {value} of the model cannot be written in SQL")
        if self.name == "postgres":  # where a plain literal is a decimal number
            return f"float8 '{float(value)!r}'"
        if self.name == "sqlite" and 0.0 < abs(value) < _SMALLEST_EXACT:
            return f"({_write_exact(value * _SCALE)} * {_write_exact(1.0 / _SCALE)})"
        return _write_exact(value)

    def read_number(self, column: str) -> str:
        """Return a column as a number, NULL if it is missing."""
        number = f"CAST({column} AS {self.double})"
        return f"NULLIF({number}, {self.not_a_number})" if self.not_a_number else number

    def read_category(self, column: str, is_number: bool) -> str:
        """Return a categorical column, NULL if it is missing."""
        return self.read_number(column) if is_number and self.not_a_number else column

    def to_integer(self, number: str) -> str:
        """Return a number that is not negative, without its fraction."""
        if self.name == "sqlite":
            return f"CAST({number} AS INTEGER)"
        return f"FLOOR({number})"

    def find_largest(self, numbers: Sequence[str]) -> str:
        """Return the largest of some numbers."""
        if len(numbers) == 1:
            return numbers[0]
        if len(numbers) > _MOST_ARGUMENTS:
            groups = range(0, len(numbers), _MOST_ARGUMENTS)
            return self.find_largest(
                [self.find_largest(numbers[k : k + _MOST_ARGUMENTS]) for k in groups]
            )
        return f"{self.greatest}({', '.join(numbers)})"

    def exp(self, number: str) -> str:
        """Return e to a number, which is clipped so that the result is neither 0 nor infinite."""
        clipped = f"WHEN {number} < -708e0 THEN -708e0 WHEN {number} > 709e0 THEN 709e0"
        if self.not_a_number:  # which counts as larger than all numbers
            clipped = f"WHEN {number} = {self.not_a_number} THEN {number} {clipped}"
        return f"EXP(CASE {clipped} ELSE {number} END)"


DIALECTS = {
    "ansi": Dialect("ansi"),
    "sqlite": Dialect(
        "sqlite",
        double="REAL",
        integer="INTEGER",
        materialized="MATERIALIZED ",
        greatest="MAX",
        most_leaves=1 << 14,
        ignores_case=True,
    ),
    "duckdb": Dialect(
        "duckdb", double="DOUBLE", not_a_number="CAST('NaN' AS DOUBLE)", ignores_case=True
    ),
    "postgres": Dialect("postgres", materialized="MATERIALIZED ", not_a_number="float8 'NaN'"),
}


def _write_exact(value: float) -> str:
    """Return a number with so many digits that parsers which round twice find it, too."""
    mantissa, _, exponent = f"{value:.{_DIGITS}e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def quote_name(name: str) -> str:
    """Return a name as an identifier."""
    _refuse_zeros(name, "name")
    return '"' + name.replace('"', '""') + '"'


def quote_string(value: str) -> str:
    """Return a string as a literal."""
    _refuse_zeros(value, "string")
    return "'" + value.replace("'", "''") + "'"


def _refuse_zeros(text: str, what: str) -> None:
    if "\0" in text:
        raise ExportError(f"the {what} {text!r} has a zero character, which SQL cannot hold")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExportError(f"the {what} {text!r} cannot be written in UTF-8") from None
