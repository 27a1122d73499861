"""Twins of the kernels of ``kernels.sampling.by_gradient`` that weigh rows."""

from collections.abc import Callable

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.layout import SAMPLING


def find_twin(name: str) -> Callable[..., None] | None:
    """Return the twin of a kernel, or None."""
    return multiply_rows if name == "multiply_rows" else None


def multiply_rows(
    team: DeviceTeam, rows: DeviceArray, factor: DeviceArray, values: DeviceArray
) -> None:
    """Queue multiplying the values (n_outputs, n_table_rows) of rows by their factors."""
    team.launch(
        SAMPLING, "multiply_rows", rows.size, rows, factor, rows.size, values, *values.shape
    )


def draw_bayesian_weights(
    team: DeviceTeam, key: np.uint64, temperature: float, rows: DeviceArray, out: DeviceArray
) -> None:
    """Queue drawing the weights of a Bayesian bootstrap, one per row."""
    numbers = key, float(temperature), rows, rows.size
    team.launch(SAMPLING, "draw_bayesian_weights", rows.size, *numbers, out)
