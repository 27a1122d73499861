"""RowReader: from the values of one row, as users have them, to numbers."""

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from sumwise.data.categories.dictionary import Dictionary
from sumwise.data.frames.columns import CATEGORY, CONVERT_OBJECT, NUMBER, is_missing
from sumwise.data.frames.factorize import to_objects
from sumwise.data.frames.reading import ColumnFrame
from sumwise.data.matrix import EXACT_INTEGER
from sumwise.errors import DataError
from sumwise.export.portable import Input

_NUMBERS: tuple[Any, ...] = (int, float, np.integer, np.floating)
# What may go wrong where a row holds something unusual.
UNUSUAL = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)


class _Codes(dict[Any, float]):
    """The codes of a feature's categories; of others, what the model says."""

    def __init__(self, dictionary: Dictionary, unknown: float | None) -> None:
        values = dictionary.values.tolist()
        self._holds_strings = dictionary.holds == "strings"
        self._unknown = unknown
        # Python compares large integers and floats exactly, the model does not.
        super().__init__(
            (value, float(code))
            for code, value in enumerate(values)
            if self._holds_strings or abs(value) <= EXACT_INTEGER
        )

    def __missing__(self, value: Any) -> float:
        if is_missing(value):
            return np.nan
        if self._holds_strings:
            is_plain = isinstance(value, str)
        else:
            is_plain = isinstance(value, _NUMBERS) and abs(value) <= EXACT_INTEGER
        if not is_plain or self._unknown is None:
            raise KeyError(value)
        return self._unknown


class RowReader:
    """Reads rows as the numbers that a program begins with.

    Plain values are read quickly. Anything else is read as ``predict`` reads it, which decides what
    it is and explains what is wrong with it.

    Parameters
    ----------
    inputs : sequence of Input
    unknown_category : {"missing", "error"}
    unknown_code : float
        Code of categories that are not in the dictionaries.
    ignores_extra : bool
        Whether a dict may have keys that are not features.
    fills_absent : bool
        Whether features that are not in a dict are missing values.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        unknown_category: str,
        unknown_code: float,
        ignores_extra: bool,
        fills_absent: bool,
    ) -> None:
        self._inputs = tuple(inputs)
        self._unknown_category, self._unknown_code = unknown_category, unknown_code
        self._ignores_extra, self._fills_absent = ignores_extra, fills_absent
        self.names = [own.name for own in inputs]
        self._dictionaries = {
            k: _make_dictionary(own.categories)
            for k, own in enumerate(inputs)
            if own.kind == CATEGORY
        }
        unknown = None if unknown_category == "error" else unknown_code
        self._converters: list[tuple[int, Callable[[Any], Any]]] = [
            (k, _Codes(self._dictionaries[k], unknown).__getitem__)
            if own.kind == CATEGORY
            else (k, partial(_convert_time, CONVERT_OBJECT[own.kind]))
            for k, own in enumerate(inputs)
            if own.kind != NUMBER
        ]
        self._take: Callable[[Any], Any] = itemgetter(*self.names)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowReader, (
            self._inputs,
            self._unknown_category,
            self._unknown_code,
            self._ignores_extra,
            self._fills_absent,
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_numeric(self) -> bool:
        """Whether all features are plain numbers, so that plain values need no conversion."""
        return not self._converters

    # --- the values of a row ---

    def list_values(self, row: Any) -> Sequence[Any]:
        """Return the values of any row in the order of the features."""
        if isinstance(row, dict) or hasattr(row, "keys"):
            return self._list_items(row)
        if isinstance(row, np.ndarray) and row.ndim != 1:
            raise DataError(
                f"a row has one dimension, and this array has {row.ndim}; pass one of its rows, "
                "or use predict for many"
            )
        if isinstance(row, (str, bytes, set, frozenset)) or not isinstance(row, Iterable):
            raise DataError(
                "a row must be a list, a tuple, a dict by feature name or a 1-D array; it is a "
                f"{type(row).__name__}"
            )
        return row.tolist() if isinstance(row, np.ndarray) else list(row)

    def _list_items(self, row: Any) -> Sequence[Any]:
        """Return the values of a dict, or of anything with keys."""
        items = row if isinstance(row, dict) else _to_dict(row)
        try:
            found = self._take(items)
            if self._ignores_extra or len(items) == len(self.names):
                return found if len(self.names) > 1 else (found,)
        except KeyError:
            pass
        absent = [name for name in self.names if name not in items]
        if len(items) > len(self.names) - len(absent) and not self._ignores_extra:
            known = set(self.names)
            extra = [key for key in items if key not in known]
            raise DataError(
                f"the row has keys that are not features of the model: {_list_names(extra)}"
            )
        if absent and not self._fills_absent:
            raise DataError(
                f"the row lacks features: {_list_names(absent)}; compile(absent='missing') takes "
                "them as missing values"
            )
        return [items.get(name) for name in self.names]

    # --- their numbers ---

    def convert(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return plain values as numbers: codes of categories, and dates and durations in seconds.

        Numbers are returned as they are. May raise what is in ``UNUSUAL`` if a value is not plain.
        """
        numbers = list(values)
        for feature, convert in self._converters:
            numbers[feature] = convert(numbers[feature])
        return numbers

    def convert_gaps(self, values: Sequence[Any]) -> Sequence[Any]:
        """Do the same if some of the values are None or another object for missing values."""
        numbers = self.convert(values)
        return [x if type(x) is float else (np.nan if is_missing(x) else x) for x in numbers]

    def convert_any(self, values: Sequence[Any]) -> list[float]:
        """Return any values as numbers; raise DataError if they do not suit the features."""
        nested = next((type(v) for v in values if isinstance(v, (list, tuple, dict))), None)
        if nested is not None:
            raise DataError(
                f"a row is a flat list of values, and one of them is a {nested.__name__}; pass "
                "one row at a time, or use predict for many"
            )
        if len(values) != len(self.names):
            raise DataError(
                f"the row has {len(values)} values, and the model has {len(self.names)} features"
            )
        # Import here: most rows do not need it.
        from sumwise.estimators.input.features import FeatureSchema

        kinds = [own.kind for own in self._inputs]
        schema = FeatureSchema.of_kinds(kinds, self._dictionaries)
        table = ColumnFrame.from_array(to_objects(list(values)).reshape(1, -1), self.names)
        numbers = schema.convert(table, self._unknown_category, self._unknown_code)
        return np.asarray(numbers)[0].tolist()


def _convert_time(convert: Callable[[Any], float], value: Any) -> float:
    return np.nan if value is None else convert(value)


def _make_dictionary(categories: Sequence[Any]) -> Dictionary:
    if not categories or isinstance(categories[0], str):
        return Dictionary(to_objects(list(categories)))
    return Dictionary(np.array(categories))


def _to_dict(row: Any) -> dict[Any, Any]:
    """Return the items of a series, or of anything else with keys."""
    if hasattr(row, "to_dict"):
        return row.to_dict()
    return {key: row[key] for key in row.keys()}  # noqa: SIM118 - others iterate over values


def _list_names(names: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
