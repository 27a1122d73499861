"""Table: columns by name, of NumPy or Arrow, and what estimators take of them."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from sumwise.cli.usage import UsageError, list_names, suggest


class Table:
    """Columns of equal length by name.

    Parameters
    ----------
    columns : mapping of str to ndarray or pyarrow.ChunkedArray
    name : str
        What messages call it.
    """

    def __init__(self, columns: Mapping[str, Any], name: str) -> None:
        self._columns = dict(columns)
        self.name = name
        self.names = tuple(self._columns)
        self.n_rows = len(next(iter(self._columns.values()))) if self._columns else 0

    def get(self, name: str, option: str = "") -> np.ndarray:
        """Return a column as an array; objects if it holds strings, or booleans with gaps."""
        self.require([name], option)
        column = self._columns[name]
        return column if isinstance(column, np.ndarray) else _to_numpy(column)

    def require(self, names: Sequence[str], option: str = "") -> None:
        """Raise UsageError if a column is not there."""
        absent = [name for name in names if name not in self._columns]
        if absent:
            given = f"{option} {absent[0]}: " if option else ""
            listed = list_names(map(repr, absent))
            what = f"no column {listed}" if len(absent) == 1 else f"no columns {listed}"
            hint = suggest(absent[0], self.names) if len(absent) == 1 else ""
            known = f"; it has {list_names(map(repr, self.names), 12)}"
            raise UsageError(f"{given}{self.name} has {what}{hint}{known}")

    def select(self, names: Sequence[str]) -> Any:
        """Return columns as X of an estimator: an Arrow table, or a matrix without pyarrow."""
        self.require(names)
        if find_spec("pyarrow") is None:
            return self.to_matrix(names)
        import pyarrow as pa  # type: ignore[import-untyped]

        chosen = {}
        for name in names:
            column = self._columns[name]
            if isinstance(column, np.ndarray):
                self._refuse_mixed(name, column)
                column = pa.array(column, from_pandas=True)
            chosen[name] = column
        return pa.table(chosen)

    def to_matrix(self, names: Sequence[str]) -> np.ndarray:
        """Return columns as a matrix of numbers if all are, otherwise of objects."""
        columns = [self.get(name) for name in names]
        for name, column in zip(names, columns, strict=True):
            self._refuse_mixed(name, column)
        if all(column.dtype.kind in "biuf" for column in columns):
            return np.column_stack([column.astype(np.float64) for column in columns])
        matrix = np.empty((self.n_rows, len(columns)), dtype=object)
        for place, column in enumerate(columns):
            matrix[:, place] = column
        return matrix

    def _refuse_mixed(self, name: str, values: np.ndarray) -> None:
        """Raise UsageError if a column of objects holds both strings and something else."""
        if values.dtype.kind != "O":
            return
        rows = {type(value): row for row, value in reversed(list(enumerate(values)))}
        kinds = {kind: row for kind, row in rows.items() if kind is not type(None)}
        if str in kinds and len(kinds) > 1:
            shown = ", ".join(f"{values[row]!r} in row {row + 1}" for row in sorted(kinds.values()))
            raise UsageError(
                f"column {name!r} of {self.name} mixes strings and other values ({shown}); make "
                f"them all strings or all numbers, or leave the column out"
            )

    def take(self, rows: np.ndarray) -> "Table":
        """Return some rows."""
        taken = {
            name: column[rows] if isinstance(column, np.ndarray) else column.take(rows)
            for name, column in self._columns.items()
        }
        return Table(taken, self.name)


def is_missing(values: np.ndarray) -> np.ndarray:
    """Return which values are None, NaN or NaT."""
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], np.bool_)
    return np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values.astype(np.float64))


def _to_numpy(column: Any) -> np.ndarray:
    """Return a column of Arrow as an array."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _to_numpy(column.cast(kind.value_type))
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        # Time zones only say how a moment is shown.
        return column.cast(pa.timestamp("us", getattr(kind, "tz", None))).to_numpy()
    values = column.to_numpy()
    return values.astype(object) if values.dtype.kind in "US" else values
