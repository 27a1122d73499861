"""Custom losses: the arrays they get, and the errors for what they return."""

from functools import partial

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import CustomLoss, Squared, is_custom_loss, is_loss_function

NO_WEIGHT = np.empty(0)
RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=30)
WEIGHT = RNG.random(30)


class LogCosh:
    def value(self, y, raw):
        return np.log(np.cosh(raw - y))

    def gradient(self, y, raw):
        slope = np.tanh(raw - y)
        return slope, 1 - slope**2

    def __repr__(self):
        return type(self).__name__


class Softmax:
    n_outputs = 3

    def value(self, y, raw):
        picked = np.take_along_axis(raw, y.astype(int)[:, None], axis=1)[:, 0]
        return np.log(np.exp(raw).sum(axis=1)) - picked

    def gradient(self, y, raw):
        p = np.exp(raw)
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(3)[y.astype(int)], p * (1 - p)

    def __repr__(self):
        return "Softmax"


def derive(loss, target, raw, weight=NO_WEIGHT):
    gradient, hessian = np.full(raw.shape, np.nan), np.full(raw.shape, np.nan)
    with Team(1) as team:
        loss.gradient(team, target, raw, weight, gradient, hessian)
    return gradient, hessian


def half_square(y, raw):
    return raw - y, np.ones_like(raw)


def test_what_can_be_a_loss():
    assert is_custom_loss(LogCosh())
    assert not is_loss_function(LogCosh())
    for function in (half_square, partial(half_square), lambda y, raw: half_square(y, raw)):
        assert is_custom_loss(function)
        assert is_loss_function(function)
    for thing in (LogCosh, "poisson", None, Squared(), object()):
        assert not is_custom_loss(thing)
        assert not is_loss_function(thing)


@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_function_is_a_gradient(weight, n_outputs):
    def derivatives(y, raw):
        assert raw.shape == ((30,) if n_outputs == 1 else (30, n_outputs))
        return np.sin(raw), np.full(raw.shape, 2.0)

    loss, raw = CustomLoss(derivatives, n_outputs=n_outputs), RNG.normal(size=(n_outputs, 30))
    gradient, hessian = derive(loss, TARGET, raw, weight)
    factor = weight if weight.size else 1.0
    assert np.array_equal(gradient, np.sin(raw) * factor)
    assert np.array_equal(hessian, np.full(raw.shape, 2.0) * factor)
    assert loss.initial_score(TARGET, weight, np.arange(30)).tolist() == [0.0] * n_outputs
    assert not loss.has_value
    adapted = loss.adapt(TARGET, weight, np.arange(5, dtype=np.uint32), None)
    assert (adapted.n_outputs, adapted.name) == (n_outputs, "derivatives")


def test_what_a_function_returns_is_checked():
    def broken(y, raw):
        return raw

    message = "^broken must return two arrays.*it returned ndarray"
    with pytest.raises(ParameterError, match=message):
        derive(CustomLoss(broken), TARGET, np.zeros((1, 30)))
    odd = partial(lambda y, raw: (raw, -1.0 - raw))
    with pytest.raises(ParameterError, match=r"^partial: the second derivative is -1 at"):
        derive(CustomLoss(odd), TARGET, np.zeros((1, 30)))
    with pytest.raises(
        ParameterError, match=r"^half_square is a function, and has no method value"
    ):
        CustomLoss(half_square).value(TARGET, np.zeros((1, 30)), NO_WEIGHT, np.arange(3))


@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
def test_weights_are_multiplied_in(weight):
    raw = RNG.normal(size=(1, 30))
    loss, factor = CustomLoss(LogCosh()), weight if weight.size else 1.0
    gradient, hessian = derive(loss, TARGET, raw, weight)
    first, second = LogCosh().gradient(TARGET, raw[0])
    assert np.array_equal(gradient[0], first * factor)
    assert np.array_equal(hessian[0], second * factor)
    rows = np.array([4, 2, 9], dtype=np.uint32)
    values = LogCosh().value(TARGET[rows], raw[0, rows])
    expected = np.average(values, weights=weight[rows] if weight.size else None)
    assert loss.value(TARGET, raw, weight, rows) == pytest.approx(expected)


def test_several_outputs_are_columns():
    target, raw = np.arange(30) % 3.0, RNG.normal(size=(3, 30))
    loss = CustomLoss(Softmax(), "softmax")
    gradient, hessian = derive(loss, target, raw, WEIGHT)
    first, second = Softmax().gradient(target, raw.T)
    assert np.array_equal(gradient, (first * WEIGHT[:, None]).T)
    assert np.array_equal(hessian, (second * WEIGHT[:, None]).T)
    assert loss.initial_score(target, NO_WEIGHT, np.arange(30)).tolist() == [0.0] * 3


def test_gradients_are_asked_for_training_rows_only():
    class Spy(LogCosh):
        def gradient(self, y, raw):
            assert y.tolist() == TARGET[5:20].tolist()
            return super().gradient(y, raw)

    rows = np.arange(5, 20, dtype=np.uint32)
    loss = CustomLoss(Spy()).adapt(TARGET, NO_WEIGHT, rows, None)
    gradient, hessian = derive(loss, TARGET, np.zeros((1, 30)))
    assert np.array_equal(gradient[0, 5:20], np.tanh(-TARGET[5:20]))
    assert not gradient[0, :5].any()
    assert not hessian[0, 20:].any()


def test_arrays_are_theirs_to_change():
    class Vandal(LogCosh):
        def gradient(self, y, raw):
            result = super().gradient(y, raw)
            y[:], raw[:] = 7.0, 8.0
            return result

    target, raw = TARGET.copy(), np.zeros((1, 30))
    derive(CustomLoss(Vandal()), target, raw)
    assert np.array_equal(target, TARGET)
    assert not raw.any()


def test_initial_scores():
    class Start(LogCosh):
        def initial_score(self, y, weight):
            seen.append(weight)
            return np.average(y, weights=weight)

    seen = []
    rows = np.array([1, 5], dtype=np.uint32)
    loss = CustomLoss(Start())
    assert loss.initial_score(TARGET, NO_WEIGHT, rows) == pytest.approx([TARGET[rows].mean()])
    assert seen == [None]
    expected = np.average(TARGET[rows], weights=WEIGHT[rows])
    assert loss.initial_score(TARGET, WEIGHT, rows) == pytest.approx([expected])
    assert CustomLoss(LogCosh()).initial_score(TARGET, WEIGHT, rows).tolist() == [0.0]


def test_links():
    class Named(LogCosh):
        link = "log"

    class Method(LogCosh):
        def link(self, raw):
            return raw**2

    assert CustomLoss(LogCosh(), "identity").link == "identity"
    named, method = CustomLoss(Named(), "identity"), CustomLoss(Method(), "identity")
    assert (named.link, named.inverse_link) == ("log", None)
    assert method.link == "identity"
    assert method.predict_mean(np.array([[2.0], [3.0]])).tolist() == [4.0, 9.0]


NAN_AT_TWO = np.where(np.arange(30) == 2, np.nan, 1.0)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.ones(30), "Broken.gradient must return two arrays.*it returned ndarray"),
        ((np.ones(30),), "must return two arrays"),
        ((np.ones(29), np.ones(30)), r"gradient: the first derivative has shape \(29,\), expected"),
        ((np.ones(30), np.ones((30, 1))), r"the second derivative has shape \(30, 1\)"),
        ((np.ones(30), 1.0), r"the second derivative has shape \(\)"),
        ((NAN_AT_TWO, np.ones(30)), r"the first derivative is nan at \[2\]; it must be finite"),
        ((np.ones(30), -NAN_AT_TWO), r"the second derivative is nan at \[2\]"),
        ((np.ones(30), -np.ones(30)), r"second derivative is -1 at \[0\]; it must not be negative"),
        ((["a"] * 30, np.ones(30)), "the first derivative must be numbers, not list"),
    ],
)
def test_bad_gradients(result, message):
    class Broken:
        def gradient(self, y, raw):
            return result

    with pytest.raises(ParameterError, match=message):
        derive(CustomLoss(Broken()), TARGET, np.zeros((1, 30)))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"link": "probit"}, "Broken.link='probit': must be one of 'identity'"),
        ({"link": 3}, "Broken.link=3: must be a name or a method"),
        ({"n_outputs": 0}, "Broken.n_outputs=0: must be a positive integer"),
        ({"n_outputs": 1.5}, "Broken.n_outputs=1.5"),
        ({"n_outputs": True}, "Broken.n_outputs=True"),
    ],
)
def test_bad_members(members, message):
    with pytest.raises(ParameterError, match=message):
        CustomLoss(type("Broken", (LogCosh,), members)())


def test_bad_values_and_initial_scores():
    class Broken(LogCosh):
        def value(self, y, raw):
            return 0.0

        def initial_score(self, y, weight):
            return [1.0, 2.0]

    loss, rows = CustomLoss(Broken()), np.arange(30, dtype=np.uint32)
    with pytest.raises(ParameterError, match=r"Broken.value has shape \(\), expected \(30,\)"):
        loss.value(TARGET, np.zeros((1, 30)), NO_WEIGHT, rows)
    with pytest.raises(ParameterError, match=r"Broken.initial_score has shape \(2,\), expected"):
        loss.initial_score(TARGET, NO_WEIGHT, rows)


def test_a_value_that_is_needed_but_not_there():
    class Mute:
        def gradient(self, y, raw):
            return raw - y, np.ones_like(y)

    with pytest.raises(ParameterError, match=r"Mute has no method value\(y, raw\), which early"):
        CustomLoss(Mute()).value(TARGET, np.zeros((1, 30)), NO_WEIGHT, np.arange(3))
