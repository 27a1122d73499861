import gc
import pickle
import socket
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import get_worker

import sumwise
from sumwise.dask.ranks import Port, find_memory_limit, make_part, open_port
from sumwise.errors import PeersError
from sumwise.estimators.input.jobs import count_cpus, granting_cpus
from sumwise.estimators.input.parts import Part
from sumwise.sockets import Listener


def test_a_part_has_all_columns():
    part = make_part(sumwise.__version__, 3, np.ones((2, 1)), [1, 2], None, [0, 0], None)
    assert isinstance(part, Part)
    assert (part.number, part.y, part.sample_weight, part.init_score) == (3, [1, 2], None, [0, 0])


def test_other_versions_are_refused(client):
    made = client.submit(make_part, "0.0.7", 0, None, None)
    with pytest.raises(PeersError, match=r"the client has sumwise 0\.0\.7, and the worker tcp://"):
        made.result()


def test_a_port_is_closed_when_it_is_forgotten():
    listener = Listener.open("127.0.0.1")
    port = Port(listener.address, listener)
    socket.create_connection(port.address, timeout=5).close()
    copy = pickle.loads(pickle.dumps(port))
    assert copy.address == port.address
    assert copy.listener is None
    del port
    gc.collect()
    assert listener.socket.fileno() == -1


def test_ports_are_those_of_the_interface_of_the_worker(client):
    [address, *_] = client.scheduler_info()["workers"]
    port = client.submit(open_port, workers=[address], pure=False)
    host, number = port.result().address
    assert address.startswith(f"tcp://{host}:")
    socket.create_connection((host, number), timeout=5).close()


def count_granted():
    with granting_cpus(get_worker().state.nthreads):
        return count_cpus()


def test_a_rank_has_the_threads_of_its_worker(client):
    assert client.submit(count_granted).result() == 1


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [(None, 5, None), (0, 5, None), (1000, 300, 500), (1000, 900, 250), (10**18, 0, 7000)],
)
def test_memory_is_what_the_worker_has_left(monkeypatch, limit, used, expected):
    monkeypatch.setattr("sumwise.dask.ranks.find_free_memory", lambda: 7000)
    worker = SimpleNamespace(
        memory_manager=SimpleNamespace(memory_limit=limit),
        monitor=SimpleNamespace(get_process_memory=lambda: used),
    )
    assert find_memory_limit(worker) == expected
