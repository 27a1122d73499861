"""Minimal variance sampling."""

import numpy as np
import pytest

from sumwise import Mvs
from sumwise.errors import ParameterError
from sumwise.sampling.mvs import find_probabilities
from tests.sampling.sources import assert_sound, make_source, mean_sums

SIZES = {
    "random": np.random.default_rng(0).random(200),
    "heavy": np.random.default_rng(1).pareto(0.5, 200),
    "equal": np.ones(200),
    "few": np.where(np.arange(200) < 5, 1.0, 0.0),
    "none": np.zeros(200),
}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9, 1.0])
def test_probabilities(name, rate):
    """Probabilities are proportional to sizes, at most one, and have the given mean."""
    size = SIZES[name]
    probability = find_probabilities(size, rate)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.mean(probability) == pytest.approx(rate)
    unsure = (probability < 1) & (size > 0)
    if unsure.any():
        ratio = size[unsure] / probability[unsure]
        assert np.allclose(ratio, ratio[0])
        assert np.all(size[probability == 1] >= ratio[0] * (1 - 1e-12))


@pytest.mark.parametrize("rate", [0.2, 0.7])
@pytest.mark.parametrize("reg", [None, 0.5])
def test_sums_are_right_on_average(rate, reg):
    found, expected, error = mean_sums(Mvs(rate, reg), 400, {"n_rows": 1000})
    assert np.all(np.abs(found - expected) < 4 * error)


def test_variance_is_lower_than_that_of_even_chances():
    rate = 0.2
    _, _, error = mean_sums(Mvs(rate, reg=0.0), 300, {"n_rows": 1000})
    source = make_source(1000)
    gradient = source.gradient[0, source.rows]
    even = np.sqrt(np.sum(gradient**2) * (1 - rate) / rate)
    assert np.sqrt(300) * error[0] < 0.9 * even


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_drawn_rows_are_sound(n_outputs):
    sizes = []
    for number in range(20):
        source = make_source(1000, n_outputs, number=number)
        drawn = Mvs(0.3).draw(source)
        assert_sound(source, drawn)
        assert np.all(drawn.factor >= 1)
        sizes.append(drawn.rows.size / source.rows.size)
    assert np.mean(sizes) == pytest.approx(0.3, abs=0.02)


def test_there_is_always_a_row():
    drawn = Mvs(1e-6).draw(make_source(50))
    assert drawn.rows.size >= 1


@pytest.mark.parametrize("part", [Mvs(0), Mvs(1.5), Mvs(reg=-1), Mvs(reg="a"), Mvs(reg=np.nan)])
def test_parameters_that_cannot_be(part):
    with pytest.raises(ParameterError, match=r"Mvs\("):
        part.check()
