"""Linear functions of trees, found in graphs."""

import numpy as np

from sumwise.export.linear_form import LinearForm, find_linear_form
from sumwise.export.portable import Affine, Column, Link, PortableModel
from sumwise.export.tree_sums import add_trees
from tests.export.random_models import NUMBERS, make_rows, make_trees, predict_rows


def make_graph():
    rng = np.random.default_rng(0)
    forest = make_trees(rng, NUMBERS, 3, n_outputs=2, n_values=2, divisor=3.0)
    boosting = Link(make_trees(rng, NUMBERS, 4), "identity")
    inner = Affine((boosting,), np.array([[2.0]]), np.array([0.5]))
    return Affine((forest, inner), rng.normal(size=(3, 3)), rng.normal(size=3))


def test_a_graph_of_sums_is_one_sum_of_trees():
    node = make_graph()
    form = find_linear_form(node)
    assert isinstance(form, LinearForm)
    expected = PortableModel("Graph", NUMBERS, node)
    rows = make_rows(expected)
    for factor in (1.0, 2.0):
        scaled = form.scale(factor)
        found = PortableModel("Graph", NUMBERS, add_trees(scaled.parts, scaled.base))
        outputs = factor * predict_rows(expected, rows)
        np.testing.assert_allclose(predict_rows(found, rows), outputs, rtol=1e-12)


def test_the_part_that_is_not_linear_is_returned():
    link = Link(make_trees(np.random.default_rng(0), NUMBERS), "log")
    assert find_linear_form(Affine((link,), np.ones((1, 1)), np.zeros(1))) is link
    line = Affine((), np.zeros((1, 0)), np.zeros(1), (Column((0,)),), np.ones((1, 1)))
    assert find_linear_form(line) is line
