"""The emulator's own tests choose themselves whether accesses are watched."""

import pytest


@pytest.fixture(autouse=True)
def _ignore_environment(monkeypatch):
    monkeypatch.delenv("SUMWISE_CHECK_ACCESSES", raising=False)
