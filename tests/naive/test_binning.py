"""Thresholds and bins of the twin, by hand."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .binning import find_thresholds, map_to_bins, threshold_between

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


def test_thresholds_are_midpoints_of_distinct_values() -> None:
    assert find_thresholds([3.0, 1.0, NAN, 2.0, 1.0]).tolist() == [1.5, 2.5]


@pytest.mark.parametrize("values", [[], [NAN, NAN], [7.0, 7.0], [0.0, -0.0]])
def test_fewer_than_two_distinct_values_have_no_threshold(values: list[float]) -> None:
    thresholds = find_thresholds(values)
    assert thresholds.shape == (0,)
    assert thresholds.dtype == np.float64


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1.0, 2.0, 1.5),
        (1.0, INF, LARGEST),
        (LARGEST, INF, LARGEST),
        (-INF, 0.0, -INF),
        (-INF, INF, LARGEST),
        (2.0**1023, 1.5 * 2.0**1023, 1.25 * 2.0**1023),
        (-LARGEST, LARGEST, 0.0),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        # Halfway to an odd neighbor rounds up to b, which would send b left.
        (math.nextafter(1.0, 2.0), 1.0 + 2.0**-51, math.nextafter(1.0, 2.0)),
        (0.0, TINY, 0.0),
        (TINY, 2 * TINY, TINY),
    ],
)
def test_threshold_between(a: float, b: float, expected: float) -> None:
    assert threshold_between(a, b) == expected


def test_too_many_distinct_values_are_refused() -> None:
    assert len(find_thresholds(range(255))) == 254
    with pytest.raises(ValueError, match="256 distinct values"):
        find_thresholds(range(256))


def test_value_equal_to_threshold_goes_to_the_lower_bin() -> None:
    values = [-INF, 1.0, 1.5, 1.6, 2.5, 9.0, INF, NAN]
    bins = map_to_bins(values, [1.5, 2.5])
    assert bins.tolist() == [1, 1, 1, 2, 2, 3, 3, 0]
    assert bins.dtype == np.uint8


@given(st.lists(st.floats(allow_nan=True), max_size=50))
def test_each_distinct_value_has_its_own_bin(values: list[float]) -> None:
    distinct = sorted({value for value in values if not math.isnan(value)})
    thresholds = find_thresholds(values)
    assert np.all(np.diff(map_to_bins(distinct, thresholds).astype(int)) == 1)
    for value, code in zip(values, map_to_bins(values, thresholds), strict=True):
        assert code == (0 if math.isnan(value) else 1 + distinct.index(value))
