"""Sums over the rows of several processes against those of a single one that has all rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import peer_sums
from sumwise.losses.peer_sums import NO_WEIGHT, add_products, add_weights
from sumwise.peers import ALONE
from tests.threaded_peers import run_together

NUMBERS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 5e-324, 1e308, np.inf, np.nan, 1.0])
WEIGHTS = st.floats(0.0, 1e300)


def split(owners, n_peers, *arrays):
    """Return the arrays of each peer; empty ones stay empty."""
    masks = [np.array(owners, dtype=int) == rank for rank in range(n_peers)]
    return [[array[mask] if array.size else array for array in arrays] for mask in masks]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, WEIGHTS, st.integers(0, 2)), max_size=12),
    weighted=st.booleans(),
)
@example(rows=[(1e308, 1e10, 0), (1.0, 1.0, 1)], weighted=True)  # the product overflows
@example(rows=[(np.nan, 1.0, 2), (1.0, 1.0, 0)], weighted=False)
@example(rows=[], weighted=True)
def test_sums_of_products_have_the_bits_of_one_process(rows, weighted):
    values, weight, owners = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
    weight = weight if weighted else NO_WEIGHT
    with np.errstate(over="ignore", invalid="ignore"):
        products = values * weight if weighted else values
    expected = [exact_sum(products), exact_sum(weight if weighted else np.ones(values.size))]
    own = split(owners, 3, values, weight)

    def work(peers):
        mine, factors = own[peers.rank]
        ones = np.ones(mine.size, dtype=np.uint8)
        return add_products([(mine, factors), (ones, factors)], peers)

    for found in run_together(3, work):
        assert np.array(found).tobytes() == np.array(expected).tobytes()


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(peer_sums, "_FEW_ROWS", 10)
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=1000), rng.random(1000)
    is_one = (values > 0).astype(np.uint8)
    products = [(values, weight), (is_one, weight), (values, NO_WEIGHT)]
    expected = [exact_sum(values * weight), exact_sum(is_one * weight), exact_sum(values)]
    with Team(3) as team:
        assert add_products(products, ALONE, team) == expected
    assert add_products(products, ALONE) == expected


def test_a_process_without_weights_has_weights_of_one():
    def work(peers):
        weight = np.array([0.3, 0.7]) if peers.rank else NO_WEIGHT
        return add_products([(np.array([1.0, 2.0]), weight)], peers)

    assert run_together(2, work) == [[exact_sum(np.array([1.0, 2.0, 0.3, 1.4]))]] * 2


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), WEIGHTS, st.integers(0, 2)), max_size=12),
    kind=st.sampled_from([np.uint8, np.int64, np.float64]),
    weighted=st.booleans(),
)
def test_weights_of_classes_have_the_bits_of_one_process(rows, kind, weighted):
    classes, weight, owners = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
    classes, weight = classes.astype(kind), weight if weighted else NO_WEIGHT
    given_weight = weight if weighted else np.ones(classes.size)
    expected = [exact_sum(np.where(classes == k, given_weight, 0.0)) for k in range(4)]
    own = split(owners, 3, classes, weight)
    results = run_together(3, lambda peers: add_weights(4, *own[peers.rank], peers))
    for sums, total in [add_weights(4, classes, weight), *results]:
        assert sums.tobytes() == np.array(expected).tobytes()
        assert total == exact_sum(given_weight)


def test_weights_of_classes_are_as_precise_if_they_are_low():
    classes = np.array([0, 1, 1])
    sums, total = add_weights(2, classes, np.array([1.0, 1e-30, 3e-30]))
    assert sums.tolist() == [1.0, float(Fraction(1e-30) + Fraction(3e-30))]
    assert total == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_has_no_sum(bad):
    def work(peers):
        weight = np.array([1.0, bad if peers.rank == 1 else 2.0])
        sums, total = add_weights(2, np.array([0, 1]), weight, peers)
        return np.isnan([*sums, total]).all()

    assert all(run_together(2, work))


def test_sums_take_two_messages():
    def work(peers):
        add_products([(np.ones(3), NO_WEIGHT)] * 5, peers)
        first = peers.n_messages
        add_weights(3, np.array([0, 2]), NO_WEIGHT, peers)
        return first, peers.n_messages

    assert run_together(2, work) == [(2, 4)] * 2
