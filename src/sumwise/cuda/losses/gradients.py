"""Launch gradient kernels of losses, which have the names and arguments of those on the CPU."""

from collections.abc import Callable
from functools import partial

import numpy as np

from sumwise.cuda.losses.layout import LOSSES, GradientTask
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.runtime.team import DeviceTeam

# Losses of two classes take labels as bytes.
_OF_LABELS = ("logistic", "exponential")


def find_twin(name: str) -> Callable[..., None] | None:
    """Return the twin of a gradient kernel of ``sumwise.kernels.losses``; None for others."""
    return partial(_fill, name) if name.endswith("_gradient") else None


def _fill(
    name: str,
    team: DeviceTeam,
    target: DeviceArray,
    raw: DeviceArray,
    weight: DeviceArray,
    gradient: DeviceArray,
    hessian: DeviceArray,
    *parameters: float,
) -> None:
    """Fill gradient and hessian, which have the shape of the scores: (n_outputs, n_rows)."""
    check_target(name, target)
    n_outputs, n_rows = raw.shape
    arrays = target, raw, weight if weight.size else 0, gradient, hessian
    task = pack_struct(GradientTask(*arrays, n_rows))
    numbers = (n_outputs,) if name.startswith("multinomial") else parameters
    team.launch(LOSSES, name, n_rows, task, *numbers)


def check_target(name: str, target: DeviceArray) -> None:
    """Assert that targets have the type that kernels of a loss read."""
    kind = np.uint8 if name.startswith(_OF_LABELS) else np.float64
    assert target.dtype == kind, f"{name} takes targets of {np.dtype(kind)}, not {target.dtype}"
