"""Models in the form of other tree libraries."""

import numpy as np
import pytest

from sumwise.export.libraries.trees import (
    clean_names,
    find_covers,
    fold_base_score,
    list_single_trees,
    name_features,
    to_library_model,
)
from sumwise.export.portable import Affine, Column, Input, Lookup, PortableModel
from tests.export.random_models import MIXED, make_model, make_rows, make_stump, make_trees
from tests.naive.portable import predict_row


def test_a_lookup_becomes_a_set():
    color = Input("color", "category", ("blue", "green", "red"))
    lookup = Lookup((4,), np.array([0, 2]), np.array([0.2, 0.9]), 0.4)  # green as unknown
    model = PortableModel("Stump", (color,), make_stump(Column((0,), lookup)))
    plain = to_library_model(model)
    assert plain.trees.trees.left_categories[0].tolist() == [0, 1]
    assert plain.trees.trees.missing_left[0] == 1
    again = PortableModel("Stump", (color,), plain.trees)
    for value in ("blue", "green", "red", "white", None):
        assert predict_row(again, [value]) == predict_row(model, [value])


def test_two_classes_have_one_output():
    trees = make_trees(np.random.default_rng(0), MIXED)
    pair = Affine((trees,), np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
    model = PortableModel("Forest", MIXED, pair, (np.array([0, 1]),))
    assert to_library_model(model).trees.n_outputs == 1
    other = Affine((trees,), np.array([[-2.0], [2.0]]), np.array([1.0, 0.0]))
    plain = to_library_model(PortableModel("Forest", MIXED, other, (np.array([0, 1]),)))
    np.testing.assert_allclose(plain.trees.base_score, 2 * trees.base_score)


@pytest.mark.parametrize("to_left", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_missing_categories_are_sent_to_one_side(seed, to_left):
    rng = np.random.default_rng(seed)
    model = make_model(rng, with_linear=True)
    plain = to_library_model(model)
    counts = [len(known.categories) for known in model.inputs]
    moved = [tree.send_missing(to_left, counts) for tree in list_single_trees(plain.trees)]
    for tree in moved:
        assert all(tree.missing_left[node] == to_left for node in tree.sets)
    for row in make_rows(model, 20, seed):
        values = [_walk(tree, model.inputs, row) for tree in moved]
        before = [_walk(tree, model.inputs, row) for tree in list_single_trees(plain.trees)]
        assert values == before


def _walk(tree, inputs, row):
    """Return the value of a tree, and the size of the model of its leaf."""
    node = 0
    while tree.left[node] >= 0:
        x, known = row[tree.feature[node]], inputs[tree.feature[node]]
        if known.kind == "category":
            is_known = x in known.categories
            goes_left = (
                known.categories.index(x) in tree.sets[node]
                if is_known
                else tree.missing_left[node]
            )
        else:
            goes_left = tree.missing_left[node] if x != x else x <= tree.threshold[node]
        node = tree.left[node] + (0 if goes_left else 1)
    return tree.value[node], tree.models.size[node]


def test_the_base_score_is_folded_into_whole_rounds():
    plain = to_library_model(make_model(np.random.default_rng(0), n_outputs=3, n_trees=4))
    trees = fold_base_score(plain)
    assert [tree.output for tree in trees] == [0, 1, 2, 0, 1, 2]
    first = next(list_single_trees(plain.trees))
    np.testing.assert_allclose(trees[0].value, first.value + plain.trees.base_score[0])


def test_covers_of_trees_without_counts():
    (tree,) = list_single_trees(make_stump(Column((0,))))
    weight, n_rows = find_covers(tree)
    assert weight.tolist() == n_rows.tolist() == [2, 1, 1]


def test_names():
    inputs = [Input("a b"), Input("a_b"), Input("a_b")]
    assert clean_names(inputs, r"\s") == ["a_b", "a_b_2", "a_b_3"]
    assert name_features(inputs, r"\s") == clean_names(inputs, r"\s")
    assert name_features([Input("x0"), Input("x1")], r"\s") == []
