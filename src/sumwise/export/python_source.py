"""Python: a model as a module that needs no package."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Curve,
    Link,
    Median,
    Node,
    Share,
    TreeSum,
    Vote,
    describe,
    list_children,
)
from sumwise.export.program import Program, plan_program, save_text
from sumwise.export.python_runtime import write_functions
from sumwise.export.python_trees import (
    TreeExpressions,
    TreeTables,
    can_be_coded,
    list_variables,
    write_number,
)

_FUNCTION_OF_LINK = {"log": "_exp", "log1p": "_expm1", "sigmoid": "_sigmoid"}


def to_python(model: Any, *, name: str = "model", path: str | PathLike[str] | None = None) -> str:
    """Write a model as a Python module without dependencies, not even NumPy.

    The module runs on Python 3.8 and later. It predicts one row at a time, with the same bits as
    the model:

    ===========================  ==================================================================
    in the module                meaning
    ===========================  ==================================================================
    ``predict(row)``             the prediction, or the label; a list if there are several targets
    ``predict_proba(row)``       a list with the probabilities of the classes, for a classifier
    ``FEATURES``, ``CLASSES``    names of the features, labels of the classes
    ===========================  ==================================================================

    A row is a list of values in the order of the features, or a dict by their names. A missing
    value is None or NaN.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model.
    name : str, default="model"
        Name of the module in its documentation.
    path : path, optional
        Where to write the text. The old file stays until the new one is complete.

    Returns
    -------
    str
        The source.

    Raises
    ------
    ExportError
        If a part of the model cannot be written as Python.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_python
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> model = sumwise.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> module = {}
    >>> exec(to_python(model), module)
    >>> bool(module["predict"]([3.0]) == model.predict([[3.0]])[0])
    True
    """
    return save_text(_Module(plan_program(describe(model)), name).write(), path)


class _Module:
    """The text of a model in Python."""

    def __init__(self, program: Program, name: str) -> None:
        self._program, self._model, self._name = program, program.model, name
        self._needs = {"_read_row"}
        self._tables: list[str] = []
        self._functions: list[str] = []
        self._is_coded = can_be_coded(program)
        self._variables = list_variables(program)

    def write(self) -> str:
        """Return the source."""
        steps = [line for node in self._program.nodes for line in self._write_step(node)]
        reader = self._write_reader()
        result = f"return {self._name_node(self._program.nodes[-1])}"
        api = self._write_api()
        imports, runtime = write_functions(self._needs)
        blocks = [
            self._explain(),
            "\n".join(["from __future__ import annotations", "", *imports]),
            "\n".join(self._write_constants()),
            *api,
            *runtime,
            *(["\n".join(self._tables)] if self._tables else []),
            reader,
            *self._functions,
            _define("_compute(row)", ["z = _read(row)", *steps, result]),
        ]
        return "\n\n\n".join(block.strip() for block in blocks) + "\n"

    # --- what users see ---

    def _explain(self) -> str:
        inputs = self._model.inputs
        row = ", ".join(f"{own.name!a}: ..." for own in inputs[:2])
        row = f"{{{row}{', ...' if len(inputs) > 2 else ''}}}"
        text = f"{self._model.estimator}, written by sumwise. It needs no package.\n\n"
        text += f"    import {self._name}\n\n    {self._name}.predict({row})\n\n"
        text += (
            "A row is a dict by the names of the features, or a list in their order. A missing\n"
        )
        text += "value is None or NaN.\n"
        text = text.replace("\\", "\\\\").replace('"""', '\\"""')
        return f'"""{text}"""'

    def _write_constants(self) -> Iterator[str]:
        yield f"FEATURES = {_write_list([own.name for own in self._model.inputs])}"
        lists = [_write_list(labels.tolist()) for labels in self._model.classes]
        joined = ", ".join(lists)
        if lists:
            yield f"CLASSES = {lists[0] if len(lists) == 1 else f'[{joined}]'}"
        yield 'NAN = float("nan")'

    def _write_api(self) -> list[str]:
        """Return the functions ``predict`` and ``predict_proba``."""
        model = self._model
        if not model.is_classifier:
            one = model.n_outputs == 1
            title = "the prediction of a row" if one else "the predictions of a row, one per target"
            lines = [f'"""Return {title}."""', f"return _compute(row){'[0]' if one else ''}"]
            return [_define("predict(row)", lines)]
        self._needs.add("_largest")
        if len(model.classes) == 1:
            titles = "the most probable label", "the probabilities of the classes"
            results = "CLASSES[_largest(_compute(row))]", "_compute(row)"
        else:
            titles = (
                "the most probable labels, one per target",
                "lists of probabilities, one per target",
            )
            ends = np.cumsum([0, *(labels.size for labels in model.classes)]).tolist()
            pairs = list(pairwise(ends))
            label = "labels[_largest(own)] for labels, own in zip(CLASSES, predict_proba(row))"
            results = f"[{label}]", f"(lambda out: [out[i:j] for i, j in {pairs}])(_compute(row))"
        return [
            _define(f"{name}(row)", [f'"""Return {title}."""', f"return {result}"])
            for name, title, result in zip(
                ("predict", "predict_proba"), titles, results, strict=True
            )
        ]

    # --- columns ---

    def _write_reader(self) -> str:
        """Return the function that computes the numbers and codes of a row."""
        lines = ["row = _read_row(row, FEATURES)"]
        for place in sorted({p for column in self._program.columns for p in column.inputs}):
            own = self._model.inputs[place]
            if own.kind == CATEGORY:
                codes = ", ".join(f"{value!a}: {k}" for k, value in enumerate(own.categories))
                self._tables.append(f"_CODES{place} = {{{codes}}}")
        keys: dict[tuple[object, ...], str] = {}
        for k, column in enumerate(self._program.columns):
            lines += self._read_column(k, column, keys)
        lines.append(f"return {_write_tuple(self._variables)}")
        return _define("_read(row)", lines)

    def _read_column(
        self, k: int, column: Column, keys: dict[tuple[object, ...], str]
    ) -> Iterator[str]:
        (place, *_), lookup = column.inputs, column.lookup
        is_category = lookup is None and self._model.inputs[place].kind == CATEGORY
        if is_category:
            yield f"c{k} = _CODES{place}.get(row[{place}], -1)"
        elif lookup is None:
            yield f"x{k} = NAN if row[{place}] is None else float(row[{place}])"
        else:
            yield from self._look_up(k, column, keys)
        if is_category and f"x{k}" in self._variables:
            yield f"x{k} = NAN if c{k} < 0 else float(c{k})"
        if not is_category and f"c{k}" in self._variables:
            self._needs.add("_whole")
            yield f"c{k} = _whole(x{k})"

    def _look_up(
        self, k: int, column: Column, keys: dict[tuple[object, ...], str]
    ) -> Iterator[str]:
        lookup = column.lookup
        assert lookup is not None
        key = keys.setdefault((column.inputs, lookup.bases), f"key{k}")
        if key == f"key{k}":
            self._needs.add("_digit")
            digits = [f"d{k}_{i}" for i in column.inputs]
            for name, i in zip(digits, column.inputs, strict=True):
                yield f"{name} = _digit(row[{i}], _CODES{i})"
            text = digits[0]
            for name, base in zip(digits[1:], lookup.bases[1:], strict=True):
                text = f"({text}) * {base} + {name}" if "+" in text else f"{text} * {base} + {name}"
            unknown = " or ".join(f"{name} < 0" for name in digits)
            yield f"{key} = -1 if {unknown} else {text}"
        pairs = zip(lookup.keys.tolist(), lookup.values.tolist(), strict=True)
        table = ", ".join(f"{a}: {write_number(b)}" for a, b in pairs)
        self._tables.append(f"_LOOKUP{k} = {{{table}}}")
        yield f"x{k} = _LOOKUP{k}.get({key}, {write_number(lookup.default)})"

    # --- steps ---

    def _name_node(self, node: Node) -> str:
        return f"n{self._program.number(node)}"

    def _write_step(self, node: Node) -> list[str]:
        """Return the statements that compute a node."""
        out, own = self._name_node(node), []
        if isinstance(node, TreeSum):
            return self._add_trees(node, out)
        if isinstance(node, Median):
            return self._find_median(node, out)
        own = [self._name_node(child) for child in list_children(node)]
        if isinstance(node, Affine):
            return self._combine(node, own, out)
        if isinstance(node, Link):
            return [f"{out} = {self._apply_link(node, own[0])}"]
        if isinstance(node, Share):
            return [f"{out} = {self._call('_share', own[0])}"]
        if isinstance(node, Vote):
            weights = _write_list(node.weights.tolist())
            members = f"[{', '.join(own)}]"
            return [f"{out} = {self._call('_vote', members, weights)}"]
        assert isinstance(node, Curve)
        points = zip(node.x, node.y, strict=True)
        calls = [
            self._call("_interpolate", f"{own[0]}[{k}]", *(_write_list(a.tolist()) for a in both))
            for k, both in enumerate(points)
        ]
        return [f"{out} = [{', '.join(calls)}]"]

    def _call(self, name: str, *arguments: str) -> str:
        self._needs.add(name)
        return f"{name}({', '.join(arguments)})"

    def _add_trees(self, node: TreeSum, out: str) -> list[str]:
        is_mean, n = node.divisor != 1.0, node.n_outputs
        start = [0.0] * n if is_mean else node.base_score.tolist()
        lines = [f"{out} = {_write_list(start)}"]
        lines += self._list_calls(node, out)
        if is_mean:
            bases, divisor = node.base_score.tolist(), write_number(node.divisor)
            if any(bases):
                lines.append(
                    f"{out} = [b + s / {divisor} for b, s in zip({_write_list(bases)}, {out})]"
                )
            else:
                lines.append(f"{out} = [s / {divisor} for s in {out}]")
        return lines

    def _find_median(self, node: Median, out: str) -> list[str]:
        half = write_number(0.5 * float(node.weights.sum()))
        weights = _write_list(node.weights.tolist())
        values = f"{out}_values"
        lines = [f"{values} = []", *self._list_calls(node.of, values, appends=True)]
        return [*lines, f"{out} = [{self._call('_median', values, weights, half)}]"]

    def _list_calls(self, trees: TreeSum, out: str, appends: bool = False) -> list[str]:
        """Write the functions of trees; return the statements that call them."""
        number = len([f for f in self._functions if f.startswith("def _trees")])
        if trees.trees.models is not None:
            self._needs.add("_leaf")
        if not self._is_coded:
            self._needs |= {"_walk", "_unpack"}
            tables = TreeTables(self._program, trees, number, self._variables)
            self._tables += tables.write_tables()
            self._functions.append(_define(f"_trees{number}(z)", list(tables.write_loop())))
            return [f"for tree, value in _trees{number}(z):", *_add_value(trees, out, appends)]
        expressions = TreeExpressions(self._program, trees)
        calls: list[str] = []
        for group in expressions.split():
            name = f"_trees{number + len(calls)}"
            lines = [f"{_write_tuple(self._variables)} = z", *_load(trees, appends)]
            for tree in group:
                lines += _add_expression(trees, tree, expressions.write(tree), appends)
            lines += _store(trees, appends)
            self._functions.append(_define(f"{name}(z, out)", lines))
            calls.append(f"{name}(z, {out})")
        return calls

    def _combine(self, node: Affine, own: Sequence[str], out: str) -> list[str]:
        children = zip(own, node.of, strict=True)
        terms = [f"{name}[{k}]" for name, child in children for k in range(child.n_outputs)]
        slopes = node.coefficient
        if node.column_coefficient is not None:
            slopes = np.column_stack([slopes, node.column_coefficient])
            names = [f"x{place}" for place in self._program.find_places(node)]
            known = {name: f"z[{k}]" for k, name in enumerate(self._variables)}
            terms += [known.get(name, "") for name in names]  # "" has no coefficient
        rows = []
        for first, row in zip(node.intercept.tolist(), slopes.tolist(), strict=True):
            text = write_number(first)
            for slope, term in zip(row, terms, strict=True):
                value = f"({term} if {term} == {term} else 0.0)" if term[:1] == "z" else term
                text += f" + {write_number(slope)} * {value}" if slope != 0.0 else ""
            rows.append(text)
        return [f"{out} = [", *(f"    {row}," for row in rows), "]"]

    def _apply_link(self, node: Link, own: str) -> str:
        if node.name == "softmax":
            return self._call("_softmax", own)
        if node.name in ("sorted", "identity"):
            return f"{'sorted' if node.name == 'sorted' else 'list'}({own})"
        if node.name in ("logistic", "half_logistic"):
            score = f"{own}[0]" if node.name == "logistic" else f"2.0 * {own}[0]"
            return f"[{self._call('_sigmoid', f'-({score})')}, {self._call('_sigmoid', score)}]"
        if node.name not in _FUNCTION_OF_LINK:
            raise ExportError(f"the link {node.name!r} cannot be written as Python")
        return f"[{self._call(_FUNCTION_OF_LINK[node.name], 'f')} for f in {own}]"


def _add_value(trees: TreeSum, out: str, appends: bool) -> list[str]:
    """Return the statements that add the ``value`` of a ``tree`` to the outputs."""
    n_columns, n_groups = trees.trees.value.shape[1], trees.n_groups
    group = "0" if n_groups == 1 else f"tree % {n_groups}"
    if appends:
        return [f"    {out}.append(value)"]
    if n_columns == 1:
        return [f"    {out}[{group}] += value"]
    return [
        f"    for k in range({n_columns}):",
        f"        {out}[{group} * {n_columns} + k] += value[k]",
    ]


def _load(trees: TreeSum, appends: bool) -> list[str]:
    return [] if appends else [f"s{k} = out[{k}]" for k in range(trees.n_outputs)]


def _store(trees: TreeSum, appends: bool) -> list[str]:
    return [] if appends else [f"out[{k}] = s{k}" for k in range(trees.n_outputs)]


def _add_expression(trees: TreeSum, tree: int, text: str, appends: bool) -> list[str]:
    if appends:
        return [f"out.append({text})"]
    outputs = trees.find_outputs(tree)
    if len(outputs) == 1:
        return [f"s{outputs[0]} += {text}"]
    return [f"v = {text}", *(f"s{output} += v[{k}]" for k, output in enumerate(outputs))]


def _define(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


def _write_tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _write_list(values: Sequence[Any]) -> str:
    items = [write_number(v) if isinstance(v, float) else ascii(v) for v in values]
    return f"[{', '.join(items)}]"
