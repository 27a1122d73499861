"""Each worker of pytest-xdist has CPUs of its own; GPUs are emulated.

The threads of a team meet at barriers. Where they share their CPUs with other workers, every
barrier waits until the scheduler has served those, for milliseconds instead of microseconds.
"""

import os

import pytest

ALL_CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset()


def share_cpus(cpus, worker, n_workers):
    """Return the CPUs of a worker: its share, or one that it shares if there are more workers."""
    cpus = sorted(cpus)
    return cpus[worker::n_workers] or [cpus[worker % len(cpus)]]


def pytest_configure(config):
    if ALL_CPUS and hasattr(config, "workerinput"):
        worker, n_workers = config.workerinput["workerid"], config.workerinput["workercount"]
        os.sched_setaffinity(0, share_cpus(ALL_CPUS, int(worker.removeprefix("gw")), n_workers))


@pytest.fixture
def all_cpus():
    """Let the threads of a test run on all CPUs, truly at once, beside those of other workers."""
    if not ALL_CPUS:
        yield
        return
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL_CPUS)
    yield
    os.sched_setaffinity(0, own)


@pytest.fixture
def device():
    """A device that executes kernels on the CPU; at the end, its guard bands are checked."""
    from tests.cuda.emulator import EmulatedDevice  # few tests need it

    with EmulatedDevice() as device:
        yield device


@pytest.fixture
def emulated(monkeypatch):
    """Devices of any number are emulated; the fixture opens one by its number."""
    from sumwise.cuda.runtime import choosing
    from tests.cuda.emulator import EmulatedDevice

    monkeypatch.setattr(choosing, "device_maker", EmulatedDevice)
    return EmulatedDevice
