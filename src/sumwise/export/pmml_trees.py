"""Trees as models of PMML."""

from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.pmml_fields import Fields
from sumwise.export.pmml_xml import element, number, open_tag, text
from sumwise.export.portable import Median, TreeSum

_MOST = float(np.finfo(np.float64).max)
_REGRESSION = {"functionName": "regression"}


def write_sum(node: TreeSum, output: int, fields: Fields, name: str) -> str:
    """Return a model of one output of trees, whose result has a name."""
    if node.trees.models is not None:
        raise ExportError(
            "PMML trees cannot hold linear models in their leaves; use to_onnx, to_python or to_c, "
            "or train without LinearLeaves"
        )
    n_columns = node.trees.value.shape[1]
    group, column = divmod(output, n_columns)
    numbers = range(group, node.n_trees, node.n_groups)
    trees = [(write_tree(node, tree, column, fields), 1.0) for tree in numbers]
    base = float(node.base_score[output])
    if not trees:
        return _write_constant(fields, base, name)
    raw = fields.make_name("sum")
    total = element("FieldRef", {"field": raw})
    if node.divisor != 1.0:
        total = apply("/", total, constant(node.divisor))
    if base != 0.0:
        total = apply("+", constant(base), total)
    return _write_segments(node, fields, "sum", trees, [(raw, None), (name, total)])


def write_median(node: Median, fields: Fields, name: str) -> str:
    """Return a model of the weighted median of trees, whose result has a name."""
    trees = [
        (write_tree(node.of, tree, 0, fields), float(node.weights[tree]))
        for tree in range(node.of.n_trees)
    ]
    return _write_segments(node.of, fields, "weightedMedian", trees, [(name, None)])


def constant(value: float) -> str:
    """Return an expression that is a number."""
    return element("Constant", {"dataType": "double"}, number(value))


def apply(function: str, *arguments: str) -> str:
    """Return an expression that applies a function of PMML."""
    return element("Apply", {"function": function}, *arguments)


def write_result(name: str, expression: str | None) -> str:
    """Return an output: the prediction itself, or an expression."""
    feature = "predictedValue" if expression is None else "transformedValue"
    about = {"name": name, "optype": "continuous", "dataType": "double", "feature": feature}
    return element("OutputField", about, *([expression] if expression else []))


def _write_segments(
    node: TreeSum,
    fields: Fields,
    method: str,
    trees: list[tuple[str, float]],
    results: list[tuple[str, str | None]],
) -> str:
    segments = [
        element("Segment", {"id": k + 1, "weight": weight}, element("True"), tree)
        for k, (tree, weight) in enumerate(trees)
    ]
    return element(
        "MiningModel",
        _REGRESSION,
        fields.write_schema(node.columns),
        element("Output", {}, *(write_result(*result) for result in results)),
        element("Segmentation", {"multipleModelMethod": method}, *segments),
    )


def _write_constant(fields: Fields, value: float, name: str) -> str:
    return element(
        "RegressionModel",
        _REGRESSION,
        fields.write_schema([]),
        element("Output", {}, write_result(name, None)),
        element("RegressionTable", {"intercept": value}),
    )


def write_tree(node: TreeSum, tree: int, column: int, fields: Fields) -> str:
    """Return a TreeModel of one tree, with one of the values of its leaves."""
    nodes = node.trees
    used = {int(k) for k in nodes.feature[node.start[tree] : node.start[tree + 1]] if k >= 0}
    schema = fields.write_schema([node.columns[k] for k in sorted(used)])
    about = _REGRESSION | {
        "missingValueStrategy": "defaultChild",
        "splitCharacteristic": "binarySplit",
    }
    pieces = [open_tag("TreeModel", about), schema]
    waiting: list[Any] = [(int(node.start[tree]), element("True"))]
    sets = nodes.left_categories
    while waiting:
        taken = waiting.pop()
        if isinstance(taken, str):
            pieces.append(taken)
            continue
        place, predicate = taken
        attributes: dict[str, Any] = {"id": place}
        if nodes.feature[place] < 0:
            attributes["score"] = float(nodes.value[place, column])
            pieces += [open_tag("Node", attributes), predicate, "</Node>"]
            continue
        left = int(nodes.left[place])
        attributes["defaultChild"] = left if nodes.missing_left[place] else left + 1
        pieces += [open_tag("Node", attributes), predicate]
        goes_left, goes_right = _write_split(node, place, sets, fields)
        waiting += ["</Node>", (left + 1, goes_right), (left, goes_left)]
    return "".join([*pieces, "</TreeModel>"])


def _write_split(
    node: TreeSum, place: int, sets: dict[int, np.ndarray], fields: Fields
) -> tuple[str, str]:
    """Return which rows go left and which go right.

    Both are unknown if the value is missing: then rows go to the default child.
    """
    nodes = node.trees
    column = node.columns[nodes.feature[place]]
    field, categories = fields.find_field(column), fields.find_categories(column)
    threshold = float(nodes.threshold[place])
    if categories is not None:
        codes = sets.get(place, np.flatnonzero(np.arange(len(categories)) <= threshold))
        return _write_sets(field, [categories[int(code)] for code in codes])
    # Infinite numbers are written without them: engines do not agree on their names.
    if threshold == np.inf and nodes.missing_left[place]:
        return element("True"), element("False")
    if threshold == np.inf:
        return _write_test(field, "isNotMissing"), _write_test(field, "isMissing")
    if threshold == -np.inf:
        least = number(-_MOST)
        return _write_test(field, "lessThan", least), _write_test(field, "greaterOrEqual", least)
    value = number(threshold)
    return _write_test(field, "lessOrEqual", value), _write_test(field, "greaterThan", value)


def _write_test(field: str, operator: str, value: str | None = None) -> str:
    about = {"field": field, "operator": operator} | ({} if value is None else {"value": value})
    return element("SimplePredicate", about)


def _write_sets(field: str, categories: list[Any]) -> tuple[str, str]:
    """Return that a field is one of some categories, and that it is not."""
    if any(isinstance(value, str) and ('"' in value or "\\" in value) for value in categories):
        # Engines read quotes within arrays in different ways.
        equal = [_write_test(field, "equal", value) for value in categories]
        differ = [_write_test(field, "notEqual", value) for value in categories]
        if len(categories) == 1:
            return equal[0], differ[0]
        return (
            element("CompoundPredicate", {"booleanOperator": "or"}, *equal),
            element("CompoundPredicate", {"booleanOperator": "and"}, *differ),
        )
    if all(isinstance(value, str) for value in categories):
        kind, members = "string", [f'"{value}"' for value in categories]
    else:
        kind, members = "real", [number(value) for value in categories]
    array = element("Array", {"type": kind, "n": len(members)}, text(" ".join(members)))
    is_in, is_not_in = (
        element("SimpleSetPredicate", {"field": field, "booleanOperator": operator}, array)
        for operator in ("isIn", "isNotIn")
    )
    return is_in, is_not_in
