"""Linear functions of sums of trees are sums of trees."""

import numpy as np
import pytest

from sumwise.errors import ExportError
from sumwise.export.portable import PortableModel
from sumwise.export.tree_sums import add_trees, lay_end_to_end
from tests.export.random_models import MIXED, make_lookups, make_rows, make_trees
from tests.naive.portable import predict_row


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_sums(seed):
    rng = np.random.default_rng(seed)
    parts = [
        make_trees(rng, MIXED, n_outputs=2, more=make_lookups(rng, MIXED)),
        make_trees(rng, MIXED, n_outputs=3, n_values=3),
    ]
    slopes = [rng.normal(size=(2, 2)), rng.normal(size=(2, 3))]
    intercept = rng.normal(size=2)
    pairs = list(zip(parts, slopes, strict=True))
    base = intercept + sum(slope @ part.base_score for part, slope in pairs)
    total = PortableModel("Sum", MIXED, add_trees(pairs, base))
    assert len(total.output.columns) == len(parts[0].columns)  # inputs are shared
    for row in make_rows(total, 20):
        outputs = [predict_row(PortableModel("Part", MIXED, part), row) for part in parts]
        expected = intercept + sum(s @ own for s, own in zip(slopes, outputs, strict=True))
        np.testing.assert_allclose(predict_row(total, row), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("slope", [-2.0, 0.0, 0.5])
def test_linear_leaves_are_scaled(slope):
    rng = np.random.default_rng(0)
    part = make_trees(rng, MIXED, with_linear=True)
    before = PortableModel("Part", MIXED, part)
    scaled = add_trees([(part, np.array([[slope]]))], 1 + slope * part.base_score)
    for row in make_rows(before, 20):
        expected = 1 + slope * predict_row(before, row)[0]
        found = predict_row(PortableModel("Sum", MIXED, scaled), row)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_linear_leaves_have_one_output():
    part = make_trees(np.random.default_rng(0), MIXED, with_linear=True)
    with pytest.raises(ExportError, match="linear leaves"):
        add_trees([(part, np.ones((2, 1)))], np.zeros(2))


def test_no_trees():
    assert lay_end_to_end([], 3).value.shape == (0, 3)
