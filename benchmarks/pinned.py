"""Calls in processes of their own, several at once, each pinned to its own CPUs.

A library that looks for CPUs finds those of its process only. A call that takes too long is
killed, and one that fails is an error message; the others go on.
"""

import multiprocessing
import os
import queue
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """What has come of a call: its value, or the last line of its error."""

    value: Any
    error: str


def share_cpus(cpus: Sequence[int], n_processes: int, n_own: int) -> list[list[int]]:
    """Return the CPUs of each process; they are shared only if there are too few.

    >>> from benchmarks.pinned import share_cpus
    >>> share_cpus([0, 1, 2, 3], 2, 2)
    [[0, 1], [2, 3]]
    """
    return [
        sorted({cpus[(process * n_own + k) % len(cpus)] for k in range(n_own)})
        for process in range(n_processes)
    ]


def call_all(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    n_processes: int,
    n_own: int,
    limits: Sequence[float],
) -> Iterator[tuple[int, Outcome]]:
    """Yield the number of each call and its outcome, in the order in which they end.

    Parameters
    ----------
    function : callable
        Of a module, because other processes import it.
    arguments : sequence of tuple
    n_processes : int
    n_own : int
        CPUs of each.
    limits : sequence of float
        Seconds after which each call is killed.
    """
    free: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for cpus in share_cpus(sorted(os.sched_getaffinity(0)), n_processes, n_own):
        free.put(cpus)

    def call(number: int) -> tuple[int, Outcome]:
        cpus = free.get()
        try:
            return number, _call_apart(function, arguments[number], cpus, limits[number])
        finally:
            free.put(cpus)

    with ThreadPoolExecutor(n_processes) as pool:
        for future in as_completed(pool.submit(call, k) for k in range(len(arguments))):
            yield future.result()


def _call_apart(
    function: Callable[..., Any], arguments: tuple[Any, ...], cpus: list[int], limit: float
) -> Outcome:
    os.sched_setaffinity(0, cpus)  # of this thread, and of the process that it starts
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        if not ours.poll(limit):
            return Outcome(None, f"killed after {limit:g} s")
        return Outcome(*ours.recv())
    except EOFError:
        process.join()
        return Outcome(None, f"ended without an answer, exit code {process.exitcode}")
    finally:
        process.kill()
        process.join()
        ours.close()


def _answer(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = Outcome(function(*arguments), "")
    except BaseException as error:
        answer = Outcome(None, traceback.format_exception_only(error)[-1].strip())
    pipe.send(tuple(answer))
