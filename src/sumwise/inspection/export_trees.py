"""Trees as text: indented lines, or the DOT language of Graphviz."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.inspection.colors import COLORS, blend, color_of_class
from sumwise.inspection.tree_view import TreeView

# Most categories of a set that a node of a picture lists.
_CATEGORIES_IN_NODE = 5
_STRONGEST = 0.65


def export_text(
    model: Any,
    tree: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    max_categories: int | None = 10,
) -> str:
    """Write one tree of a model as text, in the form of :func:`sklearn.tree.export_text`.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting, a forest or a decision tree of sumwise, or its ``ensemble_`` or
        ``forest_``.
    tree : int, default=0
        Which one; -1 for the last. Boosting of k classes (more than two) has k trees per round:
        tree ``round * k + class``.
    feature_names : sequence of str, default=None
        Names of the features; None for the names seen in ``fit``, or x0, x1, ...
    class_names : sequence of str, default=None
        Names of the classes; None for the labels.
    max_depth : int or None, default=10
        Largest depth of the splits to write: 0 for the root alone, None for no limit.
    spacing : int, default=3
        Spaces per level of indentation.
    decimals : int, default=2
        Number of decimals.
    show_weights : bool, default=False
        Whether leaves of classification trees show the weight of each class.
    max_categories : int or None, default=10
        Most categories of a split to list; None for all.

    Returns
    -------
    str
        A split has two lines, one for each side; "or missing" marks the side of missing values. A
        leaf of boosting shows what the tree adds to the raw score, as a formula if it has a linear
        model. A leaf of a regression tree shows the prediction, that of a classification tree the
        class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import DecisionTreeClassifier
    >>> from sumwise.inspection import export_text
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=1).fit(X[["petal length (cm)"]], y)
    >>> print(export_text(model, class_names=["setosa", "versicolor", "virginica"]))
    |--- petal length (cm) <= 2.45
    |   |--- class: setosa
    |--- petal length (cm) >  2.45 or missing
    |   |--- class: versicolor
    <BLANKLINE>
    """
    _check_count("max_depth", max_depth, 0, optional=True)
    _check_count("max_categories", max_categories, 1, optional=True)
    _check_count("spacing", spacing, 1)
    _check_count("decimals", decimals, 0)
    view = TreeView(model, tree, feature_names, class_names)
    writer = _TextWriter(view, max_depth, spacing, decimals, show_weights, max_categories)
    header = [view.output] if view.output else []
    return "".join(f"{line}\n" for line in [*header, *writer.write()])


def export_graphviz(
    model: Any,
    out_file: str | os.PathLike[str] | Any = None,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | bool | None = None,
    filled: bool = False,
    node_ids: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    precision: int = 3,
) -> str | None:
    r"""Write one tree of a model in the DOT language, as ``sklearn.tree.export_graphviz`` does.

    ``dot -Tsvg tree.dot -o tree.svg`` draws it, and so does ``graphviz.Source(text)``. Writing it
    needs neither.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting, a forest or a decision tree of sumwise, or its ``ensemble_`` or
        ``forest_``.
    out_file : str, path-like, text file object or None, default=None
        Where to write; None to return the text.
    tree : int, default=0
        Which one; -1 for the last. Boosting of k classes (more than two) has k trees per round:
        tree ``round * k + class``.
    max_depth : int or None, default=None
        Largest depth of the splits to draw: 0 for the root alone, None for no limit.
    feature_names : sequence of str, default=None
        Names of the features; None for the names seen in ``fit``, or x0, x1, ...
    class_names : sequence of str, bool or None, default=None
        Names of the classes; None or True for the labels, False for no class in the nodes.
    filled : bool, default=False
        Whether to color nodes by their most frequent class, or by the sign and size of their value.
    node_ids : bool, default=False
        Whether to show the numbers of nodes.
    rotate : bool, default=False
        Whether to draw the tree from left to right.
    rounded : bool, default=False
        Whether to draw boxes with round corners.
    precision : int, default=3
        Number of decimals.

    Returns
    -------
    str or None
        The text, if ``out_file`` is None.

    Examples
    --------
    >>> from sumwise import DecisionTreeRegressor
    >>> from sumwise.inspection import export_graphviz
    >>> model = DecisionTreeRegressor().fit([[14], [16], [24], [26]], [1.0, 1.0, 3.0, 3.0])
    >>> print(export_graphviz(model, feature_names=["age"]).splitlines()[3])
    0 [label="age <= 20.000 or missing\nsamples = 4\nvalue = 2.000"] ;
    """
    _check_count("max_depth", max_depth, 0, optional=True)
    _check_count("precision", precision, 0)
    names = None if isinstance(class_names, bool) else class_names
    view = TreeView(model, tree, feature_names, names)
    writer = _DotWriter(view, max_depth, precision, filled, node_ids, class_names is not False)
    text = "\n".join(writer.write(rotate, rounded)) + "\n"
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        Path(out_file).write_text(text, encoding="utf-8")
    return None


class _TextWriter:
    """Writes a tree as indented lines."""

    def __init__(
        self,
        view: TreeView,
        max_depth: int | None,
        spacing: int,
        decimals: int,
        show_weights: bool,
        max_categories: int | None,
    ) -> None:
        self._view, self._decimals, self._show_weights = view, decimals, show_weights
        self._max_depth = np.inf if max_depth is None else max_depth
        self._max_categories = max_categories
        self._step, self._dashes = "|" + " " * spacing, "|" + "-" * spacing

    def write(self) -> Iterator[str]:
        """Yield the lines: the test that leads to a node, then the node if nothing is below it."""
        for node, parent, depth in self._view.walk(self._max_depth + 1):
            if parent >= 0:
                test = self._write_sides(parent)[node - self._view.tree.left[parent]]
                yield f"{self._step * (depth - 1)}{self._dashes} {test}"
            if self._view.is_leaf(node):
                yield f"{self._step * depth}{self._dashes} {self._describe_leaf(node)}"
            elif depth > self._max_depth:
                rest = self._view.find_depth(node) + 1  # levels of nodes, as scikit-learn counts
                yield f"{self._step * depth}{self._dashes} truncated branch of depth {rest}"

    def _write_sides(self, node: int) -> tuple[str, str]:
        view = self._view
        yes, no = view.write_test(node, self._decimals, self._max_categories)
        if view.asks_whether_missing(node):
            return yes, no
        if view.tree.missing_left[node]:
            return f"{yes} or missing", no
        return yes, f"{no} or missing"

    def _describe_leaf(self, node: int) -> str:
        view, value = self._view, self._view.tree.value[node]
        if view.list_terms(node):
            return f"value: [{view.write_model(node, self._decimals)}]"
        if not view.classes:
            return f"value: {self._write_list(value)}"
        shares = view.find_shares(node)
        name = f"class: {view.classes[int(shares.argmax())]}"
        if not self._show_weights:
            return name
        return f"weights: {self._write_list(shares * view.tree.weight[node])} {name}"

    def _write_list(self, numbers: np.ndarray) -> str:
        return "[" + ", ".join(f"{number:.{self._decimals}f}" for number in numbers) + "]"


class _DotWriter:
    """Writes a tree in the DOT language."""

    def __init__(
        self,
        view: TreeView,
        max_depth: int | None,
        precision: int,
        filled: bool,
        node_ids: bool,
        names_classes: bool,
    ) -> None:
        self._view, self._precision, self._filled = view, precision, filled
        self._max_depth = np.inf if max_depth is None else max_depth
        self._node_ids, self._names_classes = node_ids, names_classes
        self._largest = float(np.abs(view.tree.value[:, 0]).max()) or 1.0

    def write(self, rotate: bool, rounded: bool) -> Iterator[str]:
        styles = ["filled"] * self._filled + ["rounded"] * rounded
        style = f', style="{", ".join(styles)}"' if styles else ""
        yield "digraph Tree {"
        yield f'node [shape=box{style}, color="black", fontname="helvetica"] ;'
        yield 'edge [fontname="helvetica"] ;'
        if rotate:
            yield "rankdir=LR ;"
        for node, parent, depth in self._view.walk(self._max_depth + 1):
            yield f"{node} [{self._describe(node, depth > self._max_depth)}] ;"
            if parent >= 0:
                yield f"{parent} -> {node}{self._label_edge(node, parent, rotate)} ;"
        yield "}"

    def _label_edge(self, node: int, parent: int, rotate: bool) -> str:
        if parent != 0:
            return ""
        is_left = node == self._view.tree.left[0]
        angle = 45 if is_left != rotate else -45
        word = "True" if is_left else "False"
        return f' [labeldistance=2.5, labelangle={angle}, headlabel="{word}"]'

    def _describe(self, node: int, is_cut: bool) -> str:
        if is_cut:
            return 'label="(...)"' + (', fillcolor="#C0C0C0"' if self._filled else "")
        label = "\\n".join(_escape(line) for line in self._write_lines(node))
        color = f', fillcolor="{self._find_color(node)}"' if self._filled else ""
        return f'label="{label}"{color}'

    def _write_lines(self, node: int) -> Iterator[str]:
        view, tree = self._view, self._view.tree
        if self._node_ids:
            yield f"node #{node}"
        if node == 0 and view.output:
            yield view.output
        if not view.is_leaf(node):
            test, _ = view.write_test(node, self._precision, _CATEGORIES_IN_NODE)
            yield f"{test} or missing" if tree.missing_left[node] else test
        yield f"samples = {tree.n_rows[node]}"
        values = view.find_shares(node) if view.classes else tree.value[node]
        numbers = [f"{value:.{self._precision}f}" for value in values]
        if view.list_terms(node):
            yield f"value = {view.write_model(node, self._precision)}"
            return
        yield f"value = {numbers[0] if len(numbers) == 1 else '[' + ', '.join(numbers) + ']'}"
        if view.classes and self._names_classes:
            yield f"class = {view.classes[int(values.argmax())]}"

    def _find_color(self, node: int) -> str:
        view = self._view
        if view.classes:
            shares = view.find_shares(node)
            best = int(shares.argmax())
            return color_of_class(best, float(shares[best]), len(view.classes))
        value = float(view.tree.value[node, 0])
        return blend(COLORS[value >= 0], _STRONGEST * abs(value) / self._largest)


def _escape(text: str) -> str:
    """Return text for a quoted label of DOT."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _check_count(name: str, value: Any, low: int, optional: bool = False) -> None:
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if (value is None and optional) or (is_integer and value >= low):
        return
    none = " or None" if optional else ""
    raise ParameterError(f"{name}={value!r}: must be an integer of at least {low}{none}")
