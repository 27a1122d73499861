"""Row sampling without replacement."""

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.sampling import RowSampler, Subsample
from tests.naive import random as naive
from tests.sampling.sources import assert_sound, make_source

ROWS = np.arange(100, dtype=np.uint32)


@pytest.mark.parametrize(
    ("rate", "n_rows", "expected"),
    [(0.8, 100, 80), (1.0, 100, 100), (0.5, 7, 4), (0.001, 100, 1), (0.3, 1, 1)],
)
def test_number_of_rows(rate, n_rows, expected):
    chosen = Subsample(rate).sample(ROWS[:n_rows], 0, 0)
    assert chosen.size == expected
    assert chosen.dtype == np.uint32


def test_rows_are_distinct_ascending_and_from_those_given():
    rows = ROWS[10::3].copy()
    for round_idx in range(30):
        chosen = Subsample(0.4).sample(rows, 7, round_idx)
        assert np.all(np.diff(chosen.astype(int)) > 0)
        assert np.isin(chosen, rows).all()


def test_seed_and_round_decide():
    sampler = Subsample(0.5)
    first = sampler.sample(ROWS, 1, 0).tolist()
    assert sampler.sample(ROWS, 1, 0).tolist() == first
    assert sampler.sample(ROWS, 1, 1).tolist() != first
    assert sampler.sample(ROWS, 2, 0).tolist() != first


def test_every_row_has_its_turn():
    counts = np.zeros(100)
    for round_idx in range(1000):
        counts[Subsample(0.3).sample(ROWS, 0, round_idx)] += 1
    assert np.all(np.abs(counts - 300) < 4.5 * np.sqrt(1000 * 0.3 * 0.7))


@pytest.mark.parametrize("rate", [0, 1.5, -1, np.nan, True, "0.5", None])
def test_what_is_no_rate_is_refused(rate):
    with pytest.raises(ParameterError, match=r"Subsample\(rate="):
        Subsample(rate).check()


def test_draws_what_it_samples():
    source = make_source()
    drawn = Subsample(0.5).draw(source)
    assert_sound(source, drawn)
    assert drawn.rows.tolist() == Subsample(0.5).sample(source.rows, 0, 0).tolist()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_draws_the_rows_with_the_lowest_hashes(n_threads):
    source = make_source(n_threads=n_threads, seed=4, number=9)
    drawn = Subsample(0.5).draw(source)
    assert_sound(source, drawn)
    key = int(random.make_key(4, random.ROWS, 9))
    expected = naive.draw_lowest(key, source.rows.tolist(), round(0.5 * source.rows.size))
    assert drawn.rows.tolist() == expected
    assert drawn.left_out.tolist() == np.setdiff1d(source.rows, drawn.rows).tolist()


def test_places_decide_not_row_numbers():
    """So rows of weight zero, which are not among the rows, change nothing."""
    places = Subsample(0.5).sample(ROWS[:40], 0, 0)
    assert Subsample(0.5).sample(ROWS[10:50], 0, 0).tolist() == (places + 10).tolist()


def test_is_a_row_sampler():
    assert isinstance(Subsample(), RowSampler)
    assert not isinstance(object(), RowSampler)
    Subsample().check()
