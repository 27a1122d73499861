"""Fields of a PMML document: features, and what is derived from their categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.pmml.xml import element, number, text
from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Input,
    Lookup,
    Node,
    PortableModel,
    TreeSum,
    list_nodes,
    refuse_empty_names,
)

_UNKNOWN = -1
_MOST_EXACT = 2**53


class Fields:
    """The fields that a document may refer to, and their names.

    A feature keeps its name. A category that was not seen in training becomes missing where the
    feature itself is split on. Lookups tell the two apart: a feature that has lookups keeps unknown
    categories, and splits on the feature itself then use a derived field without them.
    """

    def __init__(self, model: PortableModel) -> None:
        refuse_empty_names(model.inputs, "PMML")
        self._inputs = model.inputs
        self._taken = {known.name for known in model.inputs}
        self._counts: dict[str, int] = {}  # how often a name was asked for
        self._columns: dict[tuple[tuple[int, ...], int], str] = {}
        self._codes: dict[int, str] = {}
        self._places: dict[int, str] = {}
        self._outputs: dict[int, list[str]] = {}
        self._looked_up = _find_looked_up(model)
        self.derived: list[str] = []
        for known in model.inputs:
            if known.kind == CATEGORY:
                _check_categories(known)

    def make_name(self, name: str) -> str:
        """Return a name that no other field has."""
        free = name
        while free in self._taken:
            self._counts[name] = self._counts.get(name, 1) + 1
            free = f"{name}_{self._counts[name]}"
        self._taken.add(free)
        return free

    # --- features ---

    def list_data_fields(self) -> list[str]:
        """Return the declarations of all features, and of the places that forests vote for."""
        places = [
            element(
                "DataField",
                {"name": name, "optype": "categorical", "dataType": "string"},
                *(element("Value", {"value": k}) for k in range(n)),
            )
            for n, name in self._places.items()
        ]
        return [_declare(known) for known in self._inputs] + places

    def find_place_target(self, n_places: int) -> str:
        """Return the target of forests within a model: one of some places, called 0, 1, ..."""
        if n_places not in self._places:
            self._places[n_places] = self.make_name(f"place of {n_places}")
        return self._places[n_places]

    def list_mining_fields(self) -> list[str]:
        """Return how a model reads all features."""
        return [
            self.write_mining_field(known.name, k in self._looked_up)
            for k, known in enumerate(self._inputs)
        ]

    def write_mining_field(self, name: str, keeps_unknown: bool) -> str:
        treatment = "asIs" if keeps_unknown else "asMissing"
        return element("MiningField", {"name": name, "invalidValueTreatment": treatment})

    def write_schema(self, columns: Sequence[Column], target: str | None = None) -> str:
        """Return how trees read the features that some columns are made of."""
        outputs = [self.find_field(column) for column in columns if column.node is not None]
        places = sorted({place for column in columns for place in column.inputs})
        places = places or [0]  # a schema has one field at least
        own = {"name": target, "usageType": "target"}
        return element(
            "MiningSchema",
            {},
            *([element("MiningField", own)] if target else []),
            *(self.write_mining_field(self._inputs[k].name, k in self._looked_up) for k in places),
            *(element("MiningField", {"name": name}) for name in dict.fromkeys(outputs)),
        )

    def find_categories(self, column: Column) -> tuple[Any, ...] | None:
        """Return the categories of a column, or None if it is a number."""
        if column.lookup is not None or column.node is not None:
            return None
        known = self._inputs[column.inputs[0]]
        return known.categories if known.kind == CATEGORY else None

    # --- columns ---

    def find_field(self, column: Column) -> str:
        """Return the field of a column, which is derived if need be."""
        key = column.inputs, id(column.lookup)
        if column.node is not None:
            return self._outputs[id(column.node)][column.output]
        if key not in self._columns:
            self._columns[key] = self._make_field(column)
        return self._columns[key]

    def set_outputs(self, node: Node, names: list[str]) -> None:
        """Say which fields have the outputs of a node, for the columns that refer to it."""
        self._outputs[id(node)] = names

    def _make_field(self, column: Column) -> str:
        place, lookup = column.inputs[0], column.lookup
        if lookup is None:
            known = self._inputs[place]
            if known.kind != CATEGORY or place not in self._looked_up:
                return known.name
            values = [_write_category(value) for value in known.categories]
            return self._derive(
                f"known({known.name})", _find_type(known), [known.name], [values, values], {}
            )
        fields = [self._find_codes(k) for k in column.inputs]
        names = ",".join(self._inputs[k].name for k in column.inputs)
        digits = _split_keys(lookup)
        rows = [
            *([str(code) for code in own] for own in digits),
            [number(v) for v in lookup.values],
        ]
        default = {"defaultValue": number(lookup.default)}
        return self._derive(f"statistic({names})", "double", fields, rows, default)

    def _find_codes(self, place: int) -> str:
        """Return the field of an input's codes, -1 for unknown categories."""
        if place not in self._codes:
            known = self._inputs[place]
            n = len(known.categories)
            values = [_write_category(value) for value in known.categories]
            rest = {"defaultValue": _UNKNOWN, "mapMissingTo": n}
            codes = [str(code) for code in range(n)]
            self._codes[place] = self._derive(
                f"code({known.name})", "integer", [known.name], [values, codes], rest
            )
        return self._codes[place]

    def _derive(
        self,
        name: str,
        kind: str,
        fields: Sequence[str],
        columns: Sequence[Sequence[str]],
        rest: dict[str, Any],
    ) -> str:
        """Add a field that is looked up by other fields in the columns of a table."""
        name = self.make_name(name)
        optype = "continuous" if name.startswith("statistic") else "categorical"
        about = {"name": name, "optype": optype, "dataType": kind}
        self.derived.append(element("DerivedField", about, map_values(kind, fields, columns, rest)))
        return name


def map_values(
    kind: str, fields: Sequence[str], columns: Sequence[Sequence[str]], rest: dict[str, Any]
) -> str:
    """Return an expression that looks up fields in a table, whose last column has the results."""
    keys = [f"c{k}" for k in range(len(fields))]
    pairs = [
        element("FieldColumnPair", {"field": field, "column": key})
        for field, key in zip(fields, keys, strict=True)
    ]
    tags = [*keys, "out"]
    rows = [
        element(
            "row", {}, *(element(tag, {}, text(cell)) for tag, cell in zip(tags, row, strict=True))
        )
        for row in zip(*columns, strict=True)
    ]
    about = {"outputColumn": "out", "dataType": kind} | rest
    return element("MapValues", about, *pairs, element("InlineTable", {}, *rows))


def _find_looked_up(model: PortableModel) -> set[int]:
    """Return the inputs of all lookups."""
    columns = [
        column
        for node in list_nodes(model.output)
        if isinstance(node, (TreeSum, Affine))
        for column in node.columns
    ]
    return {k for column in columns if column.lookup is not None for k in column.inputs}


def _split_keys(lookup: Lookup) -> list[np.ndarray]:
    """Return the codes of which keys are made, one array per input."""
    rest, digits = lookup.keys, []
    for base in reversed(lookup.bases[1:]):
        rest, digit = np.divmod(rest, base)
        digits.append(digit)
    return [rest, *reversed(digits)]


def _find_type(known: Input) -> str:
    # Not integer, which has 32 bits in JPMML.
    is_text = any(isinstance(value, str) for value in known.categories)
    return "string" if is_text or not known.categories else "double"


def _check_categories(known: Input) -> None:
    for value in known.categories:
        if isinstance(value, int) and abs(value) > _MOST_EXACT:
            raise ExportError(
                f"feature {known.name!r} has categories beyond 2**53, which the numbers of PMML "
                "cannot hold; train on strings of them instead"
            )
        if isinstance(value, str) and (not value or value != " ".join(value.split())):
            raise ExportError(
                f"PMML cannot hold the category {value!r} of feature {known.name!r}: it is empty, "
                "or has white space that XML would change; rename the category"
            )


def _declare(known: Input) -> str:
    if known.kind != CATEGORY:
        about = {"name": known.name, "optype": "continuous", "dataType": "double"}
        return element("DataField", about)
    about = {"name": known.name, "optype": "categorical", "dataType": _find_type(known)}
    values = [element("Value", {"value": _write_category(value)}) for value in known.categories]
    return element("DataField", about, *values)


def _write_category(value: Any) -> str:
    return value if isinstance(value, str) else number(value)
