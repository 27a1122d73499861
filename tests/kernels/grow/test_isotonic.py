"""Projection of the leaves of symmetric trees."""

from itertools import product

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from sumwise.kernels.grow.isotonic import CHAINS_SHAPE, POOLS_SHAPE, project_leaf_values
from sumwise.kernels.grow.layout import NODE_FIELDS
from tests.naive.constraints import list_chains
from tests.naive.constraints import project_leaves as project_naively


def make_nodes(levels, weights):
    """A symmetric tree whose level d splits ``levels[d]``, a feature and a bin."""
    n_leaves = 1 << len(levels)
    nodes = np.zeros(2 * n_leaves - 1, dtype=NODE_FIELDS)
    for d, (feature, split_bin) in enumerate(levels):
        level = slice((1 << d) - 1, (2 << d) - 1)
        nodes["feature"][level], nodes["split_bin"][level] = feature, split_bin
    nodes["weight"][n_leaves - 1 :] = weights
    nodes["weight"][0] = np.sum(weights)
    return nodes


def project(levels, directions, n_value_bins, values, weights):
    nodes = make_nodes(levels, weights)
    n_leaves = 1 << len(levels)
    value = np.concatenate([np.zeros(n_leaves - 1), values])
    project_leaf_values(
        np.array(directions),
        np.array(n_value_bins),
        nodes,
        nodes.size,
        np.zeros(CHAINS_SHAPE, dtype=np.int64),
        np.zeros(POOLS_SHAPE),
        np.full((1 + len(levels), n_leaves), np.nan),
        value,
    )
    assert not value[: n_leaves - 1].any()
    return value[n_leaves - 1 :]


def leaf_of(levels, bins):
    """The leaf that a row reaches; all its values are there."""
    place = 0
    for feature, split_bin in levels:
        place = 2 * place + int(bins[feature] > split_bin)
    return place


def draw_case(seed, max_depth=6):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 4))
    levels = [
        (int(rng.integers(n_features)), int(rng.integers(1, 6)))
        for _ in range(rng.integers(1, max_depth + 1))
    ]
    directions = rng.choice([-1, 0, 1, 1], n_features).tolist()
    n_leaves = 1 << len(levels)
    weights = rng.random(n_leaves) * (rng.random(n_leaves) < 0.8)
    return levels, directions, [5] * n_features, rng.normal(size=n_leaves), weights


@pytest.mark.parametrize("seed", range(40))
def test_projection_equals_naive_twin(seed):
    levels, directions, n_value_bins, values, weights = draw_case(seed)
    bits = list(product((0, 1), repeat=len(levels)))
    expected = project_naively(
        levels,
        directions,
        n_value_bins,
        dict(zip(bits, values.tolist(), strict=True)),
        dict(zip(bits, weights.tolist(), strict=True)),
        float(weights.sum()),
    )
    projected = project(levels, directions, n_value_bins, values, weights)
    assert projected.tolist() == [expected[leaf] for leaf in bits]


@pytest.mark.parametrize("seed", range(40))
def test_projected_leaves_are_in_order(seed):
    levels, directions, n_value_bins, values, weights = draw_case(seed)
    projected = project(levels, directions, n_value_bins, values, weights)
    for bins in product(range(1, 6), repeat=len(directions)):
        for feature, direction in enumerate(directions):
            if bins[feature] < 5:
                above = [b + (f == feature) for f, b in enumerate(bins)]
                step = projected[leaf_of(levels, above)] - projected[leaf_of(levels, bins)]
                assert direction * step >= 0
    # What is in order stays as it is.
    assert project(levels, directions, n_value_bins, projected, weights).tolist() == (
        projected.tolist()
    )


@pytest.mark.parametrize("direction", [1, -1])
def test_one_feature_is_pooled_as_scikit_learn_does(direction):
    rng = np.random.default_rng(0)
    levels = [(0, 4), (1, 2), (0, 1), (0, 3)]
    values, weights = rng.normal(size=16), rng.random(16) + 0.1
    projected = project(levels, [direction, 0], [5, 5], values, weights)
    for other in (1, 3):
        leaves = [leaf_of(levels, (value_bin, other)) for value_bin in (1, 2, 4, 5)]
        expected = isotonic_regression(
            values[leaves], sample_weight=weights[leaves], increasing=direction > 0
        )
        np.testing.assert_allclose(projected[leaves], expected, rtol=1e-14)


def find_optimum(values, weights, pairs):
    """The max-min formula: over upper sets with a leaf, the worst mean with lower sets."""
    n = len(values)
    subsets = [
        frozenset(i for i in range(n) if mask >> i & 1)
        for mask in range(1 << n)
        if all(mask >> b & 1 for a, b in pairs if mask >> a & 1)
    ]
    lower_sets = [frozenset(range(n)) - upper for upper in subsets]

    def mean(members):
        members = list(members)
        return np.average(values[members], weights=weights[members])

    return [
        max(
            min(mean(upper & lower) for lower in lower_sets if i in lower)
            for upper in subsets
            if i in upper
        )
        for i in range(n)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_several_features_reach_the_optimum(seed):
    """Three cells of one feature by two of another, which descends."""
    rng = np.random.default_rng(seed)
    levels, directions = [(0, 3), (1, 2), (0, 1)], [1, -1]
    values, weights = rng.normal(size=8), rng.random(8) + 0.2
    projected = project(levels, directions, [5, 5], values, weights)
    leaves = {
        (i, j): leaf_of(levels, (a, b))
        for i, a in enumerate((1, 2, 4))
        for j, b in enumerate((1, 3))
    }
    numbers = {cell: number for number, cell in enumerate(leaves)}
    pairs = [(numbers[i, j], numbers[i + 1, j]) for i in (0, 1) for j in (0, 1)]
    pairs += [(numbers[i, 1], numbers[i, 0]) for i in (0, 1, 2)]
    places = list(leaves.values())
    expected = find_optimum(values[places], weights[places], pairs)
    np.testing.assert_allclose(projected[places], expected, atol=1e-9)
    assert len(places) == 6  # two leaves are out of reach: above 3 and at most 1


def test_a_split_of_missing_from_values_has_no_order():
    values = np.array([5.0, 1.0])
    assert project([(0, 5)], [1], [5], values, np.ones(2)).tolist() == [5.0, 1.0]
    assert project([(0, 4)], [1], [5], values, np.ones(2)).tolist() == [3.0, 3.0]


def test_leaves_without_weight_follow_the_others():
    levels = [(0, 2), (0, 4)]  # cells 0b00, 0b10, 0b11
    projected = project(levels, [1], [5], np.array([2.0, 9.0, 1.0, 0.0]), np.array([1, 0, 0, 3]))
    assert projected[[0, 2, 3]].tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert projected[1] == 9.0
    no_weight = project(levels, [1], [5], np.array([2.0, 9.0, 1.0, 0.0]), np.zeros(4))
    assert no_weight.tolist() == [1.0, 9.0, 1.0, 1.0]


def test_chains_of_the_docstring():
    levels = [(0, 7), (1, 1), (0, 3)]
    assert list_chains(levels, 0, 9)[0] == [(0, 0, 0), (0, 0, 1), (1, 0, 1)]
