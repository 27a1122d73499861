"""The nodes of a model in SQL, each in a stage of the query or several."""

from collections.abc import Sequence

import numpy as np

from sumwise.errors import ExportError
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
from sumwise.export.program import Program
from sumwise.export.sql.columns import SqlColumns
from sumwise.export.sql.dialects import Dialect
from sumwise.export.sql.stages import Stages
from sumwise.export.sql.trees import TreeCases

# Sums of many terms would be too deep for SQLite and DuckDB, which allow 1,000 levels.
_TERMS_PER_STAGE = 100
# Ranking compares all pairs.
_MOST_RANKED = 200


class SqlSteps:
    """Computes the nodes of a program in stages of a query."""

    def __init__(
        self, program: Program, dialect: Dialect, stages: Stages, columns: SqlColumns
    ) -> None:
        self._program, self._dialect = program, dialect
        self._stages, self._columns = stages, columns
        self._outputs: dict[int, list[str]] = {}  # by the id of the node
        self._number = dialect.write_number

    def write(self) -> list[str]:
        """Add the stages of all nodes; return the names of the outputs of the last one."""
        for node in self._program.nodes:
            own = self._outputs[id(node)] = self._write_step(node)
            for k, output in self._program.find_read(node):
                self._columns.numbers[k] = own[output]
        return self._outputs[id(self._program.nodes[-1])]

    def _write_step(self, node: Node) -> list[str]:
        """Add the stages of a node; return the names of its outputs."""
        if isinstance(node, TreeSum):
            return self._add_trees(node)
        if isinstance(node, Median):
            return self._find_median(node)
        own = [self._outputs[id(child)] for child in list_children(node)]
        if isinstance(node, Affine):
            return self._combine(node, [name for names in own for name in names])
        if isinstance(node, Link):
            return self._apply_link(node, own[0])
        if isinstance(node, Share):
            positive = [f"CASE WHEN {x} > 0e0 THEN {x} ELSE 0e0 END" for x in own[0]]
            return self._divide_by_sum(node, positive, self._number(1.0 / len(positive)))
        if isinstance(node, Vote):
            return self._vote(node, own)
        assert isinstance(node, Curve)
        texts = [self._interpolate(*c) for c in zip(own[0], node.x, node.y, strict=True)]
        return self._add(node, "y", texts)

    def _add(self, node: Node, kind: str, texts: Sequence[str]) -> list[str]:
        """Add a stage with some columns; return their names."""
        stem = f"{kind}{self._program.number(node)}"
        names = [self._stages.name(f"{stem}_{k}") for k in range(len(texts))]
        return self._stages.add(dict(zip(names, texts, strict=True)))

    def _add_up(
        self, node: Node, kind: str, start: Sequence[float], terms: Sequence[Sequence[str]]
    ) -> list[str]:
        """Add sums of terms, in their order and in several stages if they are many."""
        sums = [f"CAST({self._number(first)} AS {self._dialect.double})" for first in start]
        for first in range(0, max(1, *map(len, terms)), _TERMS_PER_STAGE):
            parts = [own[first : first + _TERMS_PER_STAGE] for own in terms]
            texts = ["\n      + ".join([s, *own]) for s, own in zip(sums, parts, strict=True)]
            sums = self._add(node, f"{kind}{first}_", texts)
        return sums

    # --- trees ---

    def _write_cases(self, trees: TreeSum) -> TreeCases:
        places = self._program.find_places(trees)
        numbers = [self._columns.numbers[place] if place >= 0 else "" for place in places]
        codes = [self._columns.codes[place] if place >= 0 else "" for place in places]
        return TreeCases(trees, numbers, codes, self._dialect)

    def _add_trees(self, node: TreeSum) -> list[str]:
        cases, is_mean = self._write_cases(node), node.divisor != 1.0
        terms: list[list[str]] = [[] for _ in range(node.n_outputs)]
        for tree, root in enumerate(node.start[:-1].tolist()):
            for column, output in enumerate(node.find_outputs(tree)):
                terms[output].append(cases.write(root, column))
        start = [0.0] * node.n_outputs if is_mean else node.base_score.tolist()
        sums = self._add_up(node, "s", start, terms)
        if not is_mean:
            return sums
        bases = [f"{self._number(b)} + " if b != 0.0 else "" for b in node.base_score.tolist()]
        divisor = self._number(node.divisor)
        return self._add(
            node, "m", [f"{b}{s} / {divisor}" for b, s in zip(bases, sums, strict=True)]
        )

    def _find_median(self, node: Median) -> list[str]:
        n_trees = node.of.n_trees
        if n_trees > _MOST_RANKED:
            raise ExportError(
                f"the weighted median of {n_trees} trees is too large for SQL, which compares all "
                f"pairs of them; at most {_MOST_RANKED} trees are possible"
            )
        cases = self._write_cases(node.of)
        values = self._add(node, "v", [cases.write(int(r), 0) for r in node.of.start[:-1]])
        ranks = self._rank(node, values)
        weights = [self._number(weight) for weight in node.weights.tolist()]
        weights = self._add(node, "w", _put_in_order(ranks, weights))
        values = self._add(node, "o", _put_in_order(ranks, values))
        half = self._number(0.5 * float(node.weights.sum()))
        # Sums are written out, so that they are added in the order of the values.
        whens = [
            f"WHEN 0e0 + {' + '.join(weights[: k + 1])} >= {half} THEN {values[k]}"
            for k in range(n_trees - 1)
        ]
        case = f"CASE {' '.join(whens)} ELSE {values[-1]} END" if whens else values[-1]
        return self._add(node, "y", [case])

    def _rank(self, node: Node, values: Sequence[str]) -> list[str]:
        """Return the rank of each value, equal ones in their order."""
        ranks = [
            " + ".join(
                f"CASE WHEN {other} {'<=' if j < k else '<'} {own} THEN 1 ELSE 0 END"
                for j, other in enumerate(values)
                if j != k
            )
            for k, own in enumerate(values)
        ]
        return self._add(node, "r", [rank or "0" for rank in ranks])

    # --- other nodes ---

    def _combine(self, node: Affine, own: Sequence[str]) -> list[str]:
        terms, slopes = list(own), node.coefficient
        if node.column_coefficient is not None:
            slopes = np.column_stack([slopes, node.column_coefficient])
            places = self._program.find_places(node)
            terms += [
                f"COALESCE({self._columns.numbers[p]}, 0e0)" if p >= 0 else "" for p in places
            ]
        products = [
            [
                f"{self._number(slope)} * {term}"
                for slope, term in zip(row, terms, strict=True)
                if slope != 0.0  # 0 times infinity would be NaN
            ]
            for row in slopes.tolist()
        ]
        return self._add_up(node, "y", node.intercept.tolist(), products)

    def _vote(self, node: Vote, own: Sequence[Sequence[str]]) -> list[str]:
        largest = self._add(node, "m", [self._dialect.find_largest(names) for names in own])
        chosen = [
            f"CASE {top} {' '.join(f'WHEN {x} THEN {k}' for k, x in enumerate(names))} END"
            for top, names in zip(largest, own, strict=True)
        ]
        places = self._add(node, "p", chosen)
        weights = [self._number(weight) for weight in node.weights.tolist()]
        votes = [
            [
                f"CASE WHEN {place} = {k} THEN {weight} ELSE 0e0 END"
                for place, weight in zip(places, weights, strict=True)
            ]
            for k in range(node.n_outputs)
        ]
        return self._add_up(node, "y", [0.0] * node.n_outputs, votes)

    def _divide_by_sum(self, node: Node, parts: Sequence[str], otherwise: str) -> list[str]:
        own = self._add(node, "a", parts)
        (total,) = self._add_up(node, "t", [0.0], [own])
        return self._add(
            node,
            "y",
            [f"CASE WHEN {total} > 0e0 THEN {x} / {total} ELSE {otherwise} END" for x in own],
        )

    def _interpolate(self, at: str, x: np.ndarray, y: np.ndarray) -> str:
        whens = [f"WHEN {at} <= {self._number(x[0])} THEN {self._number(y[0])}"]
        slopes = np.diff(y) / np.diff(x)
        for k, slope in enumerate(slopes.tolist()):
            line = f"{self._number(slope)} * ({at} - {self._number(x[k])}) + {self._number(y[k])}"
            whens.append(f"WHEN {at} < {self._number(x[k + 1])} THEN {line}")
        return f"CASE {' '.join(whens)} ELSE {self._number(y[-1])} END"

    # --- links ---

    def _apply_link(self, node: Link, own: list[str]) -> list[str]:
        if node.name == "identity":
            return own
        if node.name == "log":
            return self._add(node, "y", [self._dialect.exp(score) for score in own])
        if node.name == "log1p":
            return self._apply_expm1(node, own)
        if node.name == "sigmoid":
            return self._apply_sigmoid(node, own)
        if node.name == "sorted":
            return self._add(node, "y", _put_in_order(self._rank(node, own), own))
        if node.name in ("logistic", "half_logistic"):
            factor = "" if node.name == "logistic" else "2e0 * "
            both = self._add(node, "f", [f"-{factor}{own[0]}", f"{factor}{own[0]}"])
            return self._apply_sigmoid(node, both)
        if node.name == "softmax":
            (top,) = self._add(node, "h", [self._dialect.find_largest(own)])
            shares = [self._dialect.exp(f"({score} - {top})") for score in own]
            return self._divide_by_sum(node, shares, "NULL")
        raise ExportError(f"the link {node.name!r} cannot be written as SQL")

    def _apply_sigmoid(self, node: Node, own: Sequence[str]) -> list[str]:
        """Not 1 / (1 + e^-f), which would overflow."""
        powers = self._add(node, "e", [self._dialect.exp(f"-ABS({score})") for score in own])
        texts = [
            f"CASE WHEN {f} >= 0e0 THEN 1e0 / (1e0 + {e}) ELSE {e} * (1e0 / (1e0 + {e})) END"
            for f, e in zip(own, powers, strict=True)
        ]
        return self._add(node, "y", texts)

    def _apply_expm1(self, node: Node, own: Sequence[str]) -> list[str]:
        """e^f - 1 = tanh(f / 2) (e^f + 1), with the series of tanh for small f."""
        sizes = self._add(node, "h", [f"ABS(0.5e0 * {score})" for score in own])
        powers = self._add(node, "e", [self._dialect.exp(f"(-2e0 * {size})") for size in sizes])
        texts = []
        for f, h, e in zip(own, sizes, powers, strict=True):
            series = self._number(62.0 / 2835.0)
            for term in (-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0):
                series = f"({series} * ({h} * {h}) + {self._number(term)})"
            small = f"{h} + {h} * ({h} * {h} * {series})"
            tanh = f"CASE WHEN {h} < 0.05e0 THEN {small} ELSE (1e0 - {e}) / (1e0 + {e}) END"
            sign = f"CASE WHEN {f} >= 0e0 THEN 1e0 ELSE -1e0 END"
            texts.append(f"{sign} * ({tanh}) * ({self._dialect.exp(f)} + 1e0)")
        return self._add(node, "y", texts)


def _put_in_order(ranks: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the values in the order of their ranks."""
    return [
        f"CASE {k} {' '.join(f'WHEN {r} THEN {v}' for r, v in zip(ranks, values, strict=True))} END"
        for k in range(len(values))
    ]
