"""The theory of ensembles as functions of arrays: votes, bounds, bootstrap, margin losses."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ParameterError

# Up to here central binomial coefficients are computed from integers, above from Stirling's series.
_LAST_INTEGER = 64
# Terms of a tail that are summed in one step.
_BLOCK = 1024
_NEGLIGIBLE = 1e-17


def majority_vote_error(n_learners: Any, error: Any) -> Any:
    """Error of a majority vote of independent learners that all have the same error.

    More than half of the T learners must be right: the error is
    ``sum(C(T, k) (1-e)^k e^(T-k) for k = 0 ... floor(T/2))``. With an even number of learners, a
    tie counts as an error.

    Parameters
    ----------
    n_learners : int or array-like of int
        Number of learners T, at least 1.
    error : float or array-like of float
        Error e of each learner, from 0 to 1. The two arguments are broadcast together.

    Returns
    -------
    float or ndarray of float
        Exact to rounding, for any number of learners.

    Examples
    --------
    >>> from sumwise.theory import majority_vote_error
    >>> majority_vote_error([1, 3, 5], 0.4).round(5)
    array([0.4    , 0.352  , 0.31744])
    """
    count, rate = np.broadcast_arrays(
        _read_counts("n_learners", n_learners), _read_rates("error", error)
    )
    result = np.empty(count.shape)
    for place in np.ndindex(count.shape):
        result[place] = _vote_error(int(count[place]), float(rate[place]))
    return result[()]


def hoeffding_bound(n_learners: Any, error: Any) -> Any:
    """Hoeffding's bound on :func:`majority_vote_error`: ``exp(-T (1-2e)^2 / 2)``.

    Parameters
    ----------
    n_learners : int or array-like of int
        Number of learners T, at least 1.
    error : float or array-like of float
        Error e of each learner, from 0 to 1/2. With larger errors the vote is worse than its
        learners, and the formula is no bound.

    Returns
    -------
    float or ndarray of float

    Examples
    --------
    >>> from sumwise.theory import hoeffding_bound
    >>> hoeffding_bound([1, 11, 51], 0.3).round(4)
    array([0.9231, 0.4148, 0.0169])
    """
    count, rate = _read_counts("n_learners", n_learners), _read_rates("error", error)
    if np.any(rate > 0.5):
        raise ParameterError(
            f"error={rate[rate > 0.5].max():g}: the bound holds only for learners with an error "
            "of at most 1/2"
        )
    return np.exp(-count * (1.0 - 2.0 * rate) ** 2 / 2.0)[()]


def bootstrap_coverage(n_rows: Any) -> Any:
    """Expected share of the rows in a bootstrap sample: ``1 - (1 - 1/m)^m``.

    Parameters
    ----------
    n_rows : int or array-like of int
        Number of rows m, at least 1, which is also the size of the sample.

    Returns
    -------
    float or ndarray of float
        1 for one row, and 1 - 1/e = 0.632... in the limit.

    Examples
    --------
    >>> from sumwise.theory import bootstrap_coverage
    >>> bootstrap_coverage([1, 2, 10, 1_000_000]).round(4)
    array([1.    , 0.75  , 0.6513, 0.6321])
    """
    count = _read_counts("n_rows", n_rows)
    with np.errstate(divide="ignore"):  # one row: log(0)
        return -np.expm1(count * np.log1p(-1.0 / count))[()]


class MarginLoss(NamedTuple):
    """A loss as a function of the margin ``f(x) H(x)``, with the target f(x) in {-1, +1}.

    Attributes
    ----------
    value : callable
        From margins to losses.
    derivative : callable
        From margins to derivatives with respect to the margin; at a kink, the right derivative.

    Examples
    --------
    >>> from sumwise.theory import MARGIN_LOSSES
    >>> MARGIN_LOSSES["hinge"].value([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    >>> MARGIN_LOSSES["hinge"].derivative([-1.0, 0.5, 2.0])
    array([-1., -1.,  0.])
    """

    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]


def _of_margin(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    """Make a function of an array accept any array-like, and return floats for floats."""

    def evaluate(margin: Any) -> Any:
        return function(np.asarray(margin, dtype=np.float64))[()]

    return evaluate


def _logistic_slope(margin: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(margin))  # cannot overflow
    return -np.where(margin >= 0, small, 1.0) / (1.0 + small)


MARGIN_LOSSES: Mapping[str, MarginLoss] = MappingProxyType(
    {
        "zero_one": MarginLoss(
            _of_margin(lambda m: (m <= 0).astype(np.float64)), _of_margin(np.zeros_like)
        ),
        "exponential": MarginLoss(
            _of_margin(lambda m: np.exp(-m)), _of_margin(lambda m: -np.exp(-m))
        ),
        "logistic": MarginLoss(
            _of_margin(lambda m: np.logaddexp(0.0, -m)), _of_margin(_logistic_slope)
        ),
        "hinge": MarginLoss(
            _of_margin(lambda m: np.maximum(0.0, 1.0 - m)),
            _of_margin(lambda m: np.where(m < 1, -1.0, 0.0)),
        ),
        "modified_huber": MarginLoss(
            _of_margin(lambda m: np.where(m < -1, -4.0 * m, np.maximum(0.0, 1.0 - m) ** 2)),
            _of_margin(lambda m: np.where(m < -1, -4.0, -2.0 * np.maximum(0.0, 1.0 - m))),
        ),
    }
)
"""Losses of the margin by name: "zero_one" (a margin of 0 is an error), "exponential", "logistic"
(natural logarithm; 1/ln 2 times this loss bounds the 0-1 loss), "hinge", "modified_huber"."""


def exponential_loss_minimizer(probability: Any) -> Any:
    """The score that minimizes the expected exponential loss: half the log odds.

    With P(f = 1) = p, ``p exp(-H) + (1-p) exp(H)`` is smallest at ``H = 1/2 ln(p / (1-p))``. The
    sign of H is the more probable class, so the exponential loss is consistent with the 0-1 loss.

    Parameters
    ----------
    probability : float or array-like of float
        Probability p of the class +1, from 0 to 1.

    Returns
    -------
    float or ndarray of float
        Infinite at 0 and 1.

    Examples
    --------
    >>> from sumwise.theory import exponential_loss_minimizer
    >>> exponential_loss_minimizer([0.1, 0.5, 0.9]).round(4)
    array([-1.0986,  0.    ,  1.0986])
    """
    p = _read_rates("probability", probability)
    with np.errstate(divide="ignore"):
        return (0.5 * (np.log(p) - np.log1p(-p)))[()]


def _vote_error(count: int, rate: float) -> float:
    """The sum from its largest term downwards, which is the middle one if ``rate <= 1/2``."""
    if rate <= 0.5:
        return _sum_from_middle(count, rate)
    # Right and wrong are swapped, but a tie is an error in both cases.
    tie = _middle_term(count, 1.0 - rate) if count % 2 == 0 else 0.0
    return 1.0 - (_sum_from_middle(count, 1.0 - rate) - tie)


def _sum_from_middle(count: int, rate: float) -> float:
    odds = rate / (1.0 - rate)
    total = last = 1.0  # in units of the middle term
    k = count // 2
    while k > 0 and last > _NEGLIGIBLE * total:
        # C(T, k-1) / C(T, k) = k / (T-k+1)
        steps = np.arange(k, max(k - _BLOCK, 0), -1, dtype=np.float64)
        terms = last * np.cumprod(steps / (count + 1.0 - steps) * odds)
        total += float(terms.sum())
        last = float(terms[-1])
        k -= steps.size
    return _middle_term(count, rate) * total


def _middle_term(count: int, rate: float) -> float:
    """The term k = floor(T/2), as a power of 4 e (1-e), which does not underflow near e = 1/2.

    T = 2m: C(2m, m)/4^m (4e(1-e))^m; T = 2m+1: C(2m+2, m+1)/4^(m+1) (4e(1-e))^m 2e.
    """
    half = count // 2
    is_odd = count % 2
    if rate == 0.0:
        return 0.0
    if rate < 0.25:
        log_base = math.log(4.0 * rate) + math.log1p(-rate)
    else:
        log_base = math.log1p(-((1.0 - 2.0 * rate) ** 2))
    power = math.exp(half * log_base)
    return _central_share(half + is_odd) * power * (2.0 * rate if is_odd else 1.0)


def _central_share(half: int) -> float:
    """C(2m, m) / 4^m."""
    if half <= _LAST_INTEGER:
        return math.comb(2 * half, half) / 4**half
    inverse = 1.0 / half
    square = inverse * inverse
    series = inverse * (-1 / 8 + square * (1 / 192 + square * (-1 / 640 + square * 17 / 14336)))
    return math.exp(series) / math.sqrt(math.pi * half)


def _read_counts(name: str, values: Any) -> np.ndarray:
    counts = _read_numbers(name, values)
    bad = counts[~((counts >= 1) & (counts == np.floor(counts)) & (counts < 2.0**53))]
    if bad.size:
        raise ParameterError(f"{name}={bad.flat[0]:g}: must be an integer, at least 1")
    return counts


def _read_rates(name: str, values: Any) -> np.ndarray:
    rates = _read_numbers(name, values)
    bad = rates[~((rates >= 0) & (rates <= 1))]
    if bad.size:
        raise ParameterError(f"{name}={bad.flat[0]:g}: must be from 0 to 1")
    return rates


def _read_numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be numbers, got {values!r}") from None
