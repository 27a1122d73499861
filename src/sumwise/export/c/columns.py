"""The columns that trees compare, in C: read from a row, categories encoded, lookups done."""

from collections.abc import Iterable

import numpy as np

from sumwise.export.c.text import CParts, write_function, write_integer, write_number
from sumwise.export.portable import CATEGORY, Affine, Column, Node, TreeSum
from sumwise.export.program import Program

# What a slot has in place of a missing value, so that a comparison sends it to the right or to the
# left without a further test. Sets of categories have slots of their own.
RIGHT, LEFT, SET_RIGHT, SET_LEFT = range(4)


class Slots:
    """Where the columns of a row are stored, once for each way that missing values go.

    Attributes
    ----------
    of_leaves : int
        The slot that leaves compare with; it is -infinity. Slots of sets come after it.
    """

    def __init__(self, program: Program) -> None:
        found: set[tuple[int, int]] = set()
        for trees in program.tree_sums:
            found.update(_find_slots(program, trees))
        for node in program.nodes:
            if isinstance(node, Affine):
                found.update((c, RIGHT) for c in program.find_places(node).tolist() if c >= 0)
        plain = sorted(slot for slot in found if slot[1] < SET_RIGHT)
        by_set = sorted(slot for slot in found if slot[1] >= SET_RIGHT)
        self.of_leaves = len(plain)
        self._slots = {slot: k for k, slot in enumerate(plain)}
        self._slots |= {slot: self.of_leaves + 1 + k for k, slot in enumerate(by_set)}

    def __len__(self) -> int:
        return len(self._slots) + 1

    def find(self, column: int, kind: int = RIGHT) -> int:
        """Return the slot of a column."""
        return self._slots[column, kind]

    def items(self) -> Iterable[tuple[tuple[int, int], int]]:
        """Return ((column, kind), slot) for all slots except that of leaves."""
        return self._slots.items()


def find_kinds(trees: TreeSum) -> np.ndarray:
    """Return which kind of slot each node compares with, -1 for leaves."""
    nodes = trees.trees
    kinds = np.where(nodes.missing_left != 0, LEFT, RIGHT)
    kinds[nodes.set_node] += SET_RIGHT
    return np.where(nodes.feature < 0, -1, kinds)


def _find_slots(program: Program, trees: TreeSum) -> Iterable[tuple[int, int]]:
    places, kinds = program.find_places(trees), find_kinds(trees)
    is_split = kinds >= 0
    columns = places[trees.trees.feature[is_split]]
    yield from zip(columns.tolist(), kinds[is_split].tolist(), strict=True)
    if trees.trees.models is not None:
        yield from ((c, RIGHT) for c in places[trees.trees.models.feature].tolist())


class ColumnReader:
    """Writes the function that fills the slots from a row."""

    def __init__(self, program: Program, slots: Slots, parts: CParts) -> None:
        self._program, self._slots, self._parts = program, slots, parts
        self._place_names: dict[tuple[object, ...], str] = {}
        self._lines: list[str] = []

    def write(self) -> None:
        """Add the function and its tables to the parts."""
        values: dict[int, str] = {}
        for (column, kind), slot in self._slots.items():
            if self._program.columns[column].node is not None:
                continue
            if column not in values:
                values[column] = self._read_column(column)
            value = self._send_missing(values[column], kind)
            self._lines.append(f"column[{slot}] = {value};")
        self._lines.append(f"column[{self._slots.of_leaves}] = -INFINITY;")
        declared = [f"int64_t {name};" for name in self._place_names.values()]
        unused = ["(void)x;"] if not values else []
        head = "static void @read_columns(const double *x, double *column)"
        body = write_function(head, [*declared, *unused, *self._lines])
        self._parts.functions.append(f"/* Compute the columns of a row. */\n{body}")

    def store_outputs(self, node: Node, name: str) -> list[str]:
        """Return the statements that put outputs of a node into slots; ``name`` has them."""
        outputs = dict(self._program.find_read(node))
        return [
            f"column[{slot}] = {self._send_missing(f'{name}[{outputs[column]}]', kind)};"
            for (column, kind), slot in self._slots.items()
            if column in outputs
        ]

    def _read_column(self, number: int) -> str:
        column = self._program.columns[number]
        if column.lookup is not None:
            return self._look_up(column, number)
        (place,) = column.inputs
        known = self._program.model.inputs[place]
        if known.kind != CATEGORY:
            return f"x[{place}]"
        return self._parts.call("known", f"x[{place}]", len(known.categories))

    def _send_missing(self, value: str, kind: int) -> str:
        if kind == RIGHT:
            return value
        if kind == LEFT:
            return self._parts.call("missing_left", value)
        return self._parts.call("for_set", value, int(kind == SET_LEFT))

    def _look_up(self, column: Column, number: int) -> str:
        lookup = column.lookup
        assert lookup is not None
        # Several lookups may have the same keys; their place is found once.
        group = (*column.inputs, lookup.keys.tobytes())
        if group not in self._place_names:
            self._place_names[group] = f"place{len(self._place_names)}"
            self._find_place(column, self._place_names[group])
        place = self._place_names[group]
        numbers = map(write_number, lookup.values.tolist())
        self._parts.add_table(f"double @lookup{number}", numbers)
        return f"{place} < 0 ? {write_number(lookup.default)} : @lookup{number}[{place}]"

    def _find_place(self, column: Column, name: str) -> None:
        """Write the statements that find the place of a row among the keys of a lookup."""
        lookup, inputs = column.lookup, self._program.model.inputs
        assert lookup is not None
        first, *others = (
            self._parts.call("digit", f"x[{k}]", len(inputs[k].categories)) for k in column.inputs
        )
        self._lines.append(f"{name} = {first};")
        for digit, base in zip(others, lookup.bases[1:], strict=True):
            known = f"{name} < 0 || {digit} < 0"
            self._lines.append(f"{name} = {known} ? -1 : {name} * {base} + {digit};")
        if not others and np.array_equal(lookup.keys, np.arange(lookup.bases[0])):
            return  # the key is the place
        self._parts.add_table(f"int64_t @{name}", map(write_integer, lookup.keys.tolist()))
        call = self._parts.call("find_key", f"@{name}", lookup.keys.size, name)
        self._lines.append(f"{name} = {name} < 0 ? -1 : {call};")
