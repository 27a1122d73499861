"""What runs on the workers: partitions are made, ports opened, and ranks train together.

All of it are Dask tasks. A rank trains in a thread of its own, outside the threads that the worker
has for tasks: so it blocks no other task, and several fits run side by side.
"""

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
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
        Seconds until all ranks have to be connected.
    """

    model: Any
    fit: Callable[..., Any]
    options: Mapping[str, Any]
    init_model: Any
    token: bytes
    silence: float
    start_timeout: float


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


class Port:
    """The open port of a rank, which is closed when Dask forgets this result of a task.

    So none is left open, even if the client is killed. Copies of it in other processes know the
    address only.
    """

    def __init__(self, address: Address, listener: Listener | None = None) -> None:
        self.address, self.listener = address, listener
        if listener is not None:
            weakref.finalize(self, listener.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return Port, (self.address,)


def open_port() -> Port:
    """Open a port of the interface under which other workers know this one."""
    address = get_worker().address
    host = _LOCAL if address.startswith(_THREADS) else get_address_host(address)
    try:
        listener = Listener.open(host)
    except OSError:  # the address is that of a gateway in front of this machine
        listener = Listener.open(_ANYWHERE)
    return Port((host, listener.address[1]), listener)


def run_rank(
    job: Job,
    rank: int,
    port: Port,
    addresses: Sequence[Address],
    parts: Sequence[Part],
    sets: Mapping[str, Sequence[Part]],
) -> Outcome:
    """Train with the other ranks; an error of data or parameters is raised as it is.

    Parameters
    ----------
    job : Job
    rank : int
    port : Port
        Of this rank.
    addresses : sequence of (str, int)
        Of the ports of all ranks.
    parts : sequence of Part
        The partitions of this rank.
    sets : mapping from str to sequence of Part
        Its partitions of the validation sets, alike in names and order on all ranks.
    """
    worker = get_worker()
    key = worker.get_current_task()
    if port.listener is None or port.address != tuple(addresses[rank]):
        restarted = f"the worker {worker.address} was restarted"
        return Outcome(problem=restarted, have_met=False, has_lost=True)
    secede()
    peers = None
    try:
        peers = _connect(worker, job, rank, port.listener, addresses)
        with (
            peers,
            _aborting_if_forgotten(worker, key, peers),
            granting_cpus(worker.state.nthreads),
        ):
            return Outcome(_fit(worker, job, parts, sets, peers))
    except PeersError as error:
        if peers is None:
            return Outcome(problem=str(error), have_met=False)
        rounds = getattr(error, "fitted", None)
        return Outcome(problem=str(error), has_lost=peers.lost is not None, rounds=rounds)


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
        [(host, port) for host, port in addresses],
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
def _aborting_if_forgotten(worker: Worker, key: Any, peers: SocketPeers) -> Iterator[None]:
    """End the fit when nobody waits for this task any more, or when the worker is closed.

    The client may have been interrupted or killed, or may have cancelled the fit.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_PAUSE):
            reason = _find_reason_to_end(worker, key)
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
    if worker.status.name in ("closing", "closed", "failed"):
        return f"the worker {worker.address} is closing"
    task = worker.state.tasks.get(key)
    if task is None or task.state in ("cancelled", "released", "forgotten"):
        return "the fit was cancelled"
    return None
