"""Draws of members against their naive twins, and their distributions."""

import numpy as np
import pytest

from sumwise.kernels.runtime import random
from sumwise.kernels.sampling import bootstrap as resample
from tests.naive import resample as naive

NONE = np.empty(0)
WEIGHTS = np.array([0.5, 0.0, 2.0, 1.25, 0.0, 4.0, 0.25, 0.0])


def draw(kind, key, n_draws, n_rows, weights=None, dtype=np.uint32):
    counts = np.full(n_rows, 99, dtype=dtype)
    cumulative = NONE if weights is None else np.cumsum(weights)
    resample.fill_counts(kind, np.uint64(key), n_draws, cumulative, counts)
    return counts


def keys(n):
    return [int(random.make_key(3, random.MEMBER_ROWS, member)) for member in range(n)]


@pytest.mark.parametrize("n_draws", [1, 5, 8, 30])
def test_bootstrap_is_its_twin(n_draws):
    for key in keys(20):
        counts = draw(resample.BOOTSTRAP, key, n_draws, 8)
        assert counts.tolist() == naive.bootstrap(key, n_draws, [1] * 8)
        weighted = draw(resample.BOOTSTRAP, key, n_draws, 8, WEIGHTS)
        assert weighted.tolist() == naive.bootstrap(key, n_draws, WEIGHTS)
        assert weighted.sum() == n_draws
        assert weighted[WEIGHTS == 0].sum() == 0


@pytest.mark.parametrize("n_draws", [1, 8, 40])
def test_poisson_is_its_twin(n_draws):
    for key in keys(20):
        counts = draw(resample.POISSON, key, n_draws, 8)
        assert counts.tolist() == naive.poisson_counts(key, n_draws, [1] * 8)
    for key in keys(20):
        weighted = draw(resample.POISSON, key, min(n_draws, 20), 8, WEIGHTS)
        assert weighted.tolist() == naive.poisson_counts(key, min(n_draws, 20), WEIGHTS)


@pytest.mark.parametrize("mean", [0.1, 1, 15, 17, 100, 2000])
def test_poisson_has_the_mean_and_variance_of_its_name(mean):
    n_rows = 4000
    counts = draw(resample.POISSON, keys(1)[0], round(mean * n_rows), n_rows).astype(float)
    assert abs(counts.mean() - mean) < 4.5 * np.sqrt(mean / n_rows)
    # The variance of a sample's variance: (fourth moment - variance^2) / n.
    deviation = np.sqrt((mean + 3 * mean**2 - mean**2) / n_rows)
    assert abs(counts.var() - mean) < 4.5 * deviation


def test_counts_may_be_of_any_integers():
    key = keys(1)[0]
    expected = draw(resample.BOOTSTRAP, key, 100, 50)
    assert np.array_equal(draw(resample.BOOTSTRAP, key, 100, 50, dtype=np.uint16), expected)


def test_bootstrap_is_even():
    counts = sum(draw(resample.BOOTSTRAP, key, 20, 20).astype(int) for key in keys(2000))
    assert np.max(np.abs(counts - 2000)) < 4.5 * np.sqrt(2000)
