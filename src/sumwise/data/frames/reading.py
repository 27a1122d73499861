"""Reading any X that users pass: a frame becomes columns, and a list becomes an array.

Frames are read through narwhals, which is imported only if X is neither an array nor a list.
"""

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.data.frames.columns import ArrayColumn, Column, ObjectColumn, read_series
from sumwise.data.on_device import fetch
from sumwise.data.sparse import is_sparse
from sumwise.data.sparse.frame import read_sparse_frame
from sumwise.errors import DataError


@dataclass(frozen=True)
class ColumnFrame:
    """A frame, or a matrix of objects, as columns.

    Attributes
    ----------
    source : frame or ndarray
        What the columns belong to.
    columns : sequence of Column
    n_rows : int
    """

    source: Any
    columns: Sequence[Column]
    n_rows: int

    @classmethod
    def from_array(cls, X: np.ndarray, names: Sequence[Any] | None = None) -> "ColumnFrame":
        """Read a matrix of any dtype by columns."""
        if X.dtype.kind == "T":  # NumPy's variable-width strings, some may be missing
            X = X.astype(object)
        kind = ObjectColumn if X.dtype.kind == "O" else ArrayColumn
        labels = [_make_label(f, names) for f in range(X.shape[1])]
        return cls(X, [kind(label, X[:, f]) for f, label in enumerate(labels)], X.shape[0])


def read_input(X: Any, keep: Sequence[str] | None = None, sparse: bool = False) -> Any:
    """Return X in the form in which it is read.

    Frames and matrices of strings, dates or objects become a :class:`ColumnFrame`, lists become an
    array. A pandas frame whose numbers are one block in memory is returned unchanged: NumPy reads
    it as a matrix without a copy. So is everything else.

    Parameters
    ----------
    X : any
        The input of a user.
    keep : sequence of str, optional
        Names of the columns of a frame to read; None for all.
    sparse : bool
        Whether a frame of numbers with sparse columns becomes a :class:`SparseFrame`.
    """
    if isinstance(X, (list, tuple)):
        X = read_list(X)
    if isinstance(X, np.ndarray):
        if X.ndim == 1 and X.size == 0:
            raise DataError("X is empty: it has 0 sample(s), and at least one row is needed")
        if X.dtype.kind not in "OUTMm" or type(X) is not np.ndarray:
            return X
        if X.ndim != 2:
            raise DataError(f"Expected 2D array, got {X.ndim}D array instead; X has {X.dtype}")
        return ColumnFrame.from_array(X)
    frame = open_frame(X)
    if frame is None:
        _refuse_one_dimension(X)
        return X
    names = frame.columns
    if keep is not None:
        known = set(keep)
        frame = frame.select([name for name in names if name in known])
        names = frame.columns
    native = frame.to_native()
    if frame.implementation.is_pandas_like() and is_one_block(native):
        return native
    if sparse and frame.implementation.is_pandas():
        matrix = read_sparse_frame(native)
        if matrix is not None:
            return matrix
    columns = [
        read_series(_make_label(f, names), series) for f, series in enumerate(frame.iter_columns())
    ]
    return ColumnFrame(native, columns, len(frame))


def collect_lazy(X: Any) -> Any:
    """Collect a lazy frame; return anything else unchanged."""
    return X.collect() if type(X).__name__ == "LazyFrame" and hasattr(X, "collect") else X


def read_array(values: Any) -> Any:
    """Return a series or frame as an array, with NaN or None for missing values.

    What is in the memory of a GPU is copied to that of the host. Anything else is returned
    unchanged.
    """
    if values is None or isinstance(values, (np.ndarray, list, tuple, str, numbers.Number)):
        return values
    values = fetch(values)
    frame = open_frame(values)
    if frame is None:
        return series_to_array(values)
    columns = [series_to_array(series.to_native()) for series in frame.iter_columns()]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def open_frame(X: Any) -> Any:
    """Return X as a frame of narwhals; None if it is not a frame."""
    import narwhals as nw

    refuse_repeated_names(X)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def refuse_repeated_names(X: Any) -> None:
    """Raise DataError if two columns of a frame have the same name."""
    # Only frames of pandas and Arrow can have repeated names.
    names = getattr(X, "columns" if hasattr(X, "iloc") else "column_names", ())
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = ", ".join(map(repr, repeated[:5]))
        raise DataError(
            f"X has several columns of the name {listed}; names must be unique: rename them, or "
            "drop all but one"
        )


def _refuse_one_dimension(X: Any) -> None:
    """Raise DataError for a series or a dict, and say how to make a frame of it."""
    if isinstance(X, Mapping) and not is_sparse(X):  # SciPy's DOK format is a dict
        raise DataError(
            "Expected a frame or a 2D array, got a dict; pass pandas.DataFrame(X), or "
            "pandas.DataFrame([X]) if it is one row"
        )
    import narwhals as nw

    series = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        own = type(X).__module__.partition(".")[0]
        row = "X.to_frame().T" if own == "pandas" else "a frame"
        column = "X.to_frame()" if own in ("pandas", "polars") else "a table"
        raise DataError(
            f"Expected a 2-dimensional container (2D array), got a {type(X).__name__} of {own}; "
            f"pass {row} if it is one row, or {column} if it is one column"
        )


def series_to_array(values: Any) -> Any:
    """Return a series as an array, strings as objects; anything else unchanged."""
    import narwhals as nw

    if hasattr(getattr(values, "type", None), "index_type"):
        values = values.cast(values.type.value_type)  # Arrow fills missing values otherwise
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return values
    array = series.to_numpy()
    return array.astype(object) if array.dtype.kind in "UT" else array


def _make_label(feature: int, names: Sequence[Any] | None) -> str:
    """Return the name of a column for messages."""
    return f"column {feature}" if names is None else f"column {names[feature]!r}"


def read_list(X: Any) -> Any:
    """Return a list of rows as an array; mixed numbers and strings stay objects."""
    if X and all(isinstance(row, Mapping) for row in X):
        raise DataError(
            f"Expected a frame or a 2D array, got a {type(X).__name__} of dicts; pass "
            "pandas.DataFrame(X) or polars.DataFrame(X)"
        )
    try:
        array = np.asarray(X)
        if array.dtype.kind == "U":
            array = np.asarray(X, dtype=object)
    except (TypeError, ValueError):
        return X  # ragged, for example: scikit-learn explains the error
    return array


def is_one_block(frame: Any) -> bool:
    """Whether the numbers of a pandas frame are one block in memory."""
    types = set(frame.dtypes)
    if frame.shape[0] == 0 or len(types) != 1:
        return False
    (dtype,) = types
    row = frame.iloc[:1]
    return (
        isinstance(dtype, np.dtype)
        and dtype.kind in "buif"
        and np.shares_memory(row.to_numpy(), row.iloc[:, 0].to_numpy())
    )
