"""Columns of a row: those that are looked up, and the sets of categories that trees split by."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sumwise.export.portable import CATEGORY, Affine, Column, Node, PortableModel, TreeSum
from sumwise.export.portable import list_nodes as list_graph
from sumwise.kernels.predict.one_row import IN_NO_SET, MISSING_LEFT, Codes, Lookups

# Bits in a word of a set.
_WORD = 64


def join(parts: Iterable[Any], dtype: Any) -> np.ndarray:
    """Lay arrays end to end; none give an empty array."""
    return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype)


def find_ends(sizes: Iterable[int]) -> np.ndarray:
    """Return where parts of these sizes begin, then where the last one ends."""
    return np.cumsum([0, *sizes], dtype=np.int64)


class Columns:
    """The columns of all nodes of a model: first the inputs, then those that are computed."""

    def __init__(self, model: PortableModel) -> None:
        self._n_inputs = len(model.inputs)
        self._number: dict[Any, int] = {}
        groups: dict[Any, list[Column]] = {}
        for node in list_graph(model.output):
            for column in node.columns if isinstance(node, (TreeSum, Affine)) else ():
                if _is_input(column) or _identify(column) in self._number:
                    continue
                self._number[_identify(column)] = len(self)
                if column.lookup is not None:
                    # Columns of the same inputs have the same keys, and share the search for them.
                    own = (column.inputs, column.lookup.keys.tobytes())
                    groups.setdefault(own, []).append(column)
        categories = [k for k, own in enumerate(model.inputs) if own.kind == CATEGORY]
        self.lookups = self._lay_out(list(groups.values()), categories if groups else [])

    def __len__(self) -> int:
        return self._n_inputs + len(self._number)

    def find(self, column: Column) -> int:
        """Return the number of a column."""
        return column.inputs[0] if _is_input(column) else self._number[_identify(column)]

    def find_all(self, columns: Sequence[Column]) -> np.ndarray:
        """Return the numbers of some columns."""
        return np.array([self.find(column) for column in columns], dtype=np.int64)

    def _lay_out(self, groups: list[list[Column]], categories: list[int]) -> Lookups:
        lookups = [[column.lookup for column in group if column.lookup] for group in groups]
        firsts = [own[0] for own in lookups]
        numbers = [np.append(lookup.values, lookup.default) for own in lookups for lookup in own]
        return Lookups(
            start=find_ends(len(first.bases) for first in firsts),
            input=join((group[0].inputs for group in groups), np.int64),
            base=join((first.bases for first in firsts), np.int64),
            first_key=find_ends(first.keys.size for first in firsts),
            key=join((first.keys for first in firsts), np.int64),
            first_column=find_ends(map(len, groups)),
            column=join((self.find_all(group) for group in groups), np.int64),
            place=find_ends(own.size for own in numbers)[:-1],
            number=join(numbers, np.float64),
            category=np.array(categories, dtype=np.int64),
        )


def _is_input(column: Column) -> bool:
    return column.lookup is None and column.node is None


def _identify(column: Column) -> tuple[Any, ...]:
    """Return what two columns have in common if they are the same."""
    if column.node is not None:
        return "output", id(column.node), column.output
    lookup = column.lookup
    assert lookup is not None
    arrays = lookup.keys.tobytes(), lookup.values.tobytes()
    return column.inputs, lookup.bases, *arrays, lookup.default


class CategorySets:
    """The sets of categories of all trees of a model, as bits. Equal sets are stored once."""

    def __init__(self, output: Node, columns: Columns) -> None:
        self._columns = columns
        self._place: dict[tuple[int, bytes], int] = {}
        sums = [node for node in list_graph(output) if isinstance(node, TreeSum)]
        for node in sums:
            self._place |= dict.fromkeys(self._list(node), 0)
        features = sorted({column for column, _ in self._place})
        tables = {column: self._number_codes(column) for column in features}
        words: list[np.ndarray] = [np.zeros(1, dtype=np.uint64)]  # what other nodes read
        n_words = 1
        for column, text in self._place:
            self._place[column, text] = n_words
            words.append(_pack(tables[column], np.frombuffer(text, dtype=np.int32)))
            n_words += words[-1].size
        self.words = join(words, np.uint64)
        self.codes = Codes(
            np.array(features, dtype=np.int64),
            find_ends(table.size for table in tables.values()),
            join(tables.values(), np.int64),
        )

    def find_places(self, node: TreeSum) -> np.ndarray:
        """Return the places of the sets of a node's trees."""
        return np.array([self._place[own] for own in self._list(node)], dtype=np.uint64)

    def _list(self, node: TreeSum) -> list[tuple[int, bytes]]:
        """Return the column and the codes of each set."""
        trees = node.trees
        ends = find_ends(trees.set_size)
        codes = np.ascontiguousarray(trees.set_categories, dtype=np.int32)
        columns = self._columns.find_all(node.columns)[trees.feature[trees.set_node]]
        parts = zip(columns.tolist(), ends[:-1], ends[1:], strict=True)
        return [(column, codes[first:last].tobytes()) for column, first, last in parts]

    def _number_codes(self, column: int) -> np.ndarray:
        """Return the bit of each code of a column, up to the last that is in a set."""
        texts = [text for own, text in self._place if own == column]
        used = np.unique(np.frombuffer(b"".join(texts), dtype=np.int32))
        bits = np.full(used[-1] + 1 if used.size else 0, IN_NO_SET, dtype=np.int64)
        bits[used] = IN_NO_SET + 1 + np.arange(used.size)
        return bits


def _pack(bit_of_code: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return a set as words of bits."""
    n_bits = bit_of_code.max(initial=IN_NO_SET) + 1
    is_in_set = np.zeros(-(-n_bits // _WORD) * _WORD, dtype=np.uint8)
    is_in_set[bit_of_code[codes]] = is_in_set[MISSING_LEFT] = 1
    return np.packbits(is_in_set, bitorder="little").view("<u8").astype(np.uint64)
