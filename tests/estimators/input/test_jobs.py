"""How many threads a piece of work gets."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sumwise.errors import ParameterError
from sumwise.estimators.input import jobs
from sumwise.estimators.input.jobs import (
    STEPS_PER_THREAD,
    count_cpus,
    count_threads,
    granting_cpus,
    start_team,
)

LARGE = 10**12
SMALL = 2 * STEPS_PER_THREAD - 1


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    """Eight CPUs and no limits but those that a test sets."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jobs.joblib, "cpu_count", lambda: 8)
    monkeypatch.setattr(jobs, "_find_openmp_pools", lambda: [])


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


def test_granted_cpus_replace_limits_for_libraries(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for granted, n_cpus in ((4, 4), (100, 8), (0, 1)):
        with granting_cpus(granted):
            assert count_cpus() == count_threads(None, LARGE) == n_cpus
            assert count_threads(2, LARGE) == min(2, n_cpus)
    assert count_cpus() == 1


COUNTS = """
import os
from sumwise.estimators.input.jobs import count_cpus

print(count_cpus())
for name in ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS"):
    os.environ[name] = "1"
    print(count_cpus())
    del os.environ[name]
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    print(count_cpus())
"""


def test_the_limits_of_a_process(all_cpus):
    """The limits are those of the environment and of the CPUs that a process may use."""
    variables = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    output = subprocess.check_output([sys.executable, "-c", COUNTS], env=variables, timeout=120)
    all_of_them, *limited = map(int, output.split())
    assert 1 <= all_of_them <= (os.cpu_count() or 1)
    assert limited == [1] * (3 if hasattr(os, "sched_setaffinity") else 2)


def test_limits_of_threadpoolctl(monkeypatch):
    monkeypatch.undo()
    if not jobs._find_openmp_pools():
        pytest.skip("scikit-learn has no OpenMP here")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(jobs.joblib, "cpu_count", lambda: 8)
    with threadpool_limits(5):
        assert count_cpus() == 5
        with threadpool_limits(1, user_api="openmp"):
            assert count_cpus() == 1
            assert count_threads(4, LARGE) == 1
        assert count_cpus() == 5


def test_joblib_workers_share_the_cpus(monkeypatch):
    # joblib tells each of its workers how many threads it may use.
    monkeypatch.undo()
    with Parallel(n_jobs=2, inner_max_num_threads=1, backend="loky") as parallel:
        counts = parallel(delayed(count_threads)(None, LARGE) for _ in range(2))
    assert counts == [1, 1]


# Teams at the same time


def test_a_team_takes_its_threads_and_gives_them_back():
    with start_team(3, LARGE) as first:
        assert first.n_threads == 3
        with start_team(None, LARGE) as second:
            assert second.n_threads == 5
            for n_jobs in (None, -1, 4, 1):
                with start_team(n_jobs, LARGE) as third:
                    assert third.n_threads == 1  # everyone gets one
        assert count_threads(None, LARGE) == 5
    assert count_threads(None, LARGE) == 8


def test_an_error_gives_threads_back():
    with pytest.raises(ZeroDivisionError), start_team(6, LARGE):
        raise ZeroDivisionError
    with pytest.raises(ParameterError), start_team(0, LARGE):
        pass
    assert count_threads(None, LARGE) == 8


def test_long_work_can_be_interrupted():
    in_main = threading.current_thread() is threading.main_thread()
    for n_steps, waits in ((SMALL, False), (jobs.LONG_STEPS - 1, False), (LARGE, in_main)):
        for n_jobs in (1, 2):
            with start_team(n_jobs, n_steps) as team:
                assert team._caller_works is not waits


def test_small_work_does_not_count_the_cpus(monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 1 // 0)
    with start_team(None, SMALL) as team:
        assert team.n_threads == 1
    with pytest.raises(ParameterError), start_team(0, SMALL):
        pass


def test_joblib_threads_share_the_cpus():
    everyone = threading.Barrier(4)

    def count():
        with start_team(-1, LARGE) as team:
            everyone.wait(60)  # all four have a team
            return team.n_threads

    counts = Parallel(n_jobs=4, backend="threading")(delayed(count)() for _ in range(4))
    assert sorted(counts) == [1, 1, 1, 8]
    assert count_threads(None, LARGE) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_from_none():
    with start_team(None, LARGE):
        child = os.fork()
        if child == 0:
            os._exit(0 if jobs._taken.n_threads == 0 and count_threads(None, LARGE) == 8 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(1, 1), (300, 1), (1_000, 2), (10_000, 8), (100_000, 25)]
)
def test_threads_that_trees_can_use(n_rows, expected):
    """Of 28 features; the number grows with the square root of the values."""
    assert jobs.count_growers(28 * n_rows) == expected


def test_a_team_has_no_more_threads_than_its_work_can_use(monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 16)
    few, many = 28 * 10_000, 28 * 100_000
    for n_jobs, n_values, expected in [
        (None, few, 8),
        (-1, many, 16),
        (3, few, 3),
        (None, None, 16),
    ]:
        with jobs.start_team(n_jobs, 10**9, n_values) as team:
            assert team.n_threads == expected
    assert jobs._taken.n_threads == 0
