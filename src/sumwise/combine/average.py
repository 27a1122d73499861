"""Averages of predictions, their weights, and the gain from averaging."""

from typing import NamedTuple

import numpy as np

from sumwise.diversity.decomposition import ambiguity_decomposition

# A multiplier that is negative by less than this, relative to the error, is zero up to rounding.
_TOLERANCE = 1e-12
# Averages that differ by less than this, relative to the errors, are equal.
_SAME = 1e-10
# Squares of numbers between 2**-480 and 2**480 are floats of full precision.
_SAFE_EXPONENT = 480


class ErrorAmbiguity(NamedTuple):
    """The error-ambiguity decomposition: ``error = mean_error - ambiguity``.

    Attributes
    ----------
    error : float
        Mean squared error of the weighted average, E.
    mean_error : float
        Weighted mean of the members' mean squared errors, E_bar.
    ambiguity : float
        Weighted mean squared distance of the members from their average, A_bar.
    """

    error: float
    mean_error: float
    ambiguity: float


def average(predictions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted mean over members (the first axis); None for equal weights."""
    return np.average(predictions, axis=0, weights=weights)


def choose_exponent(*numbers: np.ndarray) -> int:
    """Return k such that numbers divided by 2**k can be squared: 0 unless they are extreme."""
    top = max(float(np.abs(each).max(initial=0.0)) for each in numbers)
    exponent = int(np.frexp(top)[1])
    return 0 if top == 0.0 or abs(exponent) < _SAFE_EXPONENT else exponent


def scale_back(values: np.ndarray | float, exponents: np.ndarray | int) -> np.ndarray:
    """Return values times 2**exponents; infinity if that is too large for a float."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponents)


def subtract(predictions: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int]:
    """Return errors of predictions divided by 2**k, and k: 1 if numbers are huge, else 0.

    The difference of huge numbers with opposite signs may overflow. Dividing by a power of two is
    exact.
    """
    exponent = 1 if choose_exponent(predictions, y) > 0 else 0
    return np.ldexp(predictions, -exponent) - np.ldexp(y, -exponent), exponent


def scale_errors(predictions: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of each member divided by 2**k, which can be squared, and its k.

    All k are 0 unless numbers are extreme.
    """
    errors, exponent = subtract(predictions, y)
    exponents = np.array([choose_exponent(each) for each in errors], dtype=np.intp)
    scaled = [np.ldexp(each, -k) for each, k in zip(errors, exponents, strict=True)]
    return np.stack(scaled), exponents + exponent


def mean_squared_errors(
    predictions: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squared error of each member divided by 4**k, and its k."""
    errors, exponents = scale_errors(predictions, y)
    return np.average(errors**2, axis=1, weights=sample_weight), exponents


def decompose_error(
    predictions: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> ErrorAmbiguity:
    """Split the squared error of an average (Krogh and Vedelsby, 1995).

    With sum(w) = 1, the squared error of the average is, in each row, the mean squared error of the
    members minus their mean squared distance from the average.
    """
    exponent = choose_exponent(predictions, y)
    parts = ambiguity_decomposition(
        np.ldexp(predictions, -exponent).T,
        np.ldexp(y, -exponent),
        weights=weights,
        sample_weight=sample_weight,
    )
    return ErrorAmbiguity(*(float(scale_back(part, 2 * exponent)) for part in parts))


def weigh_by_inverse(errors: np.ndarray, exponents: np.ndarray | None = None) -> np.ndarray:
    """Return weights proportional to 1 / error; members without error share all the weight.

    Errors are in units of 4**exponents, if these are given.
    """
    perfect = errors <= 0.0
    if perfect.any():
        return perfect / perfect.sum()
    if exponents is None or not exponents.any():
        inverse = errors.min() / errors  # at most 1: no overflow
    else:
        logs = np.log2(errors) + 2 * exponents
        inverse = np.exp2(logs.min() - logs)
    return inverse / inverse.sum()


def fit_simplex_weights(
    predictions: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the weights, w >= 0 with sum 1, that minimize the squared error of the average.

    An active-set method: it adds the member that lowers the error fastest, solves for the active
    members, and drops those whose weight would be negative. It reaches the exact minimum in
    finitely many steps and needs no starting point.

    Predictions and y may have a last axis of outputs. Equal weights are returned if no others are
    better.
    """
    factor = _factor_errors(predictions, y, sample_weight)
    n_members = factor.shape[1]
    products = factor.T @ factor
    first = int(np.argmin(np.diag(products)))
    weights = np.zeros(n_members)
    weights[first] = 1.0
    active = [first]
    # Every pass reaches the minimum of a new set of members; rounding could repeat a set.
    for _ in range(10 * n_members + 10):
        slopes = products @ weights
        level = weights @ slopes
        slopes[active] = np.inf
        best = int(np.argmin(slopes))
        if slopes[best] >= level - _TOLERANCE * max(level, products[best, best]):
            break
        active.append(best)
        weights, active = _move_inside(factor, weights, active)
    uniform = np.full(n_members, 1.0 / n_members)
    return weights if _measure(factor, weights) < _measure(factor, uniform) else uniform


def fit_signed_weights(
    predictions: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the weights with sum 1, of any sign, that minimize the squared error of the average.

    They are C^-1 1 / (1' C^-1 1), where C holds the mean products of the members' errors (Perrone
    and Cooper, 1993). If C is singular, the solution closest to equal weights is taken.
    """
    factor = _factor_errors(predictions, y, sample_weight)
    return _solve_sum_one(factor)


def _factor_errors(
    predictions: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return a small matrix R such that |R w| is the norm of the errors of the average.

    R comes from a QR decomposition; products of errors would lose half of the digits.
    """
    errors, _ = subtract(predictions, y)
    if sample_weight is not None:
        roots = np.sqrt(sample_weight)
        errors = errors * roots.reshape(roots.shape + (1,) * (errors.ndim - 2))
    columns = errors.reshape(errors.shape[0], -1).T
    scale = np.abs(columns).max(initial=0.0)
    return np.linalg.qr(columns / scale if scale > 0.0 else columns)[1]


def _solve_sum_one(factor: np.ndarray) -> np.ndarray:
    """Return w with sum 1 that minimizes |R w|; of several, the one closest to equal weights."""
    n_members = factor.shape[1]
    uniform = np.full(n_members, 1.0 / n_members)
    if n_members == 1:
        return uniform
    # An orthonormal basis of the directions that keep the sum.
    basis = np.linalg.qr(np.column_stack([uniform, np.eye(n_members)[:, 1:]]))[0][:, 1:]
    left, lengths, right = np.linalg.svd(factor @ basis, full_matrices=False)
    # Leave out directions that change rounding only: members with equal predictions.
    keep = lengths > _SAME * np.linalg.norm(factor)
    step = right[keep].T @ ((left.T @ -(factor @ uniform))[keep] / lengths[keep])
    weights = uniform + basis @ step
    return weights if _measure(factor, weights) < _measure(factor, uniform) else uniform


def _move_inside(
    factor: np.ndarray, weights: np.ndarray, active: list[int]
) -> tuple[np.ndarray, list[int]]:
    """Move to the minimum over the active members; drop members whose weight reaches zero."""
    while True:
        target = np.zeros_like(weights)
        target[active] = _solve_sum_one(factor[:, active])
        if (target[active] > 0.0).all():
            return target, active
        falling = [i for i in active if target[i] <= 0.0]
        # A member just added has weight zero; only rounding can make its weight fall.
        shares = [weights[i] / (weights[i] - target[i]) if weights[i] else 0.0 for i in falling]
        nearest = int(np.argmin(shares))
        weights = weights + shares[nearest] * (target - weights)
        weights[falling[nearest]] = 0.0
        active = [i for i in active if i != falling[nearest] and weights[i] > 0.0]
        weights = np.where(np.isin(np.arange(weights.size), active), weights, 0.0)
        weights /= weights.sum()


def _measure(factor: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sum((factor @ weights) ** 2))
