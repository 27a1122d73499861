"""What the tests of estimators share."""

import pytest

from sumwise.estimators.boosting import base as boosting_base
from sumwise.estimators.input import jobs


@pytest.fixture
def teams(monkeypatch):
    """Let four threads run however few CPUs there are and however small the work."""
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)


@pytest.fixture
def bytes_of(tmp_path):
    """A function from a fitted model to the bytes of its file."""

    def save(model):
        path = tmp_path / "model.sumwise"
        model.save(path)
        return path.read_bytes()

    return save


@pytest.fixture
def seen_rows(monkeypatch):
    """The training and validation rows of each fit."""
    seen = []

    def spy(table, rows, *args):
        seen.append(rows)
        return original(table, rows, *args)

    original = boosting_base.boost
    monkeypatch.setattr(boosting_base, "boost", spy)
    return seen
