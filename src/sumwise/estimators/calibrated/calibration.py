"""Calibration: functions from the scores of a classifier to probabilities that match frequencies.

Two classes have one function, of the raw score (boosting) or of the share of the second class
(forests). More than two classes have one function each: isotonic curves, divided by their sum
(Zadrozny and Elkan, 2002), or linear functions before a softmax (Guo et al., 2017).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sumwise.errors import DataError
from sumwise.export.portable import Affine, Curve, Link, Node, Share
from sumwise.losses.links import LINKS

# Values of the trees to probabilities before calibration, both of shape (n_rows, ...).
ToShares = Callable[[np.ndarray], np.ndarray]
# Bounds of the factor of temperature scaling.
_LARGEST_FACTOR = 100.0
_BISECTIONS = 60
_NEWTON_STEPS = 100
_MOST_STEPS = 1000


class Calibration(ABC):
    """What all methods do."""

    @classmethod
    @abstractmethod
    def fit(
        cls,
        values: np.ndarray,
        class_idx: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        to_shares: ToShares,
    ) -> Self:
        """Learn from the values of rows that the trees have not seen."""

    @abstractmethod
    def predict(self, values: np.ndarray, to_shares: ToShares) -> np.ndarray:
        """Return probabilities, (n_rows, n_classes)."""

    @abstractmethod
    def describe(self, values: Node, shares: Node) -> Node:
        """Return the probabilities for export, from the values of the trees or their shares."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return everything but arrays, ready for JSON."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file; none unless there are curves."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_classes: int) -> Self:
        """Return what was saved; raise ValueError (or KeyError, TypeError) if it is unsound."""


@dataclass(frozen=True, eq=False)
class IsotonicCalibration(Calibration):
    """Nondecreasing, piecewise linear curves.

    With more than two classes they are functions of the probabilities. Their ends are bounded by
    1 / (n + 2) and 1 - 1 / (n + 2), where n is the weight of the rows: n rows cannot show that a
    probability is 0 or 1 (Laplace's rule of succession).
    """

    x: tuple[np.ndarray, ...]
    y: tuple[np.ndarray, ...]

    @classmethod
    def fit(
        cls,
        values: np.ndarray,
        class_idx: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        to_shares: ToShares,
    ) -> Self:
        from sklearn.isotonic import IsotonicRegression  # only needed here

        scores = _take_scores(values, n_classes, to_shares)
        lowest = 1.0 / (weight.sum() + 2.0)
        curves = []
        for column, is_class in _list_problems(scores, class_idx, n_classes):
            curve = IsotonicRegression(y_min=lowest, y_max=1.0 - lowest, out_of_bounds="clip")
            curve.fit(column, is_class, weight)
            curves.append((curve.X_thresholds_, curve.y_thresholds_))
        x, y = zip(*curves, strict=True)
        return cls(x, y)

    def predict(self, values: np.ndarray, to_shares: ToShares) -> np.ndarray:
        n_classes = max(2, len(self.x))
        scores = _take_scores(values, n_classes, to_shares)
        found = [
            np.interp(column, x, y) for column, x, y in zip(scores.T, self.x, self.y, strict=True)
        ]
        if n_classes == 2:
            return np.column_stack([1.0 - found[0], found[0]])
        return _divide_by_sum(np.column_stack(found))

    def describe(self, values: Node, shares: Node) -> Node:
        if len(self.x) > 1:
            return Share(Curve(shares, self.x, self.y))
        curve = Curve(values, self.x, self.y)
        return Affine((curve,), np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))

    def to_json(self) -> dict[str, Any]:
        return {"method": "isotonic"}

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {
            "curve_size": np.array([own.size for own in self.x]),
            "curve_x": np.concatenate(self.x),
            "curve_y": np.concatenate(self.y),
        }

    @classmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_classes: int) -> Self:
        size, x, y = (arrays[f"curve_{name}"] for name in ("size", "x", "y"))
        sound = size.size == _count_functions(n_classes) and (size > 0).all()
        if not sound or not int(size.sum(dtype=np.int64)) == x.size == y.size:
            raise ValueError("the curves of the calibration do not fit together")
        ends = np.cumsum(size)[:-1]
        curves = cls(tuple(np.split(x, ends)), tuple(np.split(y, ends)))
        rises = all((np.diff(own) > 0.0).all() for own in curves.x)
        rises = rises and all((np.diff(own) >= 0.0).all() for own in curves.y)
        if not rises or not np.isfinite(x).all() or not ((y >= 0.0) & (y <= 1.0)).all():
            raise ValueError("a curve of the calibration does not rise from 0 to 1 at most")
        return curves


@dataclass(frozen=True, eq=False)
class LogisticCalibration(Calibration):
    """A logistic function of the score (Platt, 2000); the multinomial one of several classes.

    With more than two classes, each has a linear function of its score, followed by a softmax:
    vector scaling (Guo et al., 2017). The mean score of a row is subtracted from its scores before:
    adding a number to all raw scores of a row does not change its probabilities.
    """

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fit(
        cls,
        values: np.ndarray,
        class_idx: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        to_shares: ToShares,
    ) -> Self:
        if n_classes > 2:
            return cls(*fit_softmax(_center(values), class_idx, weight))
        slope, intercept = fit_sigmoid(values[:, 0], class_idx == 1, weight)
        return cls(np.array([slope]), np.array([intercept]))

    def predict(self, values: np.ndarray, to_shares: ToShares) -> np.ndarray:
        if self.slope.size == 1:
            return LINKS["logistic"](values * self.slope + self.intercept)
        return LINKS["softmax"](_center(values) * self.slope + self.intercept)

    def describe(self, values: Node, shares: Node) -> Node:
        n_scores = self.slope.size
        if n_scores == 1:
            linear = Affine((values,), self.slope[:, np.newaxis], self.intercept)
            return Link(linear, "logistic")
        center = np.eye(n_scores) - 1.0 / n_scores
        linear = Affine((values,), self.slope[:, np.newaxis] * center, self.intercept)
        return Link(linear, "softmax")

    def to_json(self) -> dict[str, Any]:
        return {
            "method": "logistic",
            "slope": self.slope.tolist(),
            "intercept": self.intercept.tolist(),
        }

    @classmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_classes: int) -> Self:
        numbers = [np.array(data[name], dtype=np.float64) for name in ("slope", "intercept")]
        shape = (_count_functions(n_classes),)
        if any(own.shape != shape or not np.isfinite(own).all() for own in numbers):
            raise ValueError("the logistic functions of the calibration are not sound")
        return cls(*numbers)


@dataclass(frozen=True, eq=False)
class TemperatureCalibration(Calibration):
    """Raw scores, divided by one number before the link function (Guo et al., 2017).

    The number minimizes the log loss of smoothed targets, see :func:`_smooth_targets`.
    """

    temperature: float

    @classmethod
    def fit(
        cls,
        values: np.ndarray,
        class_idx: np.ndarray,
        n_classes: int,
        weight: np.ndarray,
        to_shares: ToShares,
    ) -> Self:
        """Find the minimum by bisection; the loss is convex in the factor 1 / temperature."""
        scores = np.column_stack([-0.5 * values, 0.5 * values]) if n_classes == 2 else values
        targets = _smooth_targets(class_idx, n_classes, weight)

        def find_slope(factor: float) -> float:
            gaps = ((to_shares(factor * values) - targets) * scores).sum(axis=1)
            return float((weight * gaps).sum())

        low, high = -np.log(_LARGEST_FACTOR), np.log(_LARGEST_FACTOR)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if find_slope(np.exp(middle)) < 0.0 else (low, middle)
        return cls(float(np.exp(-0.5 * (low + high))))

    def predict(self, values: np.ndarray, to_shares: ToShares) -> np.ndarray:
        return to_shares(values * (1.0 / self.temperature))

    def describe(self, values: Node, shares: Node) -> Node:
        assert isinstance(shares, Link)
        factors = np.eye(values.n_outputs) * (1.0 / self.temperature)
        return Link(Affine((values,), factors, np.zeros(values.n_outputs)), shares.name)

    def to_json(self) -> dict[str, Any]:
        return {"method": "temperature", "temperature": self.temperature}

    @classmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_classes: int) -> Self:
        temperature = float(data["temperature"])
        if not 0.5 / _LARGEST_FACTOR < temperature < 2.0 * _LARGEST_FACTOR:
            raise ValueError(f"the temperature is {temperature}")
        return cls(temperature)


METHODS: dict[str, type[Calibration]] = {
    "isotonic": IsotonicCalibration,
    "logistic": LogisticCalibration,
    "temperature": TemperatureCalibration,
}


def fit_calibration(
    method: str,
    values: np.ndarray,
    class_idx: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray | None,
    to_shares: ToShares,
) -> Calibration:
    """Learn to calibrate from rows that the trees have not seen.

    Parameters
    ----------
    method : {"isotonic", "logistic", "temperature"}
    values : ndarray of shape (n_rows, n_outputs)
        Raw scores, or shares of classes; of two classes only that of the second.
    class_idx : ndarray of int
    classes : ndarray
        Labels of the classes, at least two.
    weight : ndarray or None
    to_shares : callable
        From such values to probabilities before calibration.
    """
    counts = np.bincount(class_idx, minlength=classes.size)
    if counts.min(initial=1) == 0:
        label = classes.tolist()[int(counts.argmin())]
        raise DataError(
            f"calibrate={method!r}: none of the {class_idx.size} rows to calibrate on has class "
            f"{label!r}; pass more rows, or calibrate=None"
        )
    own = np.ones(class_idx.size) if weight is None else weight
    return METHODS[method].fit(values, class_idx, classes.size, own, to_shares)


def fit_sigmoid(
    scores: np.ndarray, is_class: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """Return slope a and intercept b of the probabilities 1 / (1 + exp(-(a score + b))).

    Newton's method with step halving, as in Lin, Lin and Weng (2007). The targets are Platt's: the
    posterior means (n + 1) / (n + 2) and 1 / (n + 2) in place of 1 and 0, so that classes that are
    perfectly separated have a finite slope.
    """
    n_in, n_out = float((weight * is_class).sum()), float((weight * ~is_class).sum())
    target = np.where(is_class, (n_in + 1.0) / (n_in + 2.0), 1.0 / (n_out + 2.0))
    center, spread = float(scores.mean()), float(scores.std())
    scaled = (scores - center) / spread if spread > 0.0 else np.zeros(scores.size)

    def find_loss(slope: float, intercept: float) -> float:
        z = slope * scaled + intercept
        return float((weight * (np.logaddexp(0.0, z) - target * z)).sum())

    slope, intercept = 0.0, float(np.log((n_in + 1.0) / (n_out + 1.0)))
    loss = find_loss(slope, intercept)
    for _ in range(_NEWTON_STEPS):
        p = LINKS["sigmoid"]((slope * scaled + intercept)[:, np.newaxis])
        residual, curvature = weight * (p - target), weight * p * (1.0 - p)
        g_slope, g_intercept = float((residual * scaled).sum()), float(residual.sum())
        tiny = 1e-12 * float(weight.sum())  # keeps the matrix invertible
        h_ss = float((curvature * scaled * scaled).sum()) + tiny
        h_si, h_ii = float((curvature * scaled).sum()), float(curvature.sum()) + tiny
        determinant = h_ss * h_ii - h_si * h_si
        step_slope = (h_ii * g_slope - h_si * g_intercept) / determinant
        step_intercept = (h_ss * g_intercept - h_si * g_slope) / determinant
        rate = 1.0
        while rate > 1e-10:
            tried = slope - rate * step_slope, intercept - rate * step_intercept
            tried_loss = find_loss(*tried)
            if tried_loss < loss:
                break
            rate *= 0.5
        else:
            break
        (slope, intercept), gained, loss = tried, loss - tried_loss, tried_loss
        if gained <= 1e-14 * abs(loss):
            break
    own_slope = slope / spread if spread > 0.0 else 0.0
    return own_slope, intercept - own_slope * center


def fit_softmax(
    scores: np.ndarray, class_idx: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and intercepts of the classes, which minimize the log loss of a softmax.

    The loss is convex. Targets are smoothed, so that perfectly separated classes have finite
    slopes.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]  # only needed here
    from threadpoolctl import threadpool_limits

    n_classes = scores.shape[1]
    targets = _smooth_targets(class_idx, n_classes, weight)
    spread = float(scores.std()) or 1.0
    scaled, share = scores / spread, (weight / weight.sum())[:, np.newaxis]

    def find_loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        raw = scaled * line[:n_classes] + line[n_classes:]
        raw = raw - raw.max(axis=1, keepdims=True)
        logs = raw - np.log(np.exp(raw).sum(axis=1, keepdims=True))
        gaps = share * (np.exp(logs) - targets)
        slopes, intercepts = (gaps * scaled).sum(axis=0), gaps.sum(axis=0)
        return -float((share * targets * logs).sum()), np.concatenate([slopes, intercepts])

    start = np.repeat([1.0, 0.0], n_classes)
    options = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9}
    with threadpool_limits(1, user_api="blas"):  # threads for 2 K numbers would only wait
        best = minimize(find_loss, start, jac=True, method="L-BFGS-B", options=options).x
    slopes, intercepts = best[:n_classes], best[n_classes:]
    return slopes / spread, intercepts - intercepts.mean()


def _smooth_targets(class_idx: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """Return the probabilities to learn, (n_rows, n_classes): almost 1 for the class of the row.

    The other classes share 1 / (n + 2), where n is the weight of all rows: together one row.
    """
    rest = 1.0 / (float(weight.sum()) + 2.0)
    targets = np.full((class_idx.size, n_classes), rest / (n_classes - 1))
    targets[np.arange(class_idx.size), class_idx] = 1.0 - rest
    return targets


def _count_functions(n_classes: int) -> int:
    return 1 if n_classes == 2 else n_classes


def _take_scores(values: np.ndarray, n_classes: int, to_shares: ToShares) -> np.ndarray:
    """Return what the curves are functions of, one column per curve."""
    return values if n_classes == 2 else to_shares(values)


def _list_problems(
    scores: np.ndarray, class_idx: np.ndarray, n_classes: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the scores of each function, and which rows belong to its class."""
    if n_classes == 2:
        return [(scores[:, 0], class_idx == 1)]
    return [(scores[:, k], class_idx == k) for k in range(n_classes)]


def _center(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=1, keepdims=True)


def _divide_by_sum(columns: np.ndarray) -> np.ndarray:
    """Return shares of each row; equal ones if all are 0."""
    total = columns.sum(axis=1, keepdims=True)
    equal = np.full_like(columns, 1.0 / columns.shape[1])
    return np.divide(columns, total, out=equal, where=total > 0.0)
