"""How many threads a piece of work gets."""

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.estimators import jobs
from sumwise.estimators.jobs import STEPS_PER_THREAD, count_cpus, count_threads

LARGE = 10**12


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    """Eight CPUs and no limits in the environment."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jobs.joblib, "cpu_count", lambda: 8)


@pytest.mark.parametrize(
    ("n_jobs", "n_threads"),
    [(None, 8), (-1, 8), (-2, 7), (-8, 1), (-9, 1), (-100, 1), (1, 1), (3, 3), (8, 8), (64, 8)],
)
def test_n_jobs(n_jobs, n_threads):
    assert count_threads(n_jobs, LARGE) == n_threads


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16])
def test_numpy_integers(kind):
    count = count_threads(kind(3), LARGE)
    assert count == 3
    assert type(count) is int


@pytest.mark.parametrize(
    ("n_steps", "n_threads"),
    [
        (0, 1),
        (STEPS_PER_THREAD, 1),
        (2 * STEPS_PER_THREAD - 1, 1),
        (2 * STEPS_PER_THREAD, 2),
        (5 * STEPS_PER_THREAD, 5),
        (100 * STEPS_PER_THREAD, 8),
    ],
)
def test_small_work_gets_few_threads(n_steps, n_threads):
    assert count_threads(None, n_steps) == n_threads
    assert count_threads(-1, n_steps) == n_threads
    assert count_threads(1, n_steps) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.0, 2.5, "2", "all", True, False, [1], np.float64(2)])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ParameterError, match=r"n_jobs=.*nonzero integer or None"):
        count_threads(n_jobs, LARGE)


@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize(
    ("value", "n_cpus"),
    [("1", 1), ("3", 3), ("99", 8), ("", 8), ("0", 8), ("-2", 8), ("many", 8), ("2.5", 8)],
)
def test_limits_of_the_environment(monkeypatch, name, value, n_cpus):
    monkeypatch.setenv(name, value)
    assert count_cpus() == n_cpus


def test_the_lowest_limit_counts(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "4")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert count_cpus() == 2
    assert count_threads(None, LARGE) == 2
    assert count_threads(-1, LARGE) == 2
    assert count_threads(6, LARGE) == 2


def test_joblib_workers_share_the_cpus(monkeypatch):
    # joblib tells each of its workers how many threads it may use.
    monkeypatch.undo()
    from joblib import Parallel, delayed

    with Parallel(n_jobs=2, inner_max_num_threads=1, backend="loky") as parallel:
        counts = parallel(delayed(count_threads)(None, LARGE) for _ in range(2))
    assert counts == [1, 1]
