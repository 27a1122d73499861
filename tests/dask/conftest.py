"""A cluster of real processes, shared by all tests of this folder, and a time limit for each."""

import faulthandler
import os
import signal
import threading
from contextlib import suppress

import dask
import pytest
from distributed import Client, LocalCluster

from tests.dask.faults import list_pids, wait_until

N_WORKERS = 3
# Seconds that a test may take; far more than it needs.
LIMIT = 120


@pytest.fixture(autouse=True)
def limited_time():
    """Interrupt a test that hangs; if even that hangs, end the process."""

    def interrupt(*_):
        pytest.fail(f"the test has taken more than {LIMIT} seconds")

    assert threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(LIMIT + 30, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture(scope="session")
def shared_client():
    # Where workers are killed, the cluster loses track of them. It would then end others, and says
    # so when it is closed; a client that is not made of the cluster asks the scheduler.
    never = {"distributed.deploy.lost-worker-timeout": "1 day"}
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.config.set(never):
        cluster = LocalCluster(n_workers=N_WORKERS, **options)
        with Client(cluster.scheduler_address) as client:
            yield client
        with suppress(KeyError):
            cluster.close()


@pytest.fixture
def client(shared_client):
    """The default client of a cluster whose workers are all there."""
    shared_client.wait_for_workers(N_WORKERS, timeout=LIMIT)
    return shared_client


@pytest.fixture
def healing(client, tmp_path):
    """Kill the workers that the test has stopped, so that the cluster starts new ones."""
    yield client
    pids = list_pids(tmp_path)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(
        lambda: not set(pids).intersection(client.run(os.getpid, on_error="ignore").values())
    )
