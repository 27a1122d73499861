"""Choosing rows: by gradients (see also tests/sampling/test_goss.py) and by chance."""

import numpy as np
import pytest

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.by_gradient import (
    N_DIGIT_VALUES,
    choose_by_gradient,
    draw_uniform,
    multiply_rows,
)
from tests.naive import random as naive


def choose(gradient, n_top, n_other, n_threads=1, number=0):
    n = gradient.shape[1]
    rows = np.arange(n, dtype=np.uint32)
    keys = np.empty(n, np.uint64), np.empty(n, np.uint64)
    buffers = (*keys, np.empty((n_threads, N_DIGIT_VALUES), np.int64))
    n_chosen = n_top + n_other
    chosen, factor = np.empty(n_chosen, np.uint32), np.empty(n_chosen)
    left_out = np.empty(n - n_chosen, np.uint32)
    key = random.make_key(0, random.ROWS, number)
    with Team(n_threads) as team:
        arguments = (gradient, rows, n_top, n_other, 2.5, key, buffers)
        team.run(choose_by_gradient, *arguments, (chosen, factor, left_out))
    assert np.all(np.diff(left_out.astype(int)) > 0)
    assert np.array_equal(np.sort(np.concatenate([chosen, left_out])), rows)
    return chosen, factor


SPREADS = {
    "neighbors": np.nextafter(1.0, 2.0) ** np.arange(50),  # differ in the last digit only
    "any size": np.geomspace(1e-300, 1e300, 50),
    "tiny": np.arange(50) * 5e-324,
    "equal": np.ones(50),
    "zero": np.zeros(50),
}


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize(("n_top", "n_other"), [(1, 1), (7, 20), (25, 25), (0, 50), (49, 1)])
def test_the_largest_are_found_to_the_last_bit(name, n_threads, n_top, n_other):
    rng = np.random.default_rng(0)
    size = rng.permutation(SPREADS[name])
    gradient = (size * rng.choice([-1, 1], 50))[None]
    chosen, factor = choose(gradient, n_top, n_other, n_threads)
    order = np.lexsort((np.arange(50), -size))
    assert chosen[factor == 1].tolist() == sorted(order[:n_top].tolist())
    assert np.unique(chosen).size == n_top + n_other
    assert np.all(factor[np.isin(chosen, order[n_top:])] == 2.5)


def test_others_have_equal_chances():
    counts = np.zeros(40)
    gradient = np.where(np.arange(40) < 10, 1.0, 0.5)[None]
    for number in range(500):
        counts[choose(gradient, 10, 6, number=number)[0]] += 1
    assert np.all(counts[:10] == 500)
    assert np.all(np.abs(counts[10:] - 100) < 4.5 * np.sqrt(80))


def test_numbers_of_rows():
    key, rows = random.make_key(3, random.ROWS, 1), np.array([0, 5, 1000], np.uint32)
    out = np.empty(3)
    draw_uniform(key, rows, out)
    assert out.tolist() == [naive.uniform(int(key), row) for row in rows.tolist()]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_factors_of_rows(n_threads):
    values = np.arange(20.0).reshape(2, 10)
    rows = np.array([1, 4, 9], np.uint32)
    with Team(n_threads) as team:
        team.run(multiply_rows, rows, np.array([2.0, 0.5, 3.0]), values)
    expected = np.arange(20.0).reshape(2, 10)
    expected[:, rows] *= [2.0, 0.5, 3.0]
    assert np.array_equal(values, expected)
