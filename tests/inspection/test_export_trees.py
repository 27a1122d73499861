"""Trees as text and as DOT."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import export_text as sklearn_text

from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Quantile,
    RandomForestClassifier,
)
from sumwise.errors import ParameterError
from sumwise.inspection import export_graphviz, export_text
from sumwise.tree import Tree, TreeEnsemble

IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
NAMES = ["setosa", "versicolor", "virginica"]
# Node 0 splits feature 0, its left child 1 feature 1 by a set, its right child 2 is a leaf; node 3
# parts known from missing values.
TREE = Tree(
    feature=np.array([0, 1, -1, 0, -1, -1, -1], dtype=np.int32),
    threshold=np.array([2.5, 0, 0, np.inf, 0, 0, 0]),
    split_bin=np.zeros(7, dtype=np.uint8),
    missing_left=np.array([1, 0, 0, 0, 0, 0, 0], dtype=np.uint8),
    left=np.array([1, 3, -1, 5, -1, -1, -1], dtype=np.int32),
    value=np.array([[0.0], [0.5], [1.5], [-1.0], [0.25], [-2.0], [3.0]]),
    gain=np.zeros(7),
    n_rows=np.array([3000, 1200, 1800, 1000, 200, 900, 100]),
    weight=np.ones(7),
    set_node=np.array([1], dtype=np.int32),
    set_size=np.array([3], dtype=np.int32),
    set_categories=np.array([0, 2, 3], dtype=np.int32),
)


class Model:
    ensemble_ = TreeEnsemble.from_trees([TREE, TREE], np.zeros(1), "identity", 2)
    feature_names_in_ = np.array(["size", 'a "color"'])

    class schema_:  # noqa: N801
        class Values:
            values = np.array(["red", "green", "blue \\ gray", "a\nb"])

        dictionaries = {1: Values}  # noqa: RUF012


def test_every_kind_of_split():
    assert export_text(Model, -1) == "\n".join(
        [
            "|--- size <= 2.50 or missing",
            '|   |--- a "color" in {red, blue \\ gray, a\nb}',
            "|   |   |--- size is known",
            "|   |   |   |--- value: [-2.00]",
            "|   |   |--- size is missing",
            "|   |   |   |--- value: [3.00]",
            '|   |--- a "color" not in {red, blue \\ gray, a\nb} or missing',
            "|   |   |--- value: [0.25]",
            "|--- size >  2.50",
            "|   |--- value: [1.50]",
            "",
        ]
    )


def test_options_of_text():
    text = export_text(
        Model,
        feature_names=["s", "c"],
        max_depth=0,
        spacing=1,
        decimals=0,
        max_categories=2,
    )
    assert (
        text
        == "|- s <= 2 or missing\n| |- truncated branch of depth 3\n|- s >  2\n| |- value: [2]\n"
    )
    assert "c in {red and 2 more}" in export_text(
        Model, feature_names=["s", "c"], max_categories=1, max_depth=None
    )


def test_a_tree_that_can_be_one_way_only_is_that_of_scikit_learn():
    X = np.array([[14.0], [16], [24], [26], [40], [41]])
    y = ["a", "a", "b", "b", "a", "b"]
    options_of_both = [
        {},
        {"show_weights": True, "decimals": 1},
        {"max_depth": 1, "spacing": 2},
        {"max_depth": 0},
        {"class_names": ["one", "two"]},
    ]
    for options in options_of_both:
        ours = export_text(DecisionTreeClassifier().fit(X, y), feature_names=["age"], **options)
        theirs = sklearn_text(SklearnTree().fit(X, y), feature_names=["age"], **options)
        assert ours.replace(" or missing", "") == theirs


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_boosting_of_every_growth(growth):
    model = GradientBoostingRegressor(n_estimators=2, growth=growth, max_depth=2)
    model.fit(IRIS, IRIS["petal length (cm)"])
    text = export_text(model, 1)
    assert text.count("value:") == model.ensemble_.to_tree(1).n_leaves
    assert text.count("<=") == text.count(" > ") >= 1


def test_the_class_that_a_tree_adds_to():
    model = GradientBoostingClassifier(n_estimators=2).fit(IRIS, SPECIES)
    assert export_text(model, 4, class_names=NAMES).startswith("score of class versicolor\n|--- ")
    assert "score of class 1\\n" in export_graphviz(model, tree=4)
    quantiles = GradientBoostingRegressor(loss=Quantile([0.1, 0.9]), n_estimators=2).fit(
        IRIS, SPECIES
    )
    assert export_text(quantiles, -1).startswith("output 1\n|--- ")
    two = GradientBoostingClassifier(n_estimators=2).fit(IRIS[:100], SPECIES[:100])
    assert export_text(two).startswith("|--- ")


def test_linear_leaves_are_formulas():
    X = np.linspace(-1, 1, 200)[:, None]
    model = GradientBoostingRegressor(n_estimators=1, max_leaves=2, leaves="linear")
    model.fit(X, np.abs(X[:, 0]))
    sides = re.findall(
        r"value: \[-?0.\d\d ([-+]) 0.\d\d \* slope\]", export_text(model, feature_names=["slope"])
    )
    assert sides == ["-", "+"]
    assert re.search(r"value = -?0.\d{3} - 0.\d{3} \* x0", export_graphviz(model))
    assert "leaves with linear models" in repr(model.ensemble_)


def test_encoded_categories_have_names():
    X = pd.DataFrame({"city": [f"c{i % 20}" for i in range(200)], "a": np.arange(200.0)})
    y = (np.arange(200) % 20 > 9) + 0.0
    model = GradientBoostingRegressor(n_estimators=1, categorical_encoding="ordered").fit(X, y)
    assert "mean target of city <= " in export_text(model)


def test_dot():
    text = export_graphviz(Model, feature_names=["s", 'a "c"'], precision=1, node_ids=True)
    assert text.splitlines() == [
        "digraph Tree {",
        'node [shape=box, color="black", fontname="helvetica"] ;',
        'edge [fontname="helvetica"] ;',
        r'0 [label="node #0\ns <= 2.5 or missing\nsamples = 3000\nvalue = 0.0"] ;',
        r'1 [label="node #1\na \"c\" in {red, blue \\ gray, a b}\nsamples = 1200\nvalue = 0.5"] ;',
        '0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;',
        r'3 [label="node #3\ns is known\nsamples = 1000\nvalue = -1.0"] ;',
        "1 -> 3 ;",
        r'5 [label="node #5\nsamples = 900\nvalue = -2.0"] ;',
        "3 -> 5 ;",
        r'6 [label="node #6\nsamples = 100\nvalue = 3.0"] ;',
        "3 -> 6 ;",
        r'4 [label="node #4\nsamples = 200\nvalue = 0.2"] ;',
        "1 -> 4 ;",
        r'2 [label="node #2\nsamples = 1800\nvalue = 1.5"] ;',
        '0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;',
        "}",
    ]


def test_dot_of_classes():
    model = RandomForestClassifier(2, random_state=0).fit(IRIS, SPECIES)
    text = export_graphviz(model, tree=1, class_names=NAMES, filled=True, rounded=True, rotate=True)
    assert 'style="filled, rounded"' in text
    assert "rankdir=LR ;" in text
    assert all(f"class = {name}" in text for name in NAMES)
    leaves = {name: set() for name in NAMES}
    for name, color in re.findall(r'class = (\w+)", fillcolor="(#\w{6})"', text):
        leaves[name].add(color)
    assert not set.intersection(*leaves.values())
    assert "class = " not in export_graphviz(model, class_names=False)
    assert "class = 0" in export_graphviz(model, class_names=True)
    assert "(...)" in export_graphviz(model, max_depth=1, filled=True)


def test_dot_goes_to_a_file(tmp_path):
    model = DecisionTreeRegressor(max_depth=2).fit(IRIS, SPECIES)
    text = export_graphviz(model)
    assert export_graphviz(model, tmp_path / "tree.dot") is None
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == text
    memory = io.StringIO()
    export_graphviz(model, memory)
    assert memory.getvalue() == text


def test_a_deep_tree_is_no_recursion():
    n_splits = 3000
    n = 2 * n_splits + 1
    is_split = np.arange(n) % 2 == 0
    is_split[-1] = False
    chain = Tree(
        feature=np.where(is_split, 0, -1).astype(np.int32),
        threshold=np.where(is_split, np.arange(n, dtype=float), 0.0),
        split_bin=np.zeros(n, dtype=np.uint8),
        missing_left=np.zeros(n, dtype=np.uint8),
        left=np.where(is_split, np.arange(n) + 1, -1).astype(np.int32),
        value=np.zeros((n, 1)),
        gain=np.zeros(n),
        n_rows=np.ones(n, dtype=np.int64),
        weight=np.ones(n),
    )
    ensemble = TreeEnsemble.from_trees([chain], np.zeros(1), "identity", 1)
    assert export_text(ensemble).count("truncated branch of depth 2990") == 1
    assert len(export_graphviz(ensemble).splitlines()) == 2 * n + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth=-1: must be an integer of at least 0 or None"),
        ({"spacing": 0}, "spacing=0"),
        ({"decimals": 1.5}, r"decimals=1\.5"),
        ({"max_categories": 0}, "max_categories=0"),
        ({"tree": 2}, "tree=2: the model has 2 trees"),
        ({"feature_names": ["a"]}, "1 names for 2 features"),
        ({"class_names": ["a"]}, "class_names has 1 names for 0 classes"),
        ({"model": object()}, "object has no trees of sumwise"),
    ],
)
def test_inputs_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        export_text(**{"model": Model, **options})
