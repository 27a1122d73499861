"""Literals and names of SQL."""

import sqlite3

import numpy as np
import pytest

from sumwise.errors import ExportError
from sumwise.export.sql.dialects import DIALECTS, quote_name, quote_string


def test_literals_are_exact():
    """SQLite rounds twice when it reads a number; enough digits prevent an error."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 63, size=300, dtype=np.int64).view(np.float64)
    values = [*rng.normal(size=300), *bits[np.isfinite(bits)], 5e-324, 2.2250738585072014e-308]
    database, write = sqlite3.connect(":memory:"), DIALECTS["sqlite"].write_number
    for first in range(0, len(values), 100):
        own = values[first : first + 100]
        assert list(database.execute(f"SELECT {', '.join(map(write, own))}").fetchone()) == own


def test_numbers_have_an_exponent():
    """Without one, a literal would be a decimal number to some databases."""
    write = DIALECTS["ansi"].write_number
    assert [write(x) for x in (0.0, 2.0, -0.5, 0.1, 1e22)] == [
        "0e0",
        "2e0",
        "-5e-1",
        "1.000000000000000056e-1",
        "1e22",
    ]
    assert DIALECTS["postgres"].write_number(-0.1) == "float8 '-0.1'"
    with pytest.raises(ExportError, match="the number nan"):
        write(np.nan)


def test_quotes_are_doubled():
    assert quote_name('a"b') == '"a""b"'
    assert quote_string("it's") == "'it''s'"
    with pytest.raises(ExportError, match="UTF-8"):
        quote_string("\ud800")


def test_the_largest_of_many_numbers_is_nested():
    dialect = DIALECTS["sqlite"]
    text = dialect.find_largest([f"{k}" for k in range(3000)])
    assert sqlite3.connect(":memory:").execute(f"SELECT {text}").fetchone() == (2999,)
    assert dialect.find_largest(["x"]) == "x"
