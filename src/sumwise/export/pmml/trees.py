"""Trees as models of PMML."""

from typing import Any

import numpy as np

from sumwise.export.pmml.fields import Fields
from sumwise.export.pmml.xml import element, number, open_tag, text
from sumwise.export.portable import Median, TreeSum

_MOST = float(np.finfo(np.float64).max)
_REGRESSION = {"functionName": "regression"}
_MOST_ROUNDING = 1e-12  # of shares that sum to 1


def write_sum(node: TreeSum, output: int, fields: Fields, name: str) -> str:
    """Return a model of one output of trees, whose result has a name."""
    n_columns = node.trees.value.shape[1]
    group, column = divmod(output, n_columns)
    numbers = range(group, node.n_trees, node.n_groups)
    scores = node.trees.value[:, column]
    trees = [(write_tree(node, tree, scores, fields), 1.0) for tree in numbers]
    base = float(node.base_score[output])
    if not trees:
        return _write_constant(fields, base, name)
    raw = fields.make_name("sum")
    total = read(raw)
    if node.divisor != 1.0:
        total = apply("/", total, constant(node.divisor))
    if base != 0.0:
        total = apply("+", constant(base), total)
    results = [write_result(raw, None), write_result(name, total)]
    return _write_segments(node, fields, "sum", trees, results)


def holds_shares(node: TreeSum) -> bool:
    """Return whether trees are a forest whose leaves have shares of the classes."""
    values = node.trees.value[node.trees.feature < 0]
    return (
        node.n_outputs == values.shape[1] > 1
        and node.n_trees == node.divisor
        and not node.base_score.any()
        and bool((values >= 0.0).all())
        and float(np.abs(values.sum(axis=1) - 1.0).max()) < _MOST_ROUNDING
    )


def write_shares(node: TreeSum, fields: Fields, names: list[str]) -> str:
    """Return a model of the mean shares of a forest, each of which has a name."""
    scores = node.trees.value
    trees = [(write_tree(node, tree, scores, fields), 1.0) for tree in range(node.n_trees)]
    results = []
    for k, name in enumerate(names):
        about = {"name": name, "optype": "continuous", "dataType": "double"}
        results.append(element("OutputField", about | {"feature": "probability", "value": k}))
    target = fields.find_place_target(node.n_outputs)
    return _write_segments(node, fields, "average", trees, results, target)


def write_median(node: Median, fields: Fields, name: str) -> str:
    """Return a model of the weighted median of trees, whose result has a name."""
    scores = node.of.trees.value[:, 0]
    trees = [
        (write_tree(node.of, tree, scores, fields), weight)
        for tree, weight in enumerate(node.weights.tolist())
    ]
    return _write_segments(node.of, fields, "weightedMedian", trees, [write_result(name, None)])


def read(field: str) -> str:
    """Return an expression that is a field."""
    return element("FieldRef", {"field": field})


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
    results: list[str],
    target: str | None = None,
) -> str:
    segments = [
        element(
            "Segment",
            {"id": k + 1} if weight == 1.0 else {"id": k + 1, "weight": weight},
            element("True"),
            tree,
        )
        for k, (tree, weight) in enumerate(trees)
    ]
    return element(
        "MiningModel",
        {"functionName": "classification" if target else "regression"},
        fields.write_schema(node.columns, target),
        element("Output", {}, *results),
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


def write_tree(
    node: TreeSum, tree: int, scores: np.ndarray, fields: Fields, result: str | None = None
) -> str:
    """Return a TreeModel of one tree.

    The scores of nodes are numbers, or shares of the classes in rows. The prediction has a name if
    one is given.
    """
    nodes = node.trees
    used = {int(k) for k in nodes.feature[node.start[tree] : node.start[tree + 1]] if k >= 0}
    about = {
        "functionName": "regression" if scores.ndim == 1 else "classification",
        "missingValueStrategy": "defaultChild",
        "splitCharacteristic": "binarySplit",
    }
    target = fields.find_place_target(node.n_outputs) if scores.ndim > 1 else None
    schema = fields.write_schema([node.columns[k] for k in sorted(used)], target)
    pieces = [open_tag("TreeModel", about), schema]
    if result is not None:
        pieces.append(element("Output", {}, write_result(result, None)))
    waiting: list[Any] = [(int(node.start[tree]), element("True"))]
    sets = nodes.left_categories
    while waiting:
        taken = waiting.pop()
        if isinstance(taken, str):
            pieces.append(taken)
            continue
        place, predicate = taken
        if nodes.feature[place] < 0:
            pieces.append(_write_leaf(place, predicate, scores[place]))
            continue
        left = int(nodes.left[place])
        default = left if nodes.missing_left[place] else left + 1
        pieces.append(f'<Node id="{place}" defaultChild="{default}">{predicate}')
        goes_left, goes_right = _write_split(node, place, sets, fields)
        waiting += ["</Node>", (left + 1, goes_right), (left, goes_left)]
    return "".join([*pieces, "</TreeModel>"])


def _write_leaf(place: int, predicate: str, score: np.ndarray) -> str:
    if score.ndim == 0:
        return f'<Node id="{place}" score="{number(float(score))}">{predicate}</Node>'
    shares = "".join(
        f'<ScoreDistribution value="{k}" recordCount="{number(share)}"/>'
        for k, share in enumerate(score.tolist())
    )
    return f'<Node id="{place}" score="{int(score.argmax())}">{predicate}{shares}</Node>'


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
    if categories == ():  # every value is unknown, hence missing
        both = element("True"), element("False")
        return both if nodes.missing_left[place] else both[::-1]
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
