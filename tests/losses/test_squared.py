"""Squared error, of targets and of their logarithms, by hand."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Squared, SquaredLog

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


def test_squared_log_by_hand():
    target, raw = np.expm1([0.0, 1.0, 5.0]), np.array([[0.0, 0.0, 3.0]])
    loss = SquaredLog()
    np.testing.assert_allclose(loss.initial_score(target, np.empty(0), ROWS), 2.0)
    weight = np.array([2.0, 1.0, 1.0])
    np.testing.assert_allclose(loss.initial_score(target, weight, ROWS), 1.5)
    assert loss.value(target, raw, np.empty(0), ROWS) == pytest.approx((0 + 0.5 + 2) / 3)
    gradient, hessian = np.empty((1, 3)), np.empty((1, 3))
    with Team(1) as team:
        loss.gradient(team, target, raw, weight, gradient, hessian)
    np.testing.assert_allclose(gradient, [[0.0, -1.0, -2.0]], atol=1e-15)
    assert hessian.tolist() == [[2.0, 1.0, 1.0]]
    with pytest.raises(DataError, match=r"y\[1\] is -1; loss='squared_log_error' needs targets"):
        loss.check_target(np.array([-0.5, -1.0]), np.empty(0))
