"""Models as JSON, in a documented schema: any program can read and evaluate them.

``docs/model_schema.md`` explains the schema. ``reader.py`` reads documents back.
"""

import json
import os
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.files import write_bytes
from sumwise.export.json.reader import from_json
from sumwise.export.portable import (
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Median,
    Node,
    PortableModel,
    Share,
    TreeSum,
    Vote,
    describe,
    list_children,
    refuse_large_labels,
)
from sumwise.tree.tree import LeafModels

__all__ = ["from_json", "to_json"]


def to_json(model: Any, *, path: str | os.PathLike[str] | None = None) -> str:
    """Return a fitted model as JSON text.

    The text holds everything that predictions need: the features with their categories, the trees,
    and what is computed from their sums. Numbers are written so that reading them gives the same
    double-precision numbers. ``docs/model_schema.md`` describes the schema, of which
    ``sumwise.export.JSON_SCHEMA`` is the formal version.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model of sumwise.
    path : str or path-like, default=None
        Where to write the text too.

    Returns
    -------
    str

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import DecisionTreeClassifier
    >>> from sumwise.export import to_json
    >>> X, y = load_iris(return_X_y=True)
    >>> document = json.loads(to_json(DecisionTreeClassifier(max_depth=1).fit(X[:, [2]], y)))
    >>> document["nodes"][0]["trees"][0]["threshold"]
    [2.45, 0.0, 0.0]
    """
    described = describe(model, nested=True)
    refuse_large_labels(described, "64 bits")
    text = _lay_out(_encode_model(described), "") + "\n"
    if path is not None:
        write_bytes(path, text.encode())
    return text


def _encode_model(model: PortableModel) -> dict[str, Any]:
    nodes = _number_nodes(model.output)
    place = {id(node): k for k, node in enumerate(nodes)}
    return {
        "format": "sumwise-model",
        "version": 1,
        "estimator": model.estimator,
        "inputs": [_encode_input(each) for each in model.inputs],
        "classes": [_encode_labels(own) for own in model.classes],
        "nodes": [_encode_node(node, place) for node in nodes],
        "output": len(nodes) - 1,
    }


def _number_nodes(output: Node) -> list[Node]:
    """Return all nodes, each once and after those that it is computed from."""
    nodes: list[Node] = []
    seen: set[int] = set()

    def visit(node: Node) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for child in list_children(node):
                visit(child)
            nodes.append(node)

    visit(output)
    return nodes


def _encode_input(known: Input) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": known.name, "kind": known.kind}
    if known.categories:
        entry["categories"] = list(known.categories)
    for value in known.categories:
        if isinstance(value, float) and not np.isfinite(value):
            raise ExportError(
                f"feature {known.name!r} has the category {value}, which JSON cannot hold; "
                "convert the categories to strings"
            )
    return entry


def _encode_labels(labels: np.ndarray) -> list[Any]:
    values = labels.tolist()
    for value in values:
        is_plain = isinstance(value, (str, bool, int)) or (
            isinstance(value, float) and np.isfinite(value)
        )
        if not is_plain:
            raise ExportError(
                f"class {value!r} is a {type(value).__name__}, which JSON cannot hold; train on "
                "strings or numbers"
            )
    return values


def _encode_node(node: Node, place: dict[int, int]) -> dict[str, Any]:
    if isinstance(node, TreeSum):
        return {
            "type": "trees",
            "columns": [_encode_column(column, place) for column in node.columns],
            "base_score": _encode_array(node.base_score),
            "divisor": float(node.divisor),
            "trees": _encode_trees(node),
        }
    if isinstance(node, Affine):
        entry = {
            "type": "affine",
            "of": [place[id(child)] for child in node.of],
            "coefficient": _encode_array(node.coefficient),
            "intercept": _encode_array(node.intercept),
        }
        if node.columns:
            assert node.column_coefficient is not None
            entry["columns"] = [_encode_column(column, place) for column in node.columns]
            entry["column_coefficient"] = _encode_array(node.column_coefficient)
        return entry
    if isinstance(node, Vote):
        of = [place[id(child)] for child in node.of]
        return {"type": "vote", "of": of, "weights": _encode_array(node.weights)}
    of_one = {"of": place[id(node.of)]}
    if isinstance(node, Median):
        return {"type": "median", **of_one, "weights": _encode_array(node.weights)}
    if isinstance(node, Link):
        return {"type": "link", **of_one, "name": node.name}
    if isinstance(node, Share):
        return {"type": "share", **of_one}
    assert isinstance(node, Curve)
    x, y = ([_encode_array(own) for own in each] for each in (node.x, node.y))
    return {"type": "curve", **of_one, "x": x, "y": y}


def _encode_column(column: Column, place: dict[int, int]) -> dict[str, Any]:
    if column.node is not None:
        return {"node": place[id(column.node)], "output": column.output}
    if column.lookup is None:
        return {"inputs": list(column.inputs)}
    digits, rest = [], column.lookup.keys
    for base in column.lookup.bases[:0:-1]:
        rest, digit = np.divmod(rest, base)
        digits.append(digit)
    codes = np.column_stack([rest, *digits[::-1]])
    values, default = column.lookup.values, column.lookup.default
    lookup = {
        "codes": codes.tolist(),
        "values": _encode_array(values),
        "default": _encode_number(default),
    }
    return {"inputs": list(column.inputs), "lookup": lookup}


def _encode_trees(node: TreeSum) -> list[dict[str, Any]]:
    sets = node.trees.left_categories
    return [
        _encode_tree(node, int(first), int(last), sets)
        for first, last in zip(node.start[:-1], node.start[1:], strict=True)
    ]


def _encode_tree(
    node: TreeSum, first: int, last: int, sets: dict[int, np.ndarray]
) -> dict[str, Any]:
    trees, own = node.trees, slice(first, last)
    left = trees.left[own]
    entry: dict[str, Any] = {
        "column": np.where(left < 0, -1, trees.feature[own]).tolist(),
        "threshold": _encode_array(np.where(left < 0, 0.0, trees.threshold[own])),
        "missing_left": (trees.missing_left[own] > 0).tolist(),
        "left": np.where(left < 0, -1, left - first).tolist(),
        "value": _encode_array(trees.value[own]),
    }
    if any(k in sets for k in range(first, last)):
        entry["categories"] = [sets[k].tolist() if k in sets else None for k in range(first, last)]
    if trees.models is not None:
        models, ends = trees.models, trees.models.first
        entry["linear"] = [_encode_linear(models, ends, k) for k in range(first, last)]
    entry["gain"] = _encode_array(trees.gain[own])
    entry["rows"] = trees.n_rows[own].tolist()
    entry["weight"] = _encode_array(trees.weight[own])
    return entry


def _encode_linear(models: LeafModels, ends: np.ndarray, node: int) -> dict[str, Any] | None:
    terms = slice(int(ends[node]), int(ends[node + 1]))
    if terms.start == terms.stop:
        return None
    return {
        "constant": _encode_number(float(models.constant[node])),
        "columns": models.feature[terms].tolist(),
        "coefficients": _encode_array(models.coefficient[terms]),
        "low": _encode_number(float(models.low[node])),
        "high": _encode_number(float(models.high[node])),
    }


def _encode_array(values: np.ndarray) -> list[Any]:
    if np.isfinite(values).all():
        return np.asarray(values, dtype=np.float64).tolist()
    return [
        _encode_number(value) if isinstance(value, float) else _encode_array(np.array(value))
        for value in np.asarray(values, dtype=np.float64).tolist()
    ]


def _encode_number(value: Any) -> Any:
    """Return a number or a string as JSON can hold it: infinities and NaN by their names."""
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


# --- text ---


def _lay_out(value: Any, indent: str) -> str:
    """Return JSON text with one line per item, except that arrays of numbers are on one line."""
    if isinstance(value, dict) and not _is_short(value):
        items = [f"{json.dumps(k)}: {_lay_out(v, indent + ' ')}" for k, v in value.items()]
        return _join(items, "{}", indent)
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return _join([_lay_out(item, indent + " ") for item in value], "[]", indent)
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _join(items: list[str], brackets: str, indent: str) -> str:
    lines = f",\n{indent} ".join(items)
    return f"{brackets[0]}\n{indent} {lines}\n{indent}{brackets[1]}"


def _is_short(value: dict[str, Any]) -> bool:
    """Whether an object is easiest to read on one line."""
    return len(value) <= 5 and not any(
        isinstance(item, dict)
        or (
            isinstance(item, list)
            and (len(item) > 8 or any(isinstance(own, (dict, list)) for own in item))
        )
        for item in value.values()
    )
