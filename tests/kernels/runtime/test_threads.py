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

from sumwise.errors import ThreadError
from sumwise.kernels.runtime import threads
from sumwise.kernels.runtime.jit import AbortError, kernel
from sumwise.kernels.runtime.threads import (
    ABORT,
    SYNC_LENGTH,
    Team,
    atomic_add,
    atomic_load,
    share,
    wait_for_all,
)

# Threads must really run at once, or no barrier would be missed.
pytestmark = pytest.mark.usefixtures("all_cpus")


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
def meet_for_ever(thread, n_threads, sync, n_meetings):
    while True:
        wait_for_all(sync, n_threads)
        atomic_add(n_meetings, 0, 1)


@kernel
def work_until_told(thread, n_threads, sync, signs):
    """Says it has begun, and looks at nothing but its own sign to end."""
    atomic_add(signs, 0, 1)
    while atomic_load(signs, 1) == 0:
        pass
    atomic_add(signs, 2, 1)


@kernel
def fail_before_the_barrier(thread, n_threads, sync, who):
    wait_for_all(sync, n_threads)
    if thread == who:
        raise AbortError
    wait_for_all(sync, n_threads)
    wait_for_all(sync, n_threads)


@kernel
def find_share(n, thread, n_threads):
    return share(n, thread, n_threads)


def check_meetings(n_threads, n_rounds, interruptible=False):
    errors = np.zeros(1, dtype=np.int64)
    with Team(n_threads, interruptible) as team:
        for _ in range(3):  # a team is used again and again
            team.run(meet_often, n_rounds, np.full(16 * n_threads, -1), errors)
    return int(errors[0])


def wait_until(condition):
    """Guard against hanging: a minute is more than any machine needs."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


both_ways = pytest.mark.parametrize("interruptible", [False, True])


@both_ways
@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
def test_nobody_passes_the_barrier_early(n_threads, interruptible):
    assert check_meetings(n_threads, 1000, interruptible) == 0


@both_ways
def test_more_threads_than_cpus(interruptible):
    n_threads = 8 + (os.cpu_count() or 1)
    assert check_meetings(n_threads, 100, interruptible) == 0


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


@both_ways
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_every_thread_is_called_once_with_its_number(n_threads, interruptible):
    calls = []
    with Team(n_threads, interruptible) as team:
        for word in ("hello", "again"):
            team.run(lambda thread, n, sync, word: calls.append((thread, n, word)), word)
            expected = [(thread, n_threads, word) for thread in range(n_threads)]
            assert sorted(calls[-n_threads:]) == expected
    assert len(calls) == 2 * n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
def test_who_works(n_threads):
    def find_workers(interruptible):
        idents = [0] * n_threads
        with Team(n_threads, interruptible) as team:
            team.run(lambda thread, *_: idents.__setitem__(thread, threading.get_ident()))
        assert len(set(idents)) == n_threads
        return idents

    def find_workers_elsewhere():
        workers = find_workers(interruptible=True)
        found.append(workers[0] == threading.get_ident())

    assert find_workers(interruptible=False)[0] == threading.get_ident()
    if threading.current_thread() is threading.main_thread():
        assert threading.get_ident() not in find_workers(interruptible=True)
    found = []  # no interrupt goes to another thread: it need not wait for one
    elsewhere = threading.Thread(target=find_workers_elsewhere)
    elsewhere.start()
    elsewhere.join(60)
    assert found == [True]


@both_ways
@pytest.mark.parametrize("n_threads", [1, 3])
def test_errors_reach_the_caller_and_the_team_goes_on(n_threads, interruptible):
    def fail(thread, n_threads, sync):
        if thread == n_threads - 1:
            raise ZeroDivisionError("from a member")

    done = []
    with Team(n_threads, interruptible) as team:
        with pytest.raises(ZeroDivisionError, match="from a member"):
            team.run(fail)
        team.run(lambda thread, *_: done.append(thread))
    assert sorted(done) == list(range(n_threads))


@both_ways
@pytest.mark.parametrize(("n_threads", "who"), [(1, 0), (2, 0), (2, 1), (4, 2)])
def test_nobody_waits_for_one_who_has_failed(n_threads, who, interruptible):
    errors = np.zeros(1, dtype=np.int64)
    with Team(n_threads, interruptible) as team:
        for _ in range(3):
            with pytest.raises(AbortError):
                team.run(fail_before_the_barrier, who)
            team.run(meet_often, 10, np.full(16 * n_threads, -1), errors)
    assert errors[0] == 0


@pytest.mark.parametrize("interruptible", [False, True])
def test_a_thread_that_cannot_start_is_an_error(monkeypatch, interruptible):
    """The second start fails: the first thread ends, and the team can be used later."""
    start, served, ended = threads._thread.start_new_thread, [], []

    def serve(*args):
        serve_jobs(*args)
        ended.append(args[0])

    def refuse(function, args):
        if served:
            raise RuntimeError("can't start new thread")
        served.append(args[0])
        start(function, args)

    serve_jobs = threads._serve
    with Team(4, interruptible) as team:
        with monkeypatch.context() as patch:
            patch.setattr(threads._thread, "start_new_thread", refuse)
            patch.setattr(threads, "_serve", serve)
            patch.setattr(threads, "_PATIENCE", 0.01)
            message = r"started 1 threads.*can't start new thread.* 4 were asked for: set n_jobs to"
            with pytest.raises(ThreadError, match=message):
                team.run(lambda *_: None)
            wait_until(lambda: ended == served)
        team.run(lambda *_: None)


def test_errors_keep_no_arguments():
    data = np.zeros(10)
    alive = weakref.ref(data)
    gc.collect()
    gc.disable()
    try:
        with Team(2) as team:
            with pytest.raises(ZeroDivisionError):
                team.run(lambda *_: 1 // 0, data)
            del data
            wait_until(lambda: alive() is None)  # without the collector: there is no cycle
    finally:
        gc.enable()


@pytest.fixture
def interrupt_soon():
    """A function that sends Ctrl-C to this thread when a condition holds."""
    main = threading.main_thread()
    if threading.current_thread() is not main or not hasattr(signal, "pthread_kill"):
        pytest.skip("interrupts go to the main thread")

    def interrupt(condition):
        def send():
            wait_until(condition)
            signal.pthread_kill(main.ident, signal.SIGINT)

        threading.Thread(target=send, daemon=True).start()

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield interrupt
    signal.signal(signal.SIGINT, previous)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_raises_the_abort_flag_and_waits_for_the_threads(n_threads, interrupt_soon):
    left = np.zeros(1, dtype=np.int64)
    wait_for_abort(0, 1, np.ones(SYNC_LENGTH, dtype=np.int64), left)  # compile first
    begun = time.monotonic()
    with Team(n_threads, interruptible=True) as team:
        interrupt_soon(lambda: time.monotonic() > begun + 0.1)
        with pytest.raises(KeyboardInterrupt):
            team.run(wait_for_abort, left)
    assert left[0] == n_threads + 1  # all members and the first call


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_an_interrupt_ends_a_job_at_the_next_barrier(n_threads, interrupt_soon):
    n_meetings = np.zeros(1, dtype=np.int64)
    with Team(n_threads, interruptible=True) as team:
        for _ in range(3):
            n_meetings[0] = 0
            interrupt_soon(lambda: n_meetings[0] > 10)
            with pytest.raises(KeyboardInterrupt):
                team.run(meet_for_ever, n_meetings)
            so_far = n_meetings[0]
            time.sleep(0.01)
            assert n_meetings[0] == so_far


@pytest.mark.parametrize("n_threads", [1, 2])
def test_who_does_not_stop_is_left_behind(n_threads, interrupt_soon):
    signs = np.zeros(3, dtype=np.int64)
    done = []
    with Team(n_threads, interruptible=True) as team:
        interrupt_soon(lambda: signs[0] == n_threads)
        with pytest.raises(KeyboardInterrupt):
            team.run(work_until_told, signs)
        assert signs[2] == 0
        team.run(lambda thread, *_: done.append(thread))  # new threads take over
        signs[1] = 1
        wait_until(lambda: signs[2] == n_threads)
    assert sorted(done) == list(range(n_threads))


@both_ways
def test_threads_end_with_the_team(interruptible):
    members = set()
    with Team(4, interruptible) as team:
        for _ in range(3):
            team.run(lambda *_: members.add(threading.get_ident()))
        assert len(members) == 4  # the same at every run
        assert members <= set(sys._current_frames())
    members.discard(threading.get_ident())
    wait_until(lambda: not members & set(sys._current_frames()))


@kernel
def count_members(thread, n_threads, sync, counter):
    atomic_add(counter, 0, 1)


@both_ways
@pytest.mark.parametrize("work", [lambda *_: None, count_members], ids=["python", "kernel"])
def test_idle_threads_keep_no_arguments(interruptible, work):
    data = np.zeros(10, dtype=np.int64)
    alive = weakref.ref(data)
    with Team(2, interruptible) as team:
        team.run(work, data)
        del data
        wait_until(lambda: alive() is None)


@pytest.mark.parametrize("n_threads", [2, 3, 9])
def test_jobs_of_both_kinds_follow_each_other(n_threads):
    """Members wait for kernels in compiled code, and for functions in Python; they miss none."""
    counter, calls, rng = np.zeros(1, dtype=np.int64), [], np.random.default_rng(n_threads)
    with Team(n_threads) as team:
        for _ in range(60):
            kinds = rng.integers(0, 3, size=4)
            for kind in kinds:
                if kind == 0:
                    team.run(lambda thread, *_: calls.append(thread))
                elif kind == 1:
                    team.run(count_members, counter)
                else:  # long enough for some to go to sleep
                    time.sleep(rng.uniform(0, 0.003))
                    team.run(count_members, counter)
            n_python = len(calls) // n_threads
            assert len(calls) == n_python * n_threads
            assert counter[0] % n_threads == 0
    assert calls.count(0) + counter[0] // n_threads == 240


@pytest.mark.parametrize("is_before", [True, False])
def test_an_interrupt_around_a_job_leaves_nobody_at_work(is_before, monkeypatch):
    errors, at_round = np.zeros(1, dtype=np.int64), np.full(16 * 3, -1)

    with Team(3) as team:
        team.run(lambda *_: None)
        lead = team._mail._lead_job

        def interrupt():
            monkeypatch.setattr(team._mail, "_lead_job", lead)
            if not is_before:
                lead()
            raise KeyboardInterrupt

        monkeypatch.setattr(team._mail, "_lead_job", interrupt)
        with pytest.raises(KeyboardInterrupt):
            team.run(meet_often, 10, at_round, errors)
        team.run(meet_often, 10, at_round, errors)
    assert errors[0] == 0


def test_members_that_sleep_are_woken():
    counter = np.zeros(1, dtype=np.int64)
    with Team(4) as team:
        for n_jobs in range(1, 4):
            team.run(count_members, counter)
            wait_until(lambda: team._mail.post[threads._SLEEPING] == 3)
            assert counter[0] == 4 * n_jobs


@both_ways
def test_many_teams_at_once(interruptible):
    found = []

    def work():
        found.append(check_meetings(2, 100, interruptible))

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
        import os
        import numpy as np
        from sumwise.kernels.losses.pointwise import squared_gradient
        from sumwise.kernels.runtime.threads import Team

        def compute(team):
            target, raw = np.arange(100.0), np.zeros((1, 100))
            gradient, hessian = np.empty_like(raw), np.empty_like(raw)
            team.run(squared_gradient, target, raw, np.empty(0), gradient, hessian)
            return gradient[0].tolist() == (-target).tolist()

        for interruptible in (False, True):
            with Team(3, interruptible) as team:
                assert compute(team)
                child = os.fork()
                if child == 0:
                    with Team(3, interruptible) as another:
                        right = compute(another) and compute(another)
                    right = right and compute(team)  # its parent's team has no threads here
                    os._exit(0 if right else 1)
                assert compute(team)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
