"""The tables of trees in C: nodes, roots, sets of categories, and leaves with several numbers."""

from collections.abc import Iterator

import numpy as np

from sumwise.export.c.columns import SET_RIGHT, Slots, find_kinds
from sumwise.export.c.runtime import LEAF_TYPES, N_ABREAST, NODE, SET_TYPE
from sumwise.export.c.text import CParts, write_number
from sumwise.export.portable import TreeSum
from sumwise.export.program import Program

_BITS = 32


class TreeTables:
    """Writes all trees of a model into one table.

    Attributes
    ----------
    first_root : dict of int to int
        Where the roots of some trees begin, by the ``id`` of their node of the graph.
    leaves : dict of int to int
        The number of their table of leaves, if they have one.
    """

    def __init__(self, program: Program, slots: Slots, parts: CParts) -> None:
        self._program, self._slots, self._parts = program, slots, parts
        self.first_root: dict[int, int] = {}
        self.leaves: dict[int, int] = {}

    def write(self) -> None:
        """Add the tables to the parts."""
        rows: list[str] = []
        roots: list[int] = []
        sets: list[np.ndarray] = []
        for number, trees in enumerate(self._program.tree_sums):
            self.first_root[id(trees)], self.leaves[id(trees)] = len(roots), number
            roots += (trees.start[:-1] + len(rows)).tolist()
            # The last group of trees is filled up; what its spare walks find is not used.
            roots += roots[-1:] * (-trees.n_trees % N_ABREAST)
            self._write_leaves(trees, number)
            rows += self._list_nodes(trees, len(rows), sets)
        if not rows:
            return
        self._parts.tables.append(NODE)
        self._parts.needs |= {"next_with_sets" if sets else "next", "walk"}
        if sets:
            self._write_sets(sets)
        self._parts.add_table("@node @nodes", rows)
        self._parts.add_table("int32_t @roots", map(str, roots))

    def _list_nodes(self, trees: TreeSum, first: int, sets: list[np.ndarray]) -> Iterator[str]:
        """Yield the entries of nodes; append the sets of categories that they refer to."""
        nodes, places = trees.trees, self._program.find_places(trees)
        by_set = nodes.left_categories
        value_fits = nodes.value.shape[1] == 1 and nodes.models is None
        threshold, left, value = nodes.threshold.tolist(), nodes.left.tolist(), nodes.value[:, 0]
        n_leaves = 0
        kinds = find_kinds(trees).tolist()
        for node, feature in enumerate(nodes.feature.tolist()):
            if feature < 0:
                number = float(value[node]) if value_fits else float(n_leaves)
                child, slot = node, self._slots.of_leaves
                n_leaves += 1
            else:
                child, number = left[node], threshold[node]
                slot = self._slots.find(int(places[feature]), kinds[node])
                if kinds[node] >= SET_RIGHT:
                    number = float(len(sets))
                    sets.append(by_set[node])
            yield f"{{{write_number(number)}, {child + first}, {slot}}}"

    def _write_sets(self, sets: list[np.ndarray]) -> None:
        entries: list[str] = []
        words: list[int] = []
        for codes in sets:
            n_words = -(-(int(codes.max(initial=-1)) + 1) // _BITS)
            entries.append(f"{{{len(words)}, {_BITS * n_words}}}")
            bits = np.zeros(n_words, dtype=np.uint32)
            np.bitwise_or.at(bits, codes // _BITS, np.uint32(1) << (codes % _BITS).astype("u4"))
            words += bits.tolist()
        self._parts.tables.append(f"#define @N_PLAIN {self._slots.of_leaves + 1}\n")
        self._parts.tables.append(SET_TYPE)
        self._parts.add_table("@set @sets", entries)
        self._parts.add_table("uint32_t @bits", (f"{word}u" for word in words))

    def _write_leaves(self, trees: TreeSum, number: int) -> None:
        """Write what leaves have if it is more than one number."""
        nodes, is_leaf = trees.trees, trees.trees.feature < 0
        if nodes.models is not None:
            self._write_models(trees, number)
        elif nodes.value.shape[1] > 1:
            values = map(write_number, nodes.value[is_leaf].ravel().tolist())
            self._parts.add_table(f"double @leaves{number}", values)

    def _write_models(self, trees: TreeSum, number: int) -> None:
        nodes, places = trees.trees, self._program.find_places(trees)
        models = nodes.models
        assert models is not None
        if LEAF_TYPES not in self._parts.tables:
            self._parts.tables.append(LEAF_TYPES)
        first = models.first
        numbers = np.column_stack([nodes.value[:, 0], models.constant, models.low, models.high])
        entries = [
            f"{{{', '.join(map(write_number, numbers[k].tolist()))}, {first[k]}, {first[k + 1]}}}"
            for k in np.flatnonzero(nodes.feature < 0)
        ]
        terms = [
            f"{{{write_number(slope)}, {self._slots.find(int(places[feature]))}}}"
            for slope, feature in zip(models.coefficient.tolist(), models.feature, strict=True)
        ]
        self._parts.add_table(f"@leaf @leaves{number}", entries)
        self._parts.add_table(f"@term @terms{number}", terms or ["{0.0, 0}"])
