"""The mean loss of rows, to the bits of the CPU: ``kernels.runtime.reduce.exact_sum``."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sumwise.cuda.losses.gradients import check_target
from sumwise.cuda.losses.layout import LOSSES, ValueTask
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Later
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.runtime.team import DeviceTeam


class LaterLoss(Protocol):
    """A mean loss that the device works on."""

    def get(self) -> float:
        """Return the loss, when it is there."""


class _OneLoss:
    def __init__(self, copy: Later) -> None:
        self._copy = copy

    def get(self) -> float:
        return float(self._copy.get()[0])


class MeanOfLosses:
    """The mean of several losses: of the outputs of a separable loss."""

    def __init__(self, losses: Sequence[LaterLoss]) -> None:
        self._losses = losses

    def get(self) -> float:
        return sum(loss.get() for loss in self._losses) / len(self._losses)


def find_mean_loss(
    name: str,
    team: DeviceTeam,
    target: DeviceArray,
    raw: DeviceArray,
    weight: DeviceArray,
    rows: DeviceArray,
    *parameters: float,
) -> LaterLoss:
    """Queue the search for the weighted mean loss of rows, by a value kernel of its name."""
    check_target(name, target)
    n_outputs, n_rows = raw.shape
    losses = team.borrow("losses", rows.size, np.float64)
    totals = team.borrow("loss totals", 4, np.uint64)
    mean = team.borrow("mean loss", 1, np.float64)
    team.device.clear(totals)
    arrays = target, raw, weight if weight.size else 0, rows
    buffers = losses, totals[:2], totals[2:], mean
    task = pack_struct(ValueTask(*arrays, *buffers, n_rows, rows.size))
    numbers = (n_outputs,) if name.startswith("multinomial") else parameters
    team.launch(LOSSES, name, rows.size, task, *numbers)
    team.launch(LOSSES, "sum_losses", rows.size, task)
    team.launch(LOSSES, "divide_sums", 1, task)
    return _OneLoss(team.device.download_later(mean))
