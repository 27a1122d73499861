"""check_loss: compare the derivatives of a loss with finite differences."""

from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Loss
from sumwise.losses.custom import CustomLoss, is_custom_loss
from sumwise.losses.robust import Quantile

_STEP = 1e-5
_GOLDEN = 0.6180339887498949


def check_loss(
    loss: Any, y: Any, raw: Any = None, *, hessian: str = "exact", tolerance: float = 1e-4
) -> None:
    """Check the derivatives of your own loss by finite differences, and the shapes it returns.

    Parameters
    ----------
    loss : object or function
        The loss as you would pass it to an estimator: see ``docs/guide/losses.md``. The first
        derivative can only be checked if the loss has a method ``value``.
    y : array-like of shape (n_rows,)
        Targets to check at; class indices for a classifier.
    raw : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        Scores to check at, away from kinks of the loss; None for numbers between -2 and 2. If the
        loss is a function, the number of columns gives its outputs; None means one output.
    hessian : {"exact", "bound"}, default="exact"
        Whether the second array of ``gradient`` is the second derivative or an upper bound.
    tolerance : float, default=1e-4
        Largest allowed difference, relative to the larger of 1 and the derivative.

    Raises
    ------
    ParameterError
        If a derivative differs; the message says where and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> class LogCosh:
    ...     def value(self, y, raw):
    ...         return np.log(np.cosh(raw - y))
    ...     def gradient(self, y, raw):
    ...         slope = np.tanh(raw - y)
    ...         return slope, 1 - slope**2
    >>> sumwise.check_loss(LogCosh(), y=np.linspace(-1, 1, 20))
    """
    if hessian not in ("exact", "bound"):
        raise ParameterError(f"hessian={hessian!r}; must be 'exact' or 'bound'")
    if is_custom_loss(loss):
        loss = CustomLoss(loss, n_outputs=np.shape(raw)[1] if np.ndim(raw) == 2 else 1)
    elif not isinstance(loss, Loss):
        raise ParameterError(f"{type(loss).__name__} has no method gradient(y, raw)")
    target = np.array(y, dtype=np.float64)
    if target.ndim != 1 or target.size == 0:
        raise ParameterError(f"y has shape {target.shape}; expected (n_rows,)")
    if isinstance(loss, Quantile) and loss.is_list:
        # The value is the mean over the levels, but each level has its own derivatives.
        scores = _read_scores(raw, target.size, loss.n_outputs)
        for level, own in zip(loss.levels, scores, strict=True):
            check_loss(Quantile(level), target, own, tolerance=tolerance)
        return
    rows = np.arange(target.size, dtype=np.uint32)
    loss = loss.adapt(target, np.empty(0), rows, None)
    probe = _Probe(loss, target, _read_scores(raw, target.size, loss.n_outputs))
    probe.check(hessian == "exact" and loss.exact_hessian, tolerance)
    start = loss.initial_score(target, np.empty(0), rows)
    if isinstance(loss, CustomLoss) and loss.inverse_link is not None:
        loss.predict_mean(np.repeat(start[None, :], target.size, axis=0))


def _read_scores(raw: Any, n_rows: int, n_outputs: int) -> np.ndarray:
    """Return scores of shape (n_outputs, n_rows)."""
    if raw is None:
        # Multiples of the golden ratio are spread evenly and unrelated to the order of targets.
        place = np.arange(1, n_rows * n_outputs + 1) * _GOLDEN % 1.0
        return 4.0 * place.reshape(n_outputs, n_rows) - 2.0
    scores = np.array(raw, dtype=np.float64)
    if scores.shape not in ((n_rows, n_outputs), (n_rows,) if n_outputs == 1 else ()):
        raise ParameterError(f"raw has shape {scores.shape}; expected ({n_rows}, {n_outputs})")
    return np.ascontiguousarray(scores.reshape(n_rows, n_outputs).T)


class _Probe:
    """Compares the derivatives of a loss with finite differences."""

    def __init__(self, loss: Loss, target: np.ndarray, raw: np.ndarray) -> None:
        self._loss, self._target, self._raw = loss, target, raw
        self._name = f"{type(loss).__name__}.gradient"
        if isinstance(loss, CustomLoss):
            self._name = loss.gradient_name

    def check(self, exact_hessian: bool, tolerance: float) -> None:
        first, second = self._derivatives(self._raw)
        for k in range(self._loss.n_outputs):
            step = _STEP * np.maximum(1.0, np.abs(self._raw[k]))
            up, down = self._raw.copy(), self._raw.copy()
            up[k] += step
            down[k] -= step
            width = up[k] - down[k]
            if self._loss.has_value:
                slope = (self._values(up) - self._values(down)) / width
                self._compare("first", k, first[k], slope, tolerance)
            bend = (self._derivatives(up)[0][k] - self._derivatives(down)[0][k]) / width
            self._compare("second", k, second[k], bend, tolerance, may_exceed=not exact_hessian)

    def _derivatives(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = np.empty_like(raw), np.empty_like(raw)
        with Team(1) as team:
            self._loss.gradient(team, self._target, raw, np.empty(0), first, second)
        return first, second

    def _values(self, raw: np.ndarray) -> np.ndarray:
        """Return the loss of each row."""
        if isinstance(self._loss, CustomLoss):
            return self._loss.row_values(self._target, raw)
        one_row = (np.array([row], dtype=np.uint32) for row in range(self._target.size))
        no_weight = np.empty(0)
        return np.array([self._loss.value(self._target, raw, no_weight, row) for row in one_row])

    def _compare(
        self,
        which: str,
        output: int,
        given: np.ndarray,
        found: np.ndarray,
        tolerance: float,
        may_exceed: bool = False,
    ) -> None:
        excess = (given - found) / np.maximum(1.0, np.maximum(np.abs(given), np.abs(found)))
        error = -excess if may_exceed else np.abs(excess)
        row = int(error.argmax())
        if error[row] > tolerance:
            of_output = f", output {output}" if self._loss.n_outputs > 1 else ""
            relation = "is less than" if may_exceed else "differs from"
            what = "value" if which == "first" else "the first derivative"
            raise ParameterError(
                f"{self._name}: the {which} derivative {relation} the slope of {what} at "
                f"row {row}{of_output}, y={self._target[row]:g}, raw={self._raw[output, row]:g}: "
                f"{given[row]:g}, by differences {found[row]:g} "
                f"({np.count_nonzero(error > tolerance)} of {error.size} rows)"
            )
