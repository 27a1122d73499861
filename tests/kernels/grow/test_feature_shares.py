"""Which of all offers is the best."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.grow.feature_shares import FEATURE, GAIN, SET, _find_best_offer, _offer
from sumwise.kernels.runtime.jit import kernel


@kernel
def _choose(gains, features, every, found):
    for place in range(found.size):
        for rank in range(every.shape[0]):
            _offer(every[rank, place], gains[rank, place], features[rank, place], 1, False)
        found[place] = _find_best_offer(every, place)


GAINS = st.sampled_from([-1.0, 0.0, 1e-300, 2.5, 1e300])
OFFERS = st.lists(st.tuples(GAINS, st.booleans()), min_size=1, max_size=12)


@settings(deadline=None)
@given(offers=OFFERS)
def test_the_highest_gain_is_taken_and_then_the_lowest_feature(offers):
    """Processes own different features; those without an offer say so by feature -1."""
    n = len(offers)
    order = np.random.default_rng(n).permutation(n)
    features = [int(f) if is_made else -1 for f, (_, is_made) in zip(order, offers, strict=True)]
    gains = [gain for gain, _ in offers]
    every, found = np.zeros((n, 1, SET), dtype=np.int64), np.full(1, -7)
    shape = (n, 1)
    _choose(np.reshape(gains, shape), np.reshape(features, shape), every, found)
    made = [rank for rank in range(n) if features[rank] >= 0]
    expected = min(made, key=lambda rank: (-gains[rank], features[rank]), default=-1)
    assert found[0] == expected
    assert every[:, 0, FEATURE].tolist() == features
    assert every[:, 0, GAIN].copy().view(np.float64).tolist() == gains
