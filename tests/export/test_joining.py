"""Inputs of several models are joined; recoded models predict the same."""

import numpy as np
import pytest

from sumwise.errors import ExportError
from sumwise.export.joining import (
    InputSource,
    OutputSource,
    average_nodes,
    find_used_inputs,
    join_inputs,
    rewire,
)
from sumwise.export.portable import Affine, Column, Input, Link, PortableModel, describe
from tests.export.random_models import (
    MIXED,
    NUMBERS,
    make_lookups,
    make_rows,
    make_stump,
    make_trees,
)
from tests.naive.portable import predict_row

# The inputs of a member that knows more and other categories.
OTHER = (
    *NUMBERS,
    Input("color", "category", ("amber", "blue", "white")),
    Input("shop", "category", (3, 5, 40, 1000)),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("with_lookups", [False, True])
def test_members_predict_the_same_on_joined_inputs(with_lookups, seed):
    rng = np.random.default_rng(seed)
    members = [
        (inputs, make_trees(rng, inputs, more=make_lookups(rng, inputs) if with_lookups else ()))
        for inputs in (MIXED, OTHER)
    ]
    names = [known.name for known in MIXED]
    joined, sources = join_inputs(names, members, [range(5)] * 2)
    assert joined[3].categories == ('a <b> & "c"', "amber", "black", "blue", "red", "white")
    assert joined[4].categories == (-3, 0, 3, 4, 5, 40, 70, 71, 1000)
    nodes = [rewire(node, own) for (_, node), own in zip(members, sources, strict=True)]
    rows = make_rows(PortableModel("Ensemble", joined, nodes[0]), 40, seed)
    for (inputs, node), other in zip(members, nodes, strict=True):
        before = PortableModel("Member", inputs, node)
        after = PortableModel("Ensemble", joined, other)
        for row in rows:
            assert predict_row(after, row) == predict_row(before, row)


def test_inputs_may_be_chosen_and_repeated():
    inputs = (Input("a"), Input("b"))
    node = make_stump(Column((1,)))
    joined, (sources,) = join_inputs(["u", "v", "w"], [(inputs, node)], [[2, 0]])
    assert [source.place for source in sources] == [2, 0]
    assert rewire(node, sources).columns[0].inputs == (0,)
    assert [known.name for known in joined] == ["u", "v", "w"]


def test_what_a_member_does_not_use_is_no_conflict():
    as_number = (Input("a"), Input("b"))
    as_category = (Input("a"), Input("b", "category", ("x",)))
    pairs = [(as_number, make_stump(Column((0,)))), (as_category, make_stump(Column((1,))))]
    joined, _ = join_inputs(["a", "b"], pairs, [range(2)] * 2)
    assert joined[1].kind == "category"
    pairs[0] = (as_number, make_stump(Column((1,))))
    with pytest.raises(ExportError, match="feature 'b' is a category to one member and a number"):
        join_inputs(["a", "b"], pairs, [range(2)] * 2)


def test_strings_and_numbers_do_not_join():
    pairs = [
        ((Input("a", "category", values),), make_stump(Column((0,)))) for values in [("1",), (1,)]
    ]
    with pytest.raises(ExportError, match="strings to one member and numbers to another"):
        join_inputs(["a"], pairs, [[0], [0]])


def test_integers_and_fractions_join():
    pairs = [
        ((Input("a", "category", values),), make_stump(Column((0,)))) for values in [(1, 2), (1.5,)]
    ]
    joined, _ = join_inputs(["a"], pairs, [[0], [0]])
    assert joined[0].categories == (1.0, 1.5, 2.0)


def test_inputs_become_outputs_of_nodes():
    inner = Affine((), np.zeros((2, 0)), np.array([3.0, 5.0]))
    columns = tuple(Column((k,)) for k in range(3))
    line = Affine((), np.zeros((1, 0)), np.ones(1), columns, np.array([[2.0, 10.0, 100.0]]))
    sources = [OutputSource(inner, 1), OutputSource(inner, 0), InputSource(0)]
    model = PortableModel("Stack", (Input("a"),), rewire(Link(line, "identity"), sources))
    assert predict_row(model, [7.0]) == [1.0 + 2 * 5 + 10 * 3 + 100 * 7]
    assert len(model.output.of.of) == 1  # the node is there once


def test_trees_split_on_outputs_of_nodes():
    inner = Affine((), np.zeros((2, 0)), np.zeros(2), (Column((0,)),), np.array([[1.0], [-1.0]]))
    trees = rewire(make_stump(Column((1,)), 5.0), [InputSource(0), OutputSource(inner, 1)])
    model = PortableModel("Stack", (Input("a"),), trees)
    assert [predict_row(model, [x])[0] for x in (-6.0, -5.0, 0.0)] == [2.0, 1.0, 1.0]
    assert find_used_inputs(trees) == {0}
    again = rewire(trees, [InputSource(3)])  # the node below is rewired, too
    assert find_used_inputs(again) == {3}
    assert describe(model, nested=True) is model
    with pytest.raises(ExportError, match="cannot be held in this format"):
        describe(model)


def test_shared_nodes_stay_shared():
    trees = make_stump(Column((0,)))
    pair = average_nodes([Link(trees, "log"), Link(trees, "sigmoid")], [0.5, 0.5])
    again = rewire(pair, [InputSource(1)])
    assert again.of[0].of is again.of[1].of is not trees


def test_used_inputs():
    nodes = make_stump(Column((3,))), Affine((), np.zeros((1, 0)), np.ones(1))
    assert find_used_inputs(average_nodes(nodes, [0.5, 0.5])) == {3}
