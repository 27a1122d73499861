"""Scales: from values to places in a picture, with round numbers as ticks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.inspection.explanation import show_number

# Steps between ticks are these numbers times a power of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """A linear map from values, ``low`` to ``high``, to places, ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: Any) -> Any:
        """Return the place of a value, or of each value; those outside are at the ends."""
        span = self.high - self.low or 1.0
        inside = np.clip(value, self.low, self.high)
        place = self.start + (inside - self.low) / span * (self.end - self.start)
        return place if np.ndim(place) else float(place)

    def ticks(self, n_wanted: int = 5) -> list[tuple[float, str]]:
        """Return about so many round values between the ends, and their texts."""
        span = self.high - self.low
        if not span > 0.0:
            return [(self.low, format_number(self.low))]
        rough = span / n_wanted
        power = 10.0 ** np.floor(np.log10(rough))
        step = next(s * power for s in _STEPS if s * power >= rough * (1 - 1e-9))
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        values = np.arange(first, last + 1) * step
        return list(zip(values.tolist(), _format_ticks(values, step), strict=True))


def _format_ticks(values: np.ndarray, step: float) -> list[str]:
    """Return texts with as many digits as the step needs."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest >= 1e6 or step < 1e-4:
        return [f"{value:.3g}" if value else "0" for value in values]
    n_digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    if round(step, n_digits) != round(step, n_digits + 1):  # a step of 2.5
        n_digits += 1
    return [f"{value if value else 0.0:,.{n_digits}f}" for value in values]


def format_number(value: float, n_digits: int = 4, sign: str = "") -> str:
    """Return a number as people read it: about so many digits, large ones with separators."""
    return show_number(float(value), n_digits, sign) if np.isfinite(value) else ""


def choose_decimals(value: float, n_digits: int = 4) -> int:
    """Return how many digits after the point a number of so many digits has, at most 6."""
    if not np.isfinite(value) or value == 0.0:
        return n_digits - 1
    # Four are enough for all but small numbers.
    most = 4 if abs(value) >= 0.01 else 6
    return int(np.clip(n_digits - 1 - np.floor(np.log10(abs(value))), 0, most))


def find_focus(values: np.ndarray, best: float) -> tuple[float, float]:
    """Return the range in which values near the best one can be told apart.

    It ends at three times the distance of three quarters of the values from the best.
    """
    gaps = np.abs(values[np.isfinite(values)] - best)
    most = 3.0 * float(np.quantile(gaps, 0.75)) if gaps.size else 0.0
    if most == 0.0:
        return -np.inf, np.inf
    return best - most, best + most


def find_range(
    *values: Any, room: float = 0.04, include: tuple[float, ...] = ()
) -> tuple[float, float]:
    """Return the smallest and largest finite value, with some room on both sides.

    There is no room on the side of a value in ``include`` that is an end of the range.
    """
    found = np.concatenate([np.ravel(np.asarray(own, dtype=np.float64)) for own in values])
    found = np.append(found[np.isfinite(found)], include)
    if not found.size:
        return 0.0, 1.0
    low, high = float(found.min()), float(found.max())
    if low == high:
        pad = abs(low) * 0.1 or 0.5
        return low - pad, high + pad
    pad = room * (high - low)
    return low if low in include else low - pad, high if high in include else high + pad
