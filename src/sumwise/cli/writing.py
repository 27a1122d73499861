"""Tables of results: to standard output, or to a file that is complete or not there."""

import csv
import io
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.cli.console import to_plain
from sumwise.cli.reading.files import ARROW, BY_SUFFIX, CSV, JSONL, PARQUET, explain_missing_arrow
from sumwise.cli.usage import UsageError
from sumwise.export.files import write_bytes


def check_target(path: str | None, option: str = "--output") -> None:
    """Raise UsageError if a file cannot be written there, before any work is done."""
    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{option} {path}: a directory, not a file")
    if not target.parent.exists():
        raise UsageError(f"{option} {path}: there is no folder {str(target.parent)!r}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{option} {path}: you may not write there")


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step: the old one stays until the new one is complete."""
    write_bytes(path, content.encode() if isinstance(content, str) else content)


def find_output_format(path: str | None, given: str | None) -> str:
    """Return the format that is given, else that of the file's name, else CSV.

    UsageError is raised if it needs pyarrow, which is not installed.
    """
    form = given
    if form is None:
        form = CSV if path is None else BY_SUFFIX.get(Path(path).suffix.lower(), CSV)
    if form in (PARQUET, ARROW):
        with explain_missing_arrow(f"the output is {form.capitalize()}"):
            pass
    return form


def write_columns(columns: Mapping[str, np.ndarray], path: str | None, form: str) -> None:
    """Write columns by name to a path; None or "-" is standard output."""
    content = _format(columns, form)
    if path is not None and path != "-":
        write_file(path, content)
    else:
        write_to_screen(content)


def write_to_screen(content: str | bytes) -> None:
    """Write to standard output, all of it even if a pipe takes it in parts."""
    # Python's unbuffered stream of text would drop the rest of what a pipe takes in part.
    sys.stdout.flush()
    write_bytes(sys.stdout.buffer, content.encode() if isinstance(content, str) else content)
    sys.stdout.flush()


def _format(columns: Mapping[str, np.ndarray], form: str) -> str | bytes:
    if form == CSV:
        return _to_csv(columns)
    if form == JSONL:
        names = list(columns)
        rows = zip(*(_to_items(column) for column in columns.values()), strict=True)
        return "".join(
            json.dumps(to_plain(dict(zip(names, row, strict=True))), ensure_ascii=False) + "\n"
            for row in rows
        )
    import pyarrow as pa  # type: ignore[import-untyped]

    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
    buffer = io.BytesIO()
    if form == PARQUET:
        from pyarrow import parquet

        parquet.write_table(table, buffer)
    else:
        assert form == ARROW
        with pa.ipc.new_file(buffer, table.schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()


def _to_csv(columns: Mapping[str, np.ndarray]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_to_items(column) for column in columns.values()), strict=True))
    return text.getvalue()


def _to_items(column: np.ndarray) -> list[Any]:
    """Return values as text is made of them: missing ones as None, true and false in lower case."""
    if column.dtype.kind == "M":
        return [None if np.isnat(value) else str(value) for value in column]
    if column.dtype.kind == "f":
        return [None if value != value else value for value in column.tolist()]
    items = column.tolist()
    if any(isinstance(item, bool) for item in items):
        return [str(item).lower() if isinstance(item, bool) else item for item in items]
    return items
