import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import get_worker

import sumwise
from sumwise.dask import ranks
from sumwise.dask.ranks import find_memory_limit, make_part
from sumwise.errors import PeersError
from sumwise.estimators.input.jobs import count_cpus, granting_cpus
from sumwise.estimators.input.parts import Part
from tests.dask.faults import wait_until


def test_a_part_has_all_columns():
    part = make_part(sumwise.__version__, 3, np.ones((2, 1)), [1, 2], None, [0, 0], None)
    assert isinstance(part, Part)
    assert (part.number, part.y, part.sample_weight, part.init_score) == (3, [1, 2], None, [0, 0])


def test_other_versions_are_refused(client):
    made = client.submit(make_part, "0.0.7", 0, None, None)
    with pytest.raises(PeersError, match=r"the client has sumwise 0\.0\.7, and the worker tcp://"):
        made.result()


@pytest.mark.parametrize(
    ("worker", "host"),
    [
        ("tcp://127.0.0.1:4000", "127.0.0.1"),
        ("tls://[::1]:4000", "::1"),
        ("inproc://192.0.2.1/123/4", "127.0.0.1"),
    ],
)
def test_ports_are_those_of_the_interface_of_the_worker(worker, host):
    with ranks.open_listener(worker) as listener:
        assert listener.address[0] == host
        socket.create_connection(listener.address, timeout=5).close()


def test_a_worker_may_be_known_under_the_address_of_a_gateway():
    with ranks.open_listener("tcp://192.0.2.1:4000") as listener:
        host, port = listener.address
        assert host == "192.0.2.1"
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


JOB = SimpleNamespace(name="fit", start_timeout=30.0)


def test_ranks_that_wait_are_told_all_addresses():
    told = []
    own = [("10.0.0.1", 1), ("10.0.0.2", 2)]
    threads = [
        threading.Thread(
            target=lambda k=k: told.append(ranks._meet(JOB, k, own[k], lambda: None)), daemon=True
        )
        for k in range(2)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(ranks.find_addresses("fit")) == 2)
    assert ranks.find_addresses("fit") == dict(enumerate(own))
    assert ranks.find_addresses("another") == {}
    ranks.tell_addresses("another", [])
    ranks.tell_addresses("fit", own)
    for thread in threads:
        thread.join(10)
    assert told == [own, own]
    assert not ranks._meetings


@pytest.mark.parametrize(
    ("timeout", "reason", "message"),
    [(30.0, "the fit was cancelled", "was cancelled"), (0.1, None, "not started within 0.1 sec")],
)
def test_ranks_do_not_wait_forever(timeout, reason, message):
    job = SimpleNamespace(name="fit", start_timeout=timeout)
    with pytest.raises(PeersError, match=message):
        ranks._meet(job, 0, ("10.0.0.1", 1), lambda: reason)
    assert not ranks._meetings


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
