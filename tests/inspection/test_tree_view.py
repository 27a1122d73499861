"""How trees are walked, and how their numbers and names are written."""

import numpy as np
import pytest

from sumwise import DecisionTreeRegressor, GradientBoostingClassifier
from sumwise.errors import ParameterError
from sumwise.inspection.colors import COLORS, blend, color_of_class, pick_color
from sumwise.inspection.tree_view import TreeView, format_number, get_trees, shorten


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (-2.5, "-2.5"),
        (-0.5, "-0.5"),
        (2010.5, "2010.5"),
        (1234567.5, "1234567.5"),
        (1234567.0, "1234567"),
        (3.4999999999, "3.5"),
        (0.123456, "0.123"),
        (-0.00376, "-0.00376"),
        (12.3456, "12.3"),
        (123.456, "123.5"),
        (12345.678, "12345.7"),
        (1e-7, "1e-07"),
        (1.5e20, "1.5e+20"),
        (np.inf, "inf"),
    ],
)
def test_numbers(number, text):
    assert format_number(number) == text


def test_names_are_cut():
    assert shorten("short", 5) == "short"
    assert shorten("longer", 5) == "lo..."
    assert shorten("longer", None) == "longer"


def test_colors():
    assert blend("#0072B2", 1.0) == "#0072B2"
    assert blend("#0072B2", 0.0) == "#FFFFFF"
    assert [pick_color(k, 8) for k in range(8)] == list(COLORS)
    assert len({pick_color(k, 50) for k in range(50)}) == 50
    assert color_of_class(0, 0.5, 2) == "#FFFFFF"
    assert len({color_of_class(k, 1.0, 12) for k in range(12)}) == 12


X = np.arange(64.0)[:, None]
MODELS = [
    DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0]),
    GradientBoostingClassifier(n_estimators=2, min_samples_leaf=2).fit(X, X[:, 0] % 3),
]


@pytest.mark.parametrize("model", MODELS)
def test_trees_of_models(model):
    trees = get_trees(model)
    assert get_trees(trees) is trees
    assert get_trees(type(model)()) is None
    with pytest.raises(ParameterError, match="has no trees of sumwise"):
        TreeView(type(model)())


@pytest.mark.parametrize("model", MODELS)
def test_walks_visit_every_node_parents_first(model):
    view, trees = TreeView(model, -1), get_trees(model)
    depths = trees.find_depths()[trees.start[-2] :]
    nodes, parents, found = zip(*view.walk(np.inf), strict=True)
    assert sorted(nodes) == list(range(view.tree.n_nodes))
    assert list(found) == depths[list(nodes)].tolist()
    assert parents[0] == -1
    for node, parent in list(zip(nodes, parents, strict=True))[1:]:
        assert node - view.tree.left[parent] in (0, 1)
        assert nodes.index(parent) < nodes.index(node)
    left = view.tree.left[0]
    assert nodes.index(left) < nodes.index(left + 1)


@pytest.mark.parametrize("n_levels", [0, 1, 2])
def test_walks_end_after_some_levels(n_levels):
    view = TreeView(MODELS[0])
    depths = [depth for _, _, depth in view.walk(n_levels)]
    assert max(depths) == n_levels
    assert len(depths) == 2 ** (n_levels + 1) - 1
