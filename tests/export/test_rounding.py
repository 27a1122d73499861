"""Thresholds in single precision keep every float32 value on its side."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sumwise.export.rounding import round_down

FLOAT32 = st.floats(width=32, allow_nan=False)


@given(st.floats(allow_nan=False), FLOAT32)
def test_values_stay_on_their_side(threshold, x):
    rounded = round_down(np.array([threshold]))[0]
    with np.errstate(over="ignore"):
        near = [x, rounded, *np.nextafter(rounded, np.float32([-np.inf, np.inf]))]
    for value in np.array(near, dtype=np.float32):
        assert (float(value) <= threshold) == bool(value <= rounded)


@given(FLOAT32)
def test_float32_numbers_stay_as_they_are(threshold):
    assert round_down(np.array([threshold]))[0] == threshold
