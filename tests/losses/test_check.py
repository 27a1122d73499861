"""check_loss accepts all built-in losses, and finds errors of others."""

import numpy as np
import pytest

from sumwise import Fair, Huber, Quantile, Tweedie, check_loss
from sumwise.errors import ParameterError
from sumwise.losses import (
    REGRESSION_LOSSES,
    Exponential,
    Logistic,
    Multinomial,
)
from tests.losses.test_custom import LogCosh, Softmax

TARGETS = {
    "poisson": np.arange(40) % 5.0,
    "gamma": np.linspace(0.1, 4, 40),
    "tweedie": np.arange(40) % 4.0,
    "cross_entropy": np.linspace(0, 1, 40),
    "squared_log_error": np.linspace(-0.9, 4, 40),
}
Y = np.linspace(-1.5, 1.7, 40)


@pytest.mark.parametrize("name", REGRESSION_LOSSES)
def test_losses_of_regression(name):
    check_loss(REGRESSION_LOSSES[name](), TARGETS.get(name, Y))


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (Quantile(0.9), Y),
        (Quantile([0.1, 0.5, 0.9]), Y),
        (Fair(0.3), Y),
        (Huber(0.3), Y),
        (Tweedie(1.2), TARGETS["tweedie"]),
        (Logistic(), np.arange(40) % 2),
        (Exponential(), np.arange(40) % 2),
        (Multinomial(4), np.arange(40) % 4),
        (LogCosh(), Y),
        (Softmax(), np.arange(40) % 3),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_losses_with_parameters_and_of_classes(loss, y):
    check_loss(loss, y)


def test_scores_may_be_given():
    check_loss(LogCosh(), Y, raw=np.linspace(-9, 9, 40))
    check_loss(Softmax(), np.arange(40) % 3, raw=np.linspace(-1, 1, 120).reshape(40, 3))
    with pytest.raises(ParameterError, match=r"raw has shape \(3,\)"):
        check_loss(LogCosh(), Y, raw=[1.0, 2.0, 3.0])


class WrongGradient(LogCosh):
    def gradient(self, y, raw):
        first, second = super().gradient(y, raw)
        return np.where(y > 1, -first, first), second


class WrongHessian(LogCosh):
    factor = 0.5

    def gradient(self, y, raw):
        first, second = super().gradient(y, raw)
        return first, self.factor * second


class LargeHessian(WrongHessian):
    factor = 2.0


class WithoutValue(WrongGradient):
    value = None


def test_a_wrong_derivative_is_named_with_its_place():
    with pytest.raises(
        ParameterError,
        match=r"WrongGradient.gradient: the first derivative differs from the slope of value at "
        r"row \d+, y=.*, raw=.*: .*, by differences .*\(\d+ of 40 rows\)",
    ):
        check_loss(WrongGradient(), Y)
    with pytest.raises(ParameterError, match="the second derivative differs from the slope of the"):
        check_loss(WrongHessian(), Y)


def test_without_a_value_the_second_derivative_alone_is_checked():
    with pytest.raises(ParameterError, match="the second derivative differs"):
        check_loss(WithoutValue(), Y)


def test_a_bound_may_exceed_the_second_derivative():
    check_loss(LargeHessian(), Y, hessian="bound")
    with pytest.raises(ParameterError, match="second derivative differs"):
        check_loss(LargeHessian(), Y)
    with pytest.raises(ParameterError, match="second derivative is less than"):
        check_loss(WrongHessian(), Y, hessian="bound")
    with pytest.raises(ParameterError, match="must be 'exact' or 'bound'"):
        check_loss(LogCosh(), Y, hessian="upper")


def test_a_tolerance():
    class Nearly(WrongHessian):
        factor = 1.01

    check_loss(Nearly(), Y, tolerance=0.02)
    with pytest.raises(ParameterError, match="second derivative"):
        check_loss(Nearly(), Y)


def test_a_function_has_the_outputs_of_the_scores():
    def derivatives(y, raw):
        return np.sin(raw), np.cos(raw) ** 2

    with pytest.raises(ParameterError, match=r"^derivatives: the second derivative differs"):
        check_loss(derivatives, Y, raw=np.linspace(-1, 1, 80).reshape(40, 2))
    check_loss(lambda y, raw: Softmax().gradient(y, raw), np.arange(40) % 3, raw=np.ones((40, 3)))
    check_loss(lambda y, raw: LogCosh().gradient(y, raw), Y)


@pytest.mark.parametrize("thing", [3, "poisson", LogCosh, object()])
def test_what_is_no_loss(thing):
    with pytest.raises(ParameterError, match=r"has no method gradient\(y, raw\)"):
        check_loss(thing, Y)


def test_targets_have_one_dimension():
    for y in ([[1.0]], []):
        with pytest.raises(ParameterError, match="y has shape"):
            check_loss(LogCosh(), y)


def test_the_other_methods_are_checked_too():
    class Odd(LogCosh):
        def link(self, raw):
            return raw[:-1]

    with pytest.raises(ParameterError, match=r"Odd.link has shape"):
        check_loss(Odd(), Y)
