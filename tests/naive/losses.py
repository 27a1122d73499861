"""Losses: gradient, hessian, average loss, initial score and inverse link.

`raw` is the sum of the trees. Weights multiply the gradient and the hessian, and
the loss is a weighted average. Where a loss needs classes, each must have a
positive total weight for the initial score to be finite.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Loss(Protocol):
    """What every loss offers. `y` and `weights` have shape (n_rows,).

    `raw`, gradient and hessian have the shape (n_rows,), or (n_rows, n_classes)
    for the multinomial loss; the initial score is then one number per class.
    """

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float: ...

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats: ...

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats: ...

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats: ...

    def inverse_link(self, raw: Floats) -> Floats:
        """Return the predicted mean, or the probability of class 1 or of each."""
        ...

    def link(self, mean: Floats) -> Floats:
        """Undo the inverse link."""
        ...


def fill_weights(weights: Floats | None, n_rows: int) -> Floats:
    return np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)


def average(values: Floats, weights: Floats | None) -> float:
    w = fill_weights(weights, len(values))
    return float(np.sum(w * values) / np.sum(w))


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def log_odds(p: Floats) -> Floats:
    return np.log(p / (1 - p))


class Squared:
    """loss = (y - raw)^2 / 2"""

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        return average(0.5 * (y - raw) ** 2, weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * (raw - y)

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * np.ones(len(y))

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats:
        return np.array(average(y, weights))

    def inverse_link(self, raw: Floats) -> Floats:
        return raw

    def link(self, mean: Floats) -> Floats:
        return mean


class SquaredLog:
    """loss = (raw - log(1 + y))^2 / 2, mean = exp(raw) - 1"""

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        return average(0.5 * (np.log1p(y) - raw) ** 2, weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * (raw - np.log1p(y))

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * np.ones(len(y))

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats:
        return np.array(average(np.log1p(y), weights))

    def inverse_link(self, raw: Floats) -> Floats:
        return np.expm1(raw)

    def link(self, mean: Floats) -> Floats:
        return np.log1p(mean)


class Robust:
    """A loss of raw - y that grows no faster than a line; its leaves are locations, see there.

    The hessian is 1, which bounds the second derivative. Subclasses give the loss of an error and
    its derivative, and the share of a row in locations.
    """

    def of_error(self, error: Floats) -> Floats:
        raise NotImplementedError

    def influence(self, error: Floats) -> Floats:
        raise NotImplementedError

    def share(self, y: Floats) -> Floats:
        return np.ones(len(y))

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        return average(self.share(y) * self.of_error(raw - y), weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * self.share(y) * self.influence(raw - y)

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * np.ones(len(y))


class Percentage(Robust):
    """loss = |raw - y| / max(1, |y|)"""

    def of_error(self, error: Floats) -> Floats:
        return np.abs(error)

    def influence(self, error: Floats) -> Floats:
        return np.sign(error)

    def share(self, y: Floats) -> Floats:
        return 1 / np.maximum(1, np.abs(y))


class Fair(Robust):
    """loss = c^2 (|e| / c - log(1 + |e| / c)), e = raw - y"""

    def __init__(self, c: float) -> None:
        self.c = c

    def of_error(self, error: Floats) -> Floats:
        ratio = np.abs(error) / self.c
        return self.c**2 * (ratio - np.log1p(ratio))

    def influence(self, error: Floats) -> Floats:
        return self.c * error / (self.c + np.abs(error))


class LogCosh(Robust):
    """loss = log(cosh(e)), e = raw - y"""

    def of_error(self, error: Floats) -> Floats:
        return np.logaddexp(error, -error) - np.log(2)

    def influence(self, error: Floats) -> Floats:
        return np.tanh(error)


class Logistic:
    """y in {0, 1}, p = sigmoid(raw), loss = -log(p) where y = 1, else -log(1 - p)"""

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        # -y log(p) - (1 - y) log(1 - p) = log(1 + exp(raw)) - y raw
        return average(np.logaddexp(0, raw) - y * raw, weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        return fill_weights(weights, len(y)) * (self.inverse_link(raw) - y)

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        p = self.inverse_link(raw)
        return fill_weights(weights, len(y)) * (p * (1 - p))

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats:
        return self.link(np.array(average(y, weights)))

    def inverse_link(self, raw: Floats) -> Floats:
        return sigmoid(raw)

    def link(self, mean: Floats) -> Floats:
        return log_odds(mean)


class Exponential:
    """y in {0, 1}, s = 2 y - 1, loss = exp(-s raw), p = sigmoid(2 raw)"""

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        return average(np.exp(-(2 * y - 1) * raw), weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        s = 2 * y - 1
        return fill_weights(weights, len(y)) * (-s * np.exp(-s * raw))

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        s = 2 * y - 1
        return fill_weights(weights, len(y)) * np.exp(-s * raw)

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats:
        return self.link(np.array(average(y, weights)))

    def inverse_link(self, raw: Floats) -> Floats:
        return sigmoid(2 * raw)

    def link(self, mean: Floats) -> Floats:
        return 0.5 * log_odds(mean)


class Multinomial:
    """y in {0, ..., K - 1}, p = softmax(raw) over K classes, loss = -log(p[y])"""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def indicator(self, y: Floats) -> Floats:
        """Return 1 where the row is of the class, else 0: (n_rows, n_classes)."""
        return np.array([[float(label == k) for k in range(self.n_classes)] for label in y])

    def loss(self, y: Floats, raw: Floats, weights: Floats | None = None) -> float:
        log_sum = np.logaddexp.reduce(raw, axis=1)
        of_class = np.sum(raw * self.indicator(y), axis=1)
        return average(log_sum - of_class, weights)

    def gradient(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        w = fill_weights(weights, len(y))[:, None]
        return w * (self.inverse_link(raw) - self.indicator(y))

    def hessian(self, y: Floats, raw: Floats, weights: Floats | None = None) -> Floats:
        w = fill_weights(weights, len(y))[:, None]
        p = self.inverse_link(raw)
        return w * (self.n_classes / (self.n_classes - 1) * p * (1 - p))

    def initial(self, y: Floats, weights: Floats | None = None) -> Floats:
        indicator = self.indicator(y)
        priors = [average(indicator[:, k], weights) for k in range(self.n_classes)]
        return self.link(np.array(priors))

    def inverse_link(self, raw: Floats) -> Floats:
        e = np.exp(raw - np.max(raw, axis=-1, keepdims=True))
        p: Floats = e / np.sum(e, axis=-1, keepdims=True)
        return p

    def link(self, mean: Floats) -> Floats:
        return np.log(mean)
