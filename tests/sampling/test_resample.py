"""Samplers that draw the rows of members."""

import pickle

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.sampling import BayesianBootstrap, Bootstrap, Pasting, PoissonBootstrap, Resampler
from tests.naive import resample as naive

ALL = [Bootstrap(), Pasting(), PoissonBootstrap(), BayesianBootstrap()]


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_seed_and_member_decide(part):
    first = part.draw_member(1, 0, 200)
    assert np.array_equal(pickle.loads(pickle.dumps(part)).draw_member(1, 0, 200), first)
    assert not np.array_equal(part.draw_member(1, 1, 200), first)
    assert not np.array_equal(part.draw_member(2, 0, 200), first)


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_are_resamplers(part):
    assert isinstance(part, Resampler)
    part.check()
    weights = part.draw_member(0, 0, 500)
    assert (weights.dtype.kind == "u") == part.gives_counts
    assert bool((weights == 0).any()) == part.leaves_rows_out


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_weights_of_members_follow_sample_weights(part):
    sample_weight = np.repeat([0.0, 1.0, 3.0], 400)
    mean = np.mean(
        [part.draw_member(0, member, 1200, sample_weight) for member in range(40)], axis=0
    )
    of_none, of_one, of_three = mean.reshape(3, 400).mean(axis=1)
    assert of_none == 0
    assert of_three / of_one == pytest.approx(3, rel=0.05)


@pytest.mark.parametrize(
    ("rate", "n_rows", "expected"), [(1.0, 7, 7), (0.5, 7, 4), (2.5, 8, 20), (0.001, 100, 1)]
)
def test_number_of_draws(rate, n_rows, expected):
    assert Bootstrap(rate).draw_member(0, 0, n_rows).sum() == expected
    if rate <= 1:
        assert Pasting(rate).draw_member(0, 0, n_rows).sum() == expected


@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_pasting_is_its_twin(n_rows):
    for member in range(10):
        key = int(random.make_key(3, random.MEMBER_ROWS, member))
        counts = Pasting(0.6).draw_member(3, member, n_rows)
        assert counts.tolist() == naive.pasting(key, max(1, round(0.6 * n_rows)), n_rows)


def test_pasting_keeps_the_weights_of_its_rows():
    sample_weight = np.linspace(0.5, 2, 50)
    drawn = Pasting(0.4).draw_member(0, 0, 50, sample_weight)
    taken = drawn > 0
    assert taken.sum() == 20
    assert np.array_equal(drawn[taken], sample_weight[taken])


def test_bayesian_weights_keep_the_sum():
    sample_weight = np.linspace(0.5, 2, 50)
    drawn = BayesianBootstrap().draw_member(0, 0, 50, sample_weight)
    assert drawn.sum() == pytest.approx(sample_weight.sum())
    assert np.all(sample_weight == np.linspace(0.5, 2, 50))


@pytest.mark.parametrize("part", [Bootstrap, PoissonBootstrap, Pasting])
@pytest.mark.parametrize("rate", [0, -1, np.nan, True, "0.5", None])
def test_what_is_no_rate_is_refused(part, rate):
    with pytest.raises(ParameterError, match=rf"{part.__name__}\(rate="):
        part(rate).check()


def test_no_more_than_all_rows_without_replacement():
    with pytest.raises(ParameterError, match=r"Pasting\(rate=1.5\)"):
        Pasting(1.5).check()
