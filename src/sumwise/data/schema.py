"""FeatureSchema: what the features of a model hold, and how a table of them becomes numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.data.categories.dictionary import CategoryColumn, Dictionary
from sumwise.data.frames.columns import CATEGORY, DATE, DURATION, KINDS, NUMBER, Column
from sumwise.data.frames.reading import ColumnFrame
from sumwise.data.matrix import ColumnMatrix, Matrix
from sumwise.errors import DataError
from sumwise.lazy import lazy

# Most features that the summary of a schema lists.
_MOST_SHOWN = 8
PLURAL = {NUMBER: "numbers", CATEGORY: "categories", DATE: "dates", DURATION: "durations"}


@dataclass(frozen=True, eq=False)
class FeatureSchema:
    """The kind of every feature, and the dictionaries of those that are categories.

    A category is read as its code, its position in the sorted dictionary; NaN stands for missing
    values and, unless :meth:`convert` gets another code for them, for unknown ones.

    Attributes
    ----------
    n_features : int
        Number of features.
    special : dict of int to str
        "category", "date" or "duration" for the features that are not plain numbers, by index.
    dictionaries : dict of int to Dictionary
        The category values that the features of kind "category" had in training, by index.
    """

    n_features: int
    special: Mapping[int, str]
    dictionaries: Mapping[int, Dictionary]

    @classmethod
    def of_kinds(
        cls, kinds: Sequence[str], dictionaries: Mapping[int, Dictionary]
    ) -> "FeatureSchema":
        """Return the schema of features of these kinds."""
        special = {feature: kind for feature, kind in enumerate(kinds) if kind != NUMBER}
        return cls(len(kinds), special, dictionaries)

    @classmethod
    def of_numbers(cls, n_features: int) -> "FeatureSchema":
        """Return the schema of a matrix of numbers."""
        return cls(n_features, {}, {})

    def __repr__(self) -> str:
        """Return a line for all features, and one for each of the first that are not numbers."""
        counts = Counter(self.special.values())
        counts[NUMBER] = self.n_features - len(self.special)
        kinds = ", ".join(f"{counts[k]:,} {PLURAL[k]}" for k in KINDS if counts[k])
        lines = [f"<FeatureSchema of {self.n_features:,} features: {kinds}>"]
        for feature, kind in sorted(self.special.items())[:_MOST_SHOWN]:
            lines.append(f"  feature {feature}: {PLURAL[kind]}")
            if kind == CATEGORY:
                values = self.dictionaries[feature].values
                lines[-1] = f"  feature {feature}: {values.size:,} {PLURAL[kind]}"
                lines[-1] += f" ({list_some([repr(value) for value in values[:6].tolist()])})"
        if len(self.special) > _MOST_SHOWN:
            lines.append(f"  and {len(self.special) - _MOST_SHOWN:,} more")
        return "\n".join(lines)

    @lazy
    def kinds(self) -> tuple[str, ...]:
        """ "number", "category", "date" or "duration", one per feature."""
        kinds = [NUMBER] * self.n_features
        for feature, kind in self.special.items():
            kinds[feature] = kind
        return tuple(kinds)

    @property
    def is_numeric(self) -> bool:
        """Whether all features are plain numbers."""
        return not self.special

    @property
    def n_categories(self) -> np.ndarray:
        """Number of categories of each feature (int64); 0 for numbers."""
        counts = np.zeros(self.n_features, dtype=np.int64)
        for feature, dictionary in self.dictionaries.items():
            counts[feature] = len(dictionary)
        return counts

    def select(self, features: np.ndarray) -> "FeatureSchema":
        """Return the schema of some features."""
        places = dict(zip(features.tolist(), range(features.size), strict=True))
        dictionaries = {places[f]: d for f, d in self.dictionaries.items() if f in places}
        return FeatureSchema.of_kinds([self.kinds[f] for f in features], dictionaries)

    def convert(
        self, table: ColumnFrame, unknown_category: str, unknown_code: float = np.nan
    ) -> Matrix:
        """Return a table as numbers; raise DataError where a column is of another kind.

        Categories that are not in the dictionaries get the ``unknown_code``.
        """
        readers: list[Any] = []
        for feature, column in enumerate(table.columns):
            kind = self.kinds[feature]
            if kind == CATEGORY:
                categories = CategoryColumn.from_column(column)
                refuse = unknown_category == "error"
                dictionary = self.dictionaries[feature]
                readers.append(categories.encode(dictionary, refuse, unknown_code))
            elif column.kind == kind:
                readers.append(column.read)
            elif is_empty(column, table.n_rows):
                readers.append(_read_nothing)
            else:
                raise DataError(
                    f"{column.label} held {PLURAL[kind]} in fit, and holds "
                    f"{PLURAL[column.kind]} now"
                )
        matrix = ColumnMatrix(readers, table.n_rows, self._find_type(table.columns))
        return matrix.read_if_small()

    def _find_type(self, columns: Sequence[Column]) -> np.dtype:
        """Return float32 if all columns fit into it, else float64."""
        plain = [c for c, kind in zip(columns, self.kinds, strict=True) if kind != CATEGORY]
        is_single = bool(plain) and all(column.is_single for column in plain)
        codes_fit = max(map(len, self.dictionaries.values()), default=0) < 1 << 24
        return np.dtype(np.float32 if is_single and codes_fit else np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return the features that are not plain numbers, for :meth:`from_json`."""
        return {
            str(feature): {"kind": kind}
            if kind != CATEGORY
            else {"kind": kind, "values": self.dictionaries[feature].to_json()}
            for feature, kind in sorted(self.special.items())
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], n_features: int) -> "FeatureSchema":
        """Rebuild a schema; raise ValueError (or KeyError, TypeError) if it is invalid."""
        special, dictionaries = {}, {}
        for key, entry in data.items():
            feature, kind = int(key), entry["kind"]
            if not 0 <= feature < n_features or kind not in KINDS:
                raise ValueError(f"feature {key} is of kind {kind!r}")
            if kind != NUMBER:
                special[feature] = kind
            if kind == CATEGORY:
                dictionaries[feature] = Dictionary.from_json(entry["values"])
        return cls(n_features, special, dictionaries)


def learn_schema(columns: Sequence[Column], is_category: Sequence[bool]) -> FeatureSchema:
    """Return the schema of training data, given which features are categories."""
    kinds, dictionaries = [], {}
    for feature, column in enumerate(columns):
        kind = column.kind
        if is_category[feature]:
            kind = CATEGORY
            dictionaries[feature] = CategoryColumn.from_column(column).learn()
        elif kind == CATEGORY:
            if CategoryColumn.from_column(column).holds != "nothing":
                raise refuse_strings(column.label)
            kind = NUMBER
        kinds.append(kind)
    return FeatureSchema.of_kinds(kinds, dictionaries)


def refuse_strings(label: str) -> DataError:
    """Return the error for strings in a feature that is not categorical."""
    return DataError(
        f"{label} holds strings or categories, and is not in categorical_features; name it there, "
        "convert it to numbers or use categorical_features='auto'"
    )


def is_empty(column: Column, n_rows: int) -> bool:
    """Whether all values are missing."""
    if column.kind == CATEGORY:
        return CategoryColumn.from_column(column).holds == "nothing"
    return bool(np.isnan(column.read(0, n_rows)).all())


def _read_nothing(first: int, last: int) -> np.ndarray:
    return np.full(last - first, np.nan)


def list_some(labels: Sequence[str]) -> str:
    """Return the first labels, and dots if there are more."""
    return ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
