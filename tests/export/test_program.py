"""Programs: shared columns and nodes, the order of trees, identifiers."""

import numpy as np

from sumwise.export.portable import Affine, Column, Lookup, Median, PortableModel, Share
from sumwise.export.program import (
    count_leaves,
    follow_large,
    make_identifiers,
    plan_program,
    save_text,
)
from tests.export.source_cases import ODD_INPUTS, make_chain_case, make_odd_trees


def make_program(node):
    return plan_program(PortableModel("Model", ODD_INPUTS, node))


def test_equal_columns_are_computed_once():
    rng = np.random.default_rng(0)
    first, second = make_odd_trees(rng, 20), make_odd_trees(rng, 20)
    both = Affine((first, second), np.ones((1, 2)), np.zeros(1))
    program = make_program(both)
    # All inputs are shared; the lookups of the two sums have different numbers.
    assert len(program.columns) == len(ODD_INPUTS) + 4
    for trees in (first, second):
        for column, place in zip(trees.columns, program.find_places(trees), strict=True):
            assert program.columns[place].inputs == column.inputs


def test_equal_lookups_are_the_same_column():
    def make_column(default):
        return Column((2,), Lookup((6,), np.arange(6), np.arange(6.0), default))

    columns = make_column(0.5), make_column(0.5), make_column(0.25)
    node = Affine((), np.zeros((1, 0)), np.zeros(1), columns, np.array([[1.0, 2.0, 3.0]]))
    assert make_program(node).find_places(node).tolist() == [0, 0, 1]


def test_columns_without_use_are_left_out():
    columns = Column((0,)), Column((1,))
    node = Affine((), np.zeros((1, 0)), np.zeros(1), columns, np.array([[0.0, 2.0]]))
    program = make_program(node)
    assert [column.inputs for column in program.columns] == [(1,)]
    assert program.find_places(node).tolist() == [-1, 0]


def test_shared_nodes_are_computed_once_and_children_first():
    trees = make_odd_trees(np.random.default_rng(0), 3)
    share = Share(trees)
    program = make_program(Affine((share, share, trees), np.ones((1, 3)), np.zeros(1)))
    assert [type(node).__name__ for node in program.nodes] == ["TreeSum", "Share", "Affine"]
    assert program.number(share) == 1


def test_the_trees_of_a_median_belong_to_it():
    trees = make_odd_trees(np.random.default_rng(0), 3)
    program = make_program(Median(trees, np.ones(3)))
    assert len(program.nodes) == 1
    assert program.tree_sums == [trees]


def test_only_small_subtrees_are_nested():
    def find_nesting(trees, leaves, node):
        *turns, _ = follow_large(trees, leaves, node)
        return 1 + max((find_nesting(trees, leaves, t.child) for t in turns), default=0)

    trees = make_chain_case(grows_left=True, n_splits=500).model.output.trees
    assert find_nesting(trees, count_leaves(trees), 0) == 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        trees = make_odd_trees(rng, 1).trees
        leaves = count_leaves(trees)
        assert leaves[0] == trees.n_leaves
        assert 2 ** (find_nesting(trees, leaves, 0) - 1) <= leaves[0]


def test_identifiers_are_distinct_and_plain():
    names = ["a b", "a_b", "A", "1st", "größe", "", "_", "class", "class_", "x"]
    made = make_identifiers(names, reserved=frozenset({"class"}))
    assert made == ["a_b", "a_b_2", "A", "x_1st", "gr__e", "x_", "x__2", "class_", "class_2", "x"]
    assert all(name.isidentifier() and name.isascii() for name in made)


def test_text_is_written_in_utf8(tmp_path):
    assert save_text("ü", tmp_path / "text") == "ü"
    assert (tmp_path / "text").read_bytes() == b"\xc3\xbc"
    assert save_text("ü", None) == "ü"
