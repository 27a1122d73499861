"""Nodes that combine the results of trees, as expressions of PMML."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sumwise.export.pmml.fields import Fields
from sumwise.export.pmml.linear_leaves import write_linear_leaf
from sumwise.export.pmml.trees import apply, constant, read
from sumwise.export.pmml.xml import element, number
from sumwise.export.portable import (
    Affine,
    Curve,
    Link,
    Median,
    Node,
    Share,
    TreeSum,
    Vote,
    list_children,
)


class Chain(Protocol):
    """Segments that are computed one after another."""

    def write_trees(self, node: TreeSum | Median) -> list[str]:
        """Add segments of trees, and return the fields of their outputs."""

    def write_leaves(self, node: TreeSum) -> list[str]:
        """Add a segment of each tree, and return the fields of their leaves."""

    def publish(self, fields: list[str], derived: list[str]) -> list[str]:
        """Add a segment that computes fields, and return their names for later segments."""


class ExpressionWriter:
    """Writes the nodes of a model as derived fields.

    Parameters
    ----------
    fields : Fields
    chain : Chain
        Where segments are added.
    """

    def __init__(self, fields: Fields, chain: Chain) -> None:
        self._fields, self._chain = fields, chain
        self.derived: list[str] = []
        self._known: dict[int, list[str]] = {}  # outputs of nodes, by their identity
        self._published: set[int] = set()

    def write(self, node: Node) -> list[str]:
        """Return the fields of a node's outputs."""
        if id(node) not in self._known:  # a node may be part of several others
            self._known[id(node)] = self._write_new(node)
        return self._known[id(node)]

    def _write_new(self, node: Node) -> list[str]:
        if isinstance(node, (TreeSum, Median)):
            return self._write_trees(node)
        if isinstance(node, Affine):
            return self._combine(node)
        if isinstance(node, Vote):
            return self._count_votes(node)
        of = self.write(node.of)
        if isinstance(node, Link):
            return self._apply_link(node.name, of)
        return self._share(of) if isinstance(node, Share) else self._interpolate(node, of)

    def _derive(self, name: str, expression: str) -> str:
        name = self._fields.make_name(name)
        about = {"name": name, "optype": "continuous", "dataType": "double"}
        self.derived.append(element("DerivedField", about, expression))
        return name

    def _write_trees(self, node: TreeSum | Median) -> list[str]:
        """Write trees, after the nodes whose outputs they split on."""
        for child in list_children(node.of if isinstance(node, Median) else node):
            if id(child) not in self._published:
                names = self._chain.publish(self.write(child), self.derived)
                self._published.add(id(child))
                self._fields.set_outputs(child, names)
        if isinstance(node, TreeSum) and node.trees.models is not None:
            return self._add_linear_leaves(node)
        return self._chain.write_trees(node)

    def _add_linear_leaves(self, node: TreeSum) -> list[str]:
        leaves = self._chain.write_leaves(node)
        values = [
            read(write_linear_leaf(node, tree, leaf, self._fields, self._derive))
            for tree, leaf in enumerate(leaves)
        ]
        results = []
        for output, base in enumerate(node.base_score):
            total = _add(values[output :: node.n_groups])
            mean = total if node.divisor == 1.0 else apply("/", total, constant(node.divisor))
            results.append(self._derive("trees", apply("+", constant(base), mean)))
        return results

    def _combine(self, node: Affine) -> list[str]:
        terms = [read(name) for child in node.of for name in self.write(child)]
        slopes = node.coefficient
        if node.column_coefficient is not None:
            slopes = np.column_stack([slopes, node.column_coefficient])
            terms += [self._read_number(self._fields.find_field(c)) for c in node.columns]
        return [
            self._derive("linear", _add([constant(first), *map(_scale, own, terms)]))
            for first, own in zip(node.intercept, slopes, strict=True)
        ]

    def _read_number(self, field: str) -> str:
        """Return a number that is 0 if it is missing."""
        return apply("if", apply("isMissing", read(field)), constant(0.0), read(field))

    def _count_votes(self, node: Vote) -> list[str]:
        chosen = [self._find_largest(self.write(child)) for child in node.of]
        return [
            self._derive(
                "votes",
                _add(
                    [
                        apply(
                            "if", apply("equal", read(own), constant(k)), constant(w), constant(0)
                        )
                        for own, w in zip(chosen, node.weights, strict=True)
                    ]
                ),
            )
            for k in range(node.n_outputs)
        ]

    def _find_largest(self, names: Sequence[str]) -> str:
        """Return the field of the index of the largest of some fields, the first of equals."""
        largest = self._derive("largest", apply("max", *map(read, names)))
        place = constant(len(names) - 1)
        for k in reversed(range(len(names) - 1)):
            is_largest = apply("equal", read(names[k]), read(largest))
            place = apply("if", is_largest, constant(k), place)
        return self._derive("vote", place)

    def _share(self, of: Sequence[str]) -> list[str]:
        positive = [
            self._derive("positive", apply("max", read(name), constant(0.0))) for name in of
        ]
        return self._divide(positive, constant(1.0 / len(of)))

    def _divide(self, names: Sequence[str], otherwise: str | None) -> list[str]:
        """Divide fields by their sum."""
        total = self._derive("total", _add([read(name) for name in names]))
        shares = [apply("/", read(name), read(total)) for name in names]
        if otherwise is not None:
            is_positive = apply("greaterThan", read(total), constant(0.0))
            shares = [apply("if", is_positive, share, otherwise) for share in shares]
        return [self._derive("share", share) for share in shares]

    def _interpolate(self, node: Curve, of: Sequence[str]) -> list[str]:
        results = []
        for name, x, y in zip(of, node.x, node.y, strict=True):
            if x.size == 1:
                results.append(self._derive("curve", constant(y[0])))
                continue
            points = [
                element("LinearNorm", {"orig": number(a), "norm": number(b)})
                for a, b in zip(x, y, strict=True)
            ]
            about = {"field": name, "outliers": "asExtremeValues"}
            results.append(self._derive("curve", element("NormContinuous", about, *points)))
        return results

    # --- links ---

    def _apply_link(self, link: str, of: Sequence[str]) -> list[str]:
        if link == "identity":
            return list(of)
        if link == "sorted":
            return self._sort(of)
        if link == "softmax":
            largest = read(self._derive("largest", apply("max", *map(read, of))))
            parts = [apply("exp", apply("-", read(name), largest)) for name in of]
            return self._divide([self._derive("part", part) for part in parts], None)
        if link in ("logistic", "half_logistic"):
            factor = 1.0 if link == "logistic" else 2.0
            return [
                self._derive("probability", _sigmoid(_scale(sign * factor, read(of[0]))))
                for sign in (-1.0, 1.0)
            ]
        function = {"log": _exp, "log1p": _expm1, "sigmoid": _sigmoid}[link]
        return [self._derive("mean", function(read(name))) for name in of]

    def _sort(self, of: Sequence[str]) -> list[str]:
        """Sort by exchanging neighbors."""
        names = list(of)
        for last in range(len(names) - 1, 0, -1):
            for k in range(last):
                pair = read(names[k]), read(names[k + 1])
                names[k : k + 2] = [
                    self._derive("lower", apply("min", *pair)),
                    self._derive("higher", apply("max", *pair)),
                ]
        return names


def _add(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else apply("sum", *terms)


def _scale(factor: float, term: str) -> str:
    return term if factor == 1.0 else apply("*", constant(factor), term)


def _exp(f: str) -> str:
    return apply("exp", f)


def _expm1(f: str) -> str:
    return apply("expm1", f)


def _sigmoid(f: str) -> str:
    return apply("/", constant(1.0), apply("+", constant(1.0), apply("exp", _scale(-1.0, f))))
