"""The columns that trees compare, in SQL: numbers, codes of categories, lookups."""

from collections.abc import Mapping, Sequence
from typing import Any

from sumwise.export.portable import CATEGORY, Column, Input, Lookup
from sumwise.export.program import Program
from sumwise.export.sql.dialects import Dialect, quote_name, quote_string
from sumwise.export.sql.stages import Stages

# Integers up to this are exact in double precision.
_EXACT = 1 << 53
# So many keys are compared one after the other.
_FEW = 8


class SqlColumns:
    """Computes the columns of a program in the first stages of a query.

    Attributes
    ----------
    numbers : list of str
        The name of each column, as a number; "" if it is the output of a node.
    codes : list of str
        The name of each column as the code of a category, for sets; "" if no set splits it.
    """

    def __init__(self, program: Program, dialect: Dialect, stages: Stages) -> None:
        self._program, self._dialect, self._stages = program, dialect, stages
        self.numbers: list[str] = []
        self.codes: list[str] = []

    def write(self, table: str) -> None:
        """Add the stages."""
        columns, name = self._program.columns, self._stages.name
        inputs = self._program.model.inputs
        used = sorted({place for column in columns for place in column.inputs})
        self._stages.begin(
            table, {name(f"i{place}"): self._read_input(inputs[place]) for place in used}
        )
        keys = {(c.inputs, c.lookup.bases) for c in columns if c.lookup is not None}
        self._keys = {key: name(f"key{k}") for k, key in enumerate(sorted(keys))}
        self._stages.add({own: self._join_digits(*key) for key, own in self._keys.items()})
        split_by_sets = self._find_split_by_sets()
        computed: dict[str, str] = {}
        for k, column in enumerate(columns):
            self.numbers.append(self._compute_number(k, column, computed))
            self.codes.append(self._compute_code(k, column, computed) if k in split_by_sets else "")
        self._stages.add(computed)

    def _find_split_by_sets(self) -> set[int]:
        found: set[int] = set()
        for own in self._program.tree_sums:
            features = own.trees.feature[own.trees.set_node]
            found.update(self._program.find_places(own)[features].tolist())
        return found

    def _read_input(self, own: Input) -> str:
        """Return a number, or the code of a category: one above the last if missing, or -1."""
        column = f"t.{quote_name(own.name)}"
        if own.kind != CATEGORY:
            return self._dialect.read_number(column)
        value = self._dialect.read_category(column, _are_exact_numbers(own.categories))
        known = [f"WHEN {self._write_category(c)} THEN {k}" for k, c in enumerate(own.categories)]
        code = f"CASE {value} {' '.join(known)} ELSE -1 END" if known else "-1"
        return f"CASE WHEN {value} IS NULL THEN {len(known)} ELSE {code} END"

    def _write_category(self, value: Any) -> str:
        if isinstance(value, str):
            return quote_string(value)
        return str(value) if isinstance(value, int) else self._dialect.write_number(value)

    def _join_digits(self, inputs: Sequence[int], bases: Sequence[int]) -> str:
        names = [self._stages.name(f"i{place}") for place in inputs]
        unknown = " OR ".join(f"{name} < 0" for name in names)
        key = f"CAST({names[0]} AS {self._dialect.integer})"
        for name, base in zip(names[1:], bases[1:], strict=True):
            key = f"({key}) * {base} + {name}"
        return f"CASE WHEN {unknown} THEN -1 ELSE {key} END"

    def _compute_number(self, k: int, column: Column, computed: dict[str, str]) -> str:
        if column.node is not None:
            return ""
        name, own = self._stages.name(f"x{k}"), self._stages.name(f"i{column.inputs[0]}")
        if column.lookup is not None:
            key = self._keys[column.inputs, column.lookup.bases]
            computed[name] = self._look_up(key, column.lookup)
            return name
        known = self._program.model.inputs[column.inputs[0]]
        if known.kind != CATEGORY:
            return own
        computed[name] = f"CASE WHEN {own} >= 0 AND {own} < {len(known.categories)} THEN {own} END"
        return name

    def _compute_code(self, k: int, column: Column, computed: dict[str, str]) -> str:
        number = self.numbers[k]
        if column.lookup is None:
            if self._program.model.inputs[column.inputs[0]].kind == CATEGORY:
                return number
        else:
            number = computed[number]
        name = self._stages.name(f"c{k}")
        whole = self._dialect.to_integer(f"ABS({number})")
        computed[name] = f"CASE WHEN {number} <= -1e0 THEN -1 ELSE {whole} END"
        return name

    def _look_up(self, key: str, lookup: Lookup) -> str:
        pairs: Mapping[int, float] = dict(
            zip(lookup.keys.tolist(), lookup.values.tolist(), strict=True)
        )
        return self._search(key, sorted(pairs.items()), self._dialect.write_number(lookup.default))

    def _search(self, key: str, pairs: Sequence[tuple[int, float]], default: str) -> str:
        """Return the number of a key, by bisection down to a few keys."""
        if len(pairs) <= _FEW:
            write = self._dialect.write_number
            whens = " ".join(f"WHEN {k} THEN {write(value)}" for k, value in pairs)
            return f"CASE {key} {whens} ELSE {default} END" if whens else default
        middle = len(pairs) // 2
        halves = pairs[:middle], pairs[middle:]
        low, high = (self._search(key, half, default) for half in halves)
        return f"CASE WHEN {key} < {pairs[middle][0]} THEN {low} ELSE {high} END"


def _are_exact_numbers(categories: Sequence[Any]) -> bool:
    """Whether categories are numbers that are exact in double precision."""
    if not categories or isinstance(categories[0], str):
        return False
    return isinstance(categories[0], float) or max(-categories[0], categories[-1]) <= _EXACT
