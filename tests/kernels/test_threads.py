"""The team, its barrier, and what becomes of errors, interrupts and forks."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

from sumwise.kernels.jit import kernel
from sumwise.kernels.threads import ABORT, Team, atomic_add, atomic_load, share, wait_for_all


@kernel
def meet_often(thread, n_threads, sync, n_rounds, at_round, errors):
    """Every thread says where it is; after the barrier all must be there."""
    for i in range(n_rounds):
        at_round[16 * thread] = i
        wait_for_all(sync, n_threads)
        for t in range(n_threads):
            if at_round[16 * t] != i:
                atomic_add(errors, 0, 1)
        wait_for_all(sync, n_threads)


@kernel
def add_ones(thread, n_threads, sync, n, counter):
    for _ in range(n):
        atomic_add(counter, 0, 1)


@kernel
def wait_for_abort(thread, n_threads, sync, left):
    while atomic_load(sync, ABORT) == 0:
        pass
    atomic_add(left, 0, 1)


@kernel
def find_share(n, thread, n_threads):
    return share(n, thread, n_threads)


def check_meetings(n_threads, n_rounds):
    errors = np.zeros(1, dtype=np.int64)
    with Team(n_threads) as team:
        for _ in range(3):  # a team is used again and again
            team.run(meet_often, n_rounds, np.full(16 * n_threads, -1), errors)
    return int(errors[0])


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
def test_nobody_passes_the_barrier_early(n_threads):
    assert check_meetings(n_threads, 1000) == 0


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_atomic_additions_are_not_lost(n_threads):
    counter = np.zeros(1, dtype=np.int64)
    with Team(n_threads) as team:
        team.run(add_ones, 20_000, counter)
    assert counter[0] == 20_000 * n_threads


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 2**33])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 64])
def test_shares_cover_the_range(n, n_threads):
    parts = [find_share(n, thread, n_threads) for thread in range(n_threads)]
    assert parts[0][0] == 0
    assert parts[-1][1] == n
    assert all(parts[i][1] == parts[i + 1][0] for i in range(n_threads - 1))
    sizes = [last - first for first, last in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_every_thread_is_called_once_with_its_number(n_threads):
    calls = []
    with Team(n_threads) as team:
        team.run(lambda thread, n, sync, word: calls.append((thread, n, word)), "hello")
    assert sorted(calls) == [(thread, n_threads, "hello") for thread in range(n_threads)]


def test_one_thread_runs_in_the_calling_one():
    seen = []
    with Team(1) as team:
        team.run(lambda *_: seen.append(threading.get_ident()))
    assert seen == [threading.get_ident()]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_reach_the_caller_and_the_team_goes_on(n_threads):
    def fail(thread, n_threads, sync):
        if thread == n_threads - 1:
            raise ZeroDivisionError("from a member")

    done = []
    with Team(n_threads) as team:
        with pytest.raises(ZeroDivisionError, match="from a member"):
            team.run(fail)
        team.run(lambda thread, *_: done.append(thread))
    assert sorted(done) == list(range(n_threads))


def test_an_interrupt_raises_the_abort_flag_and_waits_for_the_threads():
    left = np.zeros(1, dtype=np.int64)
    main = threading.main_thread()
    if threading.current_thread() is not main or not hasattr(signal, "pthread_kill"):
        pytest.skip("interrupts go to the main thread")
    wait_for_abort(0, 1, np.ones(48, dtype=np.int64), left)  # compile first
    timer = threading.Timer(0.2, signal.pthread_kill, (main.ident, signal.SIGINT))
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Team(2) as team:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                team.run(wait_for_abort, left)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert left[0] == 3  # both members and the first call


def test_threads_end_with_the_team():
    members = []
    with Team(4) as team:
        team.run(lambda *_: members.append(threading.current_thread()))
        assert len({id(member) for member in members}) == 4
        assert all(member.is_alive() and member.daemon for member in members)
    for member in members:
        member.join(10)
    assert not any(member.is_alive() for member in members)


def test_idle_threads_keep_no_arguments():
    data = np.zeros(10)
    alive = weakref.ref(data)
    with Team(2) as team:
        team.run(lambda *_: None, data)
        del data
        deadline = time.monotonic() + 5
        while alive() is not None and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.01)
        assert alive() is None


def test_many_teams_at_once():
    found = []

    def work():
        found.append(check_meetings(2, 100))

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == [0] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_use_teams():
    script = textwrap.dedent(
        """
        import os, sys
        import numpy as np
        from sumwise.kernels.losses import squared_gradient
        from sumwise.kernels.threads import Team

        def compute(team):
            target, raw = np.arange(100.0), np.zeros((1, 100))
            gradient, hessian = np.empty_like(raw), np.empty_like(raw)
            team.run(squared_gradient, target, raw, np.empty(0), gradient, hessian)
            return gradient[0].tolist() == (-target).tolist()

        with Team(3) as team:
            assert compute(team)
            child = os.fork()
            if child == 0:
                with Team(3) as another:
                    os._exit(0 if compute(another) and compute(another) else 1)
            assert compute(team)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    arguments = [sys.executable, "-W", "ignore", "-c", script]
    subprocess.run(arguments, check=True, timeout=60)
