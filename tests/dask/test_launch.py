"""Fits that lose workers, or are disturbed in other ways, end as they should, and in time."""

import io
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest
from dask import delayed
from distributed import Client, Event, LocalCluster, wait
from distributed.security import Security

import sumwise
from sumwise.dask import GradientBoostingRegressor, launch
from sumwise.dask.collections import list_partitions
from sumwise.dask.launch import train
from sumwise.dask.liveness import Workers
from sumwise.dask.placement import Share
from sumwise.dask.ranks import Job
from sumwise.errors import PeersError
from sumwise.estimators.boosting.among_peers import fit_among_peers
from tests.dask.faults import act_before_start, failing, kill, list_pids, stop, wait_until

N_ROWS, FEATURES = 240, ["a", "b"]
PARAMS = {"n_estimators": 8, "random_state": 3, "sampler": "subsample"}
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.random(N_ROWS), "b": RNG.integers(0, 9, N_ROWS)})
FRAME["y"] = FRAME.a * FRAME.b + RNG.random(N_ROWS)
CERTIFICATE = str(Path(__file__).with_name("certificate.pem"))


def make_job(fit=fit_among_peers, *, silence=30.0, start_timeout=30.0, **params):
    model = sumwise.GradientBoostingRegressor(**{**PARAMS, **params})
    token = secrets.token_bytes(32)
    return Job(model, fit, {}, None, token, silence, start_timeout)


def make_parts(n=6):
    return list_partitions(dd.from_pandas(FRAME, npartitions=n), "y")


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def expected():
    model = sumwise.GradientBoostingRegressor(**PARAMS)
    return save(model.fit(FRAME[FEATURES], FRAME.y))


def count_rank_threads():
    return sum(thread.name.startswith("sumwise") for thread in threading.enumerate())


def count_ports():
    own = psutil.Process().net_connections(kind="tcp")
    return sum(connection.status == psutil.CONN_LISTEN for connection in own)


def nothing_is_left(client):
    return not any(client.run(count_rank_threads).values())


# --- lost workers ---


@pytest.mark.parametrize(("rank", "step"), [(0, 0), (2, 12), (1, 70)])
def test_a_fit_goes_on_without_a_killed_worker(healing, tmp_path, expected, rank, step):
    job = make_job(failing(tmp_path, rank, step, kill))
    assert save(train(healing, job, make_parts())) == expected
    assert len(list_pids(tmp_path)) == 1


def test_a_fit_goes_on_without_a_stopped_worker(healing, tmp_path, expected):
    job = make_job(failing(tmp_path, 1, 40, stop), silence=5.0)
    assert save(train(healing, job, make_parts())) == expected
    assert len(list_pids(tmp_path)) == 1


def test_a_fit_starts_without_a_stopped_worker(healing, tmp_path, monkeypatch, expected):
    monkeypatch.setattr(launch, "run_rank", partial(act_before_start, str(tmp_path), stop))
    assert save(train(healing, make_job(silence=4.0), make_parts())) == expected
    assert len(list_pids(tmp_path)) == 1


def read_or_act(number, folder, act):
    if number == 1:
        # X and y come from two tasks, which may run at the same time.
        with suppress(FileExistsError), open(Path(folder) / "act-0", "x") as file:
            file.write(str(os.getpid()))
            file.flush()
            act()
    return FRAME[40 * number :][:40]


@pytest.mark.parametrize("act", [stop, kill])
def test_partitions_are_computed_without_a_lost_worker(healing, tmp_path, expected, act):
    frame = dd.from_map(read_or_act, range(6), folder=str(tmp_path), act=act, meta=FRAME[:0])
    job = make_job(silence=4.0)
    assert save(train(healing, job, list_partitions(frame, "y"))) == expected
    assert len(list_pids(tmp_path)) == 1


def test_data_that_only_a_stopped_worker_has_is_an_error(healing, tmp_path):
    [address, *_] = healing.scheduler_info()["workers"]
    frame = healing.persist(dd.from_pandas(FRAME, npartitions=2), workers=[address])
    wait(frame)
    pid = healing.run(os.getpid, workers=[address])[address]
    (tmp_path / "act-0").write_text(str(pid))
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(PeersError, match=f"some of the data is only on {address}"):
        train(healing, make_job(silence=3.0), list_partitions(frame, "y"))


def test_after_a_second_loss_the_error_has_the_rounds_so_far(healing, tmp_path, expected):
    job = make_job(failing(tmp_path, 0, 70, kill, times=2))
    with pytest.raises(PeersError, match=r"workers of this fit were lost: tcp://.*ended") as info:
        train(healing, job, make_parts())
    assert len(list_pids(tmp_path)) == 2
    rounds = info.value.fitted
    assert 0 < rounds.best_iteration_ < PARAMS["n_estimators"]
    model = sumwise.GradientBoostingRegressor(**PARAMS)
    model.fit(FRAME[FEATURES], FRAME.y, init_model=rounds)
    assert save(model) == expected


# --- other disturbances ---


def test_two_fits_at_once(client, expected):
    models = []

    def fit():
        frame = dd.from_pandas(FRAME, npartitions=5)
        models.append(GradientBoostingRegressor(client=client, **PARAMS).fit(frame, "y"))

    threads = [threading.Thread(target=fit, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [save(model) for model in models] == [expected] * 2


def test_workers_without_rows_take_no_part(client, expected):
    def fit(model, parts, peers, **options):
        assert len(parts) == peers.size == 1
        return fit_among_peers(model, parts, peers, **options)

    assert save(train(client, make_job(fit), make_parts(1))) == expected


def raise_memory_error():
    raise MemoryError("no room")


def test_an_error_of_one_rank_is_that_of_the_fit(client, tmp_path):
    job = make_job(failing(tmp_path, 1, 20, raise_memory_error))
    with pytest.raises(MemoryError, match="no room"):
        train(client, job, make_parts())
    wait_until(lambda: nothing_is_left(client))


def wait_for_event(name, _):
    Event(name).wait(60)


def test_busy_workers_are_named(client):
    event = Event("busy")
    busy = client.map(wait_for_event, ["busy"] * 3, range(3), pure=False)
    workers = Workers(client, 30.0)
    ranks = launch._Ranks(workers, list(workers.present))
    try:
        with pytest.raises(PeersError, match=r"within 0.5 seconds, because they.*tcp://"):
            ranks.start(make_job(start_timeout=0.5), [Share([], {})] * len(workers.present))
    finally:
        ranks.forget()
        event.set()
        client.gather(busy)


class Slowly:
    """A callback that tells that training goes on."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, state):
        Path(self.mark).touch()
        time.sleep(0.02)


def test_an_interrupt_ends_all_ranks(client, tmp_path):
    mark = tmp_path / "begun"
    job = make_job(n_estimators=10_000, callbacks=[Slowly(str(mark))])

    def interrupt():
        wait_until(mark.exists)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        train(client, job, make_parts())
    thread.join()
    wait_until(lambda: nothing_is_left(client))


FIT = """
import sys
from distributed import Client
from tests.dask.test_launch import Slowly, make_job, make_parts, train

job = make_job(n_estimators=10_000, callbacks=[Slowly(sys.argv[2])])
train(Client(sys.argv[1]), job, make_parts())
"""


def test_a_killed_client_leaves_nothing(client, tmp_path):
    before = client.run(count_ports)
    mark = tmp_path / "begun"
    command = [sys.executable, "-c", FIT, client.scheduler.address, str(mark)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        wait_until(mark.exists, 60)
        process.kill()
    wait_until(lambda: nothing_is_left(client))
    wait_until(lambda: client.run(count_ports) == before)


def test_a_fit_leaves_nothing(client):
    before = client.run(count_ports)
    train(client, make_job(), make_parts())
    assert nothing_is_left(client)
    wait_until(lambda: client.run(count_ports) == before)
    wait_until(lambda: not any(client.has_what().values()))


# --- kinds of clusters ---


def test_connections_are_encrypted_if_those_of_dask_are(expected):
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_{what}": CERTIFICATE for role in roles for what in ("cert", "key")}
    security = Security(tls_ca_file=CERTIFICATE, require_encryption=True, **files)
    options = {"protocol": "tls://", "security": security, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=2, processes=False, threads_per_worker=1, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        addresses = client.scheduler_info()["workers"]
        rows = zip(addresses, (FRAME[:99], FRAME[99:]), strict=True)
        held = [client.scatter(own, workers=[address], hash=False) for address, own in rows]
        frame = dd.from_delayed(held, meta=FRAME[:0])
        job = make_job(check_encryption)
        assert save(train(client, job, list_partitions(frame, "y"))) == expected


def check_encryption(model, parts, peers, **options):
    assert peers.size == 2
    assert all(link.is_encrypted for link in peers._links.values())
    return fit_among_peers(model, parts, peers, **options)


def test_workers_may_be_threads_of_one_process(expected):
    with Client(n_workers=2, processes=False, dashboard_address=":0", set_as_default=False) as own:
        frame = dd.from_delayed([delayed(FRAME[:99]), delayed(FRAME[99:])], meta=FRAME[:0])
        model = GradientBoostingRegressor(client=own, **PARAMS).fit(frame, "y")
    assert save(model) == expected
