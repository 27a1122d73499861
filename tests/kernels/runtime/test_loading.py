"""Object files in this process."""

import subprocess
import sys
import textwrap

import numpy as np

from sumwise.kernels.runtime import loading
from sumwise.kernels.runtime.jit import kernel


@kernel
def power_of_ten(exponent):
    found = 1.0
    for _ in range(exponent):
        found *= 10.0
    return found


def test_a_loaded_kernel_is_found_by_its_symbol():
    assert power_of_ten(3) == 1000.0
    assert loading.find_address("no such symbol") == 0


def test_the_machine_is_described_once():
    assert loading.describe_machine() == loading.describe_machine()
    assert np.__version__ not in loading.describe_machine()


def test_code_reaches_its_constants_wherever_memory_was_taken():
    """Between two object files, so much of the address space is taken that 32 bits do not span it.

    The sections of one file must still lie together.
    """
    script = textwrap.dedent(
        """
        import numpy as np
        from sumwise import GradientBoostingClassifier
        from sumwise.kernels.runtime import loading
        load, taken = loading.load, []
        def load_far_away(code):
            taken.append(np.empty(3 << 30, dtype=np.uint8))  # no page of it is touched
            load(code)
        loading.load = load_far_away
        X = np.random.default_rng(0).random((500, 3))
        for growth in ("leaf", "symmetric"):
            model = GradientBoostingClassifier(n_estimators=2, growth=growth)
            model.fit(X, X[:, 0] > 0.5).predict_proba(X)
        assert len(taken) > 10
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
