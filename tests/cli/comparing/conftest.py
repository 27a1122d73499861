"""Limits of threads for the tests of comparisons."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):  # scikit-learn's threads wait for each other
        yield
