"""Reading a table: from a file or standard input, in a format that is given or recognized."""

import contextlib
import io
import os
import sys
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from sumwise.cli.reading.delimited import read_csv
from sumwise.cli.reading.lines import read_json_lines
from sumwise.cli.reading.table import Table
from sumwise.cli.reading.values import MISSING
from sumwise.cli.usage import UsageError

CSV, JSONL, PARQUET, ARROW = "csv", "jsonl", "parquet", "arrow"
FORMATS = (CSV, JSONL, PARQUET, ARROW)

BY_SUFFIX = {
    ".csv": CSV,
    ".tsv": CSV,
    ".txt": CSV,
    ".json": JSONL,
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
}
STANDARD_INPUT = "-"


class ReadOptions(NamedTuple):
    """How a table is read; None is recognized from the content."""

    format: str | None = None
    separator: str | None = None
    header: bool = True
    encoding: str = "utf-8-sig"
    missing: tuple[str, ...] = ()


def name_source(source: str) -> str:
    """Return what messages call a source."""
    return "standard input" if source == STANDARD_INPUT else source


def read_table(
    source: str, options: ReadOptions | None = None, as_text: Collection[str] = ()
) -> Table:
    """Read a table from a path, or from standard input if it is "-".

    Parameters
    ----------
    source : str
    options : ReadOptions, optional
    as_text : collection of str
        Columns of text formats that stay text, even if they look like numbers.

    Returns
    -------
    Table
        With one row or more.
    """
    options = options or ReadOptions()
    where = name_source(source)
    content = _read_bytes(source)
    form = options.format or _recognize(source, content)
    if form in (PARQUET, ARROW):
        table = _read_columnar(form, content, where)
    else:
        text = _decode(content, options.encoding, where)
        if form == JSONL:
            table = Table(read_json_lines(text, where, as_text=as_text), where)
        else:
            columns = read_csv(
                text,
                where,
                separator=options.separator,
                header=options.header,
                missing=(*MISSING, *options.missing),
                as_text=as_text,
            )
            table = Table(columns, where)
    if table.n_rows == 0:
        raise UsageError(f"{where} has no rows")
    return table


def _read_bytes(source: str) -> bytes:
    if source == STANDARD_INPUT:
        stream = sys.stdin.buffer
        if sys.stdin.isatty():
            raise UsageError("'-' reads a table from standard input: pipe one in, or name a file")
        return stream.read()
    path = Path(source)
    if path.is_dir():
        raise UsageError(f"{source} is a folder; name a file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{source}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {os.strerror(error.errno or 0)}") from None


def _recognize(source: str, content: bytes) -> str:
    """Return the format: what the content is, else what the name says, else CSV."""
    if content[:4] == b"PAR1":
        return PARQUET
    if content[:6] == b"ARROW1" or content[:4] == b"\xff\xff\xff\xff":
        return ARROW
    named = BY_SUFFIX.get(Path(source).suffix.lower())
    if named in (CSV, JSONL):
        return named
    if named is not None and content:
        raise UsageError(
            f"{source} is not a file of {'Parquet' if named == PARQUET else 'Arrow'}; if it is "
            "text, say so by --format csv or jsonl"
        )
    return JSONL if content.lstrip()[:1] == b"{" else CSV


def _decode(content: bytes, encoding: str, where: str) -> str:
    if content[:2] in (b"\x1f\x8b", b"PK"):
        raise UsageError(f"{where} is compressed; decompress it, for example by 'gunzip -c'")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(
            f"{where}, line {line}: not {encoding.removesuffix('-sig')}; name its encoding, such "
            "as --encoding latin-1"
        ) from None
    except LookupError:
        raise UsageError(f"--encoding {encoding}: no such encoding") from None


def _read_columnar(form: str, content: bytes, where: str) -> Table:
    with explain_missing_arrow(f"{where} is a file of {form.capitalize()}"):
        import pyarrow as pa  # type: ignore[import-untyped]

    try:
        if form == PARQUET:
            from pyarrow import parquet

            table = parquet.read_table(io.BytesIO(content))
        elif content[:6] == b"ARROW1":
            table = pa.ipc.open_file(content).read_all()
        else:
            table = pa.ipc.open_stream(content).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{where} cannot be read as {form.capitalize()}: {error}") from None
    repeated = {name for name in table.column_names if table.column_names.count(name) > 1}
    if repeated:
        raise UsageError(f"{where}: several columns are called {min(repeated)!r}")
    columns: dict[str, Any] = dict(zip(table.column_names, table.columns, strict=True))
    return Table(columns, where)


@contextlib.contextmanager
def explain_missing_arrow(what: str) -> Iterator[None]:
    """Turn the ImportError of pyarrow into advice."""
    if find_spec("pyarrow") is None:
        raise UsageError(f"{what}, which needs pyarrow: pip install 'sumwise[parquet]'")
    yield
