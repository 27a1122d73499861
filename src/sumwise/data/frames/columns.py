"""One column of a frame or matrix: what it holds, its numbers, and its distinct values.

Nothing is converted before it is asked for. Series are read through narwhals.
"""

import datetime
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from sumwise.data.frames.factorize import (
    factorize_arrow,
    factorize_objects,
    factorize_pandas,
    factorize_polars,
)
from sumwise.data.matrix import EXACT_INTEGER, rounds_integers
from sumwise.data.sparse.frame import has_sparse_type
from sumwise.errors import DataError
from sumwise.lazy import lazy

# What a column can hold. Dates are read as numbers: seconds since 1970-01-01 (UTC).
NUMBER, CATEGORY, DATE, DURATION = "number", "category", "date", "duration"
KINDS = (NUMBER, CATEGORY, DATE, DURATION)

_KIND_OF_ARRAY = {**dict.fromkeys("buif", NUMBER), "U": CATEGORY, "M": DATE, "m": DURATION}
_SECOND = np.timedelta64(1, "s")
_EPOCH = np.datetime64(0, "s")
# Compared by name: pandas may not be installed.
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}


def is_missing(value: Any) -> bool:
    """Whether an object is a missing value: None, NaN, NA or NaT."""
    return type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and value != value)


class Column(ABC):
    """One column of a frame or matrix.

    Attributes
    ----------
    label : str
        The name of the column in messages.
    kind : str
        What the column holds, one of ``KINDS``.
    is_single : bool
        Whether its numbers have single precision or less.
    """

    label: str
    kind: str
    is_single: bool = False

    @abstractmethod
    def read(self, first: int, last: int) -> np.ndarray:
        """Return the numbers of rows ``first`` to ``last``, NaN for missing values."""

    @lazy
    def factorized(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes of all rows, and the distinct values: see :mod:`sumwise.data.frames.factorize`."""
        return self._factorize()

    @abstractmethod
    def _factorize(self) -> tuple[np.ndarray, np.ndarray]: ...

    def rounds_integers(self) -> bool:
        """Whether the column has integers that float64 cannot hold exactly."""
        return False


class ArrayColumn(Column):
    """A column of a NumPy array of any dtype except object."""

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
            return factorize_objects(self._values.tolist())
        distinct, codes = np.unique(self._values, return_inverse=True)
        return codes, distinct

    def rounds_integers(self) -> bool:
        return rounds_integers(self._values)


class ObjectColumn(Column):
    """A column of Python objects: strings, numbers, dates or durations, not mixed.

    If the column comes from a pandas series, ``series`` is used to factorize it faster.
    """

    def __init__(self, label: str, values: np.ndarray, series: Any = None) -> None:
        self.label = label
        self._values = values
        self._series = series
        types = set(map(type, values))
        self._missing_types = {t for t in types if t.__name__ in _MISSING_TYPES}
        self.kind = self._find_kind(types - self._missing_types)

    def _find_kind(self, types: set[type]) -> str:
        """Return the kind that all values have; NaN fits every kind."""
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
        """Show the first value of each type and its row, for up to three types."""
        row_of = {type(value): row for row, value in reversed(list(enumerate(self._values)))}
        rows = sorted(row_of[t] for t in types)[:3]
        return ", ".join(f"{_quote(self._values[row])} in row {row}" for row in rows)

    def read(self, first: int, last: int) -> np.ndarray:
        part = self._values[first:last]
        numbers_of_part = np.full(part.size, np.nan)
        try:
            if self._missing_types or self.kind != NUMBER:
                known = [type(v) not in self._missing_types for v in part]
                convert = CONVERT_OBJECT[self.kind]
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
            return factorize_pandas(self._series)
        values = self._values.tolist()
        if self._missing_types:
            values = [None if type(v) in self._missing_types else v for v in values]
        return factorize_objects(values)


class SeriesColumn(Column):
    """A narwhals series."""

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
        # NumPy lacks these types, or cannot hold missing values of them.
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
            return factorize_polars(self._series)
        if implementation.is_pyarrow():
            return factorize_arrow(native)
        return factorize_pandas(native)

    def rounds_integers(self) -> bool:
        if not self._is_wide or len(self._series) == self._series.null_count():
            return False
        return bool(self._series.max() > EXACT_INTEGER or self._series.min() < -EXACT_INTEGER)


class SparseColumn(Column):
    """A sparse column of a pandas frame; only rows that are read become dense."""

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


def read_series(label: str, series: Any) -> Column:
    """Return the column that reads a series of any frame."""
    import narwhals as nw

    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):  # pandas-like
        if native.dtype.kind == "O":
            return ObjectColumn(label, native.to_numpy(), native)
        return ArrayColumn(label, native.to_numpy())
    if has_sparse_type(native) and native.dtype.kind in "buif":
        return SparseColumn(label, native.array)
    if series.dtype == nw.Object:
        return ObjectColumn(label, series.to_numpy())
    if series.dtype == nw.Unknown:
        # Types unknown to narwhals: columns of nulls, Arrow's date64, sparse columns.
        if series.null_count() == len(series):
            return ArrayColumn(label, np.broadcast_to(np.nan, len(series)))
        values = series.to_numpy()
        if values.dtype.kind not in "buifMm":
            raise _refuse(label, _describe_type(series))
        return ArrayColumn(label, values)
    return SeriesColumn(label, series)


def _to_numbers(values: np.ndarray) -> np.ndarray:
    """Convert dates and durations to seconds; leave numbers unchanged."""
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


# Durations come first: NumPy's are also integers.
_KINDS_OF_OBJECTS: dict[str, tuple[type, ...]] = {
    DURATION: (datetime.timedelta, np.timedelta64),
    NUMBER: (numbers.Real, Decimal, np.bool_),
    CATEGORY: (str,),
    DATE: (datetime.date, np.datetime64),
}
# From an object of a kind to a number.
CONVERT_OBJECT: dict[str, Callable[[Any], float]] = {
    NUMBER: float,
    DATE: _date_to_seconds,
    DURATION: _duration_to_seconds,
}


def _find_kind_of_type(value_type: type) -> str | None:
    kinds = (kind for kind, bases in _KINDS_OF_OBJECTS.items() if issubclass(value_type, bases))
    return next(kinds, None)


def _describe_type(series: Any) -> str:
    native = series.to_native()
    return str(getattr(native, "dtype", None) or getattr(native, "type", series.dtype))


def _advise_mixed(kinds: set[str | None]) -> str:
    """Return advice for a column of several kinds."""
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
