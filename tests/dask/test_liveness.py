import pytest

from sumwise.dask import liveness
from sumwise.dask.liveness import Workers
from sumwise.errors import PeersError


class Scheduler:
    """A client and a scheduler that say what a test wants, by the test's clock."""

    status = "running"

    def __init__(self, monkeypatch):
        self.now, self.seen, self.error = 0.0, {"tcp://a": 0.0, "tcp://b": 0.0}, None
        self.scheduler = self
        monkeypatch.setattr(liveness.time, "monotonic", lambda: self.now)

    def scheduler_info(self, n_workers=5):
        raise AssertionError("only its parameters matter")

    def identity(self, n_workers):
        assert n_workers == -1
        about = {"status": "running"}
        return {"workers": {name: {**about, "last_seen": at} for name, at in self.seen.items()}}

    def sync(self, question, *args, callback_timeout, **options):
        if self.error is not None:
            raise self.error
        return question(*args, **options)


def test_a_worker_without_a_sign_of_life_is_lost(monkeypatch):
    scheduler = Scheduler(monkeypatch)
    workers = Workers(scheduler, silence=4.0)
    for second in range(1, 6):
        scheduler.now = float(second)
        scheduler.seen["tcp://a"] = 1000.0 + second
        workers.look()
    assert workers.alive == ["tcp://a"]
    assert workers.silent == ["tcp://b"]
    assert workers.explain("tcp://b") == "tcp://b (no sign of life for 4 seconds)"
    # It was only very busy.
    scheduler.seen["tcp://b"], scheduler.now = 7.0, 7.0
    workers.look()
    assert workers.alive == ["tcp://a", "tcp://b"]


def test_a_busy_scheduler_hears_nobody(monkeypatch):
    scheduler = Scheduler(monkeypatch)
    workers = Workers(scheduler, silence=4.0)
    scheduler.now = 100.0
    workers.look()
    assert workers.silent == []


def test_a_worker_that_has_ended_is_lost(monkeypatch):
    scheduler = Scheduler(monkeypatch)
    workers = Workers(scheduler, silence=4.0)
    del scheduler.seen["tcp://a"]
    workers.look(at_once=True)
    assert workers.is_lost("tcp://a")
    assert workers.silent == []
    assert "it has ended" in workers.explain("tcp://a")


@pytest.mark.parametrize("error", [OSError("closed"), TimeoutError()])
def test_a_lost_scheduler_is_an_error(monkeypatch, error):
    scheduler = Scheduler(monkeypatch)
    workers = Workers(scheduler, silence=4.0)
    scheduler.error = error
    with pytest.raises(PeersError, match=r"the scheduler of Dask was lost: (closed|no answer)"):
        workers.look(at_once=True)
