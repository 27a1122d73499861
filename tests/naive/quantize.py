"""Gradients and hessians as integers, with one power-of-two scale each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PACKED_LIMIT_G = 8191.0
PACKED_LIMIT_H = 16383.0
MAX_EXPONENT = 1000


class Quantized(NamedTuple):
    gi: NDArray[np.int64]
    hi: NDArray[np.int64]
    scale_g: float
    scale_h: float


def wide_limit(n_rows: int) -> float:
    """Return the largest wide value such that the sum of n_rows of them fits int64."""
    ceil_log2 = (n_rows - 1).bit_length()
    return 2.0 ** min(62 - ceil_log2, 50)


def power_scale(maximum: float, limit: float) -> float:
    """Return the largest power of two that scales `maximum` to at most `limit`."""
    if maximum == 0:
        return 1.0
    ratio = limit / maximum
    if math.isinf(ratio):
        return 2.0**MAX_EXPONENT
    _, exponent = math.frexp(ratio)
    return 2.0 ** max(-MAX_EXPONENT, min(exponent - 1, MAX_EXPONENT))


def quantize(
    g: NDArray[np.float64], h: NDArray[np.float64], limit_g: float, limit_h: float
) -> Quantized:
    """Round scaled gradients and hessians to integers, halves to even.

    A positive hessian becomes at least 1, so a node of positive hessians never
    has a sum of zero.
    """
    scale_g = power_scale(float(np.max(np.abs(g))), limit_g)
    scale_h = power_scale(float(np.max(h)), limit_h)
    gi = np.rint(g * scale_g).astype(np.int64)
    hi = np.rint(h * scale_h).astype(np.int64)
    hi[(h > 0) & (hi < 1)] = 1
    return Quantized(gi, hi, scale_g, scale_h)


def quantize_packed(g: NDArray[np.float64], h: NDArray[np.float64]) -> Quantized:
    return quantize(g, h, PACKED_LIMIT_G, PACKED_LIMIT_H)


def quantize_wide(g: NDArray[np.float64], h: NDArray[np.float64]) -> Quantized:
    limit = wide_limit(len(g))
    return quantize(g, h, limit, limit)
