"""Program: a model as arrays that the kernel of one row runs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sumwise.estimators.serving.columns import CategorySets, Columns, join
from sumwise.export.portable import (
    Affine,
    Curve,
    Link,
    Median,
    Node,
    PortableModel,
    Share,
    TreeSum,
    Vote,
    list_children,
)
from sumwise.kernels.predict import row_operations as operations
from sumwise.kernels.predict.one_row import (
    BY_SET,
    LANES,
    NODE_WORDS,
    PLACE_SHIFT,
    Codes,
    Lookups,
    RowTrees,
    predict_row,
)
from sumwise.kernels.predict.row_operations import Row
from sumwise.tree import LeafModels

# Operations of links, and the factor of scores.
_LINKS = {
    "log": (operations.EXP, 1.0),
    "log1p": (operations.EXP_LESS_ONE, 1.0),
    "sigmoid": (operations.SIGMOID, 1.0),
    "sorted": (operations.SORT, 1.0),
    "logistic": (operations.TWO_SIGMOIDS, 1.0),
    "half_logistic": (operations.TWO_SIGMOIDS, 2.0),
    "softmax": (operations.SOFTMAX, 1.0),
}


class Program(NamedTuple):
    """What the kernel reads, and the sizes of the memory that a prediction needs.

    The outputs are the first numbers of the state.
    """

    trees: RowTrees
    codes: Codes
    lookups: Lookups
    lines: np.ndarray
    parameters: np.ndarray
    n_columns: int
    n_leaves: int
    n_numbers: int
    n_outputs: int

    def allocate(self) -> Row:
        """Allocate the memory of a prediction."""
        n_values = 2 * self.n_columns + 1
        values, state = np.zeros(n_values), np.zeros(self.n_numbers)
        values[-1] = -np.inf
        bits, leaves = np.zeros(n_values, dtype=np.int64), np.zeros(self.n_leaves)
        return Row(values, bits, leaves, state, state.reshape(1, -1))

    def find_entry(self, row: Row) -> tuple[int, bytes]:
        """Return the address of the kernel, and the words to call it with."""
        arguments = (row, self.trees, self.codes, self.lookups, self.lines, self.parameters)
        entry, words = predict_row.find_entry(arguments)
        return entry.address, entry.arguments.pack(*words)


def compile_outputs(model: PortableModel) -> Program:
    """Return the program of a model's outputs."""
    compiler = _Compiler(model, model.n_outputs)
    compiler.add(model.output, 0)
    return compiler.finish()


def compile_labels(model: PortableModel) -> Program:
    """Return the program of the numbers of the classes that a classifier predicts, one per target.

    Behind a link function, labels come from the scores: different scores may have the same
    probabilities, rounded.
    """
    compiler = _Compiler(model, len(model.classes))
    node = model.output.of if isinstance(model.output, Link) else model.output
    place, n_outputs = compiler.add_children((node,))
    if n_outputs < model.output.n_outputs:  # one score for two classes
        compiler.write(operations.IS_POSITIVE, place, 1, 0, 1)
        return compiler.finish()
    for target, classes in enumerate(model.classes):
        compiler.write(operations.LARGEST, place, classes.size, target, 1)
        place += classes.size
    return compiler.finish()


class _Compiler:
    """Lists the operations of a model's nodes."""

    def __init__(self, model: PortableModel, n_outputs: int) -> None:
        self._columns = Columns(model)
        self._trees = _TreePool(self._columns, CategorySets(model.output, self._columns))
        self._lines: list[list[int]] = []
        self._parameters: list[float] = []
        self._n_outputs = self._n_numbers = n_outputs
        self._filled: set[int] = set()  # columns that are outputs of nodes, once computed

    def finish(self) -> Program:
        """Return the program."""
        return Program(
            self._trees.lay_out(),
            self._trees.sets.codes,
            self._columns.lookups,
            np.array(self._lines, dtype=np.int64).reshape(-1, operations.LINE_SIZE),
            np.array(self._parameters, dtype=np.float64),
            len(self._columns),
            self._trees.n_leaves,
            self._n_numbers,
            self._n_outputs,
        )

    def write(
        self,
        operation: int,
        source: int,
        n_inputs: int,
        target: int,
        n_outputs: int,
        parameters: Iterable[float] = (),
        *details: int,
    ) -> None:
        """Append a line."""
        line = [operation, source, n_inputs, target, n_outputs, len(self._parameters), *details]
        self._lines.append(line + [0] * (operations.LINE_SIZE - len(line)))
        self._parameters.extend(map(float, parameters))

    def add(self, node: Node, target: int) -> None:
        """Append what computes the outputs of a node."""
        if isinstance(node, TreeSum):
            self._add_trees(operations.ADD_TREES, node, target, (node.divisor, *node.base_score))
        elif isinstance(node, Median):
            self._add_trees(operations.LIST_TREES, node.of, target)
            scratch = self._allocate(node.of.n_trees)
            self.write(operations.MEDIAN, *scratch, target, 1, node.weights)
        elif isinstance(node, Affine):
            self._add_affine(node, target)
        elif isinstance(node, Link) and node.name == "identity":
            self.add(node.of, target)
        elif isinstance(node, Vote):
            inputs = self.add_children(node.of)
            self.write(operations.VOTE, *inputs, target, node.n_outputs, node.weights)
        else:
            self._add_function(node, target)

    def add_children(self, nodes: Sequence[Node]) -> tuple[int, int]:
        """Append nodes whose outputs lie side by side; return their place and number."""
        inputs = self._allocate(sum(node.n_outputs for node in nodes))
        place = inputs[0]
        for node in nodes:
            self.add(node, place)
            place += node.n_outputs
        return inputs

    def _allocate(self, n_numbers: int) -> tuple[int, int]:
        """Return the place of some numbers in the state, and their number."""
        place = self._n_numbers
        self._n_numbers += n_numbers
        return place, n_numbers

    def _add_trees(
        self, operation: int, node: TreeSum, target: int, parameters: Iterable[float] = ()
    ) -> None:
        self._fill_columns(node)
        lanes = self._trees.add(node)
        details = (self._trees.count_columns(node), node.n_trees)
        self.write(operation, *lanes, target, node.n_outputs, parameters, *details)

    def _fill_columns(self, node: TreeSum) -> None:
        """Append the nodes whose outputs the trees split on, and what makes them columns."""
        for child in list_children(node):
            own = [column for column in node.columns if column.node is child]
            numbers = self._columns.find_all(own)
            if self._filled.issuperset(numbers.tolist()):
                continue
            place, _ = self.add_children((child,))
            for column, number in zip(own, numbers.tolist(), strict=True):
                self.write(operations.FILL_COLUMN, place + column.output, 1, 0, 0, (), number)
            self._filled.update(numbers.tolist())

    def _add_affine(self, node: Affine, target: int) -> None:
        inputs = self.add_children(node.of)
        numbers = np.column_stack([node.intercept, node.coefficient]).ravel()
        self.write(operations.COMBINE, *inputs, target, node.n_outputs, numbers)
        if node.column_coefficient is not None:
            columns = self._columns.find_all(node.columns)
            numbers = np.concatenate([columns, node.column_coefficient.ravel()])
            self.write(operations.ADD_COLUMNS, 0, 0, target, node.n_outputs, numbers, columns.size)

    def _add_function(self, node: Link | Share | Curve, target: int) -> None:
        place, n_inputs = self.add_children((node.of,))
        if isinstance(node, Link):
            operation, factor = _LINKS[node.name]
            self.write(operation, place, n_inputs, target, node.n_outputs, (factor,))
        elif isinstance(node, Share):
            self.write(operations.SHARE, place, n_inputs, target, node.n_outputs)
        else:
            for k, (x, y) in enumerate(zip(node.x, node.y, strict=True)):
                points = np.concatenate([x, y])
                self.write(operations.INTERPOLATE, place + k, 1, target + k, 1, points, x.size)


class _TreePool:
    """The trees of all nodes of a model, laid end to end."""

    def __init__(self, columns: Columns, sets: CategorySets) -> None:
        self._columns, self.sets = columns, sets
        self._nodes: list[np.ndarray] = []
        self._roots: list[np.ndarray] = []
        self._depths: list[np.ndarray] = []
        self._lanes: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._models: list[tuple[LeafModels | None, int]] = []
        self._node_values: list[np.ndarray] = []
        self._n_nodes = self._n_roots = self._n_values = 0
        self.n_leaves = 1

    def add(self, node: TreeSum) -> tuple[int, int]:
        """Append trees; return the place and the number of their roots, with those that fill up.

        Trees of about the same depth are walked together.
        """
        self._add_nodes(node)
        depth = _find_depths(node)
        order = np.argsort(-depth, kind="stable")
        n_more = -order.size % LANES
        roots = np.append(order, np.repeat(order[-1:], n_more))
        places = (node.start[roots] + self._n_nodes).astype(np.uint64) * NODE_WORDS
        self._roots.append(places)
        self._depths.append(depth[roots])
        self._lanes.append(np.append(order, np.full(n_more, order.size)))
        lanes = self._n_roots, roots.size
        self._n_nodes += node.trees.n_nodes
        self._n_roots += roots.size
        self.n_leaves = max(self.n_leaves, order.size + 1)
        return lanes

    @staticmethod
    def count_columns(node: TreeSum) -> int:
        """Return the number of values of a leaf, 0 if it may have a linear model."""
        return 0 if node.trees.models is not None else int(node.trees.value.shape[1])

    def _add_nodes(self, node: TreeSum) -> None:
        trees, n_columns = node.trees, len(self._columns)
        is_leaf = trees.feature < 0
        column = np.append(self._columns.find_all(node.columns), 0)  # the last is for leaves
        place = column[trees.feature] + np.where(trees.missing_left, n_columns, 0)
        place = np.where(is_leaf, 2 * n_columns, place).astype(np.uint64)
        child = np.where(is_leaf, np.arange(trees.n_nodes), trees.left) + self._n_nodes
        word = place << PLACE_SHIFT | child.astype(np.uint64) * NODE_WORDS
        number = np.where(is_leaf, self._number_leaves(node, is_leaf), trees.threshold)
        bits = number.astype(np.float64).view(np.uint64)
        word[trees.set_node] |= BY_SET
        bits[trees.set_node] = self.sets.find_places(node)
        self._nodes.append(np.column_stack([bits, word]).ravel())
        models = trees.models
        if models is not None:
            models = replace(models, feature=column[models.feature].astype(np.int32))
        self._models.append((models, trees.n_nodes))
        self._node_values.append(trees.value[:, 0])

    def _number_leaves(self, node: TreeSum, is_leaf: np.ndarray) -> np.ndarray:
        """Return what is stored in leaves: the value, or the place of values or of a model."""
        trees, n_columns = node.trees, self.count_columns(node)
        if n_columns == 1:
            return trees.value[:, 0]
        if n_columns == 0:
            return np.arange(trees.n_nodes) + self._n_nodes
        places = self._n_values + (np.cumsum(is_leaf) - 1) * n_columns
        self._values.append(trees.value[is_leaf].ravel())
        self._n_values += self._values[-1].size
        return places

    def lay_out(self) -> RowTrees:
        """Return the trees as the kernel reads them."""
        models = LeafModels.join(self._models)
        values = join(self._node_values, np.float64)
        if models is None:
            models, values = LeafModels.none(0), np.empty(0)
        return RowTrees(
            join(self._nodes, np.uint64),
            join(self._roots, np.uint64),
            join(self._lanes, np.int64),
            join(self._depths, np.int64),
            self.sets.words,
            join(self._values, np.float64),
            models.for_kernels(values),
        )


def _find_depths(node: TreeSum) -> np.ndarray:
    """Return the depth of each tree: that of its deepest leaf."""
    left, start = node.trees.left, node.start
    depth = np.zeros(left.size, dtype=np.int64)
    parents = start[:-1][left[start[:-1]] >= 0]
    while parents.size:
        children = np.concatenate([left[parents], left[parents] + 1])
        depth[children] = np.tile(depth[parents] + 1, 2)
        parents = children[left[children] >= 0]
    return np.maximum.reduceat(depth, start[:-1])
