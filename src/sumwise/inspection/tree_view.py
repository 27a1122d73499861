"""One tree of a model in words: its tests, and the contents of its leaves."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.tree import Tree, Trees


def get_trees(model: Any) -> Trees | None:
    """Return the trees of a fitted model, or trees themselves; None for anything else."""
    trees = getattr(model, "forest_", getattr(model, "ensemble_", model))
    return trees if isinstance(trees, Trees) else None


class TreeView:
    """A tree with the names of its features and classes.

    Parameters
    ----------
    model : fitted estimator or Trees
        The trees; an estimator of sumwise has them as ``ensemble_`` or ``forest_``.
    number : int
        Which tree; -1 for the last.
    feature_names : sequence of str or None
        None for the names seen in ``fit``, or x0, x1, ...
    class_names : sequence of str or None
        None for the labels.

    Attributes
    ----------
    tree : Tree
    first_node : int
        Number of its root in the arrays of the model.
    classes : tuple of str
        Names of the classes whose shares are the values of nodes; empty for numbers and for
        several outputs.
    output : str
        The score that the tree adds to, such as that of a class; "" if boosting has one output.
    """

    def __init__(
        self,
        model: Any,
        number: int = 0,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        trees = get_trees(model)
        if trees is None:
            raise ParameterError(
                f"{type(model).__name__} has no trees of sumwise: it is not fitted, or of another "
                "kind"
            )
        if not -trees.n_trees <= number < trees.n_trees:
            raise ParameterError(f"tree={number}: the model has {trees.n_trees} trees")
        number %= trees.n_trees
        self.tree: Tree = trees.to_tree(number)
        self.first_node = int(trees.start[number])
        self._name_features(model, trees.n_features, feature_names)
        self._name_classes(model, trees, number, class_names)
        self._sets = self.tree.left_categories

    def _name_features(
        self, model: Any, n_columns: int, feature_names: Sequence[str] | None
    ) -> None:
        encoder = getattr(model, "_encoder", None)
        n_features = n_columns if encoder is None else encoder.n_features
        if feature_names is None:
            default = [f"x{i}" for i in range(n_features)]
            feature_names = getattr(model, "feature_names_in_", default)
        if len(feature_names) != n_features:
            raise ParameterError(
                f"feature_names has {len(feature_names)} names for {n_features} features"
            )
        self._names = [str(name) for name in feature_names]
        self._dictionaries = getattr(getattr(model, "schema_", None), "dictionaries", {})
        if encoder is not None:  # trees split on columns; a feature may have several
            self._names = encoder.name_columns(self._names)
            self._dictionaries = encoder.take_originals(self._dictionaries)

    def _name_classes(
        self, model: Any, trees: Trees, number: int, class_names: Sequence[str] | None
    ) -> None:
        labels = getattr(model, "classes_", ())
        if isinstance(labels, list):  # several outputs: nodes show the shares of all classes
            labels = ()
        names = labels if class_names is None else class_names
        if len(names) != len(labels):
            raise ParameterError(f"class_names has {len(names)} names for {len(labels)} classes")
        self.classes: tuple[str, ...] = ()
        self.output = ""
        if trees.averages:
            self.classes = tuple(map(str, names))
        elif trees.n_groups > 1:
            output = number % trees.n_groups
            is_class = len(names) == trees.n_outputs
            self.output = f"score of class {names[output]}" if is_class else f"output {output}"

    def is_leaf(self, node: int) -> bool:
        return bool(self.tree.left[node] < 0)

    def walk(self, n_levels: float) -> Iterator[tuple[int, int, int]]:
        """Yield (node, parent, depth) from the root down, left sides first.

        The children of splits below the first ``n_levels`` levels are left out. The parent of the
        root is -1.
        """
        waiting = [(0, -1, 0)]
        while waiting:
            node, parent, depth = waiting.pop()
            yield node, parent, depth
            if not self.is_leaf(node) and depth < n_levels:
                left = int(self.tree.left[node])
                waiting += [(left + 1, node, depth + 1), (left, node, depth + 1)]

    def find_depth(self, node: int) -> int:
        """Return the number of levels of splits at and below a node."""
        depth, level = 0, np.array([node])
        while (level := level[self.tree.left[level] >= 0]).size:
            depth += 1
            level = np.concatenate([self.tree.left[level], self.tree.left[level] + 1])
        return depth

    def find_shares(self, node: int) -> np.ndarray:
        """Return the share of each class in a node of a classification tree."""
        value = self.tree.value[node]
        # With two classes, trees hold the share of the second only; a single class has it all.
        return np.append(1.0 - value, value)[: len(self.classes)] if value.size == 1 else value

    def list_terms(self, node: int) -> list[tuple[str, float]]:
        """Return names and coefficients of a leaf's linear model; empty without one."""
        models = self.tree.models
        if models is None:
            return []
        terms = slice(*models.first[[node, node + 1]])
        names = [self._names[feature] for feature in models.feature[terms].tolist()]
        return list(zip(names, models.coefficient[terms].tolist(), strict=True))

    def write_model(self, node: int, decimals: int) -> str:
        """Write the linear model of a leaf that has one."""
        assert self.tree.models is not None
        text = f"{self.tree.models.constant[node]:.{decimals}f}"
        for name, coefficient in self.list_terms(node):
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {abs(coefficient):.{decimals}f} * {name}"
        return text

    def write_test(
        self,
        node: int,
        decimals: int | None,
        max_categories: int | None,
        longest: int | None = None,
        line: int | None = None,
    ) -> tuple[str, str]:
        """Return the conditions for going left and for going right.

        Parameters
        ----------
        node : int
            A split.
        decimals : int or None
            Decimals of thresholds; None for three significant digits.
        max_categories : int or None
            Most categories of a set to list; None for all.
        longest : int or None
            Longer names are cut; None for no limit.
        line : int or None
            Longest line of a list of categories; None for one line.
        """
        feature, threshold = int(self.tree.feature[node]), float(self.tree.threshold[node])
        name = shorten(self._names[feature], longest)
        if node in self._sets:
            words = self._list_categories(feature, self._sets[node], max_categories, longest)
            return _join(f"{name} in {{", words, line), _join(f"{name} not in {{", words, line)
        if np.isposinf(threshold):  # only missing values go right
            return f"{name} is known", f"{name} is missing"
        number = format_number(threshold) if decimals is None else f"{threshold:.{decimals}f}"
        return f"{name} <= {number}", f"{name} >  {number}"

    def asks_whether_missing(self, node: int) -> bool:
        """Whether a split separates missing values from all others."""
        return node not in self._sets and bool(np.isposinf(self.tree.threshold[node]))

    def _list_categories(
        self, feature: int, codes: np.ndarray, max_categories: int | None, longest: int | None
    ) -> list[str]:
        dictionary = self._dictionaries.get(feature)
        shown = codes[:max_categories]
        values = shown if dictionary is None else dictionary.values[shown]
        words = [shorten(str(value), longest) for value in values] or [""]
        left_out = codes.size - shown.size
        words[-1] += f" and {left_out} more}}" if left_out else "}"
        return words


def _join(start: str, words: Sequence[str], line: int | None) -> str:
    """Write a list, broken into lines."""
    lines = [start + words[0]]
    for word in words[1:]:
        if line is None or len(lines[-1]) + len(word) <= line:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return ",\n".join(lines)


def shorten(name: str, longest: int | None) -> str:
    """Cut a name to the longest length; None for no limit."""
    return name if longest is None or len(name) <= longest else name[: longest - 3] + "..."


def format_number(number: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, and all digits before the point.

    Multiples of one half, as between two integers, are written in full: 2010.5, not 2.01e+03.
    """
    size = abs(number)
    if size >= 1e15 or 0 < size < 1e-4 or not np.isfinite(number):
        return f"{number:.{digits}g}"
    if 2 * number == np.round(2 * number):
        return f"{number:.1f}".removesuffix(".0").replace("-0", "0" if number == 0 else "-0")
    n_before = len(str(int(size)))
    n_digits = max(digits, n_before + (n_before > 2))
    return np.format_float_positional(number, n_digits, fractional=False, trim="-")
