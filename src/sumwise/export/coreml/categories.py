"""Categories in Core ML: models before the trees that say which way a category goes.

Core ML's trees compare numbers. A split by categories becomes an *indicator*, a number that is 1 if
the row goes left and 0 otherwise. The indicators of a feature are the outputs of a small tree of
its own, which has one leaf per category, one for missing values and one for unknown categories.
"""

from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.coreml.nodes import NodeWriter
from sumwise.export.portable import Column, Input

MISSING_TEXT = ""


class Indicators:
    """The indicators of one feature.

    The codes of the feature are those of its categories, then one for missing values, then one for
    unknown categories.
    """

    def __init__(self, known: Input) -> None:
        _check_categories(known)
        self.known = known
        self._places: dict[bytes, int] = {}

    @property
    def is_text(self) -> bool:
        return not self.known.categories or isinstance(self.known.categories[0], str)

    @property
    def n_indicators(self) -> int:
        return len(self._places)

    def find_place(self, goes_left: np.ndarray) -> int:
        """Return the place of an indicator, given whether each code goes left."""
        return self._places.setdefault(goes_left.astype(bool).tobytes(), len(self._places))

    def list_values(self) -> np.ndarray:
        """Return all indicators of each code, shape (n_codes, n_indicators)."""
        columns = [np.frombuffer(key, dtype=bool) for key in self._places]
        return np.column_stack(columns).astype(np.float64)

    # --- models ---

    def map_text(self, model: Any, name: str) -> None:
        """Fill a model that maps text to codes, with an output of the given name."""
        n = len(self.known.categories)
        codes = {value: code for code, value in enumerate(self.known.categories)}
        codes.setdefault(MISSING_TEXT, n)
        model.categoricalMapping.stringToInt64Map.map.update(codes)
        model.categoricalMapping.int64Value = n + 1  # of unknown categories
        model.description.input.add(name=self.known.name).type.stringType.SetInParent()
        model.description.output.add(name=name).type.int64Type.SetInParent()

    def fill_tree(self, writer: NodeWriter) -> None:
        """Write a tree whose leaves have the indicators of each code."""
        values, n = self.list_values(), len(self.known.categories)
        if self.is_text:  # the input is a code
            _search(writer, np.arange(n + 2.0), values, None)
            return
        missing, unknown = values[n], values[n + 1]
        root = writer.add_split(0, np.inf, goes_missing_left=False)  # all that is not missing
        present = _search(writer, np.array(self.known.categories, float), values[:n], unknown)
        writer.link(root, present, writer.add_leaf(missing))


def _search(
    writer: NodeWriter, keys: np.ndarray, values: np.ndarray, otherwise: np.ndarray | None
) -> int:
    """Write a binary search for a key; return its root. Other keys lead to ``otherwise``."""
    if keys.size > 1:
        half = (keys.size + 1) // 2
        split = writer.add_split(0, float(keys[half - 1]), goes_missing_left=False)
        left = _search(writer, keys[:half], values[:half], otherwise)
        right = _search(writer, keys[half:], values[half:], otherwise)
        return writer.link(split, left, right)
    if otherwise is None:
        return writer.add_leaf(values[0])
    split = writer.add_split(0, float(keys[0]), goes_missing_left=False, behavior="Equal")
    return writer.link(split, writer.add_leaf(values[0]), writer.add_leaf(otherwise))


def find_codes_to_the_left(
    known: Input,
    column: Column,
    threshold: float,
    members: np.ndarray | None,
    missing_left: bool,
) -> np.ndarray:
    """Return whether each code of a feature goes left at a split on a column."""
    n = len(known.categories)
    if column.lookup is None:
        own = np.arange(n) <= threshold if members is None else np.isin(np.arange(n), members)
        return np.append(own, [missing_left, missing_left])
    if len(column.inputs) > 1:
        raise ExportError(
            "Core ML cannot hold statistics of combinations of categorical features; train with "
            "TargetStatistics(combinations=0), or use to_onnx"
        )
    values = np.full(n + 2, column.lookup.default)
    values[column.lookup.keys] = column.lookup.values
    return values <= threshold


def _check_categories(known: Input) -> None:
    """Refuse numbers that single precision would change."""
    for value in known.categories:
        if not isinstance(value, str) and float(np.float32(value)) != value:
            raise ExportError(
                f"the category {value!r} of feature {known.name!r} is not a number of single "
                "precision, in which Core ML may compare; train on strings of the categories"
            )
