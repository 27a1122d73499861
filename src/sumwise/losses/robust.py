"""Losses that large errors do not dominate: absolute, percentage, quantile, Huber, fair, log-cosh.

Quantile (the pinball loss), e = y - f: L = level * e for e >= 0, (level - 1) * e otherwise, so
g = -level below the target and 1 - level above it; 0 where the score is the target, which is a
subgradient too. Its minimizer is the quantile, so a share of about ``level`` of the targets lies
below the predictions. Absolute: L = |e|, twice the pinball loss of level 1/2; the median.
Percentage: L = |e| / max(1, |y|), the absolute loss with other weights; a weighted median.
Huber: L = e^2 / 2 for |e| <= delta, delta (|e| - delta / 2) beyond, so g = -e clipped to delta.
Fair: L = c^2 (|e| / c - log(1 + |e| / c)), so g = -e / (1 + |e| / c). Log-cosh: L = log(cosh(e)),
so g = -tanh(e). Both bend from e^2 / 2 to a straight line, as Huber's does.

The second derivative of these is 0 almost everywhere, or falls to 0 as the error grows: a Newton
step would be no step or a leap. Trees are grown with h = 1, under which a node's score is that of
its mean gradient; then each leaf's value becomes the median, quantile or robust location of its
residuals (kernels/location.py).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.leaves import location as location_kernels
from sumwise.kernels.losses import regression as kernels
from sumwise.kernels.losses.influence import FAIR, TANH
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Location, Loss, at_rows, weighted_mean
from sumwise.parts import Part


def find_location(values: np.ndarray, weight: np.ndarray, location: Location) -> float:
    """The quantile or robust location of values; the same for any order of them."""
    units = np.empty(weight.size, dtype=np.int64)
    location_kernels.weigh_in_units(weight, units)
    return float(
        location_kernels.find_location(
            np.ascontiguousarray(values),
            units,
            location.level,
            location.delta,
            location.influence,
            np.empty(values.size, dtype=np.uint64),
            np.empty_like(units),
            np.empty(location_kernels.N_DIGIT_VALUES, dtype=np.int64),
        )
    )


class _Robust(Loss):
    """What they share: leaves are refitted, and so is the initial score."""

    link = "identity"
    exact_hessian = False
    hessian_is_weight = True

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        assert self.location is not None
        weight = at_rows(self.location_weight(target, weight), rows)
        return np.array([find_location(target[rows], weight, self.location)])


class Absolute(_Robust):
    """Absolute error; predictions are medians."""

    _gradient_kernel = kernels.quantile_gradient
    _value_kernel = kernels.quantile_value

    @property
    def location(self) -> Location:
        return Location(0.5)

    def _kernel_arguments(self) -> tuple[float, ...]:
        return 0.5, 2.0


class Percentage(_Robust):
    """Absolute error as a share of the target, or of 1 if the target is smaller, as in LightGBM."""

    _gradient_kernel = kernels.percentage_gradient
    _value_kernel = kernels.percentage_value

    @property
    def location(self) -> Location:
        return Location(0.5)

    def location_weight(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        share = 1.0 / np.maximum(1.0, np.abs(target))
        return share * weight if weight.size else share


class LogCosh(_Robust):
    """Logarithm of the hyperbolic cosine of the error: between squared and absolute error."""

    _gradient_kernel = kernels.log_cosh_gradient
    _value_kernel = kernels.log_cosh_value

    @property
    def location(self) -> Location:
        return Location(0.5, 1.0, TANH)


class Quantile(Part, _Robust):
    """Pinball loss: predictions are quantiles.

    Parameters
    ----------
    level : float or list of float, default=0.5
        Share of the targets that should lie below the predictions, in (0, 1). A list of levels,
        ascending, is one model of all of them: it predicts a column for each, in order.

    Notes
    -----
    Several levels have trees of their own, whose sums may cross. Predictions of a row are therefore
    sorted: this rearrangement never increases the pinball loss, summed over the levels
    (Chernozhukov, Fernandez-Val and Galichon, 2010). The training and validation losses are means
    over the levels, before sorting.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor, Quantile
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss=Quantile(level=0.9)).fit(X, y)
    >>> bool(0.85 < (y <= model.predict(X)).mean() < 0.95)
    True
    >>> model = GradientBoostingRegressor(loss=Quantile([0.1, 0.5, 0.9])).fit(X, y)
    >>> model.predict(X[:4]).shape
    (4, 3)
    """

    _gradient_kernel = kernels.quantile_gradient
    _value_kernel = kernels.quantile_value

    def __init__(self, level: float | Sequence[float] = 0.5) -> None:
        self.level = level

    def check(self) -> None:
        if not self.is_list:
            _check_between(self, "level", 0.0, 1.0)
            return
        for level in self.levels:
            Quantile(level).check()
        if not self.levels or any(low >= high for low, high in pairwise(self.levels)):
            raise ParameterError(
                f"Quantile(level={self.level!r}): levels must ascend, for predictions do; at least "
                "one is needed"
            )

    @property
    def is_list(self) -> bool:
        """Whether predictions have a column for each level."""
        return isinstance(self.level, (list, tuple, np.ndarray)) and np.ndim(self.level) > 0

    @property
    def levels(self) -> list[float]:
        given: Any = self.level
        return list(given) if self.is_list else [given]

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.levels)

    @property
    def link(self) -> str:  # type: ignore[override]
        return "sorted" if self.is_list else "identity"

    @property
    def location(self) -> Location:
        """That of the first level; each output has its own."""
        return Location(float(self.levels[0]))

    def at_output(self, output: int) -> "Quantile":
        return Quantile(self.levels[output])

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        locations = [self.at_output(k).location for k in range(self.n_outputs)]
        values, weight = target[rows], at_rows(weight, rows)
        return np.array([find_location(values, weight, each) for each in locations])

    def gradient(
        self,
        team: Team,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> None:
        if not self.is_list:
            super().gradient(team, target, raw, weight, gradient, hessian)
            return
        for k in range(self.n_outputs):
            own = slice(k, k + 1)
            self.at_output(k).gradient(team, target, raw[own], weight, gradient[own], hessian[own])

    def value(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> float:
        if not self.is_list:
            return super().value(target, raw, weight, rows)
        values = [
            self.at_output(k).value(target, raw[k : k + 1], weight, rows)
            for k in range(self.n_outputs)
        ]
        return sum(values) / self.n_outputs

    def _kernel_arguments(self) -> tuple[float, ...]:
        return float(self.levels[0]), 1.0


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


class Fair(Part, _Robust):
    """Fair's loss: squared error for small errors, absolute error for large ones, smooth between.

    Parameters
    ----------
    c : float, default=1.0
        The size of errors, in the unit of the target, from which on the loss bends: an error pulls
        with at most this much. LightGBM's ``fair_c``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import Fair, GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(loss=Fair(c=20)).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _gradient_kernel = kernels.fair_gradient
    _value_kernel = kernels.fair_value

    def __init__(self, c: float = 1.0) -> None:
        self.c = c

    def check(self) -> None:
        _check_between(self, "c", 0.0, math.inf)

    @property
    def location(self) -> Location:
        return Location(0.5, float(self.c), FAIR)

    def _kernel_arguments(self) -> tuple[float, ...]:
        return (float(self.c),)


def _check_between(part: Part, name: str, low: float, high: float) -> None:
    """Refuse what is no number strictly between two bounds."""
    value: Any = getattr(part, name)
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not low < value < high:
        bounds = f"between {low:g} and {high:g}" if high < math.inf else f"above {low:g} and finite"
        raise ParameterError(f"{type(part).__name__}({name}={value!r}): must be {bounds}")
