"""Pictures are drawn to memory, and forgotten after each test."""

import matplotlib
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")
