from math import factorial

import numpy as np

from sumwise.kernels.explain.interventions import make_shares


def test_shares_are_those_of_the_factorials() -> None:
    shares = make_shares(9, 4)
    for a in range(10):
        for c in range(10):
            whole = 4 * factorial(a + c)
            gain = factorial(a - 1) * factorial(c) / whole if a else 0.0
            loss = factorial(a) * factorial(c - 1) / whole if c else 0.0
            np.testing.assert_allclose(shares.gain[a, c], gain, rtol=1e-13)
            np.testing.assert_allclose(shares.loss[a, c], loss, rtol=1e-13)


def test_many_features_do_not_overflow() -> None:
    shares = make_shares(300, 1)
    assert np.isfinite(shares.gain).all()
    assert (shares.gain[1:150, :150] > 0).all()
