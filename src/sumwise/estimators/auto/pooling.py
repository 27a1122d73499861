"""Stacking with few coefficients: non-negative weights, pulled toward equal ones, and an intercept.

Numbers are added up. Probabilities are multiplied: the logarithmic opinion pool adds the weighted
logarithms of the members' probabilities and normalizes the result.
"""

from dataclasses import dataclass

import numpy as np

from sumwise.combine.stack import solve_nonnegative

# Equal weights count as much as this many rows.
_PRIOR_ROWS = 20.0
# Probabilities below this are raised to it, so that no member can rule out a class alone.
_SMALLEST = 1e-6
_MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class LinearPool:
    """A weighted sum of numbers, and an intercept.

    Attributes
    ----------
    coef : ndarray of shape (n_members,)
    intercept : float
    """

    coef: np.ndarray
    intercept: float

    @classmethod
    def fit(cls, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> "LinearPool":
        """Fit by least squares; ``predictions`` has the shape (n_members, n_rows)."""
        n_members, n_rows = predictions.shape
        share = np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()
        center, middle = predictions @ share, float(y @ share)
        rows = (predictions - center[:, None]).T * np.sqrt(share)[:, None]
        target = (y - middle) * np.sqrt(share)
        variance = float(target @ target)
        if variance == 0.0:
            return cls(np.full(n_members, 1.0 / n_members), middle - float(center.mean()))
        triangle = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
        prior = np.sqrt(_PRIOR_ROWS / n_rows * variance)
        coef = solve_nonnegative(
            np.vstack([triangle[:, :-1], prior * np.eye(n_members)]),
            np.concatenate([triangle[:, -1], np.full(n_members, prior / n_members)]),
        )
        return cls(coef, middle - float(coef @ center))

    def combine(self, predictions: np.ndarray) -> np.ndarray:
        """Return the sum, one number per row."""
        return np.tensordot(self.coef, predictions, axes=1) + self.intercept


@dataclass(frozen=True, eq=False)
class LogPool:
    """A normalized product of powers of probabilities, with a factor for each class.

    Attributes
    ----------
    coef : ndarray of shape (n_members,)
        The powers.
    intercept : ndarray of shape (n_classes,)
        Logarithms of the factors.
    """

    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fit(cls, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> "LogPool":
        """Minimize the log loss; ``predictions`` has the shape (n_members, n_rows, n_classes)."""
        from scipy.optimize import minimize  # type: ignore[import-untyped]

        n_members, n_rows, n_classes = predictions.shape
        share = np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()
        logs = _take_logs(predictions)
        start = np.concatenate([np.full(n_members, 1.0 / n_members), np.zeros(n_classes)])
        penalty = _PRIOR_ROWS / n_rows
        numbers = np.arange(n_rows)

        def measure(values: np.ndarray) -> tuple[float, np.ndarray]:
            shares = _normalize(np.tensordot(values[:n_members], logs, 1) + values[n_members:])
            loss = -float(share @ shares[numbers, y])
            excess = np.exp(shares)
            excess[numbers, y] -= 1.0
            excess *= share[:, None]
            slope = np.concatenate([np.tensordot(logs, excess, 2), excess.sum(axis=0)])
            distance = values - start
            total = loss + 0.5 * penalty * float(distance @ distance)
            return total, slope + penalty * distance

        bounds = [(0.0, None)] * n_members + [(None, None)] * n_classes
        options = {"maxiter": _MOST_STEPS}
        found = minimize(
            measure, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        ).x
        return cls(found[:n_members], found[n_members:])

    def combine(self, predictions: np.ndarray) -> np.ndarray:
        """Return the probabilities, (n_rows, n_classes)."""
        logs = _take_logs(predictions)
        return np.exp(_normalize(np.tensordot(self.coef, logs, 1) + self.intercept))


def _take_logs(predictions: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(predictions, _SMALLEST))


def _normalize(scores: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities with these logarithms up to a constant."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
