"""Weights between rounds, against NumPy."""

import numpy as np
import pytest

from sumwise.kernels.adaboost import reweight as reweigh
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team

N_ROWS = 2 * reweigh.BLOCK + 100


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    weight = rng.random(N_ROWS) * (rng.random(N_ROWS) < 0.9)
    return rng, weight / weight.sum(), np.zeros((3, 2))


def run(kernel, *arguments, n_threads=2):
    with Team(n_threads) as team:
        team.run(kernel, *arguments)


def test_wrong_rows_and_their_weight(rows):
    rng, weight, sums = rows
    y, predicted = (rng.integers(0, 3, N_ROWS).astype(np.uint16) for _ in range(2))
    wrong = np.empty(N_ROWS, dtype=np.uint8)
    run(reweigh.find_wrong, y, predicted, weight, wrong, sums)
    np.testing.assert_array_equal(wrong, y != predicted)
    assert sums.sum(axis=0) == pytest.approx([weight[y != predicted].sum(), 1.0], rel=1e-13)
    expected = weight * np.where(wrong, 3.0, 0.5)
    run(reweigh.multiply_weights, wrong, 0.5, 3.0, weight)
    np.testing.assert_array_equal(weight, expected)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        (reweigh.LINEAR, lambda d: d),
        (reweigh.SQUARE, lambda d: d**2),
        (reweigh.EXPONENTIAL, lambda d: 1.0 - np.exp(-d)),
    ],
)
def test_losses_of_r2(rows, kind, loss):
    rng, weight, sums = rows
    y, predicted = rng.normal(size=(2, N_ROWS))
    distance, largest = np.empty(N_ROWS), np.empty(3)
    run(reweigh.measure_distances, y, predicted, weight, distance, largest)
    np.testing.assert_array_equal(distance, np.abs(y - predicted))
    most = distance[weight > 0].max()
    assert largest.max() == most
    run(reweigh.measure_losses, kind, most, weight, distance, sums)
    # Rows without weight may be farther off than the largest distance; they count for nothing.
    expected = loss(np.minimum(np.abs(y - predicted) / most, 1.0))
    np.testing.assert_allclose(distance, expected, rtol=1e-13, atol=1e-15)
    mean = np.average(expected, weights=weight)
    assert sums.sum(axis=0) == pytest.approx([mean, 1.0], rel=1e-12)
    expected = weight * 0.3 ** (1.0 - distance)
    run(reweigh.shrink_weights, distance, np.log(0.3), weight, sums)
    np.testing.assert_allclose(weight, expected, rtol=1e-13)
    assert sums[:, 0].sum() == pytest.approx(expected.sum(), rel=1e-12)


def test_threads_change_nothing(rows):
    rng, weight, _ = rows
    y, predicted = rng.normal(size=(2, N_ROWS))
    results = []
    for n_threads in (1, 2, 5):
        own, losses, sums = weight.copy(), np.empty(N_ROWS), np.zeros((3, 2))
        largest, wrong = np.empty(3), np.empty(N_ROWS, dtype=np.uint8)
        labels = ((values > 0).astype(np.uint16) for values in (y, predicted))
        run(reweigh.find_wrong, *labels, own, wrong, sums, n_threads=n_threads)
        found = [sums.tobytes()]
        run(reweigh.multiply_weights, wrong, 0.7, 1.9, own, n_threads=n_threads)
        run(reweigh.measure_distances, y, predicted, own, losses, largest, n_threads=n_threads)
        run(reweigh.measure_losses, reweigh.SQUARE, 9.0, own, losses, sums, n_threads=n_threads)
        found.append(sums.tobytes())
        run(reweigh.shrink_weights, losses, -0.5, own, sums, n_threads=n_threads)
        results.append([*found, sums.tobytes(), own.tobytes(), losses.tobytes(), largest.tobytes()])
    assert results[0] == results[1] == results[2]


def test_no_weight_is_lost():
    weight = np.array([1e-300, 0.0, 0.5])
    wrong = np.zeros(3, dtype=np.uint8)
    run(reweigh.multiply_weights, wrong, 1e-20, 1.0, weight)
    assert weight[0] == np.finfo(np.float64).tiny
    assert weight[1] == 0.0
    run(reweigh.shrink_weights, np.zeros(3), -800.0, weight, np.zeros((1, 2)))
    assert weight[0] == np.finfo(np.float64).tiny


@pytest.mark.parametrize("kind", [np.uint16, np.float64])
def test_look_up(kind):
    place = np.array([2, 0, 1, 1], dtype=np.uint16)
    out = np.empty(4, dtype=kind)
    run(reweigh.look_up, place, np.array([5, 6, 7], dtype=kind), out)
    np.testing.assert_array_equal(out, [7, 5, 6, 6])


def draw(weight, number):
    counts = np.empty(weight.size, dtype=np.int64)
    reweigh.draw_by_weight(random.make_key(0, random.ROWS, number), weight, counts)
    return counts


def test_draws_are_multinomial():
    weight = np.array([0.0, 0.4, 0.1, 0.0, 0.3, 0.2, 0.0])
    counts = np.array([draw(weight, number) for number in range(4000)])
    assert (counts.sum(axis=1) == 7).all()
    assert (counts[:, weight == 0.0] == 0).all()
    mean, variance = 7 * weight, 7 * weight * (1.0 - weight)
    assert np.abs(counts.mean(axis=0) - mean).max() < 4 * np.sqrt(variance.max() / 4000)
    np.testing.assert_allclose(counts.var(axis=0), variance, atol=0.12)
    covariance = np.cov(counts[:, 1], counts[:, 4])[0, 1]
    assert covariance == pytest.approx(-7 * 0.4 * 0.3, abs=0.12)


def test_draws_depend_on_the_key_alone():
    weight = np.random.default_rng(1).random(500)
    np.testing.assert_array_equal(draw(weight, 1), draw(weight, 1))
    assert (draw(weight, 1) != draw(weight, 2)).any()
    # Weights need not sum to one.
    np.testing.assert_array_equal(draw(weight, 1), draw(8.0 * weight, 1))
    np.testing.assert_array_equal(draw(np.array([0.0, 1.0]), 0), [0, 2])
