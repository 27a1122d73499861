"""Predictions written to a Parquet file, batch by batch."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from sumwise.data.batches.sources import import_parquet


class ParquetOutput:
    """A Parquet file that appears under its name when all of it is written.

    Use it as a context manager. If the body fails, nothing is left behind, and a file that had the
    name before is kept.

    Parameters
    ----------
    path : path
        The file to write.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._parquet = import_parquet()
        self._path = Path(path)
        self._partial = self._path.with_name(f".{self._path.name}.{os.getpid()}.partial")
        self._writer: Any = None

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        """Append rows; every batch must have the same columns."""
        import pyarrow as pa  # type: ignore[import-untyped]

        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._partial, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def __enter__(self) -> "ParquetOutput":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._writer is None:
            return
        try:
            self._writer.close()
            if kind is None:
                self._partial.replace(self._path)
        finally:
            self._partial.unlink(missing_ok=True)
