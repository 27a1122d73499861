"""What runs on the workers: partitions are made, and ranks train together.

Both are Dask tasks. A rank takes a thread that the worker has for tasks, and gives the worker
another one for it: so it blocks no other task, and several fits run side by side.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Worker, get_worker, secede
from distributed.comm import get_address_host

from sumwise.dask.collections import Sources
from sumwise.data.batches.memory import find_free_memory
from sumwise.errors import PeersError
from sumwise.estimators.input.jobs import granting_cpus
from sumwise.estimators.input.parts import Part
from sumwise.peers import Peers
from sumwise.sockets import Listener, SocketPeers

Address = tuple[str, int]

# Seconds between two looks at whether anybody still waits for a rank.
_PAUSE = 0.5
_LOCAL, _ANYWHERE = "127.0.0.1", "0.0.0.0"
# Workers that are threads of one process have addresses of this kind.
_THREADS = "inproc://"
# Dask stops giving tasks to a worker that uses this share of its memory.
_MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Job:
    """What all ranks of a fit are told.

    Attributes
    ----------
    model : estimator
        A plain estimator; that of a rank is a copy of it.
    fit : callable
        Called with (model, parts, peers, sets=..., init_model=..., ...), as
        :func:`sumwise.estimators.boosting.among_peers.fit_among_peers`.
    options : mapping
        Further keyword arguments of ``fit``.
    init_model : estimator or None
        The model to continue.
    token : bytes
        What the ranks of this fit prove to know.
    silence : float
        Seconds without a sign of life after which a rank is lost.
    start_timeout : float
        Seconds until all ranks have to be there, and until they have to be connected.
    name : str
        A name that only this attempt has.
    """

    model: Any
    fit: Callable[..., Any]
    options: Mapping[str, Any]
    init_model: Any
    token: bytes
    silence: float
    start_timeout: float
    name: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a rank has ended.

    Attributes
    ----------
    model : estimator or None
        The fitted model; None if a peer was lost or has failed.
    problem : str
        What has happened then.
    have_met : bool
        Whether all ranks were connected.
    has_lost : bool
        Whether a peer was lost; otherwise one has failed, or they never met.
    rounds : estimator or None
        The model of the rounds before, from which other ranks can go on.
    """

    model: Any = None
    problem: str = ""
    have_met: bool = True
    has_lost: bool = False
    rounds: Any = None


# --- tasks ---


def make_part(version: str, number: int, *columns: Any) -> Part:
    """Bring together what belongs to the rows of one partition."""
    own = sys.modules["sumwise"].__version__
    if own != version:
        raise PeersError(
            f"the client has sumwise {version}, and the worker {get_worker().address} has {own}: "
            "all processes need the same version"
        )
    return Part(number, *Sources(*columns))


def run_rank(
    job: Job,
    rank: int,
    parts: Sequence[Part],
    sets: Mapping[str, Sequence[Part]],
) -> Outcome:
    """Train with the other ranks; an error of data or parameters is raised as it is.

    Parameters
    ----------
    job : Job
    rank : int
    parts : sequence of Part
        The partitions of this rank.
    sets : mapping from str to sequence of Part
        Its partitions of the validation sets, alike in names and order on all ranks.
    """
    worker = get_worker()
    find_reason = partial(_find_reason_to_end, worker, worker.get_current_task())
    secede()
    peers = None
    try:
        with open_listener(worker.address) as listener:
            addresses = _meet(job, rank, listener.address, find_reason)
            peers = _connect(worker, job, rank, listener, addresses)
        n_threads = worker.state.nthreads
        with peers, _aborting(peers, find_reason), granting_cpus(n_threads):
            return Outcome(_fit(worker, job, parts, sets, peers))
    except PeersError as error:
        if peers is None:
            return Outcome(problem=str(error), have_met=False)
        rounds = getattr(error, "fitted", None)
        return Outcome(problem=str(error), has_lost=peers.lost is not None, rounds=rounds)


# --- how ranks learn their addresses ---
#
# A rank that has started opens a port. The client asks its worker for the address, and tells all
# ranks the addresses of all, by calls that need no thread of a worker.


class _Meeting:
    """A rank that waits for the addresses of the others."""

    def __init__(self, own: Address) -> None:
        self.own = own
        self.addresses: Sequence[Address] = ()
        self.is_over = threading.Event()


# By the name of the fit and the rank; workers may be threads of one process.
_meetings: dict[tuple[str, int], _Meeting] = {}


def find_addresses(fit: str) -> dict[int, Address]:
    """Return the addresses of the ranks of a fit that wait in this process."""
    return {rank: own.own for (name, rank), own in list(_meetings.items()) if name == fit}


def tell_addresses(fit: str, addresses: Sequence[Address]) -> None:
    """Tell the ranks of a fit that wait in this process the addresses of all ranks."""
    for (name, _), meeting in list(_meetings.items()):
        if name == fit:
            meeting.addresses = addresses
            meeting.is_over.set()


def _meet(
    job: Job, rank: int, own: Address, find_reason: Callable[[], str | None]
) -> Sequence[Address]:
    """Wait for the addresses of all ranks."""
    meeting = _meetings[job.name, rank] = _Meeting(own)
    deadline = time.monotonic() + job.start_timeout
    try:
        while not meeting.is_over.wait(_PAUSE):
            reason = find_reason()
            if reason is None and time.monotonic() > deadline:
                reason = f"the other ranks have not started within {job.start_timeout:g} seconds"
            if reason is not None:
                raise PeersError(reason)
    finally:
        del _meetings[job.name, rank]
    return meeting.addresses


def open_listener(worker_address: str) -> Listener:
    """Open a port of the interface under which other workers know this one."""
    is_thread = worker_address.startswith(_THREADS)
    host = _LOCAL if is_thread else get_address_host(worker_address)
    try:
        return Listener.open(host)
    except OSError:  # the address is that of a gateway in front of this machine
        listener = Listener.open(_ANYWHERE)
        return Listener(listener.socket, (host, listener.address[1]))


def _connect(
    worker: Worker, job: Job, rank: int, listener: Listener, addresses: Sequence[Address]
) -> SocketPeers:
    server_tls = client_tls = None
    if worker.address.startswith("tls://"):
        server_tls = worker.security.get_listen_args("worker")["ssl_context"]
        client_tls = worker.security.get_connection_args("worker")["ssl_context"]
    return SocketPeers.connect(
        rank,
        listener,
        addresses,
        job.token,
        server_tls=server_tls,
        client_tls=client_tls,
        timeout=job.start_timeout,
        silence=job.silence,
    )


def _fit(
    worker: Worker,
    job: Job,
    parts: Sequence[Part],
    sets: Mapping[str, Sequence[Part]],
    peers: Peers,
) -> Any:
    model = copy(job.model)  # ranks may be threads of one process
    model.random_state = deepcopy(job.model.random_state)
    room = {"memory_limit": find_memory_limit(worker), "cache_dir": worker.local_directory}
    own = {"sets": sets, "init_model": job.init_model, **room, **job.options}
    return job.fit(model, parts, peers, **own)


def find_memory_limit(worker: Worker) -> int | None:
    """Return the bytes that a fit on a worker may use, None for what is free on the machine.

    What the worker uses already are partitions, most of all; Dask moves to the disk what is not
    needed for a fit.
    """
    limit = worker.memory_manager.memory_limit
    if not limit:
        return None
    own = int(_MEMORY_SHARE * limit) - worker.monitor.get_process_memory()
    return min(max(own, limit // 4), find_free_memory())


@contextmanager
def _aborting(peers: SocketPeers, find_reason: Callable[[], str | None]) -> Iterator[None]:
    """End the fit as soon as there is a reason to."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_PAUSE):
            reason = find_reason()
            if reason is not None:
                peers.abort(reason)
                return

    thread = threading.Thread(target=watch, name="sumwise rank", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _find_reason_to_end(worker: Worker, key: Any) -> str | None:
    """Return why nobody waits for a task any more, or why its worker cannot complete it.

    The client may have been interrupted or killed, or may have given up the fit.
    """
    if worker.status.name in ("closing", "closed", "failed"):
        return f"the worker {worker.address} is closing"
    task = worker.state.tasks.get(key)
    if task is None or task.state in ("cancelled", "released", "forgotten"):
        return "the fit was cancelled"
    return None
