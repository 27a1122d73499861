"""Losses of positive means, mu = e^f: Poisson, gamma and Tweedie.

All are half the deviance of a Tweedie distribution, whose variance is proportional to mu^p, without
the terms that do not depend on f: L = mu^(2-p) / (2-p) - y mu^(1-p) / (1-p). With mu = e^f
    g = e^((2-p) f) - y e^((1-p) f)   and   h = (2-p) e^((2-p) f) + (p-1) y e^((1-p) f).
Tweedie is 1 < p < 2: sums of a Poisson number of gamma amounts, zero with positive probability.
The limits are Poisson, p = 1: L = e^f - y f, g = e^f - y, h = e^f,
and gamma, p = 2: L = f + y e^-f, g = 1 - y e^-f, h = y e^-f.

The best constant is the log of the mean for each of them. If the user passes initial scores o (the
log of an exposure), g sums to zero after adding c with
    e^c = sum w y e^((1-p) o) / sum w e^((2-p) o).
Only these losses add such a constant: log(1) = 0 may be far from any sensible mean.
"""

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.losses.links import exponential
from sumwise.kernels.runtime.elementary import natural_log
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Loss, at_rows, check_between, check_range, weighted_mean
from sumwise.losses.peer_sums import NO_WEIGHT, add_products
from sumwise.parts import Part
from sumwise.peers import ALONE, Peers, add_up

# Replaces a mean of zero, whose logarithm is not finite.
_SMALL_MEAN = 1e-15


class _LogLink(Loss):
    """The shared part of these losses; ``_variance_power`` is p."""

    link = "log"
    _variance_power: float

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        return _log_of_mean(weighted_mean(target, weight, team, peers))

    def initial_shift(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        offset, weight = np.ascontiguousarray(at_rows(init_score[0], rows)), at_rows(weight, rows)
        factors = np.empty((2, rows.size))
        for power, out in zip((1, 2), factors, strict=True):
            exponential(offset, power - float(self._variance_power), out)
        if weight.size:
            factors *= weight
        factors[0] *= at_rows(target, rows)
        if peers.size > 1:
            above, below = add_products([(own, NO_WEIGHT) for own in factors], peers)
        else:
            above, below = map(exact_sum, factors)
        return np.array([_log_of_mean(above / below)])


def _log_of_mean(mean: float) -> float:
    return natural_log(mean or _SMALL_MEAN) if np.isfinite(mean) else np.nan


class Poisson(_LogLink):
    """Half the Poisson deviance, for counts and frequencies."""

    _variance_power = 1.0
    _gradient_kernel = kernels.poisson_gradient
    _value_kernel = kernels.poisson_value

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        _check_amounts(target, weight, "poisson", peers)


class Gamma(_LogLink):
    """Half the gamma deviance, for positive amounts whose spread grows with their mean."""

    _variance_power = 2.0
    _gradient_kernel = kernels.gamma_gradient
    _value_kernel = kernels.gamma_value

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        check_range(target, weight, target > 0, "gamma", "targets above 0", peers)


class Tweedie(Part, _LogLink):
    """Half the Tweedie deviance, for amounts that are sometimes exactly zero.

    Parameters
    ----------
    power : float, default=1.5
        The variance is proportional to the mean to this power, between 1 (``loss="poisson"``) and
        2 (``loss="gamma"``), both excluded.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import GradientBoostingRegressor, Tweedie
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> y = np.where(X[:, 0] % 2 == 0, 0.0, 1 + X[:, 0] // 100)
    >>> model = GradientBoostingRegressor(loss=Tweedie(power=1.7)).fit(X, y)
    >>> model.predict([[20.0], [180.0]]).round(1)
    array([0.5, 1. ])
    """

    _gradient_kernel = kernels.tweedie_gradient
    _value_kernel = kernels.tweedie_value

    def __init__(self, power: float = 1.5) -> None:
        self.power = power

    def check(self) -> None:
        try:
            check_between(self, "power", 1.0, 2.0)
        except ParameterError as error:
            hint = "for 1 use loss='poisson', for 2 use loss='gamma'"
            raise ParameterError(f"{error}; {hint}") from None

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        _check_amounts(target, weight, "tweedie", peers)

    @property
    def _variance_power(self) -> float:  # type: ignore[override]
        return float(self.power)

    def _kernel_arguments(self) -> tuple[float, ...]:
        return (float(self.power),)


def _check_amounts(target: np.ndarray, weight: np.ndarray, name: str, peers: Peers) -> None:
    check_range(target, weight, target >= 0, name, "targets of at least 0", peers)
    is_positive = (target[weight > 0] if weight.size else target).any()
    if add_up(peers, int(is_positive)) == [0]:
        raise DataError(f"all targets are 0; loss={name!r} needs a positive one: its mean is e^f")
