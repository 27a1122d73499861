import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute, Huber, MultiTarget, Poisson, Squared
from sumwise.losses.base import take_target

N_ROWS = 50
rng = np.random.RandomState(0)
TARGET = np.asarray(rng.gamma(2.0, size=(N_ROWS, 3)), order="F")
RAW = rng.randn(3, N_ROWS)
WEIGHT = rng.rand(N_ROWS)
ROWS = np.arange(0, N_ROWS, 2, dtype=np.uint32)


@pytest.mark.parametrize("base", [Squared(), Poisson(), Absolute(), Huber(delta=0.5)])
@pytest.mark.parametrize("weight", [WEIGHT, np.empty(0)], ids=["weighted", "plain"])
def test_each_output_has_the_loss_of_its_target(base, weight):
    loss = MultiTarget([base] * 3)
    gradient, hessian = np.empty_like(RAW), np.empty_like(RAW)
    shift = loss.initial_shift(TARGET, weight, ROWS, RAW)
    start = loss.initial_score(TARGET, weight, ROWS)
    values = []
    with Team(2) as team:
        loss.gradient(team, TARGET, RAW, weight, gradient, hessian)
        for k in range(3):
            own, raw = TARGET[:, k], RAW[k : k + 1]
            g, h = np.empty_like(raw), np.empty_like(raw)
            base.gradient(team, own, raw, weight, g, h)
            np.testing.assert_array_equal(gradient[k], g[0])
            np.testing.assert_array_equal(hessian[k], h[0])
            assert start[k] == base.initial_score(own, weight, ROWS)[0]
            assert shift[k] == base.initial_shift(own, weight, ROWS, raw)[0]
            values.append(base.value(own, raw, weight, ROWS))
    assert loss.value(TARGET, RAW, weight, ROWS) == pytest.approx(np.mean(values), rel=1e-15)
    assert loss.link == base.link
    assert loss.hessian_is_weight is base.hessian_is_weight


def test_losses_with_a_constant_hessian_say_so():
    for base in (Squared(), Absolute(), Huber(delta=1.0)):
        gradient, hessian = np.empty((1, N_ROWS)), np.empty((1, N_ROWS))
        with Team(1) as team:
            base.gradient(team, TARGET[:, 0].copy(), RAW[:1], WEIGHT, gradient, hessian)
        np.testing.assert_array_equal(hessian[0], WEIGHT)
        assert base.hessian_is_weight
    assert not Poisson().hessian_is_weight


def test_each_target_has_a_delta_of_its_own():
    target = TARGET * [1.0, 10.0, 100.0]
    loss = MultiTarget([Huber()] * 3).adapt(target, np.empty(0), ROWS, None)
    deltas = [loss.at_output(k).delta for k in range(3)]
    assert deltas[0] < deltas[1] < deltas[2]
    moved = loss.at_round(target, np.zeros_like(RAW), np.empty(0), ROWS)
    assert [moved.at_output(k).location.delta for k in range(3)] != deltas


def test_the_target_that_is_wrong_is_named():
    target = TARGET.copy()
    target[7, 2] = -1.0
    with pytest.raises(DataError, match=r"target 2: y\[7\] is -1"):
        MultiTarget([Poisson()] * 3).check_target(target, np.empty(0))


def test_take_target():
    one = np.arange(3.0)
    assert take_target(one, 5) is one
    column = take_target(TARGET, 1)
    assert column.flags.c_contiguous
    np.testing.assert_array_equal(column, TARGET[:, 1])
