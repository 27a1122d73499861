"""Features of trees, levels and nodes: shares of shares, drawn as the twin draws them."""

import numpy as np
import pytest

from sumwise.kernels.grow import layout
from sumwise.kernels.grow.feature_sampling import draw_for_node, draw_for_tree
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.jit import kernel
from tests.naive.random import choose_share, extend

N_FEATURES = 20
RATES = [1.0, 0.5, 0.3, 1e-9]


@kernel
def draw(allowed, options, key, depth, number, child):
    draw_for_tree(allowed, options, key)
    draw_for_node(allowed, options, key, depth, number, child)


def make_options(by_tree, by_level, by_node, weights):
    weights = np.array(weights, dtype=np.float64)
    drawn = (by_tree, by_level, by_node, weights, np.empty_like(weights))
    return layout.GrowthOptions(0, 8, 3, 1, 0.0, *drawn, False)


def draw_all(rates, key, depth=2, number=5, child=0, usable=None, weights=()):
    """Return the features of the tree, the level and the node."""
    allowed = np.full((5, N_FEATURES), 7, dtype=np.uint8)
    allowed[layout.USABLE] = 1 if usable is None else usable
    draw(allowed, make_options(*rates, weights), np.uint64(key), depth, number, child)
    rows = (layout.TREE, layout.LEVEL, layout.CHILD + child)
    assert np.all(allowed[layout.CHILD + 1 - child] == 7)  # the sibling's stay
    return [np.flatnonzero(allowed[row]).tolist() for row in rows]


@pytest.mark.parametrize("by_tree", RATES)
@pytest.mark.parametrize("by_level", RATES)
@pytest.mark.parametrize("by_node", RATES)
def test_equals_twin(by_tree, by_level, by_node):
    usable = np.ones(N_FEATURES, dtype=np.uint8)
    usable[[3, 4, 11]] = 0
    for key in (1, 2**63 + 9):
        tree_key = extend(key, random.COLUMNS_BY_TREE)
        tree = choose_share(tree_key, np.flatnonzero(usable).tolist(), by_tree)
        level = choose_share(extend(extend(key, random.COLUMNS_BY_LEVEL), 2), tree, by_level)
        node = choose_share(extend(extend(key, random.COLUMNS_BY_NODE), 5), level, by_node)
        for child in (0, 1):
            found = draw_all((by_tree, by_level, by_node), key, child=child, usable=usable)
            assert found == [tree, level, node]
            assert len(node) >= 1


def test_numbers_and_subsets():
    for key in range(30):
        tree, level, node = draw_all((0.5, 0.5, 0.5), key)
        assert (len(tree), len(level), len(node)) == (10, 5, 3)  # 2.5 rounds up
        assert set(node) <= set(level) <= set(tree)


def test_what_a_draw_depends_on():
    rates = (0.5, 0.5, 0.5)
    tree, level, _ = draw_all(rates, 1, depth=2, number=5)
    # siblings share the level, not the draw
    assert draw_all(rates, 1, depth=2, number=6)[:2] == [tree, level]
    others = {tuple(draw_all(rates, 1, depth=2, number=n)[2]) for n in range(20)}
    assert len(others) > 5
    # levels share the tree
    levels = {tuple(draw_all(rates, 1, depth=d)[1]) for d in range(20)}
    assert len(levels) > 10
    assert len({tuple(draw_all(rates, key)[0]) for key in range(20)}) > 10


def test_no_usable_feature():
    nothing = np.zeros(N_FEATURES, dtype=np.uint8)
    assert draw_all((0.5, 0.5, 0.5), 1, usable=nothing) == [[], [], []]


WEIGHTS = np.array([0.0, 0.5, 1.0, 0.001] * 5)


@pytest.mark.parametrize(
    "rates", [(1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (1.0, 0.3, 0.5), (0.9, 1e-9, 1.0)]
)
def test_weighted_draws_equal_twin(rates):
    usable = np.ones(N_FEATURES, dtype=np.uint8)
    usable[[3, 4, 11]] = 0
    for key in (1, 2**63 + 9, 77):
        tree_key = extend(key, random.COLUMNS_BY_TREE)
        tree = choose_share(tree_key, np.flatnonzero(usable).tolist(), rates[0], WEIGHTS)
        level_key = extend(extend(key, random.COLUMNS_BY_LEVEL), 2)
        level = choose_share(level_key, tree, rates[1], WEIGHTS)
        node = choose_share(
            extend(extend(key, random.COLUMNS_BY_NODE), 5), level, rates[2], WEIGHTS
        )
        found = draw_all(rates, key, usable=usable, weights=WEIGHTS)
        assert found == [tree, level, node]
        assert len(node) >= 1
        assert (WEIGHTS[node] > 0).all()


def test_frequencies_follow_weights():
    """Of one drawn feature they are the weights; of two, those of drawing one after the other."""
    weights = np.zeros(N_FEATURES)
    weights[:4] = 1.0, 2.0, 3.0, 4.0
    shares = weights / weights.sum()
    n_draws = 8000
    one, two = np.zeros(N_FEATURES), np.zeros(N_FEATURES)
    for key in range(n_draws):
        one[draw_all((1e-9, 1.0, 1.0), key, weights=weights)[0]] += 1
        two[draw_all((0.1, 1.0, 1.0), key, weights=weights)[0]] += 1
    second = [
        sum(shares[g] * shares[f] / (1 - shares[g]) for g in range(4) if g != f) for f in range(4)
    ]
    for counts, expected in ((one, shares[:4]), (two, shares[:4] + second)):
        deviation = np.sqrt(n_draws * expected * (1 - expected))
        assert (np.abs(counts[:4] - n_draws * expected) < 4.5 * deviation).all()
        assert not counts[4:].any()


def test_no_feature_of_positive_weight_is_usable():
    weights = np.zeros(N_FEATURES)
    weights[5] = 1.0
    usable = np.ones(N_FEATURES, dtype=np.uint8)
    usable[5] = 0
    for rate in (1.0, 0.5):
        assert draw_all((rate, 1.0, 1.0), 1, usable=usable, weights=weights) == [[], [], []]
