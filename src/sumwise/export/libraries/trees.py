"""Models as other tree libraries hold them: trees that split on inputs, added up, with a link.

LightGBM, XGBoost and treelite know numbers and category codes, one kind of sum, and a few links.
``to_library_model`` brings a model into that form or raises ExportError:

- averages, weighted sums and AdaBoost's votes of trees become one sum of trees;
- a threshold on a table of numbers by category (target statistics) becomes a set of categories;
- a classifier of two classes has one output, that of the second class.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.linear_form import LinearForm, find_linear_form
from sumwise.export.portable import (
    CATEGORY,
    Column,
    Input,
    Link,
    Lookup,
    Node,
    TreeSum,
    describe,
)
from sumwise.export.tree_sums import add_trees
from sumwise.tree import LeafModels, Tree

_NODES = {
    "Affine": "a linear function of features",
    "Median": "the median of trees",
    "Vote": "votes with labels",
    "Share": "shares of a sum (votes, or classes calibrated one by one)",
    "Curve": "isotonic calibration",
    "Link": "probabilities that are averaged or stacked",
}


@dataclass(frozen=True, eq=False)
class LibraryModel:
    """A sum of trees that split on inputs, and a link.

    Attributes
    ----------
    inputs : tuple of Input
        Categories are passed to other libraries as their codes.
    trees : TreeSum
        Its columns are the inputs.
    link : str
    n_classes : int
        0 for regression.
    """

    inputs: tuple[Input, ...]
    trees: TreeSum
    link: str
    n_classes: int

    @property
    def n_outputs(self) -> int:
        return self.trees.n_outputs

    @property
    def averages(self) -> bool:
        """Whether outputs are means over all trees."""
        return self.trees.divisor != 1.0


@dataclass(frozen=True, eq=False)
class SingleTree:
    """One tree with one value per node; nodes are numbered from 0, right is left + 1.

    Attributes
    ----------
    output : int
        The output that it adds to.
    feature, threshold, missing_left, left, value, gain, weight, n_rows : ndarray
        As in :class:`sumwise.tree.Tree`.
    sets : dict of int to ndarray
        Codes that go left, by node.
    models : LeafModels or None
    """

    output: int
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    sets: dict[int, np.ndarray]
    models: LeafModels | None

    @property
    def n_nodes(self) -> int:
        return int(self.left.size)

    @property
    def is_leaf(self) -> np.ndarray:
        return self.left < 0

    def add(self, constant: float) -> "SingleTree":
        """Return the tree with a constant added to its values."""
        models = self.models
        if models is not None:
            has_model = models.size > 0
            models = replace(models, constant=models.constant + np.where(has_model, constant, 0.0))
        return replace(self, value=self.value + constant, models=models)

    def scale(self, factor: float) -> "SingleTree":
        """Return the tree with its values multiplied; it must have no models."""
        return replace(self, value=self.value * factor)

    def send_missing(self, to_left: bool, n_categories: Sequence[int]) -> "SingleTree":
        """Return the tree with missing categories on one side of all splits by sets.

        Where they go to the other side, the children of the split change places.
        """
        nodes = [k for k in self.sets if bool(self.missing_left[k]) != to_left]
        if not nodes:
            return self
        order = np.arange(self.n_nodes)  # the old number of each node
        order[self.left[nodes]], order[self.left[nodes] + 1] = (
            self.left[nodes] + 1,
            self.left[nodes],
        )
        place = np.argsort(order)
        sets = dict(self.sets)
        for k in nodes:
            every = np.arange(n_categories[self.feature[k]])
            sets[k] = np.setdiff1d(every, sets[k]).astype(np.int32)
        missing_left = self.missing_left.copy()
        missing_left[nodes] = to_left
        moved = {
            name: getattr(self, name)[order]
            for name in ("feature", "threshold", "left", "value", "gain", "weight", "n_rows")
        }
        return replace(
            self,
            **moved,
            missing_left=missing_left[order],
            sets={int(place[k]): own for k, own in sets.items()},
            models=None if self.models is None else _move_models(self.models, order),
        )


def _move_models(models: LeafModels, order: np.ndarray) -> LeafModels:
    parts = [models.take(slice(k, k + 1)) for k in order.tolist()]
    joined = LeafModels.join([(part, 1) for part in parts])
    assert joined is not None
    return joined


def to_library_model(model: Any) -> LibraryModel:
    """Return a model in the form of other tree libraries; raise ExportError if it has none."""
    described = describe(model)
    if len(described.classes) > 1:
        raise ExportError("several labels per row: other tree libraries predict one")
    output = described.output
    node, link = (output.of, output.name) if isinstance(output, Link) else (output, "identity")
    n_classes = described.classes[0].size if described.classes else 0
    trees = _to_sum(node, is_pair=n_classes == 2 and link == "identity")
    trees = _split_on_inputs(trees, described.inputs)
    return LibraryModel(described.inputs, trees, link, n_classes)


# --- one sum of trees ---


def _to_sum(node: Node, is_pair: bool) -> TreeSum:
    """Return one sum of trees; of a pair of probabilities, the second."""
    form = find_linear_form(node)
    if not isinstance(form, LinearForm):
        raise _refuse(_NODES[type(form).__name__])
    rows = slice(1, 2) if is_pair and form.base.size == 2 else slice(None)
    base, parts = form.base[rows], [(trees, weights[rows]) for trees, weights in form.parts]
    if len(parts) == 1:
        ((trees, weights),) = parts
        if np.array_equal(weights, np.eye(trees.n_outputs) / trees.divisor):
            return replace(trees, base_score=base)
    return add_trees(parts, base)


def _refuse(what: str) -> ExportError:
    return ExportError(
        f"{what}: LightGBM, XGBoost and treelite hold one sum of trees with a link; to_json, to_c, "
        "to_python and to_onnx hold more"
    )


# --- splits on inputs ---


def _split_on_inputs(own: TreeSum, inputs: tuple[Input, ...]) -> TreeSum:
    """Return trees whose columns are the inputs."""
    trees, columns = own.trees, own.columns
    every = tuple(Column((k,)) for k in range(len(inputs)))
    places = np.array([column.inputs[0] for column in columns] or [0])
    used = np.unique(trees.feature[trees.feature >= 0])
    is_number = [columns[k].lookup is None and inputs[places[k]].kind != CATEGORY for k in used]
    feature = np.where(trees.feature < 0, -1, places[trees.feature]).astype(np.int32)
    trees = replace(trees, feature=feature, models=_place_models(trees.models, columns, inputs))
    if not all(is_number):
        trees = _make_sets(trees, own, inputs)
    return replace(own, columns=every, trees=trees)


def _place_models(
    models: LeafModels | None, columns: tuple[Column, ...], inputs: tuple[Input, ...]
) -> LeafModels | None:
    if models is None:
        return None
    for k in np.unique(models.feature).tolist():
        if columns[k].lookup is not None:
            _refuse_lookup(columns[k], inputs, "in linear leaves")
    places = np.array([column.inputs[0] for column in columns] or [0], dtype=np.int32)
    return replace(models, feature=places[models.feature])


def _make_sets(trees: Tree, own: TreeSum, inputs: tuple[Input, ...]) -> Tree:
    """Return trees in which every split on a category is by a set of codes."""
    sets = dict(trees.left_categories)
    threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
    for node in np.flatnonzero(own.trees.feature >= 0).tolist():
        column = own.columns[own.trees.feature[node]]
        if node in sets or inputs[column.inputs[0]].kind != CATEGORY:
            continue
        numbers = np.arange(len(inputs[column.inputs[0]].categories), dtype=np.float64)
        if column.lookup is not None:
            numbers, missing_left[node] = _look_up(column, inputs, float(threshold[node]))
        sets[node] = np.flatnonzero(numbers <= threshold[node]).astype(np.int32)
        threshold[node] = 0.0
    order = sorted(sets)
    return replace(
        trees,
        threshold=threshold,
        missing_left=missing_left,
        set_node=np.array(order, dtype=np.int32),
        set_size=np.array([sets[k].size for k in order], dtype=np.int32),
        set_categories=np.concatenate([*(sets[k] for k in order), np.empty(0, np.int32)]),
    )


def _look_up(
    column: Column, inputs: tuple[Input, ...], threshold: float
) -> tuple[np.ndarray, bool]:
    """Return the number of each category, and whether missing and unknown ones go left."""
    if len(column.inputs) > 1:
        _refuse_lookup(column, inputs, "of combinations of features")
    assert column.lookup is not None
    numbers = _fill_table(column.lookup)
    is_left = numbers[-1] <= threshold
    if is_left != (column.lookup.default <= threshold):
        _refuse_lookup(column, inputs, "that differ between missing and unknown categories")
    return numbers[:-1], bool(is_left)


def _fill_table(lookup: Lookup) -> np.ndarray:
    """Return the number of each code of one input, that of missing values last."""
    numbers = np.full(lookup.bases[0], lookup.default)
    numbers[lookup.keys] = lookup.values
    return numbers


def _refuse_lookup(column: Column, inputs: tuple[Input, ...], which: str) -> None:
    names = ", ".join(repr(inputs[place].name) for place in column.inputs)
    raise ExportError(
        f"target statistics {which} (feature {names}) cannot be said as sets of categories; train "
        "with categorical_encoding='native'"
    )


# --- trees one by one ---


def list_single_trees(trees: TreeSum) -> Iterator[SingleTree]:
    """Yield trees of one output each, outputs in turn; trees with several values are repeated."""
    sets = trees.trees.left_categories
    by_node = ("feature", "threshold", "missing_left", "gain", "weight", "n_rows")
    for number, (first, last) in enumerate(zip(trees.start[:-1], trees.start[1:], strict=True)):
        own = slice(int(first), int(last))
        left = trees.trees.left[own]
        arrays = {name: getattr(trees.trees, name)[own] for name in by_node}
        for k, output in enumerate(trees.find_outputs(number)):
            yield SingleTree(
                output=output,
                **arrays,
                left=np.where(left < 0, -1, left - own.start),
                value=trees.trees.value[own, k],
                sets={
                    node - own.start: sets[node]
                    for node in range(own.start, own.stop)
                    if node in sets
                },
                models=None if trees.trees.models is None else trees.trees.models.take(own),
            )


def make_constant_tree(output: int, value: float) -> SingleTree:
    """Return a tree of one leaf."""
    none, zero = np.full(1, -1, dtype=np.int32), np.zeros(1)
    return SingleTree(
        output, none, zero, zero.astype(np.uint8), none, np.array([value]), zero, np.ones(1),
        np.ones(1, dtype=np.int64), {}, None,
    )  # fmt: skip


def fold_base_score(model: LibraryModel) -> list[SingleTree]:
    """Return the trees, as many for each output, with the base score in the first of each."""
    trees, n_outputs = list(list_single_trees(model.trees)), model.n_outputs
    n_missing = -len(trees) % n_outputs if trees else n_outputs
    first = len(trees)
    trees += [make_constant_tree((first + k) % n_outputs, 0.0) for k in range(n_missing)]
    # A mean over n trees divides the base score, too.
    factor = model.trees.divisor
    for k in range(n_outputs):
        if model.trees.base_score[k] != 0.0:
            trees[k] = trees[k].add(float(model.trees.base_score[k]) * factor)
    return trees


def find_covers(tree: SingleTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight and the rows of each node; 1 per leaf if a tree does not know them."""
    if tree.n_rows[0] > 0:
        return tree.weight, tree.n_rows
    n_rows = np.ones(tree.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        n_rows[node] = n_rows[tree.left[node]] + n_rows[tree.left[node] + 1]
    return n_rows.astype(np.float64), n_rows


# --- names ---


def clean_names(inputs: Sequence[Input], forbidden: str) -> list[str]:
    """Return distinct names without some characters, a regular expression; these become ``_``."""
    names: list[str] = []
    taken = set()
    for known in inputs:
        name = base = re.sub(forbidden, "_", known.name) or "_"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names.append(name)
    return names


def name_features(inputs: Sequence[Input], forbidden: str) -> list[str]:
    """Return clean names; none if the features of the model had no names."""
    if all(known.name == f"x{k}" for k, known in enumerate(inputs)):
        return []
    return clean_names(inputs, forbidden)
