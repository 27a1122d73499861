"""Thresholds for numbers in double precision that decide as another library does.

Some libraries round numbers to single precision before they compare them. A split of sumwise sends
``x <= threshold`` left, in double precision. Here thresholds are moved, so that both send every
double to the same side: up to the last double that is rounded to a number on the left.
"""

import numpy as np

_TOP = 2.0**128  # what follows the largest float32, if the exponent had no limit


def last_double(single: np.ndarray) -> np.ndarray:
    """Return the largest double that is rounded to a float32 of at most ``single``.

    Doubles are rounded to the nearest float32, and those half way to the one with an even last bit.

    >>> last_double(np.array([1.0], dtype=np.float32)) - 1.0 == 2.0**-24
    array([ True])
    """
    single = np.asarray(single, dtype=np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
    low = np.where(single == -np.inf, -_TOP, single.astype(np.float64))
    half_way = (low + np.where(np.isinf(above), _TOP, above)) / 2
    is_even = (single.view(np.uint32) & 1) == 0
    last = np.where(is_even, half_way, np.nextafter(half_way, -np.inf))
    return np.where(single == np.inf, np.inf, last)


def last_double_up_to(limit: np.ndarray) -> np.ndarray:
    """Return the largest double that is rounded to a float32 of at most ``limit``, a double."""
    with np.errstate(over="ignore"):
        single = np.asarray(limit, dtype=np.float64).astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
    return last_double(np.where(single > limit, below, single))


def last_double_below(limit: np.ndarray) -> np.ndarray:
    """Return the largest double that is rounded to a float32 below ``limit``, a float32."""
    with np.errstate(over="ignore"):
        below = np.nextafter(np.asarray(limit, dtype=np.float32), np.float32(-np.inf))
    return last_double(below)
