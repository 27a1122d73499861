"""Reading the trees of models from JSON."""

import math
from itertools import chain, pairwise
from typing import Any

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.export.json.schema import SPECIAL
from sumwise.tree import Tree
from sumwise.tree.tree import LeafModels, no_sets


def require(condition: object, where: str, rule: str) -> None:
    """Raise ModelFileError, with the place in the document, unless a condition is true."""
    if not condition:
        raise ModelFileError(f"{where} {rule}")


def read_number(value: Any, where: str, finite: bool = False) -> float:
    """Return a number; infinities and NaN, which are strings, unless it must be finite."""
    try:
        number = SPECIAL[value] if isinstance(value, str) else float(value)
    except OverflowError:
        number = math.inf
    is_given = isinstance(value, str) or math.isfinite(number)
    require(is_given and (math.isfinite(number) or not finite), where, "must be a finite number")
    return number


def read_numbers(values: list[Any], where: str, finite: bool = False) -> np.ndarray:
    """Return an array of numbers."""
    if set(map(type, values)) <= {float}:
        numbers = np.array(values, dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
    items = [read_number(value, f"{where}[{k}]", finite) for k, value in enumerate(values)]
    return np.array(items, dtype=np.float64)


def read_matrix(rows: list[Any], n_columns: int, where: str) -> np.ndarray:
    """Return a matrix of finite numbers."""
    fits = all(len(row) == n_columns for row in rows)
    require(fits, where, f"must have rows of {n_columns} numbers")
    flat = read_numbers(list(chain.from_iterable(rows)), where, finite=True)
    return flat.reshape(len(rows), n_columns)


class TreeReader:
    """Reads a tree; ``counts`` has the number of categories of each column, -1 for numbers."""

    def __init__(self, where: str, counts: list[int]) -> None:
        self._where, self._counts = where, counts

    def read(self, entry: dict[str, Any]) -> Tree:
        """Return the tree."""
        n_nodes = len(entry["column"])
        for name, own in entry.items():
            require(len(own) == n_nodes, f"{self._where}.{name}", f"must have {n_nodes} items")
        column = self._read_integers(entry["column"], len(self._counts))
        left = self._read_integers(entry["left"], n_nodes)
        self._check_links(column, left)
        threshold = read_numbers(entry["threshold"], f"{self._where}.threshold")
        require(not np.isnan(threshold).any(), f"{self._where}.threshold", "must not be NaN")
        n_columns = len(entry["value"][0])
        statistics = {
            name: read_numbers(entry[name], f"{self._where}.{name}", finite=True)
            if name in entry
            else np.zeros(n_nodes)
            for name in ("gain", "weight")
        }
        return Tree(
            feature=column,
            threshold=threshold,
            missing_left=np.array(entry["missing_left"], dtype=np.uint8),
            left=left,
            value=read_matrix(entry["value"], n_columns, f"{self._where}.value"),
            split_bin=np.zeros(n_nodes, dtype=np.uint8),
            n_rows=self._read_counts(entry.get("rows", [0] * n_nodes)),
            **statistics,
            **self._read_sets(entry.get("categories", []), column),
            models=self._read_models(entry["linear"], column) if "linear" in entry else None,
        )

    def _read_integers(self, values: list[int], limit: int) -> np.ndarray:
        require(max(values) < max(limit, 0), self._where, "refers to something that is not there")
        return np.array(values, dtype=np.int32)

    def _read_counts(self, values: list[int]) -> np.ndarray:
        require(max(values) < 1 << 63, f"{self._where}.rows", "must fit into 64 bits")
        return np.array(values, dtype=np.int64)

    def _check_links(self, column: np.ndarray, left: np.ndarray) -> None:
        """Refuse nodes that are not those of one tree, children after their parents."""
        splits = np.flatnonzero(left >= 0)
        sound = np.array_equal(splits, np.flatnonzero(column >= 0))
        sound = sound and bool((left[splits] > splits).all())
        children = np.sort(np.concatenate([left[splits], left[splits] + 1]))
        sound = sound and np.array_equal(children, np.arange(1, left.size))
        require(sound, f"{self._where}.left", "is not a tree whose children follow their parents")

    def _read_sets(self, entries: list[Any], column: np.ndarray) -> dict[str, np.ndarray]:
        nodes, sets = [], [no_sets()]
        for k, codes in enumerate(entries):
            if codes is None:
                continue
            where = f"{self._where}.categories[{k}]"
            count = self._counts[column[k]] if column[k] >= 0 else -1
            require(count >= 0, where, "is not a split on categories")
            in_order = all(a < b for a, b in pairwise(codes))
            require(in_order and (not codes or codes[-1] < count), where, "must be codes, in order")
            nodes.append(k)
            sets.append(np.array(codes, dtype=np.int32))
        return {
            "set_node": np.array(nodes, dtype=np.int32),
            "set_size": np.array([own.size for own in sets[1:]], dtype=np.int32),
            "set_categories": np.concatenate(sets),
        }

    def _read_models(self, entries: list[Any], column: np.ndarray) -> LeafModels:
        nothing: dict[str, Any] = {
            "constant": 0.0,
            "low": 0.0,
            "high": 0.0,
            "columns": [],
            "coefficients": [],
        }
        known = [nothing if entry is None else entry for entry in entries]
        where = f"{self._where}.linear"
        for k, entry in enumerate(entries):
            if entry is not None:
                terms = entry["columns"]
                fits = column[k] < 0 and len(terms) == len(entry["coefficients"])
                fits = fits and max(terms) < len(self._counts)
                require(fits, f"{where}[{k}]", "is not a linear model of a leaf")
        low, high = ([read_number(e[name], where) for e in known] for name in ("low", "high"))
        is_range = all(a <= b for a, b in zip(low, high, strict=True))
        require(is_range, where, "must have low <= high")
        return LeafModels(
            np.array([len(entry["columns"]) for entry in known], dtype=np.int32),
            read_numbers([entry["constant"] for entry in known], where, finite=True),
            np.array(low),
            np.array(high),
            np.array([k for entry in known for k in entry["columns"]], dtype=np.int32),
            read_numbers([b for e in known for b in e["coefficients"]], where, finite=True),
        )
