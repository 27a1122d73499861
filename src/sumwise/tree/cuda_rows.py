"""Rows that are divided among devices, while arrays of all rows are on the first one."""

from collections.abc import Sequence

import numpy as np

from sumwise.cuda.grow.launching import Rows
from sumwise.cuda.runtime.arrays import DeviceArray, RowRange
from sumwise.cuda.runtime.device import Device
from sumwise.data.device_table import DeviceTable

# Rows of the table on the first device, each once; None for all rows.
DeviceRows = DeviceArray | range | None


def meet(devices: Sequence[Device]) -> None:
    """Let the devices wait for each other: what was queued before is done before what follows."""
    if len(devices) > 1:
        first, *others = devices
        for device in others:
            first.wait_for(device.mark())
        mark = first.mark()
        for device in others:
            device.wait_for(mark)


class DividedRows:
    """Which rows a device has: a range of all rows, device after device.

    Parameters
    ----------
    tables : sequence of DeviceTable
        Of all devices, in the order of their rows.
    """

    def __init__(self, tables: Sequence[DeviceTable]) -> None:
        self.devices = [table.device for table in tables]
        self._starts = np.cumsum([0, *(table.n_rows for table in tables)])
        self._buffers: dict[str, list[DeviceArray]] = {}
        self._divided: tuple[DeviceArray | None, list[Rows]] = (None, [])

    @property
    def n_rows(self) -> int:
        return int(self._starts[-1])

    def divide(self, rows: DeviceRows) -> list[Rows]:
        """Return the rows of each device, as numbers in its own table."""
        if rows is None or len(rows) == self.n_rows:  # these are all
            rows = range(self.n_rows)
        elif isinstance(rows, RowRange):
            rows = range(rows.first, rows.first + len(rows))
        if isinstance(rows, range):
            return [
                self._cut_range(rows, int(start), int(end))
                for start, end in zip(self._starts, self._starts[1:], strict=False)
            ]
        if len(self.devices) == 1:
            return [Rows(rows, 0, rows.size)]
        if rows is not self._divided[0]:  # those of a fit come again with each tree
            # Rows that a tree was not grown on may be in any order: left out, then for validation.
            self._divided = rows, self._divide_numbers(np.sort(rows.to_host()))
        return self._divided[1]

    @staticmethod
    def _cut_range(rows: range, start: int, end: int) -> Rows:
        first, last = max(rows.start, start), min(rows.stop, end)
        return Rows(0, max(first - start, 0), max(last - first, 0))

    def _divide_numbers(self, numbers: np.ndarray) -> list[Rows]:
        places = np.searchsorted(numbers, self._starts)
        divided = []
        for number, device in enumerate(self.devices):
            own = numbers[places[number] : places[number + 1]]
            local = (own - self._starts[number]).astype(np.uint32)
            divided.append(Rows(device.upload(local), 0, local.size))
        return divided

    def spread(self, name: str, items: DeviceArray) -> list[DeviceArray]:
        """Return the items of each device's rows there; work on ``name`` must be complete."""
        if len(self.devices) == 1:
            return [items]
        if name not in self._buffers:
            sizes = np.diff(self._starts)[1:]
            others = zip(self.devices[1:], sizes, strict=True)
            self._buffers[name] = [device.allocate(int(n), items.dtype) for device, n in others]
        meet(self.devices)
        for device, own, target in self._pair(name, items):
            device.copy(own, target)
        return [items, *self._buffers[name]]

    def collect(self, name: str, items: DeviceArray) -> None:
        """Copy what was spread back to the first device."""
        if len(self.devices) > 1:
            for device, own, target in self._pair(name, items):
                device.copy(target, own)
            meet(self.devices)

    def gather(self, parts: Sequence[DeviceArray], target: DeviceArray) -> None:
        """Copy parts on all devices to an array of all rows on the first one."""
        ends = zip(self._starts, self._starts[1:], strict=False)
        for device, part, (start, end) in zip(self.devices, parts, ends, strict=True):
            device.copy(part, target[int(start) : int(end)])
        meet(self.devices)

    def _pair(self, name: str, items: DeviceArray) -> list[tuple[Device, DeviceArray, DeviceArray]]:
        """Return the other devices with their rows of ``items`` and of the buffer ``name``."""
        starts = [int(start) for start in self._starts]
        return [
            (device, items[starts[number] : starts[number + 1]], self._buffers[name][number - 1])
            for number, device in enumerate(self.devices)
            if number
        ]
