"""A tree, laid out and drawn."""

import numpy as np
import pandas as pd
import pytest

from sumwise import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestRegressor
from sumwise.errors import ParameterError
from sumwise.plotting import plot_tree, tree_layout
from sumwise.tree import Tree, TreeEnsemble

# Node 0 splits feature 0, its left child 1 feature 1 by a set, its right child 2 is a leaf.
TREE = Tree(
    feature=np.array([0, 1, -1, -1, -1], dtype=np.int32),
    threshold=np.array([2.5, 0, 0, 0, 0]),
    split_bin=np.zeros(5, dtype=np.uint8),
    missing_left=np.array([1, 0, 0, 0, 0], dtype=np.uint8),
    left=np.array([1, 3, -1, -1, -1], dtype=np.int32),
    value=np.array([[0.0], [0.5], [1.5], [-2.0], [0.25]]),
    gain=np.array([3.0, 1.0, 0, 0, 0]),
    n_rows=np.array([3000, 1200, 1800, 1000, 200]),
    weight=np.ones(5),
    set_node=np.array([1], dtype=np.int32),
    set_size=np.array([5], dtype=np.int32),
    set_categories=np.array([0, 2, 3, 7, 9], dtype=np.int32),
)
STUMP = Tree(
    feature=np.array([1, -1, -1], dtype=np.int32),
    threshold=np.array([np.inf, 0, 0]),
    split_bin=np.zeros(3, dtype=np.uint8),
    missing_left=np.zeros(3, dtype=np.uint8),
    left=np.array([1, -1, -1], dtype=np.int32),
    value=np.zeros((3, 1)),
    gain=np.zeros(3),
    n_rows=np.array([5, 3, 2]),
    weight=np.ones(3),
)
ENSEMBLE = TreeEnsemble.from_trees([STUMP, TREE], np.zeros(1), "identity", 2)


class Values:
    values = np.array(["red", "", "green", "a name that is too long to be shown", *"efghij"])


class Model:
    ensemble_ = ENSEMBLE
    feature_names_in_ = np.array(["size", "color"])

    class schema_:  # noqa: N801
        dictionaries = {1: Values}  # noqa: RUF012


def test_the_layout_of_a_tree():
    layout = tree_layout(ENSEMBLE, 1)
    assert layout.node.tolist() == [3, 4, 6, 7, 5]
    assert layout.parent.tolist() == [-1, 0, 1, 1, 0]
    assert layout.depth.tolist() == [0, 1, 2, 2, 1]
    assert layout.x.tolist() == [1.25, 0.5, 0.0, 1.0, 2.0]
    assert layout.is_leaf.tolist() == [False, False, True, True, True]
    assert layout.value.tolist() == [0.0, 0.5, -2.0, 0.25, 1.5]
    assert layout.n_rows.tolist() == [3000, 1200, 1000, 200, 1800]


def test_nodes_of_a_forest_are_numbered_over_all_trees():
    X = np.arange(20.0)[:, None]
    forest = RandomForestRegressor(2, random_state=0).fit(X, X[:, 0]).forest_
    layout = tree_layout(forest, 1)
    assert sorted(layout.node.tolist()) == list(range(forest.start[1], forest.start[2]))
    assert np.array_equal(forest.n_rows[layout.node], layout.n_rows)


def test_nodes_say_what_they_do():
    assert tree_layout(Model, -1).text == (
        "size <= 2.5\nor missing, 3,000 rows",
        "color in {red, green,\na name that is too ... and 2 more}\n1,200 rows",
        "-2\n1,000 rows",
        "0.25\n200 rows",
        "1.5\n1,800 rows",
    )
    assert tree_layout(ENSEMBLE, 1).text[1] == "x1 in {0, 2, 3 and 2 more}\n1,200 rows"
    assert tree_layout(ENSEMBLE, 0, feature_names=["a", "b"]).text[0] == "b is known\n5 rows"


def test_the_top_of_a_tree():
    layout = tree_layout(ENSEMBLE, 1, max_depth=1)
    assert layout.node.tolist() == [3, 4, 5]
    assert layout.text[1] == "...\n1,200 rows"
    assert layout.is_leaf.tolist() == [False, False, True]
    assert tree_layout(ENSEMBLE, 1, max_depth=0).node.tolist() == [3]


@pytest.mark.parametrize("max_depth", [None, 1, 0])
def test_trees_are_drawn(max_depth):
    layout = tree_layout(ENSEMBLE, 1, max_depth=max_depth)
    ax = plot_tree(layout)
    n_words = 2 if len(layout.node) > 1 else 0  # yes and no
    assert len(ax.texts) == len(layout.node) + n_words
    assert len(ax.lines) == len(layout.node) - 1


def test_inputs_are_checked():
    with pytest.raises(ParameterError, match="tree=2: the model has 2 trees"):
        tree_layout(ENSEMBLE, 2)
    with pytest.raises(ParameterError, match="max_depth=-1"):
        tree_layout(ENSEMBLE, max_depth=-1)
    with pytest.raises(ParameterError, match="1 names for 2 features"):
        tree_layout(ENSEMBLE, feature_names=["a"])
    with pytest.raises(ParameterError, match="object has no trees of sumwise"):
        tree_layout(object())


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_leaves_of_a_forest_tell_classes(n_classes):
    X = np.arange(6.0)[:, np.newaxis]
    y = np.array(["a", "b", "c"])[np.arange(6) % n_classes]
    model = DecisionTreeClassifier().fit(X, y)
    layout = tree_layout(model)
    assert layout.n_rows[0] == 6
    leaves = [text for text, is_leaf in zip(layout.text, layout.is_leaf, strict=True) if is_leaf]
    assert {text.split("\n")[0] for text in leaves} == {f"{label} 100%" for label in set(y)}


def test_trees_of_a_forest_can_be_drawn():
    X = pd.DataFrame({"color": ["red", "green", "blue", "gray"] * 5, "size": np.arange(20.0)})
    y = np.array([1.0, 2.0, 2.0, 1.0] * 5)
    model = RandomForestRegressor(3, max_features=None, bootstrap=False).fit(X, y)
    layout = tree_layout(model, -1)
    assert layout.text[0].split("\n")[0] in ("color in {blue, green}", "color in {gray, red}")
    assert plot_tree(layout).texts
    with pytest.raises(ParameterError, match="3 trees"):
        tree_layout(model, 3)
    both = RandomForestRegressor(1, bootstrap=False).fit(X, np.column_stack([y, -y]))
    assert any(text.startswith("1, -1") for text in tree_layout(both).text)


def test_long_names_and_whole_numbers_can_be_read():
    cities = ["Saint-Germain-en-Laye", "Basel, the city on the Rhine", "Bern", "Chur"]
    X = pd.DataFrame({"city": cities * 50, "year": np.arange(200) + 1900})
    y = X["city"].isin(cities[:2]) * 5.0 + (X["year"] > 2010)
    text = tree_layout(DecisionTreeRegressor(max_depth=2).fit(X, y)).text
    lines = text[0].split("\n")
    assert lines[0] in ("city in {Bern, Chur}", "city in {Basel, the city on th...,")
    assert max(map(len, lines)) <= 40
    assert any(t.startswith("year <= 2010.5\n") for t in text)


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_classes_have_colors_and_a_legend(n_classes):
    y = np.arange(240) % n_classes
    layout = tree_layout(DecisionTreeClassifier().fit(y[:, None] + 0.0, y))
    assert layout.classes == tuple(map(str, range(n_classes)))
    assert layout.share[layout.is_leaf].tolist() == [1.0] * n_classes
    ax = plot_tree(layout)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(layout.classes)
    colors = {patch.get_facecolor() for patch in ax.get_legend().get_patches()}
    assert len(colors) == n_classes
    boxes = [text.get_bbox_patch() for text in ax.texts]
    fills = [box.get_facecolor() for box in boxes[: len(layout.node)]]
    assert {fills[i] for i in np.flatnonzero(layout.is_leaf)} == colors
    names = [f"class {k}" for k in range(n_classes)]
    named = tree_layout(DecisionTreeClassifier().fit(y[:, None] + 0.0, y), class_names=names)
    assert named.classes == tuple(names)


def test_numbers_have_no_legend():
    assert plot_tree(tree_layout(ENSEMBLE, 1)).get_legend() is None
