"""GOSS, compared with the algorithm of the paper line by line."""

import numpy as np
import pytest

from sumwise import Goss
from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from tests.naive.goss import sample_goss
from tests.sampling.sources import assert_sound, make_source, mean_sums


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("decimals", [None, 1, 0], ids=["distinct", "some ties", "many ties"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("rates", [(0.2, 0.1), (0.0, 0.5), (0.5, 0.5), (0.9, 0.05)])
def test_is_the_algorithm_of_the_paper(rates, n_outputs, decimals, n_threads):
    for number in range(3):
        source = make_source(
            n_outputs=n_outputs, decimals=decimals, number=number, n_threads=n_threads
        )
        with source.team:
            drawn = Goss(*rates).draw(source)
        assert_sound(source, drawn)
        key = int(random.make_key(source.seed, random.ROWS, number))
        expected = sample_goss(source.gradient, source.rows, *rates, key)
        assert dict(zip(drawn.rows.tolist(), drawn.factor.tolist(), strict=True)) == expected


@pytest.mark.parametrize("n_rows", [5, 10, 70_000])
def test_any_number_of_rows_and_threads(n_rows):
    found = []
    for n_threads in (1, 2, 5):
        source = make_source(n_rows, decimals=1, n_threads=n_threads)
        with source.team:
            drawn = Goss().draw(source)
        assert_sound(source, drawn)
        found.append((drawn.rows.tolist(), drawn.factor.tolist()))
    assert found[0] == found[1] == found[2]


def test_sums_are_right_on_average():
    found, expected, error = mean_sums(Goss(), 400, {"n_rows": 1000})
    assert np.all(np.abs(found - expected) < 4 * error)
    assert np.all(error > 0)


def test_draws_differ_by_round():
    first, second = (set(Goss().draw(make_source(number=k)).rows.tolist()) for k in (0, 1))
    assert len(first & second) < len(first)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Goss(top_rate=-0.1), r"Goss\(top_rate=-0.1\): must be a number of at least 0"),
        (Goss(other_rate=0), r"Goss\(other_rate=0\): must be in \(0, 1\]"),
        (Goss(0.7, 0.4), "together they must be at most 1"),
        (Goss(top_rate=True), "top_rate"),
    ],
)
def test_rates_that_cannot_be(part, message):
    with pytest.raises(ParameterError, match=message):
        part.check()
