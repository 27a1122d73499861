"""Thresholds decide about doubles as single precision does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.estimators.imported.rounding import last_double_below, last_double_up_to

SINGLES = st.floats(width=32, allow_nan=False)
DOUBLES = st.floats(allow_nan=False)
TINY, LARGEST = float(np.float32(1e-45)), float(np.finfo(np.float32).max)
EDGES = [0.0, -0.0, TINY, -TINY, 1.0, -1.0, LARGEST, -LARGEST, 1e300, -1e300, 2.0**-126]


def neighbors(x):
    return [x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)]


def check_up_to(limit, x):
    with np.errstate(over="ignore"):
        expected = np.float64(np.float32(x)) <= limit
    assert (x <= last_double_up_to(np.array([limit]))[0]) == expected, (limit, x)


def check_below(limit, x):
    with np.errstate(over="ignore"):
        expected = np.float32(x) < np.float32(limit)
    assert (x <= last_double_below(np.array([limit]))[0]) == expected, (limit, x)


@given(DOUBLES, DOUBLES)
def test_any_double_goes_the_same_way(limit, x):
    check_up_to(limit, x)
    for near in neighbors(last_double_up_to(np.array([limit]))[0]):
        check_up_to(limit, near)


@given(SINGLES.filter(lambda x: x > -np.inf), DOUBLES)
def test_any_double_goes_the_same_way_below(limit, x):
    check_below(limit, x)
    for near in neighbors(last_double_below(np.array([limit]))[0]):
        check_below(limit, near)


@pytest.mark.parametrize("limit", [*EDGES, np.inf, -np.inf])
def test_edges(limit):
    for x in [*EDGES, np.inf, -np.inf, 3.5e38, -3.5e38, LARGEST + 2.0**103, LARGEST + 2.0**102]:
        check_up_to(limit, x)
        if limit > -np.inf and abs(limit) < 1e300:
            check_below(limit, x)
