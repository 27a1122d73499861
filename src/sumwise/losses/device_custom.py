"""Custom losses on a device: of NumPy arrays, which are copied, or of CuPy arrays there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.errors import DeviceError
from sumwise.losses.base import mean_loss
from sumwise.losses.custom import CUPY, CustomLoss


class _KnownLoss:
    """A mean loss that is there."""

    def __init__(self, loss: float) -> None:
        self._loss = loss

    def get(self) -> float:
        return self._loss


class DeviceCustomLoss(CustomLoss):
    """A custom loss whose targets, scores and derivatives are on a device.

    Parameters
    ----------
    loss : CustomLoss
        Adapted to the rows of the fit.
    team : DeviceTeam
    """

    def __init__(self, loss: CustomLoss, team: DeviceTeam) -> None:
        vars(self).update(vars(loss))
        self._device = team.device
        self._known: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}
        if self.arrays == CUPY:
            self.library = _import_cupy(self.name)
            if self._rows is not None:
                with self._queue():
                    self._rows = self.library.asarray(self._rows)

    def gradient(
        self, team: Any, target: Any, raw: Any, weight: Any, gradient: Any, hessian: Any
    ) -> None:
        with self._queue():
            if self.arrays == CUPY:
                views = (
                    self._view(raw),
                    self._view(weight),
                    self._view(gradient),
                    self._view(hessian),
                )
                super().gradient(team, self._view(target), *views)
                return
            found = np.empty(raw.shape), np.empty(raw.shape)
            known = self._remember(target), raw.to_host(), self._remember(weight)
            super().gradient(team, *known, *found)
            for own, array in zip(found, (gradient, hessian), strict=True):
                self._device.write(own, array)

    def measure(self, team: Any, target: Any, raw: Any, weight: Any, rows: Any) -> _KnownLoss:
        own_weight, own_rows = self._remember(weight), rows.to_host()
        with self._queue():
            if self.arrays == CUPY:
                numbers = self._view(rows)
                losses = self.row_values(self._view(target)[numbers], self._view(raw)[:, numbers])
                losses = self.library.asnumpy(losses)
            else:
                losses = self.row_values(
                    self._remember(target)[own_rows], raw.to_host()[:, own_rows]
                )
        if own_weight.size:
            losses = losses * own_weight[own_rows]
        return _KnownLoss(mean_loss(losses, own_weight, own_rows))

    @contextmanager
    def _queue(self) -> Iterator[None]:
        """Have CuPy queue its work behind that of the device."""
        if self.arrays != CUPY:
            yield
            return
        cuda, device = self.library.cuda, self._device
        with cuda.Device(device.number), cuda.ExternalStream(device.stream):
            yield

    def _view(self, array: Any) -> Any:
        """Return CuPy arrays of the same memory; targets of several outputs are columns."""
        if isinstance(array, tuple):
            return self.library.stack([self._view(column) for column in array], axis=1)
        return self.library.asarray(array)

    def _remember(self, array: Any) -> np.ndarray:
        """Return a copy on the host, of an array that stays as it is."""
        if isinstance(array, tuple):
            return np.stack([self._remember(column) for column in array], axis=1)
        key = array.address, array.shape
        if key not in self._known:
            self._known[key] = array.to_host()
        return self._known[key]


def _import_cupy(name: str) -> Any:
    try:
        import cupy  # type: ignore[import-not-found]
    except ImportError:
        raise DeviceError(
            f"{name}.arrays='cupy' needs CuPy, which is not installed: pip install cupy-cuda12x or "
            "cupy-cuda13x, by the version of the driver; without the attribute arrays, the loss is "
            "called with NumPy arrays"
        ) from None
    return cupy
