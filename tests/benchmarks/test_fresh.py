import sys

import numpy as np
import pytest

from benchmarks.fresh import measure_peak_memory, read_memory, saved_arrays
from benchmarks.rivals import SCIKIT_LEARN, Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_the_peak_is_not_below_the_present() -> None:
    assert read_memory("VmHWM") >= read_memory("VmRSS") > 1_000_000


def test_an_unknown_entry_is_refused() -> None:
    with pytest.raises(KeyError, match="VmNone"):
        read_memory("VmNone")


def test_a_fit_is_weighed_in_a_process_of_its_own() -> None:
    X = np.random.default_rng(0).random((20_000, 10), dtype=np.float32)
    with saved_arrays(X, (X[:, 0] > 0.5).astype(np.int64)) as data:
        n_bytes = measure_peak_memory(SCIKIT_LEARN, Settings(n_trees=2), data)
    # The float64 copy of the input and the bins; not the interpreter and its imports.
    assert 2 * X.nbytes < n_bytes < 20 * X.nbytes
