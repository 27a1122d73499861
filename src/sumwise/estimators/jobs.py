"""How many threads to use."""

import numbers
import os

import joblib

from sumwise.errors import ParameterError

# joblib sets these in its workers, to share the machine among them.
_LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
# Handing work to a second thread costs about as much as this many elementary steps.
STEPS_PER_THREAD = 100_000


def count_threads(n_jobs: int | None, n_steps: int) -> int:
    """Threads for a piece of work: never more than the CPUs this process may use.

    ``None`` and -1 mean all of them, -2 all but one, and so on. Small work gets one thread. The
    result of the work does not depend on the answer.
    """
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0
    ):
        raise ParameterError(f"n_jobs={n_jobs!r}: must be a nonzero integer or None")
    available = count_cpus()
    wanted = available if n_jobs is None else int(n_jobs)
    if wanted < 0:
        wanted = max(1, available + 1 + wanted)
    return max(1, min(wanted, available, n_steps // STEPS_PER_THREAD))


def count_cpus() -> int:
    """CPUs available: affinity, container quota and the limits joblib gives its workers."""
    count = int(joblib.cpu_count())
    for name in _LIMITS:
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            count = min(count, int(value))
    return count
