"""Reading ahead changes nothing but when bytes are read."""

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.mapped import fetch_soon


@kernel
def _fetch(array):
    fetch_soon(array)


def test_any_array_may_be_asked_for(tmp_path):
    values = np.arange(200_000, dtype=np.int64)  # more than is asked for at a time
    values.tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", np.int64, "r")
    for array in (mapped, mapped[1000:1001], mapped[:0], values):
        _fetch(array)
    assert np.array_equal(mapped, values)
