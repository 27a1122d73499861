"""Sums of floats that do not depend on the order of the rows or the number of threads."""

import numpy as np

from sumwise.kernels.runtime.elementary import nearest_integer
from sumwise.kernels.runtime.fixed_point import exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel


@kernel
def exact_sum(values):
    """Sum as integers under a power-of-two scale; nan if a value is not finite."""
    largest, check = 0.0, 0.0
    for i in range(values.size):
        largest = max(largest, abs(values[i]))
        check += values[i] * 0.0
    if not check == 0.0:
        return np.nan
    scale = power_scale(largest, exact_limit(values.size))
    total = 0
    for i in range(values.size):
        total += nearest_integer(values[i] * scale)
    return total / scale
