"""Program: a model in the order in which source code computes it; the languages share this.

First the columns that some node reads are computed from the inputs, each once. Then the nodes of
the graph are computed one after the other, each after those that it needs. Columns that are outputs
of a node come right after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np

from sumwise.docstrings import fill_docstring
from sumwise.errors import ExportError
from sumwise.export.files import write_bytes
from sumwise.export.portable import (
    Affine,
    Column,
    Median,
    Node,
    PortableModel,
    TreeSum,
    list_nodes,
)
from sumwise.tree import Tree

# For functions that write a source: ``{written}`` ends the parameters.
document_source = fill_docstring(
    model="model : estimator or PortableModel\n    A fitted model.",
    header="""
header : bool, default=False
    Write only the declarations, as a header for other sources.
""",
    written="""
path : path, optional
    Where to write the text. The old file stays until the new one is complete.

Returns
-------
str
    The source.
""",
)


@dataclass(frozen=True, eq=False)
class Program:
    """A model as a sequence of steps.

    Attributes
    ----------
    model : PortableModel
    columns : tuple of Column
        The columns that nodes read, each once.
    nodes : tuple of Node
        The nodes in an order in which they can be computed, each once; the last one is the output
        of the model. The trees of a median belong to it and are not listed.
    places : dict of int to ndarray of int64
        For each node with columns, by its ``id``: the index in ``columns`` of each of its columns,
        -1 if it is not read.
    """

    model: PortableModel
    columns: tuple[Column, ...]
    nodes: tuple[Node, ...]
    places: dict[int, np.ndarray]

    def find_places(self, node: TreeSum | Affine) -> np.ndarray:
        """Return the index in ``columns`` of each column of a node, -1 if it is not read."""
        return self.places[id(node)]

    def number(self, node: Node) -> int:
        """Return the index of a node."""
        return next(k for k, own in enumerate(self.nodes) if own is node)

    def find_read(self, node: Node) -> list[tuple[int, int]]:
        """Return the columns that are outputs of a node: the column's index, and the output."""
        return [(k, own.output) for k, own in enumerate(self.columns) if own.node is node]

    @property
    def tree_sums(self) -> list[TreeSum]:
        """All sums that have trees, those of medians included, in the order of the nodes."""
        own = [node.of if isinstance(node, Median) else node for node in self.nodes]
        return [node for node in own if isinstance(node, TreeSum) and node.n_trees > 0]


def plan_program(model: PortableModel) -> Program:
    """Return a model as a sequence of steps; raise ExportError if a number of it is NaN."""
    nodes = list({id(node): node for node in list_nodes(model.output)}.values())
    inside = {id(node.of) for node in nodes if isinstance(node, Median)}
    readers = [node for node in nodes if isinstance(node, (TreeSum, Affine))]
    numbers: dict[tuple[object, ...], int] = {}
    columns: list[Column] = []
    places = {}
    for node in readers:
        own = places[id(node)] = np.full(len(node.columns), -1, dtype=np.int64)
        for k in _find_read(node).tolist():
            own[k] = numbers.setdefault(_identify(node.columns[k]), len(columns))
            if own[k] == len(columns):
                columns.append(node.columns[k])
        if isinstance(node, TreeSum):
            _check_trees(node)
    return Program(model, tuple(columns), tuple(n for n in nodes if id(n) not in inside), places)


def _find_read(node: TreeSum | Affine) -> np.ndarray:
    """Return which columns of a node matter, ascending."""
    if isinstance(node, TreeSum):
        feature, models = node.trees.feature, node.trees.models
        own = feature[feature >= 0]
        return np.unique(own if models is None else np.append(own, models.feature))
    if node.column_coefficient is None:
        return np.arange(0)
    return np.flatnonzero((node.column_coefficient != 0.0).any(axis=0))


def _identify(column: Column) -> tuple[object, ...]:
    """Return a key that equal columns share."""
    if column.node is not None:
        return ("output", id(column.node), column.output)
    lookup = column.lookup
    if lookup is None:
        return column.inputs
    return (*column.inputs, lookup.keys.tobytes(), lookup.values.tobytes(), lookup.default)


def _check_trees(node: TreeSum) -> None:
    is_leaf = node.trees.feature < 0
    if np.isnan(node.trees.value[is_leaf]).any() or np.isnan(node.trees.threshold[~is_leaf]).any():
        raise ExportError("a threshold or the value of a leaf is NaN, so it cannot be exported")


# --- trees as nested conditions ---


class Turn(NamedTuple):
    """A split on the way down a tree, and the smaller of its two subtrees."""

    node: int
    child: int
    is_left: bool


def count_leaves(trees: Tree) -> np.ndarray:
    """Return the number of leaves below each node; 1 for a leaf."""
    counts = [1] * trees.n_nodes
    left = trees.left.tolist()
    for node in range(trees.n_nodes - 1, -1, -1):  # children come after their parent
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[left[node] + 1]
    return np.array(counts)


def follow_large(trees: Tree, n_leaves: np.ndarray, node: int) -> Iterator[Turn]:
    """Yield the splits on the way from a node to a leaf that always takes the larger subtree.

    Code that tests these splits in turn, and nests only the smaller subtrees, has a nesting of at
    most log2 of the number of leaves, however deep the tree is. The leaf at the end of the way
    comes as a last turn, with itself as node and child.
    """
    while trees.left[node] >= 0:
        left = int(trees.left[node])
        is_left = bool(n_leaves[left] <= n_leaves[left + 1])
        yield Turn(node, left if is_left else left + 1, is_left)
        node = left + 1 if is_left else left
    yield Turn(node, node, False)


# --- text ---


def save_text(text: str, path: str | PathLike[str] | None) -> str:
    """Return a text, and write it to a file unless ``path`` is None."""
    if path is not None:
        write_bytes(path, text.encode())
    return text


def make_identifiers(names: list[str], reserved: frozenset[str] = frozenset()) -> list[str]:
    """Return names as distinct identifiers of ASCII letters, digits and underscores."""
    taken = set(reserved)
    result = []
    for name in names:
        kept = "".join(c if c.isascii() and c.isalnum() else "_" for c in name) or "_"
        kept = f"_{kept}" if kept[0].isdigit() else kept
        stem = kept.strip("_") if kept.strip("_")[:1].isalpha() else f"x{kept}"
        own, k = f"{stem}_" if stem in reserved else stem, 2
        while own in taken:
            own, k = f"{stem}_{k}", k + 1
        taken.add(own)
        result.append(own)
    return result
