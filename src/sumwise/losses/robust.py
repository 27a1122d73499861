"""Losses that large errors do not dominate: absolute, quantile and Huber.

Quantile (the pinball loss), e = y - f: L = level * e for e >= 0, (level - 1) * e otherwise, so
g = -level below the target and 1 - level above it; 0 where the score is the target, which is a
subgradient too. Its minimizer is the quantile, so a share of about ``level`` of the targets lies
below the predictions. Absolute: L = |e|, twice the pinball loss of level 1/2; the median.
Huber: L = e^2 / 2 for |e| <= delta, delta (|e| - delta / 2) beyond, so g = -e clipped to delta.

The second derivative of these is 0 almost everywhere, or beyond delta. Trees are grown with h = 1,
under which a node's score is that of its mean gradient; then each leaf's value becomes the median,
quantile or Huber location of its residuals (kernels/location.py).
"""

import math
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels import location as location_kernels
from sumwise.kernels import regression_losses as kernels
from sumwise.losses.base import Location, Loss, at_rows, weighted_mean
from sumwise.parts import Part


def find_location(values: np.ndarray, weight: np.ndarray, location: Location) -> float:
    """The quantile or Huber location of values; the same for any order of them."""
    units = np.empty(weight.size, dtype=np.int64)
    location_kernels.weigh_in_units(weight, units)
    return float(
        location_kernels.find_location(
            np.ascontiguousarray(values),
            units,
            location.level,
            location.delta,
            np.empty(values.size, dtype=np.uint64),
            np.empty_like(units),
            np.empty(location_kernels.N_DIGIT_VALUES, dtype=np.int64),
        )
    )


class _Robust(Loss):
    """What they share: leaves are refitted, and so is the initial score."""

    link = "identity"
    exact_hessian = False

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        assert self.location is not None
        return np.array([find_location(target[rows], at_rows(weight, rows), self.location)])


class Absolute(_Robust):
    """Absolute error; predictions are medians."""

    _gradient_kernel = kernels.quantile_gradient
    _value_kernel = kernels.quantile_value

    @property
    def location(self) -> Location:
        return Location(0.5)

    def _kernel_arguments(self) -> tuple[float, ...]:
        return 0.5, 2.0


class Quantile(Part, _Robust):
    """Pinball loss: predictions are quantiles.

    Parameters
    ----------
    level : float, default=0.5
        Share of the targets that should lie below the predictions, in (0, 1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor, Quantile
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss=Quantile(level=0.9)).fit(X, y)
    >>> bool(0.85 < (y <= model.predict(X)).mean() < 0.95)
    True
    """

    _gradient_kernel = kernels.quantile_gradient
    _value_kernel = kernels.quantile_value

    def __init__(self, level: float = 0.5) -> None:
        self.level = level

    def check(self) -> None:
        _check_between(self, "level", 0.0, 1.0)

    @property
    def location(self) -> Location:
        return Location(float(self.level))

    def _kernel_arguments(self) -> tuple[float, ...]:
        return float(self.level), 1.0


class Huber(Part, _Robust):
    """Squared error up to ``delta``, absolute error beyond.

    Parameters
    ----------
    delta : float or None, default=None
        The error from which on the loss is linear, in the unit of the target. None: found anew
        each round, as the ``quantile`` of the absolute errors of the training rows, as Friedman
        (2001) and scikit-learn's GradientBoostingRegressor do. The losses of ``history_`` and of
        early stopping are then those of the first round's delta, so that rounds compare.
    quantile : float, default=0.9
        The level of that quantile, in (0, 1); lower if more of the targets are outliers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor, Huber
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss=Huber(delta=50)).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _gradient_kernel = kernels.huber_gradient
    _value_kernel = kernels.huber_value

    def __init__(self, delta: float | None = None, quantile: float = 0.9) -> None:
        self.delta = delta
        self.quantile = quantile

    def check(self) -> None:
        if self.delta is not None:
            _check_between(self, "delta", 0.0, math.inf)
        _check_between(self, "quantile", 0.0, 1.0)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray | None,
    ) -> "Huber":
        if self.delta is not None:
            return self
        if init_score is None:
            start = find_location(target[rows], at_rows(weight, rows), Location(0.5))
            init_score = np.full((1, target.size), start)
        delta = self._find_delta(target, init_score, weight, rows)
        return _MovingHuber(delta, self.quantile)

    def _find_delta(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> float:
        """The quantile of the absolute errors."""
        errors, weight = np.abs(target[rows] - raw[0, rows]), at_rows(weight, rows)
        delta = find_location(errors, weight, Location(float(self.quantile)))
        # Where most errors are nothing, their mean still tells the unit of the target.
        return delta or weighted_mean(errors, weight) or 1.0

    @property
    def location(self) -> Location:
        return Location(0.5, self._kernel_arguments()[0])

    def _kernel_arguments(self) -> tuple[float, ...]:
        assert self.delta is not None, "adapt() finds delta"
        return (float(self.delta),)


class _MovingHuber(Huber):
    """Huber's loss in a fit where delta follows the errors; its own delta is that of the start."""

    def at_round(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> Huber:
        return Huber(self._find_delta(target, raw, weight, rows))


def _check_between(part: Part, name: str, low: float, high: float) -> None:
    """Refuse what is no number strictly between two bounds."""
    value: Any = getattr(part, name)
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not low < value < high:
        bounds = f"between {low:g} and {high:g}" if high < math.inf else f"above {low:g} and finite"
        raise ParameterError(f"{type(part).__name__}({name}={value!r}): must be {bounds}")
