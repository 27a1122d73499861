"""Squared error by hand."""

import numpy as np

from sumwise.kernels.threads import Team
from sumwise.losses import Squared

ROWS = np.arange(3, dtype=np.uint32)


def test_by_hand():
    loss, target, raw = Squared(), np.array([1.0, 2.0, 6.0]), np.array([[1.0, 0.0, 3.0]])
    assert loss.initial_score(target, np.empty(0), ROWS).tolist() == [3.0]
    assert loss.initial_score(target, np.array([2.0, 1.0, 1.0]), ROWS).tolist() == [2.5]
    assert loss.value(target, raw, np.empty(0), ROWS) == (0 + 2 + 4.5) / 3
    gradient, hessian = np.empty((1, 3)), np.empty((1, 3))
    with Team(1) as team:
        loss.gradient(team, target, raw, np.array([1.0, 2.0, 1.0]), gradient, hessian)
    assert gradient.tolist() == [[0.0, -4.0, -3.0]]
    assert hessian.tolist() == [[1.0, 2.0, 1.0]]
    assert (loss.link, loss.n_outputs) == ("identity", 1)
