"""Fits on a cluster of Dask: ranks are started, watched, and started again after a loss.

Partitions stay where Dask has computed them. Each worker that has some is a rank. The ranks connect
among themselves, so that the scheduler has no part in training. This process only waits for the
results, and watches the workers.
"""

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import dask
from distributed import CancelledError, Client, Future
from distributed import TimeoutError as DaskTimeoutError

from sumwise.dask.collections import Sources
from sumwise.dask.liveness import Workers
from sumwise.dask.placement import Partitions, Share
from sumwise.dask.ranks import (
    Address,
    Job,
    Outcome,
    find_addresses,
    run_rank,
    tell_addresses,
)
from sumwise.errors import PeersError

# How often a fit goes on without the workers that it has lost.
N_RETRIES = 1
# Seconds until all ranks have started, and until they are connected.
START_TIMEOUT = 60.0

# Ranks start before other tasks that wait for a thread of their worker.
_PRIORITY = 1000
# Seconds until a result is asked for once more, at first and at most.
_SHORT, _LONG = 2.0, 60.0
# A model to continue may be large, which is nothing that the user should be told. The setting is
# that of the process: fits in several threads take turns.
_NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
_LOCK = threading.Lock()
# Seconds between two looks at which ranks have started.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class _Loss(Exception):  # noqa: N818 - does not leave this module
    """Workers were lost; others may go on with the rounds so far."""

    def __init__(self, problem: str, rounds: Any) -> None:
        super().__init__(problem)
        self.rounds = rounds


def train(
    client: Client,
    job: Job,
    parts: Sequence[Sources],
    sets: Mapping[str, Sequence[Sources]] | None = None,
) -> Any:
    """Train a model on the workers of a cluster; return it.

    Parameters
    ----------
    client : Client
    job : Job
    parts : sequence of Sources
        The partitions of the training rows.
    sets : mapping from str to sequence of Sources, optional
        Those of the validation sets, by name.

    Raises
    ------
    PeersError
        If workers were lost more than ``N_RETRIES`` times, or could not start. Its attribute
        ``fitted`` is the model of the rounds so far, or None.
    """
    workers = Workers(client, job.silence)
    partitions = Partitions(workers, parts, sets or {})
    rounds = None
    try:
        for n_left in range(N_RETRIES, -1, -1):
            try:
                return _train_once(workers, job, partitions.place())
            except _Loss as loss:
                if loss.rounds is not None:
                    rounds = loss.rounds
                    job = replace(job, init_model=rounds)
                if n_left == 0:
                    raise _fail(str(loss), rounds) from None
    finally:
        partitions.close()


def _train_once(workers: Workers, job: Job, shares: Mapping[str, Share]) -> Any:
    job = replace(job, name=uuid.uuid4().hex)
    ranks = _Ranks(workers, list(shares))
    try:
        ranks.start(job, list(shares.values()))
        return ranks.wait_for_model()
    finally:
        ranks.forget()


class _Ranks:
    """The ranks of one attempt, by their number: tasks that are pinned to their workers."""

    def __init__(self, workers: Workers, addresses: Sequence[str]) -> None:
        self._workers, self._client = workers, workers.client
        self._addresses = addresses
        self._kept: list[Future] = []
        self._futures: list[Future] = []

    def start(self, job: Job, shares: Sequence[Share]) -> None:
        """Let all ranks start, and tell them the addresses of all."""
        with _LOCK, dask.config.set(_NO_WARNING):
            known = self._submit(self._addresses, _give, job)
        for rank, (address, share) in enumerate(zip(self._addresses, shares, strict=True)):
            own = (known, rank, share.parts, share.sets)
            self._futures.append(self._submit([address], run_rank, *own))
        found = self._find_addresses(job)
        self._tell_addresses(job, [found[rank] for rank in range(len(self._futures))])

    def wait_for_model(self) -> Any:
        """Wait for all ranks; return the model, or raise the error of a rank."""
        outcomes: dict[int, Outcome] = {}
        pending = set(range(len(self._futures)))
        never_met = False
        while pending and not never_met:
            self._workers.wait([self._futures[rank] for rank in pending])
            for rank in sorted(pending):
                if self._futures[rank].status in ("finished", "error", "cancelled"):
                    pending.discard(rank)
                    # One model is enough: all ranks have the same, or one round more or less.
                    if self._futures[rank].status == "finished" and not _have_model(outcomes):
                        self._fetch_outcome(rank, outcomes)
                        never_met |= rank in outcomes and not outcomes[rank].have_met
                elif self._workers.is_lost(self._addresses[rank]):
                    pending.discard(rank)
        return self._conclude(outcomes, pending)

    def forget(self) -> None:
        """Let Dask forget all tasks; ranks that still train end soon."""
        for future in [*self._futures, *self._kept]:
            future.release()

    def _submit(self, addresses: Sequence[str], function: Any, *args: Any) -> Future:
        future = self._client.submit(
            function, *args, workers=list(addresses), pure=False, priority=_PRIORITY
        )
        self._kept.append(future)
        return future

    def _find_addresses(self, job: Job) -> dict[int, Address]:
        """Wait until all ranks have started; return their addresses."""
        found: dict[int, Address] = {}
        deadline, pause = time.monotonic() + job.start_timeout, _SHORTEST_PAUSE
        while True:
            missing = [a for rank, a in enumerate(self._addresses) if rank not in found]
            for own in self._workers.call(missing, find_addresses, job.name).values():
                found |= own
            if len(found) == len(self._addresses):
                return found
            self._workers.look()
            lost = [address for address in self._addresses if self._workers.is_lost(address)]
            if lost:
                raise self._lose(lost)
            for future in self._kept:
                if future.status == "error":
                    raise future.exception()
                if future.status == "cancelled":
                    raise self._lose([])
            if time.monotonic() > deadline:
                late = [a for rank, a in enumerate(self._addresses) if rank not in found]
                raise self._refuse_late(late, job.start_timeout)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _tell_addresses(self, job: Job, opened: Sequence[Address]) -> None:
        """Tell all ranks the addresses of all; those that do not hear it are lost, or late."""
        untold = set(self._addresses)
        deadline = time.monotonic() + job.start_timeout
        while untold and time.monotonic() < deadline:
            told = self._workers.call(list(untold), tell_addresses, job.name, opened)
            self._workers.look()
            untold -= {own for own in untold if own in told or self._workers.is_lost(own)}

    def _fetch(self, future: Future, address: str) -> Any:
        """Return the result of a finished task; raise _Loss if it is lost."""
        timeout = _SHORT
        while True:
            try:
                return future.result(timeout=timeout)
            except DaskTimeoutError:
                timeout = min(2 * timeout, _LONG)
            except CancelledError:
                raise self._lose([address]) from None
            self._workers.look(at_once=True)
            if self._workers.is_lost(address):
                raise self._lose([address])

    def _fetch_outcome(self, rank: int, outcomes: dict[int, Outcome]) -> None:
        # Otherwise the worker was lost since, and another rank may have the model.
        with suppress(_Loss):
            outcomes[rank] = self._fetch(self._futures[rank], self._addresses[rank])

    def _conclude(self, outcomes: Mapping[int, Outcome], pending: set[int]) -> Any:
        for future in self._futures:
            if future.status == "error":
                raise future.exception()
        for outcome in outcomes.values():
            if outcome.model is not None:
                return outcome.model
        rounds = next((o.rounds for o in outcomes.values() if o.rounds is not None), None)
        problems = [outcome.problem for outcome in outcomes.values()]
        lost = [address for address in self._addresses if self._workers.is_lost(address)]
        if lost or not outcomes or any(outcome.has_lost for outcome in outcomes.values()):
            raise self._lose(lost, problems[:1], rounds)
        late = [self._addresses[rank] for rank in sorted(pending)]
        if late:
            raise self._refuse_late(late, problems=problems)
        raise _fail(problems[0], rounds)

    def _lose(
        self, addresses: Sequence[str], problems: Sequence[str] = (), rounds: Any = None
    ) -> _Loss:
        named = ", ".join(map(self._workers.explain, addresses or self._addresses))
        about = "workers of this fit were lost" if addresses else "one of the workers was lost"
        return _Loss("; ".join([f"{about}: {named}", *problems]), rounds)

    def _refuse_late(
        self, addresses: Sequence[str], timeout: float | None = None, problems: Sequence[str] = ()
    ) -> PeersError:
        named = ", ".join(map(self._workers.explain, addresses))
        within = "in time" if timeout is None else f"within {timeout:g} seconds"
        return _fail(
            f"workers have not started {within}, because they are busy with other tasks or have "
            f"no room for more: {'; '.join([named, *problems])}"
        )


def _have_model(outcomes: Mapping[int, Outcome]) -> bool:
    return any(o.model is not None or o.rounds is not None for o in outcomes.values())


def _give(job: Job) -> Job:
    """Bring a job to the workers, once for all ranks."""
    return job


def _fail(problem: str, rounds: Any = None) -> PeersError:
    error = PeersError(problem)
    error.fitted = rounds  # type: ignore[attr-defined]
    return error
