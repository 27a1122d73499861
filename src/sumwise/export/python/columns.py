"""The columns that trees compare, in Python: numbers, codes of categories, lookups."""

from collections.abc import Iterator, Sequence

from sumwise.export.portable import CATEGORY, Column
from sumwise.export.program import Program
from sumwise.export.python.trees import write_number


class PythonColumns:
    """Writes the statements that turn a row into variables.

    Attributes
    ----------
    tables : list of str
        Definitions of dicts: codes of categories, numbers by key.
    needs : set of str
        Names of the functions of ``runtime.py`` that are called.
    """

    def __init__(self, program: Program, variables: Sequence[str]) -> None:
        self._program, self._variables = program, variables
        self._keys: dict[tuple[object, ...], str] = {}
        self.tables: list[str] = []
        self.needs: set[str] = set()

    def write(self) -> list[str]:
        """Return the statements of a function of ``row``."""
        for place in sorted({p for column in self._program.columns for p in column.inputs}):
            own = self._program.model.inputs[place]
            if own.kind == CATEGORY:
                codes = ", ".join(f"{value!a}: {k}" for k, value in enumerate(own.categories))
                self.tables.append(f"_CODES{place} = {{{codes}}}")
        lines = ["row = _read_row(row, FEATURES)"]
        for k, column in enumerate(self._program.columns):
            lines += self._read_column(k, column)
        names = ", ".join(self._variables)
        if any(column.node is not None for column in self._program.columns):
            return [*lines, f"return [{names}]"]  # a list: some are filled in later
        end = "," if len(self._variables) == 1 else ""
        return [*lines, f"return ({names}{end})"]

    def _read_column(self, k: int, column: Column) -> Iterator[str]:
        if column.node is not None:
            yield f"x{k} = NAN"  # until the node is computed
            return
        (place, *_), lookup = column.inputs, column.lookup
        if lookup is not None:
            yield from self._look_up(k, column)
        elif self._program.model.inputs[place].kind == CATEGORY:
            yield f"c{k} = _CODES{place}.get(row[{place}], -1)"
            if f"x{k}" in self._variables:
                yield f"x{k} = NAN if c{k} < 0 else float(c{k})"
            return
        else:
            yield f"x{k} = NAN if row[{place}] is None else float(row[{place}])"
        if f"c{k}" in self._variables:
            self.needs.add("_whole")
            yield f"c{k} = _whole(x{k})"

    def _look_up(self, k: int, column: Column) -> Iterator[str]:
        lookup = column.lookup
        assert lookup is not None
        # Several lookups may have the same key.
        key = self._keys.setdefault((column.inputs, lookup.bases), f"key{k}")
        if key == f"key{k}":
            self.needs.add("_digit")
            digits = [f"d{k}_{i}" for i in column.inputs]
            for name, i in zip(digits, column.inputs, strict=True):
                yield f"{name} = _digit(row[{i}], _CODES{i})"
            text = digits[0]
            for name, base in zip(digits[1:], lookup.bases[1:], strict=True):
                text = f"({text}) * {base} + {name}"
            unknown = " or ".join(f"{name} < 0" for name in digits)
            yield f"{key} = -1 if {unknown} else {text}"
        pairs = zip(lookup.keys.tolist(), lookup.values.tolist(), strict=True)
        table = ", ".join(f"{a}: {write_number(b)}" for a, b in pairs)
        self.tables.append(f"_LOOKUP{k} = {{{table}}}")
        yield f"x{k} = _LOOKUP{k}.get({key}, {write_number(lookup.default)})"
