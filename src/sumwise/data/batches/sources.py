"""Sources of record batches: Parquet files, Arrow datasets, and functions that yield batches.

A source can be read as often as needed, always in the same order of rows. Every pass yields frames
of narwhals with at most ``batch_rows`` rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.data.frames.columns import Column, read_series
from sumwise.data.frames.reading import ColumnFrame, is_one_block, open_frame, series_to_array
from sumwise.errors import DataError

# Rows of a batch, unless there are very many columns.
BATCH_ROWS = 1 << 16
_SUFFIXES = (".parquet", ".parq", ".pq")
# Bytes that are read from a column of a file at a time. Otherwise Arrow reads a whole row group.
_BUFFER = 1 << 20
# Rows that show the types of columns.
_PROBE_ROWS = 1 << 10


@dataclass(frozen=True)
class Batch:
    """Some rows of a source.

    Attributes
    ----------
    frame : frame of narwhals
    place : str
        Where it comes from, for messages.
    number : int
        The number of its partition, if the source has partitions.
    """

    frame: Any
    place: str
    number: int = 0

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def read_column(self, name: Any) -> Column:
        """Return one column, labeled with its name."""
        return read_series(f"column {name!r}", self.frame.get_column(name))

    def read_columns(self, names: Sequence[Any]) -> ColumnFrame:
        """Return some columns in this order."""
        columns = [
            read_series(f"column {name!r}", series)
            for name, series in zip(names, select(self.frame, names).iter_columns(), strict=True)
        ]
        return ColumnFrame(self.frame, columns, self.n_rows)

    def read_values(self, name: Any) -> np.ndarray:
        """Return one column as an array, for example the target."""
        values: np.ndarray = series_to_array(self.frame.get_column(name).to_native())
        return values

    def read_matrix(self, names: Sequence[Any]) -> np.ndarray | None:
        """Return columns of numbers that are one matrix in memory; None if they are not."""
        if not self.frame.implementation.is_pandas_like():
            return None
        native = select(self.frame, names).to_native()
        return native.to_numpy() if is_one_block(native) else None


class Source(ABC):
    """A table that is read batch by batch, as often as needed.

    Attributes
    ----------
    name : str
        The name of the source in messages.
    has_types : bool
        Whether the types of columns are known in advance, and columns can be read alone.
    may_be_empty : bool
        Whether there may be no rows here, because other processes have some.
    index : sequence of str
        Columns that pandas has written as the index of a frame; they are no features.
    """

    name: str
    has_types: bool = False
    may_be_empty: bool = False
    index: Sequence[str] = ()

    @abstractmethod
    def list_columns(self) -> list[Any]:
        """Return the names of all columns, in their order; columns of an array are numbered."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None, batch_rows: int) -> Iterator[Batch]:
        """Yield all rows in order; some columns (None for all), few rows at a time."""

    def probe(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield a few rows of each combination of types that the columns have."""
        yield from ()


class ParquetSource(Source):
    """Parquet files, one after the other."""

    has_types = True

    def __init__(self, name: str, files: Sequence[Path]) -> None:
        self.name = name
        self._files = files
        self._import = import_parquet()
        # The files of each combination of types.
        self._variants: dict[Any, list[Path]] = {}
        for path in files:
            with self._open(path) as file:
                schema = file.schema_arrow
            self.index = self.index or _find_index(schema)
            self._variants.setdefault(schema.remove_metadata(), []).append(path)
        self._schema = next(iter(self._variants))

    def _open(self, path: Path) -> Any:
        import pyarrow as pa  # type: ignore[import-untyped]

        try:
            return self._import.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{path} cannot be read as Parquet: {error}") from error

    def list_columns(self) -> list[str]:
        return list(self._schema.names)

    def read(self, columns: Sequence[str] | None, batch_rows: int) -> Iterator[Batch]:
        for path in self._files:
            yield from self._read_file(path, columns, batch_rows)

    def _read_file(
        self, path: Path, columns: Sequence[str] | None, batch_rows: int
    ) -> Iterator[Batch]:
        wanted = self.list_columns() if columns is None else list(columns)
        with self._open(path) as file:
            self._check_columns(path, file.schema_arrow, wanted)
            for part in file.iter_batches(batch_rows, columns=wanted):
                if part.num_rows:
                    yield Batch(open_batch(part, str(path)).select(wanted), str(path))

    def _check_columns(self, path: Path, schema: Any, wanted: Sequence[str]) -> None:
        """Refuse a file that lacks columns, or has them with other types than the first file."""
        first = self._files[0]
        for name in wanted:
            if name not in schema.names:
                raise DataError(f"{path} has no column {name!r}, which {first} has")
            own, known = schema.field(name).type, self._schema.field(name).type
            families = {_find_family(own), _find_family(known)} - {"null"}
            if len(families) > 1:
                raise DataError(
                    f"column {name!r} has type {own} in {path}, and {known} in {first}; write all "
                    "files with one type"
                )

    def probe(self, columns: Sequence[str]) -> Iterator[Batch]:
        for files in self._variants.values():
            batches = (self._read_file(path, columns, _PROBE_ROWS) for path in files)
            yield from islice(chain.from_iterable(batches), 1)


class DatasetSource(Source):
    """A dataset of pyarrow, or anything with its ``scanner``."""

    has_types = True

    def __init__(self, dataset: Any) -> None:
        self.name = "the dataset"
        self._dataset = dataset
        self.index = _find_index(dataset.schema)

    def list_columns(self) -> list[str]:
        return list(self._dataset.schema.names)

    def read(self, columns: Sequence[str] | None, batch_rows: int) -> Iterator[Batch]:
        # Little is read ahead: Arrow would otherwise keep up to 16 batches of 4 files.
        scanner = self._dataset.scanner(
            columns=None if columns is None else list(columns),
            batch_size=batch_rows,
            batch_readahead=2,
            fragment_readahead=1,
        )
        for part in scanner.to_batches():
            if part.num_rows:
                yield Batch(open_batch(part, self.name), self.name)

    def probe(self, columns: Sequence[str]) -> Iterator[Batch]:
        yield from islice(self.read(columns, _PROBE_ROWS), 1)


class CallableSource(Source):
    """A function without arguments that returns an iterable of batches, anew for each pass."""

    def __init__(self, function: Callable[[], Iterable[Any]]) -> None:
        self.name = f"the batches of {getattr(function, '__qualname__', type(function).__name__)}"
        self._function = function
        self._last: Any = None
        self._columns: list[str] | None = None

    def list_columns(self) -> list[str]:
        if self._columns is None:
            first = next(self._read_whole(), None)
            if first is None:
                raise refuse_empty(self.name)
            self._columns = list(first.frame.columns)
        return self._columns

    def read(self, columns: Sequence[str] | None, batch_rows: int) -> Iterator[Batch]:
        wanted = self.list_columns() if columns is None else list(columns)
        for batch in self._read_whole():
            missing = [name for name in wanted if name not in batch.frame.columns]
            if missing:
                raise DataError(f"{batch.place} has no column {missing[0]!r}")
            chosen = batch.frame.select(wanted)
            for first in range(0, batch.n_rows, batch_rows):
                yield Batch(chosen[first : first + batch_rows], batch.place)

    def _read_whole(self) -> Iterator[Batch]:
        """Yield batches as the function makes them, except for empty ones."""
        batches = self._function()
        if batches is self._last and iter(batches) is batches:
            raise DataError(
                f"{self.name}: the function returned the same iterator again, which is used up; "
                "it is called once for each pass, and must return a new iterator every time"
            )
        try:
            self._last = iter(batches)
        except TypeError:
            raise DataError(
                f"{self.name}: the function returned a {type(batches).__name__}, and must return "
                "an iterator of record batches or frames"
            ) from None
        if self._last is not batches:
            self._last, batches = None, self._last
        for number, part in enumerate(batches):
            place = f"batch {number} of {self.name.removeprefix('the batches of ')}"
            frame = open_batch(part, place)
            if len(frame):
                yield Batch(frame, place)


def is_source(X: Any) -> bool:
    """Whether X is read batch by batch: a path, a dataset of Arrow, or a function."""
    if isinstance(X, np.ndarray):
        return False
    if isinstance(X, (str, PathLike)) or _is_dataset(X):
        return True
    if hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False
    return (callable(X) and not isinstance(X, type)) or hasattr(X, "__next__")


def open_source(X: Any) -> Source:
    """Return the source that X describes; see :func:`is_source`."""
    if isinstance(X, (str, PathLike)):
        return ParquetSource(fspath(X), _list_files(Path(X)))
    if _is_dataset(X):
        return DatasetSource(X)
    if hasattr(X, "__next__"):
        raise DataError(
            f"X is a {type(X).__name__}, which can be read only once; pass the function that "
            "makes it, without calling it"
        )
    return CallableSource(X)


def read_frames(
    X: Any, columns: Sequence[str] | None = None, batch_rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Yield the rows of a source in native frames that any ``predict`` can read.

    Parameters
    ----------
    X : path, dataset or callable
        See :func:`is_source`.
    columns : sequence of str or None
        The columns to read, in this order, where the source has them; None for all. So a file may
        have the target, too.
    batch_rows : int
        The most rows of a frame.
    """
    source = open_source(X)
    names = [name for name in source.list_columns() if name not in source.index]
    if columns is not None:
        known = set(source.list_columns())
        names = [name for name in columns if name in known]
        if not names:
            raise DataError(f"{source.name} has none of the columns {columns[:5]!r}")
    is_empty = True
    for batch in source.read(names, batch_rows):
        is_empty = False
        yield batch.frame.to_native()
    if is_empty:
        raise refuse_empty(source.name)


def select(frame: Any, names: Sequence[Any]) -> Any:
    """Return some columns of a frame of narwhals; without a copy if it has no others."""
    known = frame.columns
    if known == list(names):
        return frame
    places = {name: k for k, name in enumerate(known)}
    return frame[:, [places[name] for name in names]]  # pandas has names that are not strings, too


def refuse_empty(name: str) -> DataError:
    """Return the error for a source without rows."""
    return DataError(f"{name} is empty: it has 0 sample(s), and at least one row is needed")


def _is_dataset(X: Any) -> bool:
    # Compared by name: pyarrow may not be installed.
    return type(X).__module__.startswith("pyarrow.") and hasattr(X, "scanner")


def _list_files(path: Path) -> list[Path]:
    """Return a file, or the Parquet files in a folder sorted by their names."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path} is neither a Parquet file nor a folder of Parquet files")
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in _SUFFIXES
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
        and file.is_file()
    ]
    if not files:
        raise DataError(f"{path} has no Parquet files ({', '.join(_SUFFIXES)})")
    return files


def import_parquet() -> Any:
    """Return ``pyarrow.parquet``, or say what to install."""
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "Parquet files are read with pyarrow; pip install 'sumwise[parquet]'"
        ) from None
    return parquet


def open_batch(part: Any, place: str, others: str = "a frame of pandas or polars") -> Any:
    """Return a record batch, table or frame as a frame of narwhals.

    ``others`` says what else it may be, besides what Arrow has.
    """
    if type(part).__module__ == "pyarrow.lib" and hasattr(part, "schema"):
        part = _read_arrow(part)
    frame = None if isinstance(part, (str, dict, list, tuple)) else open_frame(part)
    if frame is None:
        raise DataError(
            f"{place} is a {type(part).__name__}, and must be a record batch or table of Arrow, or "
            f"{others}"
        )
    return frame


def _read_arrow(part: Any) -> Any:
    """Return a record batch or table as a table; date64, unknown to narwhals, as time stamps."""
    import pyarrow as pa

    table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
    types = [
        pa.timestamp("ms") if pa.types.is_date64(field.type) else field.type
        for field in table.schema
    ]
    if types == table.schema.types:
        return table
    return table.cast(pa.schema(list(zip(table.schema.names, types, strict=True))))


def _find_index(schema: Any) -> list[str]:
    """Return the columns that pandas restores as an index; a range is described, not stored."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in described if isinstance(name, str)]


def _find_family(dtype: Any) -> str:
    """Return the kind of values of an Arrow type; files may differ in the width of numbers."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        dtype = dtype.value_type
    if types.is_null(dtype):
        return "null"
    families = {
        "number": (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal),
        "string": (types.is_string, types.is_large_string, types.is_string_view),
        "date": (types.is_date, types.is_timestamp),
    }
    for family, tests in families.items():
        if any(test(dtype) for test in tests):
            return family
    return str(dtype)
