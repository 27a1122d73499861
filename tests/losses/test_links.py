"""From raw scores to predictions."""

import numpy as np
import pytest

from sumwise.losses import REGRESSION_LOSSES, Exponential, Logistic, Multinomial, Quantile
from sumwise.losses.links import LINKS
from tests.naive import losses as naive

RAW = np.array([-800.0, -30.0, -1.0, 0.0, 0.5, 40.0, 800.0]).reshape(-1, 1)


def test_every_loss_has_a_link():
    of_regression = [kind() for kind in REGRESSION_LOSSES.values()]
    losses = (*of_regression, Quantile([0.5]), Logistic, Exponential, Multinomial)
    assert {loss.link for loss in losses} == set(LINKS)


def test_identity():
    assert LINKS["identity"](RAW).tolist() == RAW[:, 0].tolist()


def test_log():
    found = LINKS["log"](RAW)
    np.testing.assert_allclose(found[1:-1], np.exp(RAW[1:-1, 0]), rtol=1e-15)
    assert 0 < found[0] < 1e-300 < 1e300 < found[-1] < np.inf


def test_log1p():
    found = LINKS["log1p"](RAW)
    np.testing.assert_allclose(found[:-1], np.expm1(RAW[:-1, 0]), rtol=1e-14)
    assert 1e300 < found[-1] < np.inf


def test_sorted():
    raw = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    assert LINKS["sorted"](raw).tolist() == [[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]]
    assert raw[0, 0] == 3.0
    assert LINKS["sorted"](RAW).tolist() == RAW.tolist()


def test_sigmoid():
    assert LINKS["sigmoid"](RAW).tolist() == LINKS["logistic"](RAW)[:, 1].tolist()


@pytest.mark.parametrize(
    ("link", "twin"), [("logistic", naive.Logistic()), ("half_logistic", naive.Exponential())]
)
def test_two_classes(link, twin):
    found = LINKS[link](RAW)
    assert found.shape == (7, 2)
    np.testing.assert_allclose(found[:, 1], twin.inverse_link(RAW[:, 0]), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(found[:, 0], twin.inverse_link(-RAW[:, 0]), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)


def test_small_probabilities_keep_their_digits():
    probabilities = LINKS["logistic"](np.array([[50.0], [-50.0]]))
    np.testing.assert_allclose(probabilities[[0, 1], [0, 1]], np.exp(-50), rtol=1e-14)
    assert np.all(probabilities > 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_softmax(order):
    raw = np.asarray(np.random.default_rng(0).normal(size=(20, 5)) * 30, order=order)
    found = LINKS["softmax"](raw)
    np.testing.assert_allclose(found, naive.Multinomial(5).inverse_link(raw), rtol=1e-13)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)


def test_columns_of_a_wider_array():
    wide = np.repeat(RAW, 2, axis=1)[:, :1]
    assert np.array_equal(LINKS["logistic"](wide), LINKS["logistic"](RAW))
