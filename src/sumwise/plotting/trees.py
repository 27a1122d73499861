"""A single tree of an ensemble."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.errors import ParameterError
from sumwise.inspection.colors import color_of_class
from sumwise.inspection.tree_view import TreeView, format_number, shorten
from sumwise.plotting.axes import check_data, get_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Categories of a set that are written out, characters of a name, and of a line.
_MOST_CATEGORIES = 3
_LONGEST_NAME = 22
_LONGEST_LINE = 28
_SPLIT, _RISE, _FALL = "#FFFFFF", "#FBE3C8", "#CFE6F5"


class TreeLayout(NamedTuple):
    """A tree, and places for its nodes. Nodes come parents first, left before right.

    Attributes
    ----------
    node : ndarray of int
        Numbers of nodes in the ensemble's arrays.
    parent : ndarray of int
        Place of each one's parent in this list, -1 for the root.
    x, depth : ndarray
        Where to draw: leaves are 1 apart, a split lies in the middle above its children.
    is_leaf : ndarray of bool
        Whether a node is a leaf; a split below which nothing is drawn is none.
    value : ndarray of float
        Values.
    n_rows : ndarray of int
        Training rows.
    text : tuple of str
        What is written in the nodes. A row goes left where it holds.
    classes : tuple of str
        Names of the classes of a classification tree; empty for other trees.
    best_class, share : ndarray
        Index of the class that most rows of a node have, and its share; zeros for other trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import tree_layout
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=1, max_leaves=2).fit(X, y)
    >>> tree_layout(model).x
    array([0.5, 0. , 1. ])
    """

    node: np.ndarray
    parent: np.ndarray
    x: np.ndarray
    depth: np.ndarray
    is_leaf: np.ndarray
    value: np.ndarray
    n_rows: np.ndarray
    text: tuple[str, ...]
    classes: tuple[str, ...] = ()
    best_class: np.ndarray = np.zeros(0, dtype=np.intp)
    share: np.ndarray = np.zeros(0)


def tree_layout(
    model: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> TreeLayout:
    """Find places for the nodes of a tree.

    Parameters
    ----------
    model : fitted estimator or TreeEnsemble
        The trees; an estimator of sumwise has them as ``ensemble_`` or ``forest_``.
    tree : int, default=0
        Which one; -1 for the last.
    max_depth : int or None, default=None
        Levels of splits to show; None for all.
    feature_names : sequence of str, default=None
        Names of features; None for those that the estimator saw, or x0, x1, ...
    class_names : sequence of str, default=None
        Names of classes; None for the labels.

    Returns
    -------
    TreeLayout

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import tree_layout
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=1, max_leaves=4).fit(X, y)
    >>> print(tree_layout(model, max_depth=1).text[0])
    s5 <= -0.00376
    442 rows
    """
    if max_depth is not None and max_depth < 0:
        raise ParameterError(f"max_depth={max_depth}: must be at least 0, or None")
    view = TreeView(model, tree, feature_names, class_names)
    return _Walk(view, max_depth).lay_out()


def plot_tree(layout: TreeLayout, ax: "Axes | None" = None) -> "Axes":
    """Draw a tree. Where the text of a split holds, rows go left.

    Parameters
    ----------
    layout : TreeLayout
        From :func:`tree_layout`.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure that is large enough.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import plot_tree, tree_layout
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=1, max_leaves=4).fit(X, y)
    >>> ax = plot_tree(tree_layout(model))
    >>> len(ax.texts)
    9
    """
    check_data(TreeLayout, layout, "tree_layout")
    width, height = float(layout.x.max()) + 1.0, int(layout.depth.max()) + 1
    lines = [text.split("\n") for text in layout.text]
    widest = max(len(line) for own in lines for line in own)
    tallest = max(map(len, lines))
    level = 0.6 + 0.18 * tallest + 0.15 * (tallest > 2)
    ax = get_axes(ax, max(4.0, width * (0.35 + 0.075 * widest)), 0.4 + level * height)
    for child, parent in enumerate(layout.parent):
        if parent >= 0:
            ends = [parent, child]
            ax.plot(layout.x[ends], -layout.depth[ends], color="0.6", linewidth=1.0, zorder=1)
    for i, text in enumerate(layout.text):
        ax.text(
            layout.x[i],
            -layout.depth[i],
            text,
            ha="center",
            va="center",
            fontsize=8,
            zorder=2,
            bbox={
                "boxstyle": "round,pad=0.35",
                "facecolor": _find_color(layout, i),
                "edgecolor": "0.4",
            },
        )
    _explain_colors(layout, ax)
    if len(layout.text) > 2:
        for child, word in ((1, "yes"), (int(np.flatnonzero(layout.parent == 0)[1]), "no")):
            middle = (layout.x[0] + layout.x[child]) / 2
            ax.text(
                middle, -0.5, word, ha="center", va="center", fontsize=8, backgroundcolor="white"
            )
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(-height + 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _find_color(layout: TreeLayout, i: int) -> str:
    if not layout.is_leaf[i]:
        return _SPLIT
    if layout.classes:
        return color_of_class(
            int(layout.best_class[i]), float(layout.share[i]), len(layout.classes)
        )
    return _RISE if layout.value[i] >= 0 else _FALL


def _explain_colors(layout: TreeLayout, ax: "Axes") -> None:
    """Show the color of each class that a leaf has."""
    shown = sorted(set(layout.best_class[layout.is_leaf].tolist())) if layout.classes else []
    if not shown:
        return
    from matplotlib.patches import Patch

    handles = [
        Patch(
            facecolor=color_of_class(k, 1.0, len(layout.classes)),
            edgecolor="0.4",
            label=shorten(layout.classes[k], _LONGEST_NAME),
        )
        for k in shown
    ]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False
    )


class _Writer:
    """Says in words what a node is."""

    def __init__(self, view: TreeView) -> None:
        self._view = view

    def write(self, node: int, is_cut: bool) -> str:
        view = self._view
        rows = f"{view.tree.n_rows[node]:,} rows"
        if view.is_leaf(node):
            return f"{self._describe_leaf(node)}\n{rows}"
        if is_cut:
            return f"...\n{rows}"
        test, _ = view.write_test(node, None, _MOST_CATEGORIES, _LONGEST_NAME, _LONGEST_LINE)
        # Missing values go right unless it is said.
        return f"{test}\n{'or missing, ' if view.tree.missing_left[node] else ''}{rows}"

    def _describe_leaf(self, node: int) -> str:
        view = self._view
        if view.classes:
            shares = view.find_shares(node)
            best = int(shares.argmax())
            return f"{shorten(view.classes[best], _LONGEST_NAME)} {shares[best]:.0%}"
        value = ", ".join(format_number(number) for number in view.tree.value[node][:4])
        names = [shorten(name, _LONGEST_NAME) for name, _ in view.list_terms(node)[:2]]
        return f"{value}, linear in\n{', '.join(names)}" if names else value


class _Walk:
    """Visits the nodes that are drawn, parents first."""

    def __init__(self, view: TreeView, max_depth: int | None) -> None:
        self._view = view
        self._max_depth = np.inf if max_depth is None else max_depth

    def lay_out(self) -> TreeLayout:
        nodes: list[int] = []
        parents: list[int] = []
        depths: list[int] = []
        waiting = [(0, -1, 0)]
        while waiting:
            node, parent, depth = waiting.pop()
            place = len(nodes)
            nodes.append(node)
            parents.append(parent)
            depths.append(depth)
            if self._is_open(node, depth):
                left = int(self._view.tree.left[node])
                waiting += [(left + 1, place, depth + 1), (left, place, depth + 1)]
        ends = [not self._is_open(n, d) for n, d in zip(nodes, depths, strict=True)]
        x = np.zeros(len(nodes))
        x[ends] = np.arange(sum(ends))
        # Children come after their parents, so from the end all have their places before.
        for place in range(len(nodes) - 1, 0, -1):
            x[parents[place]] += x[place] / 2
        tree, writer = self._view.tree, _Writer(self._view)
        is_split = tree.feature[nodes] >= 0
        cut = np.array(ends) & is_split
        shares = np.zeros((len(nodes), 1))
        if self._view.classes:
            shares = np.stack([self._view.find_shares(node) for node in nodes])
        return TreeLayout(
            np.array(nodes) + self._view.first_node,
            np.array(parents),
            x,
            np.array(depths),
            ~is_split,
            tree.value[nodes, 0],
            tree.n_rows[nodes],
            tuple(writer.write(n, bool(c)) for n, c in zip(nodes, cut, strict=True)),
            self._view.classes,
            shares.argmax(axis=1),
            shares.max(axis=1),
        )

    def _is_open(self, node: int, depth: int) -> bool:
        return not self._view.is_leaf(node) and depth < self._max_depth
