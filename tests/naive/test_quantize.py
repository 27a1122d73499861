"""Quantization of the twin, by hand."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .quantize import (
    PACKED_LIMIT_G,
    PACKED_LIMIT_H,
    power_scale,
    quantize,
    quantize_packed,
    quantize_wide,
    wide_limit,
)

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


@pytest.mark.parametrize(
    ("maximum", "limit", "expected"),
    [
        (0.0, 8191.0, 1.0),
        (1.0, 8191.0, 4096.0),
        (1.0, 8192.0, 8192.0),
        (3.0, 8191.0, 2048.0),
        (8191.0, 8191.0, 1.0),
        (8192.0, 8191.0, 0.5),
        (1.0, 2.0**61, 2.0**61),
        (1e300, 1.0, 2.0**-997),
        (LARGEST, 1.0, 2.0**-1000),
        (1e-300, 8191.0, 2.0**1000),
        (TINY, 8191.0, 2.0**1000),
    ],
)
def test_power_scale(maximum: float, limit: float, expected: float) -> None:
    assert power_scale(maximum, limit) == expected


@pytest.mark.parametrize(
    ("n_rows", "exponent"),
    [(1, 50), (2, 50), (2**12, 50), (2**12 + 1, 49), (2**20 - 1, 42), (2**20, 42), (2**20 + 1, 41)],
)
def test_wide_limit(n_rows: int, exponent: int) -> None:
    assert wide_limit(n_rows) == 2.0**exponent
    assert n_rows * int(wide_limit(n_rows)) < 2**63


def test_quantize_rounds_halves_to_even_and_keeps_positive_hessians() -> None:
    g = np.array([4.0, 0.5, 1.5, -2.5, 0.6])
    h = np.array([4.0, 1e-9, 0.0, 2.5, 3.5])
    gi, hi, scale_g, scale_h = quantize(g, h, 4.0, 4.0)
    assert (scale_g, scale_h) == (1.0, 1.0)
    assert gi.tolist() == [4, 0, 2, -2, 1]
    assert hi.tolist() == [4, 1, 0, 2, 4]
    assert gi.dtype == hi.dtype == np.int64


def test_quantize_uses_the_largest_magnitude() -> None:
    gi, _, scale_g, _ = quantize(np.array([-8.0, 1.0]), np.ones(2), 8.0, 8.0)
    assert scale_g == 1.0
    assert gi.tolist() == [-8, 1]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=20))
def test_quantized_values_stay_within_their_limits(
    pairs: list[tuple[float, float]],
) -> None:
    g, h = np.array(pairs).T
    packed, wide = quantize_packed(g, h), quantize_wide(g, h)
    assert np.max(np.abs(packed.gi)) <= PACKED_LIMIT_G
    assert np.max(packed.hi) <= PACKED_LIMIT_H
    assert np.max(np.abs(wide.gi)) <= int(wide_limit(len(pairs)))
    assert np.all((wide.hi > 0) == (h > 0))
