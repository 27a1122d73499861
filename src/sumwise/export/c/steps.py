"""The body of exported C: the steps of a model, one after the other."""

from collections.abc import Sequence

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.c.columns import ColumnReader, Slots
from sumwise.export.c.runtime import N_ABREAST
from sumwise.export.c.text import CParts, write_function, write_number
from sumwise.export.c.trees import TreeTables
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

_FUNCTION_OF_LINK = {"log": "exp", "log1p": "expm1", "sigmoid": "sigmoid"}


def write_body(program: Program, prefix: str) -> str:
    """Return everything in a source except what users see.

    Its last function is ``compute(x, out)``: x has numbers, and codes of categories.
    """
    return _Body(program).write(prefix)


class _Body:
    def __init__(self, program: Program) -> None:
        self._program, self._parts, self._slots = program, CParts(), Slots(program)
        self._tables = TreeTables(program, self._slots, self._parts)

    def write(self, prefix: str) -> str:
        nodes = self._program.nodes
        reads = bool(self._program.columns or self._program.tree_sums)
        self._tables.write()
        lines = [f"double column[{len(self._slots)}];"] if reads else []
        lines += [f"double n{k}[{node.n_outputs}];" for k, node in enumerate(nodes[:-1])]
        reader = ColumnReader(self._program, self._slots, self._parts)
        if reads:
            reader.write()
            lines.append("@read_columns(x, column);")
        else:
            lines.append("(void)x;")
        for node in nodes:
            lines += self._write_step(node)
            lines += reader.store_outputs(node, self._name(node))
        head = "static void @compute(const double *x, double *out)"
        self._parts.functions.append(write_function(head, lines))
        return self._parts.write(prefix)

    def _name(self, node: Node) -> str:
        """Return the variable with the outputs of a node."""
        is_last = node is self._program.nodes[-1]
        return "out" if is_last else f"n{self._program.number(node)}"

    def _write_step(self, node: Node) -> list[str]:
        """Return the statements that compute a node."""
        out = self._name(node)
        if isinstance(node, TreeSum) and node.n_trees == 0:
            bases = map(write_number, node.base_score.tolist())
            return [f"{out}[{k}] = {base};" for k, base in enumerate(bases)]
        if isinstance(node, (TreeSum, Median)):
            name = f"@step{self._program.number(node)}"
            lines = self._add_trees(node) if isinstance(node, TreeSum) else self._find_median(node)
            head = f"static void {name}(const double *column, double *out)"
            self._parts.functions.append(write_function(head, lines))
            return [f"{name}(column, {out});"]
        own = [self._name(child) for child in list_children(node)]
        if isinstance(node, Affine):
            return self._combine(node, own, out)
        if isinstance(node, Link):
            return self._apply_link(node, own[0], out)
        if isinstance(node, Share):
            return [self._parts.call("share", own[0], node.n_outputs, out) + ";"]
        if isinstance(node, Vote):
            return self._vote(node, own, out)
        assert isinstance(node, Curve)
        return self._interpolate(node, own[0], out)

    # --- trees ---

    def _add_trees(self, node: TreeSum) -> list[str]:
        number, n_columns = self._tables.leaves[id(node)], node.trees.value.shape[1]
        group = "" if node.n_groups == 1 else f"(tree + k) % {node.n_groups}"
        leaf = "@nodes[leaf[k]].threshold"
        counters = "int tree, k;"
        if node.trees.models is not None:
            entry = f"@leaves{number} + (int32_t){leaf}"
            leaf = self._parts.call("evaluate", entry, f"@terms{number}", "column")
        add = [f"sum[{group or 0}] += {leaf};"]
        if n_columns > 1:
            counters = "int tree, k, i;"
            value = f"@leaves{number}[(int32_t){leaf} * {n_columns} + i]"
            output = f"{group} * {n_columns} + i" if group else "i"
            add = [
                f"for (i = 0; i < {n_columns}; i++)",
                f"    sum[{output}] += {value};",
            ]
        bases, results = node.base_score.tolist(), [f"sum[{k}]" for k in range(node.n_outputs)]
        if node.divisor != 1.0:
            first = ["" if base == 0.0 else f"{write_number(base)} + " for base in bases]
            results = [
                f"{b}{s} / {write_number(node.divisor)}"
                for b, s in zip(first, results, strict=True)
            ]
            bases = [0.0] * node.n_outputs
        return [
            f"double sum[{node.n_outputs}] = {{{', '.join(map(write_number, bases))}}};",
            f"int32_t leaf[{N_ABREAST}];",
            counters,
            *self._loop_over_trees(node, add),
            *(f"out[{k}] = {result};" for k, result in enumerate(results)),
        ]

    def _find_median(self, node: Median) -> list[str]:
        n_trees, weights = node.of.n_trees, f"@weights{self._program.number(node)}"
        numbers = map(write_number, node.weights.tolist())
        self._parts.add_table(f"double {weights}", numbers)
        half = write_number(0.5 * float(node.weights.sum()))
        median = self._parts.call("median", "value", weights, n_trees, half, "order")
        return [
            f"double value[{n_trees}];",
            f"int order[{n_trees}];",
            f"int32_t leaf[{N_ABREAST}];",
            "int tree, k;",
            *self._loop_over_trees(node.of, ["value[tree + k] = @nodes[leaf[k]].threshold;"]),
            f"out[0] = {median};",
        ]

    def _loop_over_trees(self, trees: TreeSum, body: Sequence[str]) -> list[str]:
        """Return a loop that walks groups of trees, and handles the leaves in their order."""
        n_trees, first = trees.n_trees, self._tables.first_root[id(trees)]
        place = f"{first} + tree" if first else "tree"
        return [
            f"for (tree = 0; tree < {n_trees}; tree += {N_ABREAST}) {{",
            f"    @walk(@roots + {place}, column, leaf);",
            f"    for (k = 0; k < {N_ABREAST} && tree + k < {n_trees}; k++)",
            *(f"        {line}" for line in body),
            "}",
        ]

    # --- other nodes ---

    def _combine(self, node: Affine, own: Sequence[str], out: str) -> list[str]:
        children = zip(own, node.of, strict=True)
        terms = [f"{name}[{k}]" for name, child in children for k in range(child.n_outputs)]
        slopes = node.coefficient
        if node.column_coefficient is not None:
            slopes = np.column_stack([slopes, node.column_coefficient])
            terms += [self._read_number(place) for place in self._program.find_places(node)]
        lines = []
        for k, first in enumerate(node.intercept.tolist()):
            lines.append(f"{out}[{k}] = {write_number(first)};")
            lines += [
                f"{out}[{k}] += {write_number(slope)} * {term};"
                for slope, term in zip(slopes[k].tolist(), terms, strict=True)
                if slope != 0.0  # 0 times infinity would be NaN
            ]
        return lines

    def _read_number(self, place: int) -> str:
        """Return a column, 0 if it is missing."""
        if place < 0:
            return ""  # no coefficient
        slot = f"column[{self._slots.find(int(place))}]"
        return f"({slot} == {slot} ? {slot} : 0.0)"

    def _apply_link(self, node: Link, own: str, out: str) -> list[str]:
        call, n = self._parts.call, node.of.n_outputs
        if node.name == "softmax":
            return [call("softmax", own, n, out) + ";"]
        if node.name == "sorted":
            return [call("sort", own, n, out) + ";"]
        if node.name in ("logistic", "half_logistic"):
            score = f"{own}[0]" if node.name == "logistic" else f"2.0 * {own}[0]"
            scores = (f"-({score})", score)
            return [f"{out}[{k}] = {call('sigmoid', score)};" for k, score in enumerate(scores)]
        if node.name == "identity":
            return [f"{out}[{k}] = {own}[{k}];" for k in range(n)]
        if node.name not in _FUNCTION_OF_LINK:
            raise ExportError(f"the link {node.name!r} cannot be written as C")
        function = _FUNCTION_OF_LINK[node.name]
        return [f"{out}[{k}] = {call(function, f'{own}[{k}]')};" for k in range(n)]

    def _vote(self, node: Vote, own: Sequence[str], out: str) -> list[str]:
        lines = [f"{out}[{k}] = 0.0;" for k in range(node.n_outputs)]
        for name, weight in zip(own, node.weights.tolist(), strict=True):
            place = self._parts.call("largest", name, node.n_outputs)
            lines.append(f"{out}[{place}] += {write_number(weight)};")
        return lines

    def _interpolate(self, node: Curve, own: str, out: str) -> list[str]:
        lines = []
        for k, points in enumerate(zip(node.x, node.y, strict=True)):
            x, y = (f"@curve{self._program.number(node)}_{k}_{axis}" for axis in "xy")
            for name, numbers in zip((x, y), points, strict=True):
                self._parts.add_table(f"double {name}", map(write_number, numbers.tolist()))
            call = self._parts.call("interpolate", f"{own}[{k}]", x, y, node.x[k].size)
            lines.append(f"{out}[{k}] = {call};")
        return lines
