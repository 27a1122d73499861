"""Where the kernels of tests are kept."""

import pytest

from sumwise.kernels.runtime import cache


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """An empty cache, for one test."""
    monkeypatch.setattr(cache, "find_roots", lambda: [tmp_path])
    cache.find_writable_root.cache_clear()
    yield tmp_path
    cache.find_writable_root.cache_clear()
