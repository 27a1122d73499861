"""Losses that are robust to large errors: absolute, percentage, quantile, Huber, fair, log-cosh.

Quantile (the pinball loss), e = y - f: L = level * e for e >= 0, (level - 1) * e otherwise, so
g = -level below the target and 1 - level above it. At the target g is 0, which is also a
subgradient. The minimizer is the quantile: about a share ``level`` of the targets lies below the
predictions. Absolute: L = |e|, twice the pinball loss of level 1/2; the median.
Percentage: L = |e| / max(1, |y|), the absolute loss with other weights; a weighted median.
Huber: L = e^2 / 2 for |e| <= delta, delta (|e| - delta / 2) beyond, so g = -e clipped to delta.
Fair: L = c^2 (|e| / c - log(1 + |e| / c)), so g = -e / (1 + |e| / c). Log-cosh: L = log(cosh(e)),
so g = -tanh(e). Like Huber's loss, both turn from e^2 / 2 into a straight line.

Their second derivative is 0 almost everywhere, or falls to 0 as the error grows, so a Newton step
would be undefined or far too long. Trees are grown with h = 1, where the score of a node comes from
its mean gradient. Then each leaf is refitted to the median, quantile or robust location of its
residuals (``kernels/leaves/location.py``).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.leaves import location as location_kernels
from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.losses.influence import FAIR, TANH
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Location, Loss, at_rows, check_between, weighted_mean
from sumwise.parts import Part
from sumwise.peers import ALONE, Peers

if TYPE_CHECKING:
    from sumwise.cuda.leaves.location import ErrorQuantile
    from sumwise.cuda.runtime.team import DeviceTeam


def find_location(
    values: np.ndarray, weight: np.ndarray, location: Location, peers: Peers = ALONE
) -> float:
    """Return the quantile or robust location of all peers' values, independent of their order."""
    if peers.size > 1:
        from sumwise.losses import peer_locations  # few fits have peers

        return peer_locations.find_location(values, weight, location, peers)
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
    """The shared part of these losses: leaves and initial scores are locations."""

    link = "identity"
    exact_hessian = False
    hessian_is_weight = True

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        assert self.location is not None
        weight = self.location_weight(target, weight)
        return find_location(target, weight, self.location, peers)


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
        Share of the targets that should lie below the predictions, in (0, 1). With an ascending
        list of levels, one model predicts all of them, one column per level.

    Notes
    -----
    Every level has its own trees, so quantiles of a row may cross. The predictions of each row are
    therefore sorted: this rearrangement never increases the pinball loss, summed over the levels
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
            check_between(self, "level", 0.0, 1.0)
            return
        for level in self.levels:
            Quantile(level).check()
        if not self.levels or any(low >= high for low, high in pairwise(self.levels)):
            raise ParameterError(
                f"Quantile(level={self.level!r}): levels must ascend; at least one is needed"
            )

    @property
    def is_list(self) -> bool:
        """Whether predictions have one column per level."""
        return isinstance(self.level, (list, tuple, np.ndarray)) and np.ndim(self.level) > 0

    @property
    def is_separable(self) -> bool:  # type: ignore[override]
        return self.is_list

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
        """The location of the first level; each output has its own."""
        return Location(float(self.levels[0]))

    def at_output(self, output: int) -> "Quantile":
        return Quantile(self.levels[output])

    def _kernel_arguments(self) -> tuple[float, ...]:
        return float(self.levels[0]), 1.0


class Huber(Part, _Robust):
    """Squared error up to ``delta``, absolute error beyond.

    Parameters
    ----------
    delta : float or None, default=None
        The error above which the loss is linear, in units of the target. None: in each round it is
        the ``quantile`` of the absolute errors of the training rows, as in Friedman (2001) and
        scikit-learn's GradientBoostingRegressor. The losses in ``history_`` and for early stopping
        then use the delta of the first round, so that rounds are comparable.
    quantile : float, default=0.9
        The level of that quantile, in (0, 1). Choose it lower if there are more outliers.

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
            check_between(self, "delta", 0.0, math.inf)
        check_between(self, "quantile", 0.0, 1.0)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray | None,
        peers: Peers = ALONE,
    ) -> "Huber":
        if self.delta is not None:
            return self
        if scores is None:
            own = at_rows(target, rows), at_rows(weight, rows)
            start = find_location(*own, Location(0.5), peers)
            scores = np.full((1, target.size), start)
        delta = self._find_delta(target, scores, weight, rows, peers)
        return _MovingHuber(delta, self.quantile)

    def _find_delta(
        self,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        peers: Peers,
    ) -> float:
        """Return the quantile of the absolute errors."""
        errors = np.abs(at_rows(target, rows) - at_rows(raw[0], rows))
        weight = at_rows(weight, rows)
        delta = find_location(errors, weight, Location(float(self.quantile)), peers)
        # If most errors are zero, their mean still gives the scale of the target.
        return delta or weighted_mean(errors, weight, None, peers) or 1.0

    @property
    def location(self) -> Location:
        return Location(0.5, self._kernel_arguments()[0])

    def _kernel_arguments(self) -> tuple[float, ...]:
        assert self.delta is not None, "adapt() finds delta"
        return (float(self.delta),)


class _MovingHuber(Huber):
    """Huber's loss with a new delta in every round; its own delta is that of the first round."""

    def at_round(
        self,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        peers: Peers = ALONE,
    ) -> Huber:
        return Huber(self._find_delta(target, raw, weight, rows, peers))

    def on_device(self, team: "DeviceTeam") -> "_DeviceHuber":
        from sumwise.cuda.leaves.location import ErrorQuantile  # only a device needs it

        loss = _DeviceHuber(self.delta, self.quantile)
        loss.errors = ErrorQuantile(team)
        return loss


class _DeviceHuber(_MovingHuber):
    """Huber's loss with a new delta in every round, of errors on a device."""

    errors: "ErrorQuantile"

    def _find_delta(self, target: Any, raw: Any, weight: Any, rows: Any, peers: Peers) -> float:
        delta = self.errors.find(target, raw, weight, rows, float(self.quantile))
        if delta:
            return delta
        # Most errors are zero; the host knows what to do.
        own = [array.to_host() for array in (target, raw, weight, rows)]
        return super()._find_delta(own[0], own[1], own[2], own[3], peers)


class Fair(Part, _Robust):
    """Fair's loss: squared for small errors, absolute for large ones, smooth between.

    Parameters
    ----------
    c : float, default=1.0
        The error, in units of the target, around which the loss turns from squared to absolute. It
        is also the largest gradient. LightGBM's ``fair_c``.

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
        check_between(self, "c", 0.0, math.inf)

    @property
    def location(self) -> Location:
        return Location(0.5, float(self.c), FAIR)

    def _kernel_arguments(self) -> tuple[float, ...]:
        return (float(self.c),)
