"""Dictionaries of categories: the values of a column in training, and their codes."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np

from sumwise.data.frames.columns import DATE, DURATION, Column, is_missing
from sumwise.data.frames.factorize import to_objects
from sumwise.errors import DataError
from sumwise.lazy import lazy

_INT64_MAX = np.iinfo(np.int64).max
_INFINITIES = ("inf", "-inf")


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The distinct values of a column in training, ascending; the code of a value is its index.

    Numbers are compared by value: 1, 1.0 and True are the same category. So the dictionary does not
    depend on the type of the column or the library of the frame.

    Attributes
    ----------
    values : ndarray
        Strings (dtype object), int64, uint64 (if int64 is too small), or float64.
    """

    values: np.ndarray

    @classmethod
    def from_values(cls, values: np.ndarray) -> "Dictionary":
        """Sort values of one type; none may be missing."""
        if values.dtype == object or values.size == 0:
            return cls(to_objects(sorted(set(values.tolist()))))
        values = np.unique(values)
        if values.dtype == np.float64 and np.all(values == np.floor(values)):
            bound = float(1 << 63)
            if values[0] >= -bound and values[-1] < bound:
                values = values.astype(np.int64)
        return cls(values)

    @property
    def holds(self) -> str:
        """The type of the values, for messages."""
        return "strings" if self.values.dtype == object else "numbers"

    def __len__(self) -> int:
        return int(self.values.size)

    def find(self, values: np.ndarray) -> np.ndarray:
        """Return the codes of values, -1 for values that are not in the dictionary."""
        if len(self) == 0:
            return np.full(values.size, -1)
        if self.values.dtype == object:
            found = map(self._codes.get, values.tolist(), repeat(-1))
            return np.fromiter(found, dtype=np.int64, count=values.size)
        values, is_exact = _cast_exactly(values, self.values.dtype)
        places = np.minimum(np.searchsorted(self.values, values), len(self) - 1)
        return np.where(is_exact & (self.values[places] == values), places, -1)

    @lazy
    def _codes(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values.tolist())}

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}

    def to_json(self) -> dict[str, list[Any]]:
        """Return what :meth:`from_json` reads."""
        values = self.values.tolist()
        if self.values.dtype == np.float64:
            return {"floats": [v if np.isfinite(v) else str(v) for v in values]}
        return {"strings" if self.values.dtype == object else "integers": values}

    @classmethod
    def from_json(cls, data: dict[str, list[Any]]) -> "Dictionary":
        """Rebuild a dictionary from :meth:`to_json`; raise ValueError for any other data."""
        ((kind, items),) = data.items()
        if not isinstance(items, list) or not all(map(_ITEMS[kind], items)):
            raise ValueError(f"a dictionary of {kind} holds something else")
        if kind == "strings":
            values = to_objects(items)
        elif kind == "floats":
            values = np.array([float(item) for item in items], dtype=np.float64)
        else:
            values = _to_integers(to_objects(items))
        is_sorted = np.all(values[:-1] < values[1:])
        if not is_sorted or (kind == "floats" and np.isnan(values).any()):
            raise ValueError("a dictionary is not sorted")
        return cls(values)


_ITEMS: dict[str, Callable[[Any], bool]] = {
    "strings": lambda item: type(item) is str,
    "integers": lambda item: type(item) is int,
    "floats": lambda item: type(item) is float or item in _INFINITIES,
}


@dataclass(frozen=True)
class CategoryColumn:
    """A column as categories: its distinct values, and the index of each row's value.

    Attributes
    ----------
    label : str
        The name of the column in messages.
    rows : ndarray of int
        The index of each row's value, -1 if it is missing.
    values : ndarray
        Strings (dtype object), int64, uint64 or float64.
    is_known : ndarray of bool
        Marks the values that are not missing.
    """

    label: str
    rows: np.ndarray
    values: np.ndarray
    is_known: np.ndarray

    @classmethod
    def from_column(cls, column: Column) -> "CategoryColumn":
        """Factorize a column; raise DataError if its values cannot be categories."""
        if column.kind in (DATE, DURATION):
            raise DataError(
                f"{column.label} holds {column.kind}s, which cannot be category values; "
                "convert them to strings"
            )
        rows, distinct = column.factorized
        values, is_known = _unify(column.label, distinct)
        return cls(column.label, rows, values, is_known)

    @property
    def holds(self) -> str:
        """The type of the values, for messages."""
        if not self.is_known.any():
            return "nothing"
        return "strings" if self.values.dtype == object else "numbers"

    def learn(self) -> Dictionary:
        """Return the dictionary of the values that occur."""
        return Dictionary.from_values(self.values[self._is_used() & self.is_known])

    def encode(
        self, dictionary: Dictionary, refuse_unknown: bool, unknown_code: float = np.nan
    ) -> "EncodedColumn":
        """Return codes; unknown values get ``unknown_code``, or raise DataError."""
        if self.holds == "nothing":
            codes = np.full(self.values.size, -1)
        elif self.holds != dictionary.holds and len(dictionary):
            raise DataError(
                f"{self.label} held {dictionary.holds} as categories in fit, and holds "
                f"{self.holds} now"
            )
        else:
            codes = dictionary.find(self.values)
        if refuse_unknown:
            unknown = self.values[(codes < 0) & self.is_known & self._is_used()].tolist()
            if unknown:
                more = ", ..." if len(unknown) > 5 else ""
                listed = ", ".join(map(repr, sorted(unknown)[:5]))
                raise DataError(
                    f"{self.label} has categories that were not in the training data: "
                    f"{listed}{more}; unknown_category='missing' treats them as missing"
                )
        # Index -1 (missing) takes the last entry.
        known = np.where(codes >= 0, codes, unknown_code)
        lookup = np.append(np.where(self.is_known, known, np.nan), np.nan)
        return EncodedColumn(self.rows, lookup)

    def _is_used(self) -> np.ndarray:
        is_used = np.zeros(self.values.size + 1, dtype=np.bool_)
        is_used[self.rows] = True
        return is_used[:-1]


@dataclass(frozen=True)
class EncodedColumn:
    """A function of (first, last) that returns the codes of rows as floats, NaN for missing."""

    rows: np.ndarray
    lookup: np.ndarray

    def __call__(self, first: int, last: int) -> np.ndarray:
        return self.lookup[self.rows[first:last]]


def _unify(label: str, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values in one of the four types, and which of them are not missing."""
    kind = distinct.dtype.kind
    if kind == "f":
        return distinct.astype(np.float64), ~np.isnan(distinct)
    if kind in "biu":
        return _to_integers(distinct), np.ones(distinct.size, dtype=np.bool_)
    if kind not in "OU":
        raise _refuse(label, {distinct.dtype.name})
    items = distinct.tolist()
    if set(map(type, items)) == {str}:  # most columns: no need to look at every item
        return to_objects(items), np.ones(distinct.size, dtype=np.bool_)
    is_known = np.array([not is_missing(item) for item in items], dtype=np.bool_)
    types = {type(item) for item in distinct[is_known].tolist()}
    if all(issubclass(t, str) for t in types):
        return to_objects(items), is_known
    if not all(issubclass(t, (numbers.Real, Decimal, np.bool_)) for t in types):
        raise _refuse(label, {t.__name__ for t in types})
    items = [item if ok else 0 for item, ok in zip(items, is_known, strict=True)]
    if not all(issubclass(t, (numbers.Integral, np.bool_)) for t in types):
        return np.array([float(item) for item in items]), is_known
    try:
        return _to_integers(to_objects([int(item) for item in items])), is_known
    except OverflowError:
        raise DataError(f"{label} has integers beyond 64 bits; convert them to strings") from None


def _to_integers(values: np.ndarray) -> np.ndarray:
    """Convert to int64, or to uint64 if needed; raise OverflowError if neither is enough."""
    if values.max(initial=0) <= _INT64_MAX:
        return values.astype(np.int64)
    if values.min() < 0:
        raise OverflowError("negative and beyond int64")
    return values.astype(np.uint64)


def _cast_exactly(values: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers in another type, and which of them are exact."""
    if values.dtype == dtype:
        return values, np.ones(values.size, dtype=np.bool_)
    if dtype == np.float64:
        is_exact = np.abs(values.astype(np.float64)) <= 1 << 53
        return values.astype(np.float64), is_exact
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if values.dtype == np.float64:
        with np.errstate(invalid="ignore"):
            is_exact = (values == np.floor(values)) & (values >= low) & (values < float(high))
    elif dtype == np.uint64:
        is_exact = values >= 0
    else:
        is_exact = values <= np.uint64(high)
    return np.where(is_exact, values, 0).astype(dtype), is_exact


def _refuse(label: str, names: set[str]) -> DataError:
    return DataError(
        f"{label} has categories of type {', '.join(sorted(names))}; category values must be all "
        "strings or all numbers. Convert them to strings"
    )
