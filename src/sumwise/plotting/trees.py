"""A single tree of an ensemble."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.errors import ParameterError
from sumwise.plotting.axes import check_data, get_axes
from sumwise.tree import TreeEnsemble
from sumwise.tree.forest import Forest
from sumwise.tree.forest_view import convert_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Categories of a set that are written out.
_MOST_CATEGORIES = 3
_LONGEST_NAME = 22
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


def tree_layout(
    model: Any,
    tree: int = 0,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
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
    trees = getattr(model, "forest_", getattr(model, "ensemble_", model))
    if not isinstance(trees, (TreeEnsemble, Forest)):
        raise ParameterError(
            f"{type(model).__name__} has no trees of sumwise: it is not fitted, or of another kind"
        )
    if not -trees.n_trees <= tree < trees.n_trees:
        raise ParameterError(f"tree={tree}: the model has {trees.n_trees} trees")
    leaves = None
    if isinstance(trees, Forest):
        tree %= trees.n_trees
        ensemble = convert_tree(trees, tree)
        leaves, tree = _describe_leaves(model, trees.select(tree, tree + 1)), 0
    else:
        ensemble = trees
    if max_depth is not None and max_depth < 0:
        raise ParameterError(f"max_depth={max_depth}: must be at least 0, or None")
    encoder = getattr(model, "_encoder", None)
    n_features = ensemble.n_features if encoder is None else encoder.n_features
    if feature_names is None:
        default = [f"x{i}" for i in range(n_features)]
        feature_names = list(getattr(model, "feature_names_in_", default))
    elif len(feature_names) != n_features:
        raise ParameterError(
            f"feature_names has {len(feature_names)} names for {n_features} features"
        )
    dictionaries = getattr(getattr(model, "schema_", None), "dictionaries", {})
    if encoder is not None:  # trees know columns, of which a feature may have several
        feature_names = encoder.name_columns(feature_names)
        dictionaries = encoder.take_originals(dictionaries)
    writer = _Writer(ensemble, feature_names, dictionaries, leaves)
    return _Walk(ensemble, max_depth).lay_out(int(ensemble.start[tree]), writer)


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
    widest = max(len(line) for text in layout.text for line in text.split("\n"))
    ax = get_axes(ax, max(4.0, width * (0.35 + 0.075 * widest)), 0.4 + 1.15 * height)
    for child, parent in enumerate(layout.parent):
        if parent >= 0:
            ends = [parent, child]
            ax.plot(layout.x[ends], -layout.depth[ends], color="0.6", linewidth=1.0, zorder=1)
    for i, text in enumerate(layout.text):
        color = _SPLIT if not layout.is_leaf[i] else _RISE if layout.value[i] >= 0 else _FALL
        ax.text(
            layout.x[i],
            -layout.depth[i],
            text,
            ha="center",
            va="center",
            fontsize=8,
            zorder=2,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": color, "edgecolor": "0.4"},
        )
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


def _describe_leaves(model: Any, forest: Forest) -> dict[int, str]:
    """Say what leaves of one tree predict, where that is more than a number."""
    value, classes = forest.value, getattr(model, "classes_", None)
    if classes is not None:
        shares = value if classes.size > 2 else np.column_stack([1.0 - value, value])
        best = shares.argmax(axis=1)
        pairs = zip(best.tolist(), shares.max(axis=1).tolist(), strict=True)
        texts = [f"{_shorten(str(classes[k]))} {share:.0%}" for k, share in pairs]
    elif forest.n_columns > 1:
        texts = [", ".join(f"{number:.3g}" for number in row) for row in value[:, :4]]
    else:
        return {}
    return dict(zip(forest.leaf_nodes.tolist(), texts, strict=True))


class _Writer:
    """Says in words what a node is."""

    def __init__(
        self,
        ensemble: TreeEnsemble,
        names: Sequence[str],
        dictionaries: Mapping[int, Any],
        leaves: Mapping[int, str] | None = None,
    ) -> None:
        self._ensemble, self._dictionaries = ensemble, dictionaries
        self._leaves = {} if leaves is None else leaves
        self._names = [str(name) for name in names]
        ends = np.cumsum(ensemble.set_size)
        self._sets = {
            int(node): ensemble.set_categories[end - size : end]
            for node, size, end in zip(ensemble.set_node, ensemble.set_size, ends, strict=True)
        }

    def write(self, node: int, is_cut: bool) -> str:
        ensemble = self._ensemble
        rows = f"{ensemble.n_rows[node]:,} rows"
        feature = int(ensemble.feature[node])
        if feature < 0:
            return f"{self._leaves.get(node, f'{ensemble.value[node]:.3g}')}\n{rows}"
        if is_cut:
            return f"...\n{rows}"
        name = _shorten(self._names[feature])
        if node in self._sets:
            test = f"{name} in {self._write_set(feature, self._sets[node])}"
        elif np.isposinf(ensemble.threshold[node]):
            return f"{name} is known\n{rows}"  # all values go left, what is missing goes right
        else:
            test = f"{name} <= {ensemble.threshold[node]:.3g}"
        # Missing values go right unless it is said.
        return f"{test}\n{'or missing, ' if ensemble.missing_left[node] else ''}{rows}"

    def _write_set(self, feature: int, codes: np.ndarray) -> str:
        dictionary = self._dictionaries.get(feature)
        shown = codes[:_MOST_CATEGORIES]
        values = shown if dictionary is None else dictionary.values[shown]
        words = [_shorten(str(value)) for value in values]
        left_out = codes.size - shown.size
        return "{" + ", ".join(words) + (f" and {left_out} more" if left_out else "") + "}"


class _Walk:
    """Visits the nodes that are drawn, parents first."""

    def __init__(self, ensemble: TreeEnsemble, max_depth: int | None) -> None:
        self._left = ensemble.left
        self._ensemble = ensemble
        self._max_depth = np.inf if max_depth is None else max_depth

    def lay_out(self, root: int, writer: _Writer) -> TreeLayout:
        nodes: list[int] = []
        parents: list[int] = []
        depths: list[int] = []
        waiting = [(root, -1, 0)]
        while waiting:
            node, parent, depth = waiting.pop()
            place = len(nodes)
            nodes.append(node)
            parents.append(parent)
            depths.append(depth)
            if self._is_open(node, depth):
                left = int(self._left[node])
                waiting += [(left + 1, place, depth + 1), (left, place, depth + 1)]
        ends = [not self._is_open(n, d) for n, d in zip(nodes, depths, strict=True)]
        x = np.zeros(len(nodes))
        x[ends] = np.arange(sum(ends))
        # Children come after their parents, so from the end all have their places before.
        for place in range(len(nodes) - 1, 0, -1):
            x[parents[place]] += x[place] / 2
        is_split = self._ensemble.feature[nodes] >= 0
        cut = np.array(ends) & is_split
        return TreeLayout(
            np.array(nodes),
            np.array(parents),
            x,
            np.array(depths),
            ~is_split,
            self._ensemble.value[nodes],
            self._ensemble.n_rows[nodes],
            tuple(writer.write(n, bool(c)) for n, c in zip(nodes, cut, strict=True)),
        )

    def _is_open(self, node: int, depth: int) -> bool:
        return bool(self._left[node] >= 0) and depth < self._max_depth


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
