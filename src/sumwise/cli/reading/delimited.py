"""CSV: its separator, its header, and its columns as texts, with or without pyarrow."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from sumwise.cli.reading.values import MISSING, read_texts
from sumwise.cli.usage import UsageError, list_names

# The separators that are recognized, the most usual first.
SEPARATORS = (",", ";", "\t", "|")
_LINES_TO_JUDGE = 20


def read_csv(
    text: str,
    where: str,
    *,
    separator: str | None = None,
    header: bool = True,
    missing: Collection[str] = MISSING,
    as_text: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """Return the columns of a text by name.

    Parameters
    ----------
    text : str
    where : str
        What messages call it.
    separator : str, optional
        None to recognize it.
    header : bool
        Whether the first line has the names; otherwise they are column_1, column_2, ...
    missing : collection of str
        Texts of missing values.
    as_text : collection of str
        Columns that stay text, whatever they hold.
    """
    if not text.strip():
        raise UsageError(f"{where} is empty")
    separator = separator or _find_separator(text)
    first = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    names = _name_columns(first, where) if header else _number_columns(len(first))
    if find_spec("pyarrow") is not None and "\0" not in text:
        columns = _split_by_arrow(text, names, separator, header, missing)
        if columns is not None:
            return {
                name: _read_arrow(column, name in as_text)
                for name, column in zip(names, columns, strict=True)
            }
    rows = _split(text, names, separator, header, where)
    if not rows:
        raise UsageError(f"{where} has a header, and no rows below it")
    gaps = set(missing)
    return {
        name: read_texts([None if cell in gaps else cell for cell in cells], name in as_text)
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    }


def _find_separator(text: str) -> str:
    """Return the separator that splits the first lines into the most fields, all alike."""
    lines = list(islice(io.StringIO(text), _LINES_TO_JUDGE))

    def judge(separator: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        return len(set(counts)) == 1, counts[0]

    found = max(SEPARATORS, key=judge)
    return found if judge(found)[1] > 1 else ","


def _name_columns(first: Sequence[str], where: str) -> list[str]:
    names = [name.strip() or f"column_{place}" for place, name in enumerate(first, 1)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if all(_is_number(name) for name in first):
        raise UsageError(
            f"{where}: the first line holds numbers ({list_names(first, 4)}); if it is no header, "
            "use --no-header"
        )
    if repeated:
        raise UsageError(f"{where}: several columns are called {list_names(map(repr, repeated))}")
    return names


def _number_columns(n_columns: int) -> list[str]:
    return [f"column_{place}" for place in range(1, n_columns + 1)]


def _is_number(text: str) -> bool:
    return read_texts([text.strip()]).dtype.kind in "if"


def _split(
    text: str, names: Sequence[str], separator: str, header: bool, where: str
) -> list[list[str]]:
    """Return the fields by row; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = []
    try:
        for row in reader:
            if len(row) == len(names):
                rows.append(row)
            elif row and len(names) > 1:
                raise UsageError(
                    f"{where}, line {reader.line_num}: {len(row)} fields, and the first line has "
                    f"{len(names)}"
                )
    except csv.Error as error:
        raise UsageError(f"{where}, line {reader.line_num}: {error}") from None
    return rows[1:] if header else rows


def _split_by_arrow(
    text: str, names: Sequence[str], separator: str, header: bool, missing: Collection[str]
) -> list[Any] | None:
    """Return columns of strings; None if pyarrow reports an error, which Python's reader explains.

    pyarrow would find types by itself. Strings are taken instead, so that a file is read alike
    with and without it.
    """
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import csv as arrow_csv

    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            read_options=arrow_csv.ReadOptions(
                column_names=list(names), skip_rows_after_names=int(header)
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=list(missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.columns if table.num_rows else None


def _read_arrow(column: Any, as_text: bool) -> np.ndarray:
    """Return a column of strings as :func:`read_texts` would; numbers without Python's help."""
    import pyarrow as pa

    if not as_text and column.null_count < len(column):
        try:
            numbers = column.cast(pa.float64())
        except pa.ArrowInvalid:
            numbers = None
        if numbers is not None:
            try:
                integers = column.cast(pa.int64())
            except pa.ArrowInvalid:
                integers = None
            chosen = integers if integers is not None and not column.null_count else numbers
            return chosen.to_numpy()
    return read_texts(column.to_pylist(), as_text)
