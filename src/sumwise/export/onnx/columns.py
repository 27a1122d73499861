"""Inputs of an ONNX graph, and the columns that trees split on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.onnx.operators import Operators
from sumwise.export.portable import (
    CATEGORY,
    Column,
    Input,
    Lookup,
    Node,
    refuse_empty_names,
)

MATRIX = "X"
# What stands for a missing category where the type of the input has no NaN.
MISSING_TEXT, MISSING_INTEGER = "", int(np.iinfo(np.int64).min)
_UNKNOWN = -1


class Columns:
    """Inputs of a graph, as one matrix of numbers or as one input per feature, and their columns.

    Parameters
    ----------
    operators : Operators
    inputs : sequence of Input
    form : {"auto", "matrix", "columns"}
    compute : callable
        Returns the outputs of a node, which columns may refer to.
    """

    def __init__(
        self,
        operators: Operators,
        inputs: Sequence[Input],
        form: str,
        compute: Callable[[Node], str],
    ) -> None:
        self._operators, self._inputs, self._compute_node = operators, inputs, compute
        obstacle = self._find_obstacle()
        if form == "matrix" and obstacle:
            raise ExportError(
                f"feature {obstacle!r} does not fit into a matrix of {operators.dtype.name}: its "
                "categories are not such numbers; use inputs='columns'"
            )
        self.is_matrix = form == "matrix" or (form == "auto" and not obstacle)
        self._known: dict[Any, str] = {}

    def _find_obstacle(self) -> str | None:
        """Return the first feature whose categories are not numbers of a matrix."""
        for known in self._inputs:
            values = np.array(known.categories, dtype=object)
            if known.kind == CATEGORY and not _are_exact(values, self._operators.dtype):
                return known.name
        return None

    # --- inputs ---

    def list_inputs(self) -> list[tuple[str, np.dtype, int]]:
        """Return name, type and width of each input of the graph."""
        if self.is_matrix:
            return [(MATRIX, self._operators.dtype, len(self._inputs))]
        refuse_empty_names(self._inputs, "ONNX")
        return [(known.name, self.find_type(k), 1) for k, known in enumerate(self._inputs)]

    def find_type(self, place: int) -> np.dtype:
        """Return the type of an input."""
        known = self._inputs[place]
        if self.is_matrix or known.kind != CATEGORY:
            return self._operators.dtype
        values = np.array(known.categories, dtype=object)
        if any(isinstance(value, str) for value in values):
            return np.dtype(object)
        if any(isinstance(value, float) for value in values):
            return np.dtype(np.float64)
        if any(value > np.iinfo(np.int64).max for value in values):
            raise ExportError(
                f"feature {known.name!r} has categories beyond the integers of ONNX (int64); "
                "train on strings of them instead"
            )
        return np.dtype(np.int64)

    def _read_input(self, place: int) -> str:
        if not self.is_matrix:
            return self._inputs[place].name
        return self._once(("input", place), lambda: self._pick([place]))

    def _pick(self, places: Sequence[int]) -> str:
        return self._operators.add("Gather", MATRIX, self._operators.constant(places), axis=1)

    def _once(self, key: Any, make: Any) -> str:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    # --- columns ---

    def gather(
        self, columns: Sequence[Column], cuts: Sequence[np.ndarray | None]
    ) -> tuple[str, np.ndarray]:
        """Return a matrix of columns, and the place of each column in it.

        ``cuts`` may have ascending thresholds of a lookup: then its column has the number of
        thresholds below each value, which is exact in single precision.
        """
        is_plain = np.array([self._is_plain(column) for column in columns], dtype=bool)
        if self.is_matrix and is_plain.all():
            return MATRIX, np.array([column.inputs[0] for column in columns], dtype=np.int64)
        plain, others = np.flatnonzero(is_plain).tolist(), np.flatnonzero(~is_plain).tolist()
        places = np.empty(len(columns), dtype=np.int64)
        places[plain + others] = np.arange(len(columns))
        parts = [self._write(columns[k], cuts[k]) for k in others]
        sources = [columns[k].inputs[0] for k in plain]
        if self.is_matrix:
            parts = ([self._pick(sources)] if sources else []) + parts
        else:
            parts = [self._inputs[source].name for source in sources] + parts
        return self._once(tuple(parts), lambda: self._operators.join(parts)), places

    def _is_plain(self, column: Column) -> bool:
        is_input = column.lookup is None and column.node is None
        return is_input and self._inputs[column.inputs[0]].kind != CATEGORY

    def _write(self, column: Column, cuts: np.ndarray | None) -> str:
        source = column.inputs, id(column.lookup), id(column.node), column.output
        key = *source, None if cuts is None else cuts.tobytes()
        return self._once(key, lambda: self._compute(column, cuts))

    def _compute(self, column: Column, cuts: np.ndarray | None) -> str:
        lookup = column.lookup
        if column.node is not None:
            outputs, chosen = self._compute_node(column.node), [column.output]
            return self._operators.add("Gather", outputs, self._operators.constant(chosen), axis=1)
        if lookup is None:
            place = column.inputs[0]
            if self._inputs[place].kind != CATEGORY:
                return self._read_input(place)
            codes = np.arange(len(self._inputs[place].categories))
            return self._map_categories(place, codes.astype(self._operators.dtype), np.nan)
        values, default = lookup.values, lookup.default
        if cuts is not None:
            values, default = np.searchsorted(cuts, values), float(np.searchsorted(cuts, default))
        if len(column.inputs) == 1:
            return self._look_up_one(column.inputs[0], lookup, values, default)
        return self._look_up_combination(column.inputs, lookup, values, default)

    def _look_up_one(self, place: int, lookup: Lookup, values: np.ndarray, default: float) -> str:
        """Map the categories themselves; the last place is that of missing."""
        by_code = np.full(len(self._inputs[place].categories) + 1, default, self._operators.dtype)
        by_code[lookup.keys] = values
        return self._map_categories(place, by_code, default)

    def _look_up_combination(
        self, places: Sequence[int], lookup: Lookup, values: np.ndarray, default: float
    ) -> str:
        ops = self._operators
        codes = [self._write_codes(place) for place in places]
        key = codes[0]
        for code, base in zip(codes[1:], lookup.bases[1:], strict=True):
            key = ops.add("Add", ops.add("Mul", key, ops.constant(np.int64(base))), code)
        is_unknown = ops.add("Less", ops.add("Min", *codes), ops.constant(np.int64(0)))
        key = ops.add("Where", is_unknown, ops.constant(np.int64(_UNKNOWN)), key)
        known = lookup.keys.astype(np.int64)
        return self._encode(key, known, values.astype(ops.dtype), default)

    def _write_codes(self, place: int) -> str:
        """Return the codes of an input: one after all categories for missing, -1 for unknown."""
        codes = np.arange(len(self._inputs[place].categories) + 1, dtype=np.int64)
        return self._once(
            ("code", place), lambda: self._map_categories(place, codes, float(_UNKNOWN))
        )

    def _map_categories(self, place: int, values: np.ndarray, default: float) -> str:
        """Map each category to a value, and missing to the last one if there is one more."""
        dtype = self.find_type(place)
        categories = list(self._inputs[place].categories)
        missing: Any = {"O": MISSING_TEXT, "i": MISSING_INTEGER}.get(dtype.kind, np.nan)
        if missing in categories:  # then it is a category, and nothing stands for missing
            values = values[: len(categories)]
        elif values.size > len(categories) or not categories:
            categories.append(missing)
            values = values if values.size else np.full(1, default, dtype=values.dtype)
        return self._encode(
            self._read_input(place), np.array(categories, dtype=dtype), values, default
        )

    def _encode(self, values: str, keys: np.ndarray, results: np.ndarray, default: float) -> str:
        ops = self._operators
        # LabelEncoder maps double to double, and float to float, but not from one to the other.
        widens = keys.dtype == np.float64 and results.dtype == np.float32
        results = results.astype(np.float64) if widens else results
        found = ops.add_ml(
            "LabelEncoder",
            values,
            keys_tensor=keys,
            values_tensor=results,
            default_tensor=np.array([default]).astype(results.dtype),
        )
        return ops.cast(found, np.float32) if widens else found


def _are_exact(values: np.ndarray, dtype: np.dtype) -> bool:
    """Return whether categories are numbers that a type can hold."""
    if any(isinstance(value, str) for value in values):
        return False
    with np.errstate(over="ignore"):
        return all(value == dtype.type(value).item() for value in values)
