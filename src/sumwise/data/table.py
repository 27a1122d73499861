"""Any frame as columns: what each holds, its numbers by chunks of rows, and its distinct values.

Frames are read through narwhals, which is imported only when something that is neither an array nor
a list comes in. Nothing is converted until it is asked for.
"""

import datetime
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sumwise.data.matrix import EXACT_INTEGER, rounds_integers
from sumwise.data.sparse import has_sparse_type, is_sparse, read_sparse_frame
from sumwise.errors import DataError
from sumwise.lazy import lazy

# What a column can hold. Dates are numbers, too: seconds since 1970-01-01 (UTC).
NUMBER, CATEGORY, DATE, DURATION = "number", "category", "date", "duration"
KINDS = (NUMBER, CATEGORY, DATE, DURATION)

_KIND_OF_ARRAY = {**dict.fromkeys("buif", NUMBER), "U": CATEGORY, "M": DATE, "m": DURATION}
_SECOND = np.timedelta64(1, "s")
_EPOCH = np.datetime64(0, "s")
# By name: pandas may not be installed.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def is_missing(value: Any) -> bool:
    """Whether an object stands for a missing value: None, NaN, NA or NaT."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


class Column(ABC):
    """One column of a table.

    Attributes
    ----------
    label : str
        How messages call the column.
    kind : str
        What it holds: one of ``KINDS``.
    is_single : bool
        Whether its numbers are of single precision or less.
    """

    label: str
    kind: str
    is_single: bool = False

    @abstractmethod
    def read(self, first: int, last: int) -> np.ndarray:
        """Return the numbers of some rows; NaN where they are missing."""

    @lazy
    def factorized(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each row's value (-1: missing), and the values.

        The values may contain some that no row has, and missing ones.
        """
        return self._factorize()

    @abstractmethod
    def _factorize(self) -> tuple[np.ndarray, np.ndarray]: ...

    def rounds_integers(self) -> bool:
        """Whether the column has integers that float64 cannot hold exactly."""
        return False


class ArrayColumn(Column):
    """A column of a NumPy array, of any type but object."""

    def __init__(self, label: str, values: np.ndarray) -> None:
        if values.dtype.kind not in _KIND_OF_ARRAY:
            raise _refuse(label, str(values.dtype))
        self.label = label
        self.kind = _KIND_OF_ARRAY[values.dtype.kind]
        self.is_single = values.dtype in (np.float16, np.float32)
        self._values = values

    def read(self, first: int, last: int) -> np.ndarray:
        return _to_numbers(self._values[first:last])

    def _factorize(self) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == CATEGORY:
            return _factorize_objects(self._values.tolist())
        distinct, codes = np.unique(self._values, return_inverse=True)
        return codes, distinct

    def rounds_integers(self) -> bool:
        return rounds_integers(self._values)


class ObjectColumn(Column):
    """A column of Python objects: all strings, numbers, dates or durations, or missing.

    ``series`` is the pandas series it comes from, if any, which factorizes faster.
    """

    def __init__(self, label: str, values: np.ndarray, series: Any = None) -> None:
        self.label = label
        self._values = values
        self._series = series
        types = set(map(type, values))
        self._missing_types = {t for t in types if t.__name__ in _MISSING_TYPES}
        self.kind = self._find_kind(types - self._missing_types)

    def _find_kind(self, types: set[type]) -> str:
        """Return what all values are; NaN goes with everything."""
        if not types:
            return NUMBER
        for kind in _KINDS_OF_OBJECTS:
            others = {t for t in types if _find_kind_of_type(t) != kind}
            if not others:
                return kind
            if len(others) < len(types) and all(issubclass(t, float) for t in others):
                floats = (v for v in self._values if isinstance(v, float))
                if all(v != v for v in floats):
                    self._missing_types = self._missing_types | others
                    return kind
        names = sorted(t.__name__ for t in types)
        if len(names) == 1 or any(t is complex or issubclass(t, np.complexfloating) for t in types):
            raise _refuse(self.label, " and ".join(names))
        raise DataError(
            f"{self.label} mixes values of types {', '.join(names)} ({self._show_types(types)}); "
            f"{_advise_mixed({_find_kind_of_type(t) for t in types})}"
        )

    def _show_types(self, types: set[type]) -> str:
        """Show where the first value of each type is, up to three."""
        row_of = {type(value): row for row, value in reversed(list(enumerate(self._values)))}
        rows = sorted(row_of[t] for t in types)[:3]
        return ", ".join(f"{_quote(self._values[row])} in row {row}" for row in rows)

    def read(self, first: int, last: int) -> np.ndarray:
        part = self._values[first:last]
        numbers_of_part = np.full(part.size, np.nan)
        try:
            if self._missing_types or self.kind != NUMBER:
                known = [type(v) not in self._missing_types for v in part]
                convert = _CONVERT_OBJECT[self.kind]
                numbers_of_part[known] = [convert(v) for v in part[known]]
            else:
                numbers_of_part[:] = part
        except OverflowError:
            raise DataError(
                f"{self.label} has integers beyond the range of float64; scale them, or convert "
                "them to strings"
            ) from None
        return numbers_of_part

    def _factorize(self) -> tuple[np.ndarray, np.ndarray]:
        if self._series is not None:
            return _factorize_pandas(self._series)
        values = self._values.tolist()
        if self._missing_types:
            values = [None if type(v) in self._missing_types else v for v in values]
        return _factorize_objects(values)


class SeriesColumn(Column):
    """A column of a frame, as a narwhals series."""

    def __init__(self, label: str, series: Any) -> None:
        import narwhals as nw

        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            self.kind = NUMBER
        elif dtype in (nw.String, nw.Categorical, nw.Enum):
            self.kind = CATEGORY
        elif dtype in (nw.Date, nw.Datetime):
            self.kind = DATE
        elif dtype == nw.Duration:
            self.kind = DURATION
        else:
            raise _refuse(label, _describe_type(series))
        self.label = label
        self.is_single = dtype.is_float() and dtype != nw.Float64
        self._series = series
        # Types that NumPy does not have, or not with gaps.
        self._is_cast = dtype in (nw.Boolean, nw.Decimal, nw.Int128, nw.UInt128)
        self._is_wide = dtype in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)

    def read(self, first: int, last: int) -> np.ndarray:
        import narwhals as nw

        part = self._series[first:last]
        if self._is_cast:
            part = part.cast(nw.Float64)
        elif self._series.dtype == nw.Date:
            part = part.cast(nw.Datetime("ms"))
        return _to_numbers(part.to_numpy())

    def _factorize(self) -> tuple[np.ndarray, np.ndarray]:
        implementation, native = self._series.implementation, self._series.to_native()
        if implementation.is_polars():
            return _factorize_polars(self._series)
        if implementation.is_pyarrow():
            return _factorize_arrow(native)
        return _factorize_pandas(native)

    def rounds_integers(self) -> bool:
        if not self._is_wide or len(self._series) == self._series.null_count():
            return False
        return bool(self._series.max() > EXACT_INTEGER or self._series.min() < -EXACT_INTEGER)


class SparseColumn(Column):
    """A sparse column of a pandas frame; only the rows that are read become dense."""

    kind = NUMBER

    def __init__(self, label: str, array: Any) -> None:
        self.label = label
        self.is_single = array.dtype.subtype in (np.float16, np.float32)
        self._array = array

    def read(self, first: int, last: int) -> np.ndarray:
        return np.asarray(self._array[first:last])

    def _factorize(self) -> tuple[np.ndarray, np.ndarray]:
        distinct, codes = np.unique(np.asarray(self._array), return_inverse=True)
        return codes, distinct

    def rounds_integers(self) -> bool:
        return rounds_integers(self._array.sp_values)


@dataclass(frozen=True)
class Table:
    """Columns, and the frame or array they belong to."""

    source: Any
    columns: Sequence[Column]
    n_rows: int

    @classmethod
    def from_array(cls, X: np.ndarray, names: Sequence[Any] | None = None) -> "Table":
        """The columns of a matrix of any type."""
        if X.dtype.kind == "T":  # NumPy's own strings, which may be missing
            X = X.astype(object)
        kind = ObjectColumn if X.dtype.kind == "O" else ArrayColumn
        labels = [_make_label(f, names) for f in range(X.shape[1])]
        return cls(X, [kind(label, X[:, f]) for f, label in enumerate(labels)], X.shape[0])


def read_table(X: Any, keep: Sequence[str] | None = None, sparse: bool = False) -> Any:
    """Return a Table where X has to be read by columns; otherwise a matrix of numbers, or X.

    Tables are frames and matrices of strings, dates or objects. A frame of pandas that is one block
    of numbers is returned as it is: NumPy sees it as a matrix without copying.

    Parameters
    ----------
    X : any
        What a user passes.
    keep : sequence of str, optional
        Names of the columns of a frame that are read; None for all.
    sparse : bool
        Whether a frame of numbers with sparse columns is to become a :class:`SparseFrame`.
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
        return Table.from_array(X)
    frame = _open_frame(X)
    if frame is None:
        _refuse_one_dimension(X)
        return X
    names = frame.columns
    if keep is not None:
        known = set(keep)
        frame = frame.select([name for name in names if name in known])
        names = frame.columns
    native = frame.to_native()
    if frame.implementation.is_pandas_like() and _is_one_block(native):
        return native
    if sparse and frame.implementation.is_pandas():
        matrix = read_sparse_frame(native)
        if matrix is not None:
            return matrix
    columns = [
        _read_series(_make_label(f, names), series) for f, series in enumerate(frame.iter_columns())
    ]
    return Table(native, columns, len(frame))


def collect_lazy(X: Any) -> Any:
    """Return a lazy frame as an eager one, anything else as it is."""
    return X.collect() if type(X).__name__ == "LazyFrame" and hasattr(X, "collect") else X


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array, frame, series, sparse matrix or list, of the same kind."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows]
    if hasattr(X, "tocsr"):
        return _keep_format(X, X.tocsr()[rows])
    import narwhals as nw

    X = collect_lazy(X)
    refuse_repeated_names(X)
    values = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    return values[rows].to_native() if hasattr(values, "to_native") else np.asarray(X)[rows]


def _keep_format(X: Any, taken: Any) -> Any:
    """Return what was taken of a sparse matrix, by column as X is, and otherwise by row."""
    return taken.tocsc() if getattr(X, "format", "csr") == "csc" else taken.tocsr()


def take_features(X: Any, features: np.ndarray | None) -> Any:
    """Return some features of an array, frame, sparse matrix or list of rows; None for all.

    A frame stays one of its kind; with a feature taken twice, for which a frame has no second name,
    it becomes an array.
    """
    if features is None:
        return X
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    if hasattr(X, "tocsc"):
        return _keep_format(X, X.tocsc()[:, features])
    frame = None if isinstance(X, np.ndarray) else _open_frame(X)
    if frame is None:
        return np.asarray(X)[:, features]
    if np.unique(features).size < features.size:
        return read_array(X)[:, features]
    return frame[:, features.tolist()].to_native()


def shuffle_feature(X: Any, feature: int, order: np.ndarray) -> Any:
    """Return X with the values of one feature in another order of the rows."""
    if hasattr(X, "tocsc"):
        moved = np.empty(len(order), dtype=np.int64)
        moved[order] = np.arange(len(order))
        shuffled = X.tocsc(copy=True)
        own = slice(shuffled.indptr[feature], shuffled.indptr[feature + 1])
        shuffled.indices[own] = moved[shuffled.indices[own]]
        return shuffled.tocsr()  # which sorts
    frame = None if isinstance(X, (np.ndarray, list, tuple)) else _open_frame(X)
    if frame is None:
        shuffled = np.array(X)
        shuffled[:, feature] = shuffled[order, feature]
        return shuffled
    series = frame[:, feature]
    return frame.with_columns(series.scatter(np.arange(len(order)), series[order])).to_native()


def join_columns(values: np.ndarray, X: Any, names: Sequence[str]) -> Any:
    """Return columns of numbers and, after them, the columns of X.

    The result is sparse if X is; a frame of the kind of X if X is one with columns that are not
    numbers; and otherwise an array.
    """
    if hasattr(X, "tocsr"):
        from scipy.sparse import hstack  # type: ignore[import-untyped]

        return hstack([values, X], format="csr")
    table = read_table(X)
    if not isinstance(table, Table):
        return np.hstack([values, table])
    if all(column.kind == NUMBER for column in table.columns):
        numbers = [column.read(0, table.n_rows) for column in table.columns]
        return np.column_stack([values, *numbers])
    frame = _open_frame(X)
    if frame is None:
        return np.hstack([values.astype(object), np.asarray(X, dtype=object)])
    import narwhals as nw

    series = [
        nw.new_series(name, np.ascontiguousarray(column), backend=frame.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    return frame.with_columns(*series).select(*names, *frame.columns).to_native()


def read_array(values: Any) -> Any:
    """Return a series or frame as an array, NaN or None for missing; other things as they are."""
    if values is None or isinstance(values, (np.ndarray, list, tuple, str, numbers.Number)):
        return values
    frame = _open_frame(values)
    if frame is None:
        return _series_to_array(values)
    columns = [_series_to_array(series.to_native()) for series in frame.iter_columns()]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _open_frame(X: Any) -> Any:
    """Return X as a frame of narwhals, None if it is no frame."""
    import narwhals as nw

    refuse_repeated_names(X)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def refuse_repeated_names(X: Any) -> None:
    """Raise DataError for a frame of pandas or Arrow with two columns of one name."""
    # Frames of polars cannot have them.
    names = getattr(X, "columns" if hasattr(X, "iloc") else "column_names", ())
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = ", ".join(map(repr, repeated[:5]))
        raise DataError(
            f"X has several columns of the name {listed}; names must be unique: rename them, or "
            "drop all but one"
        )


def _refuse_one_dimension(X: Any) -> None:
    """Raise DataError for one column or row, and for dicts; say how to make a frame of them."""
    if isinstance(X, Mapping) and not is_sparse(X):  # one of SciPy's formats is a dict
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


def _series_to_array(values: Any) -> Any:
    import narwhals as nw

    if hasattr(getattr(values, "type", None), "index_type"):
        values = values.cast(values.type.value_type)  # Arrow would fill gaps of dictionaries
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return values
    array = series.to_numpy()
    return array.astype(object) if array.dtype.kind in "UT" else array


def _make_label(feature: int, names: Sequence[Any] | None) -> str:
    """How messages call a column."""
    return f"column {feature}" if names is None else f"column {names[feature]!r}"


def read_list(X: Any) -> Any:
    """Rows as lists: numbers become an array; so do objects, without making strings of numbers."""
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
        return X  # ragged, say; scikit-learn tells what is wrong
    return array


def _read_series(label: str, series: Any) -> Column:
    """Make the column that reads a series of any frame."""
    import narwhals as nw

    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):  # pandas and its kin
        if native.dtype.kind == "O":
            return ObjectColumn(label, native.to_numpy(), native)
        return ArrayColumn(label, native.to_numpy())
    if has_sparse_type(native) and native.dtype.kind in "buif":
        return SparseColumn(label, native.array)
    if series.dtype == nw.Object:
        return ObjectColumn(label, series.to_numpy())
    if series.dtype == nw.Unknown:
        # Types that narwhals has no name for: columns of nulls, Arrow's date64, sparse ones.
        if series.null_count() == len(series):
            return ArrayColumn(label, np.broadcast_to(np.nan, len(series)))
        values = series.to_numpy()
        if values.dtype.kind not in "buifMm":
            raise _refuse(label, _describe_type(series))
        return ArrayColumn(label, values)
    return SeriesColumn(label, series)


def _is_one_block(frame: Any) -> bool:
    """Whether a frame of pandas is a matrix of numbers in memory."""
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


# Numbers


def _to_numbers(values: np.ndarray) -> np.ndarray:
    """Dates and durations as seconds; numbers as they are."""
    if values.dtype.kind == "M":
        values = values - _EPOCH
    return values / _SECOND if values.dtype.kind == "m" else values


def _date_to_seconds(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float((value - _EPOCH) / _SECOND)
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return float(value.timestamp())


def _duration_to_seconds(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return float(value / _SECOND)
    return float(value.total_seconds())


# Durations come before numbers: NumPy's are integers, too.
_KINDS_OF_OBJECTS: dict[str, tuple[type, ...]] = {
    DURATION: (datetime.timedelta, np.timedelta64),
    NUMBER: (numbers.Real, Decimal, np.bool_),
    CATEGORY: (str,),
    DATE: (datetime.date, np.datetime64),
}
_CONVERT_OBJECT: dict[str, Callable[[Any], float]] = {
    NUMBER: float,
    DATE: _date_to_seconds,
    DURATION: _duration_to_seconds,
}


def _find_kind_of_type(value_type: type) -> str | None:
    kinds = (kind for kind, bases in _KINDS_OF_OBJECTS.items() if issubclass(value_type, bases))
    return next(kinds, None)


# Distinct values


def _factorize_objects(values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Number hashable values in the order they come up; None and NaN are among them."""
    numbering = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(numbering.__getitem__, values), dtype=np.int64, count=len(values))
    return codes, _to_objects(list(numbering))


def _factorize_pandas(series: Any) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(series, "cat") and series.dtype == "category":
        codes = series.cat.codes.to_numpy()
        codes, categories = _drop_unused(codes, series.cat.categories)
        return codes, categories.to_numpy()
    codes, distinct = series.factorize()
    return np.asarray(codes), np.asarray(distinct)


def _factorize_polars(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """By the numbers of polars' categories, which are not those of the column alone."""
    import narwhals as nw

    if series.dtype == nw.String:
        series = series.cast(nw.Categorical)
    if series.dtype not in (nw.Categorical, nw.Enum):
        known = np.flatnonzero(~series.is_null().to_numpy())
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Int8)
        elif series.dtype in (nw.Int128, nw.UInt128):
            series = series.cast(nw.Int64)
        elif series.dtype == nw.Decimal:
            series = series.cast(nw.Float64)
        distinct, found = np.unique(series.drop_nulls().to_numpy(), return_inverse=True)
        codes = np.full(len(series), -1)
        codes[known] = found
        return codes, distinct
    physical = nw.from_native(series.to_native().to_physical(), series_only=True)
    numbers_of_rows = physical.cast(nw.Int64).fill_null(-1).to_numpy()
    is_used = np.zeros(numbers_of_rows.max(initial=-1) + 2, dtype=np.bool_)
    is_used[numbers_of_rows] = True
    is_used[-1] = False  # where -1 went
    codes = np.where(is_used, np.cumsum(is_used) - 1, -1)[numbers_of_rows]
    example = np.empty(np.count_nonzero(is_used) + 1, dtype=np.int64)
    example[codes] = np.arange(codes.size)
    distinct = series[example[:-1]].cast(nw.String).to_numpy()
    return codes, distinct.astype(object)


def _factorize_arrow(values: Any) -> tuple[np.ndarray, np.ndarray]:
    if values.num_chunks == 0:
        return np.empty(0, dtype=np.int64), np.empty(0)
    if not hasattr(values.type, "value_type"):
        values = values.dictionary_encode()
    encoded = values.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    codes, dictionary = _drop_unused(codes, encoded.dictionary)
    return codes, dictionary.to_numpy(zero_copy_only=False)


def _drop_unused(codes: np.ndarray, distinct: Any) -> tuple[np.ndarray, Any]:
    """A few rows of a large dictionary: keep only the values that they have."""
    if codes.size >= len(distinct):
        return codes, distinct
    used, codes = np.unique(codes, return_inverse=True)
    n_missing = int(used.size > 0 and used[0] == -1)
    return codes - n_missing, distinct.take(used[n_missing:])


def _to_objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Errors


def _describe_type(series: Any) -> str:
    native = series.to_native()
    return str(getattr(native, "dtype", None) or getattr(native, "type", series.dtype))


def _advise_mixed(kinds: set[str | None]) -> str:
    """Say what to do with a column of several kinds."""
    if kinds & {DATE, DURATION}:
        return "make them all dates or all numbers, for example by date.timestamp()"
    return "make them all strings or all numbers"


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _refuse(label: str, type_name: str) -> DataError:
    if "complex" in type_name:
        return DataError(f"Complex data not supported: {label} has type {type_name}")
    return DataError(
        f"{label} has type {type_name}, which is neither numbers, strings, dates nor durations; "
        "convert or drop it"
    )
