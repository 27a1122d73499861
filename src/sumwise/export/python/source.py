"""Python: a model as a module that needs no package."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from keyword import iskeyword
from os import PathLike
from typing import Any

import numpy as np

from sumwise.errors import ExportError, ParameterError
from sumwise.export.portable import (
    Affine,
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
from sumwise.export.program import Program, document_source, plan_program, save_text
from sumwise.export.python.columns import PythonColumns
from sumwise.export.python.runtime import write_functions
from sumwise.export.python.trees import (
    TreeExpressions,
    TreeTables,
    can_be_coded,
    list_variables,
    write_number,
)

_FUNCTION_OF_LINK = {"log": "_exp", "log1p": "_expm1", "sigmoid": "_sigmoid"}


@document_source
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
    {model}
    name : str, default="model"
        Name of the module in its documentation.
    {written}

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
    if not all(part.isidentifier() and not iskeyword(part) for part in name.split(".")):
        raise ParameterError(f"name={name!r} is not the name of a module")
    return save_text(_Module(plan_program(describe(model, nested=True)), name).write(), path)


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
        steps = [
            line
            for node in self._program.nodes
            for line in (*self._write_step(node), *self._store_columns(node))
        ]
        columns = PythonColumns(self._program, self._variables)
        reader = _define("_read(row)", columns.write())
        self._needs |= columns.needs
        tables = columns.tables + self._tables
        result = f"return {self._name_node(self._program.nodes[-1])}"
        api = self._write_api()
        imports, runtime = write_functions(self._needs)
        blocks = [
            self._explain(),
            "\n".join(["from __future__ import annotations", "", *imports]),
            "\n".join(self._write_constants()),
            *api,
            *runtime,
            *(["\n".join(tables)] if tables else []),
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
        text += "A row is a dict by the names of the features, or a list in their order.\n"
        text += "A missing value is None or NaN.\n"
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

    # --- steps ---

    def _name_node(self, node: Node) -> str:
        return f"n{self._program.number(node)}"

    def _write_step(self, node: Node) -> list[str]:
        """Return the statements that compute a node."""
        out = self._name_node(node)
        if isinstance(node, TreeSum) and node.n_trees == 0:
            return [f"{out} = {_write_list(node.base_score.tolist())}"]
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

    def _store_columns(self, node: Node) -> list[str]:
        """Return the statements that pass outputs of a node on to trees that split on them."""
        out = self._name_node(node)
        return [
            f"z[{self._variables.index(f'x{k}')}] = {out}[{output}]"
            for k, output in self._program.find_read(node)
        ]

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
            known = {name: f"z[{k}]" for k, name in enumerate(self._variables)}
            own = [known.get(f"x{place}", "") for place in self._program.find_places(node)]
            terms += [f"({x} if {x} == {x} else 0.0)" for x in own]  # "" has no coefficient
        lines = [f"{out} = {_write_list(node.intercept.tolist())}"]
        for k, row in enumerate(slopes.tolist()):
            lines += [
                f"{out}[{k}] += {write_number(slope)} * {term}"
                for slope, term in zip(row, terms, strict=True)
                if slope != 0.0  # 0 times infinity would be NaN
            ]
        return lines

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
