"""Faults of workers at a chosen step of a fit."""

import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sumwise.dask.ranks import run_rank
from sumwise.estimators.boosting.among_peers import fit_among_peers


class CountingPeers:
    """Peers that call ``act`` before the exchange of a number, counted from 0."""

    def __init__(self, peers: Any, at: int, act: Any) -> None:
        self._peers, self._at, self._act = peers, at, act
        self.rank, self.size, self.n_exchanges = peers.rank, peers.size, 0

    def _count(self) -> Any:
        if self.n_exchanges == self._at:
            self._act()
        self.n_exchanges += 1
        return self._peers

    def add(self, *arrays):
        self._count().add(*arrays)

    def largest(self, values):
        return self._count().largest(values)

    def gather(self, array):
        return self._count().gather(array)


def fit_with_fault(folder, rank, step, act, times, model, parts, peers, **options):
    """Fit; before an exchange, one rank acts, up to a number of times in all attempts.

    If there are fewer ranks, it is the rank modulo their number.
    """

    def maybe_act():
        done = len(list(Path(folder).glob("act-*")))
        if done < times:
            (Path(folder) / f"act-{done}").write_text(str(os.getpid()))
            act()

    if peers.rank == rank % peers.size:
        peers = CountingPeers(peers, step, maybe_act)
    return fit_among_peers(model, parts, peers, **options)


def act_before_start(folder, act, job, rank, *others):
    """Run a rank; before that, one that is not the first acts, once."""
    if rank > 0:
        with suppress(FileExistsError), open(Path(folder) / "act-0", "x") as file:
            file.write(str(os.getpid()))
            file.flush()
            act()
    return run_rank(job, rank, *others)


def failing(folder: Any, rank: int, step: int, act: Any, times: int = 1) -> Any:
    """Return a function that fits in place of ``fit_among_peers``."""
    return partial(fit_with_fault, str(folder), rank, step, act, times)


def send_signal(number: int) -> None:
    os.kill(os.getpid(), number)


kill = partial(send_signal, signal.SIGKILL)
stop = partial(send_signal, signal.SIGSTOP)


def list_pids(folder: Any) -> list[int]:
    """Return the processes that have acted."""
    return [int(path.read_text()) for path in sorted(Path(folder).glob("act-*"))]


def wait_until(is_true, seconds=30):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
