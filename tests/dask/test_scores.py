import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from sumwise.dask.scores import _find_r2, _measure_spread


class Shift:
    """A model that adds a number to the first column."""

    def predict(self, X):
        return X[:, 0] + 0.5


@given(
    ends=st.lists(st.integers(0, 40), max_size=4).map(sorted),
    seed=st.integers(0, 9),
    shift=st.sampled_from([0.0, 1e6]),
)
def test_r2_of_partitions(ends, seed, shift):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 1)) + shift
    y = X[:, 0] + rng.normal(size=40)
    weight = rng.integers(0, 3, 40).astype(float)
    bounds = [0, *ends, 40]
    found = [
        _measure_spread(Shift(), X[own], y[own], weight[own])
        for own in map(slice, bounds, bounds[1:])
    ]
    whole, *others = [own for own in found if own is not None]
    for own in others:
        whole = whole.add(own)
    expected = r2_score(y, Shift().predict(X), sample_weight=weight)
    assert _find_r2(whole) == pytest.approx(expected, rel=1e-6)


def test_r2_of_a_constant_target():
    X = np.ones((5, 1))
    assert _find_r2(_measure_spread(Shift(), X, np.full(5, 1.5), None)) == 1.0
    assert _find_r2(_measure_spread(Shift(), X, np.full(5, 2.5), None)) == 0.0
