"""Choosing the number of threads."""

import numbers
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import isqrt
from typing import Any

import joblib
from joblib.parallel import BACKENDS, get_active_backend
from threadpoolctl import ThreadpoolController

from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team

# joblib sets these in its workers, which share the machine.
_LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
# Starting a second thread costs about as much as this many elementary steps.
STEPS_PER_THREAD = 100_000
# Values of a table per thread and thread, so that a further one does not slow down growing trees.
_VALUES_PER_THREAD = 4_300
# A single kernel of a fit with more steps may take seconds: it must react to an interrupt. Others
# are interrupted between kernels.
LONG_STEPS = 10_000_000_000


# CPUs that the work of a Python thread was granted.
_granted: ContextVar[int | None] = ContextVar("granted", default=None)


class _Taken:
    """The number of threads that teams of this process use now."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.lock = threading.Lock()
        self.n_threads = 0


_taken = _Taken()
if hasattr(os, "register_at_fork"):
    # A forked child has no thread that would release the lock.
    os.register_at_fork(after_in_child=_taken.reset)


@contextmanager
def start_team(n_jobs: int | None, n_steps: int, n_values: int | None = None) -> Iterator[Team]:
    """Start a team for some work; teams of other Python threads share the remaining CPUs.

    So concurrent fits, as under joblib's threading backend, do not oversubscribe the CPUs. If trees
    are grown together, ``n_values`` is the size of their table.
    """
    n_threads = 0
    try:
        with _taken.lock:
            n_threads = count_threads(n_jobs, n_steps)
            if n_values is not None:
                n_threads = min(n_threads, count_growers(n_values))
            _taken.n_threads += n_threads
        with Team(n_threads, interruptible=n_steps >= LONG_STEPS) as team:
            yield team
    finally:
        with _taken.lock:
            _taken.n_threads -= n_threads


def count_threads(n_jobs: int | None, n_steps: int) -> int:
    """Return the number of threads for some work: at most the CPUs that this process may use.

    ``None`` and -1 mean all CPUs, -2 all but one, and so on, minus the threads of other teams.
    Small work gets one thread. The result of the work does not depend on this number.
    """
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0
    ):
        raise ParameterError(f"n_jobs={n_jobs!r}: must be a nonzero integer or None")
    if n_steps < 2 * STEPS_PER_THREAD or n_jobs == 1:
        return 1  # early, because counting CPUs takes longer than predicting a row
    available = count_cpus()
    wanted = available if n_jobs is None else int(n_jobs)
    if wanted < 0:
        wanted = max(1, available + 1 + wanted)
    return max(1, min(wanted, available - _taken.n_threads, n_steps // STEPS_PER_THREAD))


def count_growers(n_values: int) -> int:
    """Return how many threads can grow trees together on a table of so many values.

    What they share grows with the values, what they wait for each other with their number; so the
    best number grows with the square root: 2 for 1,000 rows of 28 features, 8 for 10,000.
    """
    return max(1, isqrt(n_values // _VALUES_PER_THREAD))


@contextmanager
def granting_cpus(n_cpus: int) -> Iterator[None]:
    """Let this Python thread use so many CPUs, whatever the limits for libraries say.

    A scheduler of tasks sets those limits to 1 for the sake of tasks that use one thread each, and
    tells a larger task in its own way how many it may use.
    """
    token = _granted.set(n_cpus)
    try:
        yield
    finally:
        _granted.reset(token)


def count_cpus() -> int:
    """Return the available CPUs by affinity, container quota, joblib and threadpoolctl."""
    count = int(joblib.cpu_count())
    granted = _granted.get()
    if granted is not None:
        return max(1, min(count, granted))
    for name in _LIMITS:
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            count = min(count, int(value))
    for pool in _find_openmp_pools():
        count = min(count, pool.num_threads or count)
    return count


def uses_cluster(n_jobs: int | None) -> bool:
    """Whether jobs go to a cluster: in ``joblib.parallel_config("dask")``, except for one job.

    Not within a task of the cluster, which is one of many already.
    """
    if n_jobs == 1 or "dask" not in BACKENDS:  # joblib adds it on first use
        return False
    backend, _ = get_active_backend()
    if not isinstance(backend, BACKENDS["dask"]):
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return True
    return False


@cache
def _find_openmp_pools() -> list[Any]:
    """Return the OpenMP libraries of this process, whose threads threadpoolctl limits."""
    return ThreadpoolController().select(user_api="openmp").lib_controllers
