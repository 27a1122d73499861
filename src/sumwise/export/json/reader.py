"""Reading models from JSON: every part is checked, because a document may come from anywhere."""

import json
import math
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.export.json.schema import check_document
from sumwise.export.json.trees import TreeReader, read_matrix, read_number, read_numbers, require
from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Lookup,
    Median,
    Node,
    PortableModel,
    Share,
    TreeSum,
    Vote,
)
from sumwise.export.tree_sums import lay_end_to_end

# A node may be used several times. Written out as a tree, a graph must not have more nodes.
_MOST_NODES = 100_000
_MOST_KEYS = 1 << 62


def from_json(text: str | bytes | os.PathLike[str]) -> PortableModel:
    """Read a model that :func:`to_json` or another program has written.

    Parameters
    ----------
    text : str, bytes or path-like
        The text, or the path of a file.

    Returns
    -------
    PortableModel
        All functions of :mod:`sumwise.export` take it in place of an estimator.

    Raises
    ------
    ModelFileError
        The text does not follow the schema, or its parts do not fit together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.export import from_json, to_json
    >>> X, y = load_iris(return_X_y=True)
    >>> text = to_json(GradientBoostingClassifier(n_estimators=2).fit(X, y))
    >>> model = from_json(text)
    >>> model.n_outputs, to_json(model) == text
    (3, True)
    """
    if isinstance(text, str) and os.path.isfile(text):
        text = Path(text)
    source = Path(text).read_bytes() if isinstance(text, os.PathLike) else text
    try:
        document = json.loads(source, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not JSON, nor the path of a file: {error}") from None
    _check_version(document)
    check_document(document)
    return _read_model(document)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; write it as a string")


def _check_version(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != "sumwise-model":
        raise ModelFileError("not a model of sumwise: its 'format' is not 'sumwise-model'")
    version = document.get("version")
    if type(version) is int and version > 1:
        raise ModelFileError(
            f"the model has version {version} of the schema, and this version of sumwise reads "
            "version 1; install a newer sumwise"
        )


def _read_model(document: dict[str, Any]) -> PortableModel:
    inputs = tuple(_read_input(k, entry) for k, entry in enumerate(document["inputs"]))
    nodes: list[Node] = []
    sizes: list[int] = []
    for k, entry in enumerate(document["nodes"]):
        nodes.append(_NodeReader(f"model.nodes[{k}]", inputs, nodes, sizes).read(entry))
    output = document["output"]
    require(output < len(nodes), "model.output", "is not the number of a node")
    classes = tuple(_read_classes(k, own) for k, own in enumerate(document["classes"]))
    n_outputs = nodes[output].n_outputs
    fits = not classes or sum(own.size for own in classes) == n_outputs
    require(fits, "model.classes", f"must be {n_outputs} in all, one per output")
    return PortableModel(document["estimator"], inputs, nodes[output], classes)


def _read_input(k: int, entry: dict[str, Any]) -> Input:
    values, where = entry.get("categories", []), f"model.inputs[{k}].categories"
    require(not values or entry["kind"] == CATEGORY, where, "are only for kind 'category'")
    types = set(map(type, values))
    require(types <= {int, float} or types == {str}, where, "must be strings or numbers")
    if float in types:
        values = [read_number(value, where, finite=True) for value in values]
    is_sorted = all(a < b for a, b in pairwise(values))
    require(is_sorted, where, "must be ascending")
    return Input(entry["name"], entry["kind"], tuple(values))


def _read_classes(k: int, values: list[Any]) -> np.ndarray:
    where, types = f"model.classes[{k}]", set(map(type, values))
    require(len(types) == 1 or types == {int, float}, where, "must be of one type")
    require(len(set(values)) == len(values), where, "must be different")
    is_huge = types == {int} and any(abs(value) >= 1 << 63 for value in values)
    require(not is_huge, where, "must fit into 64 bits")
    if float in types:
        return np.array([read_number(value, where, finite=True) for value in values])
    return np.array(values)


class _NodeReader:
    """Reads a node, given those before it.

    Parameters
    ----------
    where : str
        The place of the node in messages.
    inputs : sequence of Input
    known : list of Node
        The nodes before it.
    sizes : list of int
        The number of nodes of each of them, written out as a tree; that of this node is added.
    """

    def __init__(
        self, where: str, inputs: Sequence[Input], known: list[Node], sizes: list[int]
    ) -> None:
        self._where, self._inputs, self._known, self._sizes = where, inputs, known, sizes

    def read(self, entry: dict[str, Any]) -> Node:
        """Return the node."""
        of = entry.get("of", [])
        places = list(of) if isinstance(of, list) else [of]
        places += {own["node"] for own in entry.get("columns", []) if "node" in own}
        is_known = all(place < len(self._known) for place in places)
        require(is_known, f"{self._where}.of", "must be numbers of earlier nodes")
        self._sizes.append(1 + sum(self._sizes[place] for place in places))
        require(self._sizes[-1] <= _MOST_NODES, self._where, "stands for too many nodes")
        children = tuple(self._known[place] for place in (of if isinstance(of, list) else [of]))
        node: Node = getattr(self, f"_read_{entry['type']}")(entry, children)
        return node

    def _read_link(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        takes_one = entry["name"] in ("logistic", "half_logistic")
        fits = not takes_one or children[0].n_outputs == 1
        require(fits, self._where, f"{entry['name']!r} is a link of one output")
        return Link(children[0], entry["name"])

    def _read_share(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        return Share(children[0])

    def _read_vote(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        n_outputs = {child.n_outputs for child in children}
        require(len(n_outputs) == 1, self._where, "must be of nodes with as many outputs")
        return Vote(children, self._read_weights(entry, len(children)))

    def _read_median(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        (trees,) = children
        require(isinstance(trees, TreeSum), self._where, "must be of a node of trees")
        assert isinstance(trees, TreeSum)
        fits = trees.n_outputs == 1 and trees.n_trees > 0 and trees.trees.models is None
        require(fits, self._where, "must be of trees with one value each")
        return Median(trees, self._read_weights(entry, trees.n_trees))

    def _read_weights(self, entry: dict[str, Any], n_weights: int) -> np.ndarray:
        where = f"{self._where}.weights"
        weights = read_numbers(entry["weights"], where, finite=True)
        require(weights.size == n_weights, where, f"must be {n_weights}")
        require((weights >= 0).all(), where, "must not be negative")
        return weights

    def _read_affine(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        intercept = read_numbers(entry["intercept"], f"{self._where}.intercept", finite=True)
        n_terms = sum(child.n_outputs for child in children)
        slopes = read_matrix(entry["coefficient"], n_terms, f"{self._where}.coefficient")
        columns = self._read_columns(entry.get("columns", []))
        is_direct = all(column.node is None for column in columns)
        require(
            is_direct, f"{self._where}.columns", "must be of inputs; outputs of nodes are in 'of'"
        )
        direct = read_matrix(
            entry.get("column_coefficient", [[] for _ in entry["intercept"]]),
            len(columns),
            f"{self._where}.column_coefficient",
        )
        fits = intercept.size and len(slopes) == len(direct) == intercept.size
        require(fits, self._where, "must have one row of coefficients per output")
        return Affine(children, slopes, intercept, columns, direct if columns else None)

    def _read_curve(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        x, y = (
            tuple(read_numbers(own, f"{self._where}.{name}", finite=True) for own in entry[name])
            for name in ("x", "y")
        )
        fits = len(x) == len(y) == children[0].n_outputs
        require(fits, self._where, "must have one curve per output")
        for own_x, own_y in zip(x, y, strict=True):
            fits = own_x.size == own_y.size > 0 and bool((np.diff(own_x) > 0).all())
            require(fits, self._where, "must have as many x as y, and x must be ascending")
        return Curve(children[0], x, y)

    # --- trees ---

    def _read_columns(self, entries: list[Any]) -> tuple[Column, ...]:
        return tuple(
            self._read_column(f"{self._where}.columns[{k}]", entry)
            for k, entry in enumerate(entries)
        )

    def _read_column(self, where: str, entry: dict[str, Any]) -> Column:
        if "node" in entry:
            node = self._known[entry["node"]]
            is_output = entry["output"] < node.n_outputs
            require(is_output, f"{where}.output", "is not the number of an output")
            return Column((), None, node, entry["output"])
        places = tuple(entry["inputs"])
        is_known = all(place < len(self._inputs) for place in places)
        require(is_known, f"{where}.inputs", "must be numbers of inputs")
        if "lookup" not in entry:
            require(len(places) == 1, f"{where}.inputs", "must be one, without a lookup")
            return Column(places)
        own = [self._inputs[place] for place in places]
        require(all(each.kind == CATEGORY for each in own), where, "looks up numbers")
        bases = tuple(len(each.categories) + 1 for each in own)
        require(math.prod(bases) < _MOST_KEYS, where, "has too many combinations")
        return Column(places, _read_lookup(entry["lookup"], bases, f"{where}.lookup"))

    def _read_trees(self, entry: dict[str, Any], children: tuple[Node, ...]) -> Node:
        columns = self._read_columns(entry["columns"])
        base = read_numbers(entry["base_score"], f"{self._where}.base_score", finite=True)
        divisor = read_number(entry["divisor"], f"{self._where}.divisor", finite=True)
        require(divisor > 0, f"{self._where}.divisor", "must be positive")
        counts = [
            len(self._inputs[c.inputs[0]].categories)
            if c.lookup is None and c.node is None and self._inputs[c.inputs[0]].kind == CATEGORY
            else -1
            for c in columns
        ]
        parts = [
            TreeReader(f"{self._where}.trees[{k}]", counts).read(own)
            for k, own in enumerate(entry["trees"])
        ]
        widths = {part.value.shape[1] for part in parts} or {base.size}
        fits = len(widths) == 1 and base.size % max(1, min(widths)) == 0 and 0 not in widths
        require(fits, f"{self._where}.trees", "must have values for equal groups of outputs")
        start = np.cumsum([0, *(part.n_nodes for part in parts)], dtype=np.int64)
        return TreeSum(columns, lay_end_to_end(parts, min(widths)), start, base, divisor)


def _read_lookup(entry: dict[str, Any], bases: tuple[int, ...], where: str) -> Lookup:
    values = read_numbers(entry["values"], f"{where}.values", finite=True)
    rows = entry["codes"]
    require(len(rows) == values.size, where, "must have as many codes as values")
    keys = np.zeros(len(rows), dtype=np.int64)
    for k, row in enumerate(rows):
        fits = len(row) == len(bases)
        fits = fits and all(code < base for code, base in zip(row, bases, strict=True))
        require(fits, f"{where}.codes[{k}]", "must be codes of the inputs")
        key = 0
        for code, base in zip(row, bases, strict=True):
            key = key * base + code
        keys[k] = key
    require((np.diff(keys) > 0).all(), f"{where}.codes", "must be ascending")
    return Lookup(bases, keys, values, read_number(entry["default"], where, finite=True))
