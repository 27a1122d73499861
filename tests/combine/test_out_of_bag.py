"""Out-of-bag means against their definition."""

import numpy as np
import pytest

from sumwise.combine.out_of_bag import OutOfBagMean
from tests.naive import out_of_bag as naive


def average_out_of_bag(predictions, is_in_bag):
    mean = OutOfBagMean(predictions.shape[1], predictions.shape[2:])
    for member, in_bag in zip(predictions, is_in_bag, strict=True):
        mean.add(~in_bag, member[~in_bag])
    return mean.mean()


@pytest.mark.parametrize("shape", [(), (3,), (2, 4)])
def test_means_are_those_of_the_definition(shape):
    draws = np.random.default_rng(0)
    predictions = draws.normal(size=(6, 40, *shape))
    is_in_bag = draws.random((6, 40)) < 0.7
    is_in_bag[:, :3] = True
    found = average_out_of_bag(predictions, is_in_bag)
    np.testing.assert_allclose(found, naive.average_out_of_bag(predictions, is_in_bag))
    assert np.isnan(found[:3]).all()


def test_rows_may_be_numbers_or_a_mask():
    by_number, by_mask = OutOfBagMean(4, (2,)), OutOfBagMean(4, (2,))
    values = np.arange(4.0).reshape(2, 2)
    by_number.add(np.array([1, 3]), values)
    by_mask.add(np.array([False, True, False, True]), values)
    np.testing.assert_array_equal(by_number.mean(), by_mask.mean())
    assert by_mask.is_covered.tolist() == [False, True, False, True]


def test_sums_of_members_can_be_merged():
    draws = np.random.default_rng(1)
    whole, parts = OutOfBagMean(10), [OutOfBagMean(10), OutOfBagMean(10)]
    for member in range(4):
        rows = np.flatnonzero(draws.random(10) < 0.5)
        values = draws.integers(0, 9, rows.size)
        whole.add(rows, values)
        parts[member // 2].add(rows, values)
    parts[0].merge(parts[1])
    np.testing.assert_array_equal(parts[0].mean(), whole.mean())
    np.testing.assert_array_equal(parts[0].n_members, whole.n_members)


def test_one_member_covers_what_is_out_of_its_bag():
    found = average_out_of_bag(np.array([[1.0, 2.0]]), np.array([[True, False]]))
    assert np.isnan(found[0])
    assert found[1] == 2.0
