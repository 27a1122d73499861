"""The Dask client of a call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, default_client, get_worker, worker_client

from sumwise.errors import ParameterError


@contextmanager
def find_client(client: Any, owner: object) -> Iterator[Client]:
    """Yield the given client, or the default one.

    Within a Dask task, the default client is that of its worker; meanwhile, other tasks may use the
    thread of this task.
    """
    name = type(owner).__name__
    if client is None and _is_task():
        with worker_client() as own:
            yield own
        return
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ParameterError(
                f"{name}: there is no Dask client; make one first, client = distributed.Client(), "
                "or pass client=..."
            ) from None
    if not isinstance(client, Client):
        raise ParameterError(f"{name}: client={client!r} must be a distributed.Client or None")
    if client.asynchronous:
        raise ParameterError(
            f"{name}: the client is asynchronous, and fit waits for its result; pass a client made "
            "without asynchronous=True"
        )
    if client.status != "running":
        raise ParameterError(f"{name}: the client is {client.status}; pass one that is running")
    yield client


def _is_task() -> bool:
    try:
        get_worker()
    except ValueError:
        return False
    return True
