"""PortableModel: a fitted model in plain terms, from which every export format is written.

Estimators describe themselves as a PortableModel by ``_describe()``. It has the inputs of the
model, and a small graph of nodes that computes the outputs of one row:

=================  ================================================================================
node               outputs
=================  ================================================================================
:class:`TreeSum`   sums or means of trees
:class:`Median`    the weighted median of trees, each with one value (AdaBoost.R2)
:class:`Affine`    linear functions of the outputs of other nodes
:class:`Link`      a link function of the outputs of another node: probabilities, means
:class:`Vote`      the weights of the nodes whose largest output is a class
:class:`Share`     nonnegative outputs, divided by their sum
:class:`Curve`     a piecewise linear function of each output (isotonic calibration)
=================  ================================================================================

A format that cannot hold a node or a column raises ExportError, which names that part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sumwise.errors import ExportError
from sumwise.tree import Tree

# Kinds of inputs. Dates and durations are numbers: seconds, dates since 1970-01-01 UTC.
NUMBER, CATEGORY, DATE, DURATION = "number", "category", "date", "duration"


@dataclass(frozen=True)
class Input:
    """A feature, as users pass it.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "duration"}
    categories : tuple
        The categories seen in training: all strings, all integers or all floats, ascending. The
        code of a category is its index. Other values are unknown.
    """

    name: str
    kind: str = NUMBER
    categories: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table of numbers by category, or by the combination of several categories.

    The code of an input is the index of its category, or the number of its categories if its value
    is missing. The codes of several inputs are the digits of a key, the first input being the
    highest digit: ``key = code[0]``, then ``key * bases[i] + code[i]``.

    Attributes
    ----------
    bases : tuple of int
        Number of codes of each input: its categories, and one for missing.
    keys : ndarray of int64
        Known keys, ascending.
    values : ndarray of float64
        The number of each key.
    default : float
        The number of all other keys, and of rows with an unknown category.
    """

    bases: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray
    default: float


@dataclass(frozen=True, eq=False)
class Column:
    """A number that trees split on.

    Attributes
    ----------
    inputs : tuple of int
        The inputs it is computed from: one, unless it is a lookup; none for an output of a node.
    lookup : Lookup or None
        None: the column is the input itself. It is then a number, or the code of a category, in
        which case an unknown category is the same as a missing one.
    node : Node or None
        If not None, the column is output number ``output`` of that node: trees of a meta-learner
        split on what other models predict, by thresholds. Formats that take such columns ask for
        them, see :func:`describe`.
    output : int
    """

    inputs: tuple[int, ...]
    lookup: Lookup | None = None
    node: "Node | None" = None
    output: int = 0


# --- nodes of the graph ---


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Trees whose values are added up.

    ``output[k] = base_score[k] + (sum of the trees' values for output k) / divisor``. The values of
    a row are added in the order of the trees, in double precision; boosting begins the sum with the
    base score, which is the same sum because the divisor is then 1.

    Attributes
    ----------
    columns : tuple of Column
        What ``trees.feature`` refers to.
    trees : Tree
        The nodes of all trees, numbered over all of them. A number of at most ``threshold`` goes
        left; the threshold may be infinite. A node in ``set_node`` has a set of category codes
        that go left; all other categories go right. Missing values (NaN) and unknown categories go
        as ``missing_left`` says. A leaf with a linear model (:class:`sumwise.tree.LeafModels`) adds
        the model's constant plus coefficients times columns, limited to ``low`` and ``high``; or
        the value of the leaf if that sum is not finite, because a column is missing or infinite.
    start : ndarray of int64, shape (n_trees + 1,)
        First node of each tree, then the number of nodes.
    base_score : ndarray of float64, shape (n_outputs,)
    divisor : float
        1 for boosting; the number of trees for a forest.
    """

    columns: tuple[Column, ...]
    trees: Tree
    start: np.ndarray
    base_score: np.ndarray
    divisor: float = 1.0

    @property
    def n_outputs(self) -> int:
        return int(self.base_score.size)

    @property
    def n_trees(self) -> int:
        return int(self.start.size - 1)

    @property
    def n_groups(self) -> int:
        """Groups of consecutive outputs; tree i has values for those of group i % n_groups."""
        return self.n_outputs // self.trees.value.shape[1]

    def find_outputs(self, tree: int) -> range:
        """Return the outputs that a tree adds to, one for each column of its values."""
        n_columns = self.trees.value.shape[1]
        first = tree % self.n_groups * n_columns
        return range(first, first + n_columns)


@dataclass(frozen=True, eq=False)
class Median:
    """The weighted median of trees that have one value each.

    The trees are ordered by their values, equal values by their numbers. The output is the value
    of the first tree at which the sum of the weights so far is at least half of all weights.

    Attributes
    ----------
    of : TreeSum
        Its base score is 0 and its divisor 1; only its trees matter.
    weights : ndarray of float64, shape (n_trees,)
    """

    of: TreeSum
    weights: np.ndarray

    @property
    def n_outputs(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Affine:
    """Linear functions of the outputs of some nodes, and of inputs.

    Attributes
    ----------
    of : tuple of Node
    coefficient : ndarray of float64, shape (n_outputs, total number of outputs of the nodes)
    intercept : ndarray of float64, shape (n_outputs,)
    columns : tuple of Column
        Numbers of the row that take part directly.
    column_coefficient : ndarray of float64, shape (n_outputs, n_columns)
        A missing value counts as 0.
    """

    of: "tuple[Node, ...]"
    coefficient: np.ndarray
    intercept: np.ndarray
    columns: tuple[Column, ...] = ()
    column_coefficient: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.intercept.size)


@dataclass(frozen=True, eq=False)
class Link:
    """A link function of the outputs of a node.

    Attributes
    ----------
    of : Node
    name : str
        One of :data:`sumwise.losses.links.LINKS`. "identity", "log" (e^f), "log1p" (e^f - 1) and
        "sigmoid" apply to each output. "sorted" sorts the outputs. "logistic" and "half_logistic"
        (of 2 f) make two probabilities from one output, that of the second class being the
        sigmoid. "softmax" makes one probability of each output.
    """

    of: "Node"
    name: str

    @property
    def n_outputs(self) -> int:
        return 2 if self.name in ("logistic", "half_logistic") else self.of.n_outputs


@dataclass(frozen=True, eq=False)
class Vote:
    """Votes: each node adds its weight to the place of its largest output, the first of equals.

    Attributes
    ----------
    of : tuple of Node
        All with the same number of outputs.
    weights : ndarray of float64, shape (n_nodes,)
    """

    of: "tuple[Node, ...]"
    weights: np.ndarray

    @property
    def n_outputs(self) -> int:
        return self.of[0].n_outputs


@dataclass(frozen=True, eq=False)
class Share:
    """Outputs of a node, negative ones as 0, divided by their sum; equal shares if it is 0."""

    of: "Node"

    @property
    def n_outputs(self) -> int:
        return self.of.n_outputs


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear function of each output, constant beyond its first and last point.

    Attributes
    ----------
    of : Node
    x, y : tuple of ndarray of float64
        The points of each output's curve; ``x`` is strictly ascending.
    """

    of: "Node"
    x: tuple[np.ndarray, ...]
    y: tuple[np.ndarray, ...]

    @property
    def n_outputs(self) -> int:
        return self.of.n_outputs


Node: TypeAlias = TreeSum | Median | Affine | Link | Vote | Share | Curve


@dataclass(frozen=True, eq=False)
class PortableModel:
    """A model in plain terms.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    inputs : tuple of Input
    output : Node
        For a classifier one probability (or share of votes) per class, otherwise one number per
        target.
    classes : tuple of ndarray
        Labels of the classes, one array per target; empty for a regressor. The outputs of several
        targets follow one another. The label of a row is that of the largest output, the first of
        equals. Where members vote with labels, the outputs are their shares of the votes; ties that
        sumwise breaks at random go to the first class, too.
    """

    estimator: str
    inputs: tuple[Input, ...]
    output: Node
    classes: tuple[np.ndarray, ...] = ()

    @property
    def n_outputs(self) -> int:
        return self.output.n_outputs

    @property
    def is_classifier(self) -> bool:
        return bool(self.classes)


def list_nodes(node: Node) -> Iterator[Node]:
    """Yield all nodes of a graph, each after those that it is computed from."""
    for child in list_children(node):
        yield from list_nodes(child)
    yield node


def list_children(node: Node) -> Sequence[Node]:
    """Return the nodes that a node is computed from."""
    if isinstance(node, TreeSum):
        own = (column.node for column in node.columns)
        return tuple({id(child): child for child in own if child is not None}.values())
    return node.of if isinstance(node, (Affine, Vote)) else (node.of,)


def refuse_empty_names(inputs: Sequence[Input], format_name: str) -> None:
    """Raise ExportError if a feature has the empty name, which a format cannot hold."""
    if any(not own.name for own in inputs):
        raise ExportError(f"a feature has the empty name '', which {format_name} cannot hold")


def refuse_large_labels(model: PortableModel, format_name: str, limit: int = 1 << 63) -> None:
    """Raise ExportError if a class is an integer of at least ``limit``, or below its negative."""
    for classes in model.classes:
        for label in classes.tolist():
            if isinstance(label, int) and not -limit <= label < limit:
                raise ExportError(
                    f"the label {label} is beyond the integers of {format_name}; train on strings "
                    "of the labels instead"
                )


def describe(model: Any, *, nested: bool = False) -> PortableModel:
    """Return a fitted model in plain terms; raise ExportError if that cannot be done.

    ``nested`` says that the caller takes trees that split on outputs of other nodes.
    """
    described = _describe(model)
    if not nested and any(
        isinstance(node, TreeSum) and list_children(node) for node in list_nodes(described.output)
    ):
        raise ExportError(
            "trees of a meta-learner that split on outputs of other models cannot be held in this "
            "format; to_json, to_onnx, to_pmml, to_c, to_python and to_sql hold them; or use a "
            "linear meta-learner, such as the default one"
        )
    return described


def _describe(model: Any) -> PortableModel:
    if isinstance(model, PortableModel):
        return model
    if not hasattr(model, "_describe"):
        raise ExportError(
            f"a {type(model).__name__} cannot be exported: it is not a model of trees of sumwise; "
            "sumwise.from_sklearn, from_xgboost, from_lightgbm and from_catboost convert others"
        )
    described: PortableModel = model._describe()
    return described
