"""What a fit takes of the memory of devices, known before it is taken."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.memory import show_bytes
from sumwise.data.binning import BinMapper
from sumwise.data.device_binning import divide_rows
from sumwise.data.device_table import TableSizes, count_tile_bins
from sumwise.errors import DeviceMemoryError
from sumwise.sampling import Columns
from sumwise.sampling.device_draws import count_draws
from sumwise.training.boosters import Dart, Forest, Plain
from sumwise.training.session import BoostingSettings, TrainingRows
from sumwise.tree.cuda_memory import LESS_MEMORY, count_growth

TABLE, ROWS, TREES = "the table", "rows and scores", "trees and histograms"


@dataclass(frozen=True)
class FitMemory:
    """The memory of a fit: all that grows with the rows, and all that trees need.

    Small arrays are left out, so that nothing is refused that there is memory for.

    Attributes
    ----------
    devices : sequence of Device
        Several of them may be on the same GPU.
    mapper : BinMapper
    n_tables : int
        Tables of the same rows, by permutations of them.
    rows : TrainingRows
    settings : BoostingSettings
    free : sequence of int
        Bytes that each device had when the fit began.
    """

    devices: Sequence[Device]
    mapper: BinMapper
    n_tables: int
    rows: TrainingRows
    settings: BoostingSettings
    free: Sequence[int]

    @classmethod
    def find(
        cls,
        devices: Sequence[Device],
        mapper: BinMapper,
        n_tables: int,
        rows: TrainingRows,
        settings: BoostingSettings,
    ) -> "FitMemory":
        """Ask devices how much is free, before the fit takes any."""
        free = [device.count_free() for device in devices]
        return cls(devices, mapper, n_tables, rows, settings, free)

    def check(self, usable: np.ndarray) -> None:
        """Raise DeviceMemoryError if a GPU has not enough memory, with tiles of these features."""
        for gpu in sorted({device.number for device in self.devices}):
            own = [i for i, device in enumerate(self.devices) if device.number == gpu]
            needed = sum((self.count(i, usable) for i in own), Counter[str]())
            free = min(self.free[i] for i in own)
            if needed.total() > free:
                # Without tiles it is not all yet.
                takes = "takes" if usable.any() else "takes at least"
                self._refuse(self.devices[own[0]], takes, needed, free)

    def _refuse(self, device: Device, takes: str, needed: Counter[str], free: int) -> None:
        shape = f"{self.rows.n_rows:,} rows and {self._n_bins.size:,} features"
        parts = ", ".join(f"{show_bytes(size)} for {what}" for what, size in needed.items())
        raise DeviceMemoryError(
            f"a fit on {shape} {takes} {show_bytes(needed.total())} of the memory of GPU "
            f"{device.number} ({device.name}), and {show_bytes(free)} are free: {parts}. To take "
            f"less, {LESS_MEMORY}"
        )

    def count(self, number: int, usable: np.ndarray) -> Counter[str]:
        """Return the bytes that a device needs, by what for."""
        first, last = divide_rows(self.rows.n_rows, len(self.devices), number)
        tile_bins = count_tile_bins(self._n_bins, usable)
        n_categorical = len(self.mapper.categories)
        table = TableSizes(last - first, self._n_bins.size, n_categorical, tile_bins)
        growth, columns = self.settings.growth, self.settings.columns or Columns()
        trees = count_growth(table, growth, columns, self.rows.train.size, len(self.devices))
        # Devices after the first have a gradient, a hessian and a score of their rows.
        rows = self._count_rows() if number == 0 else 3 * 8 * table.n_rows
        return Counter({TABLE: self.n_tables * table.n_bytes, ROWS: rows, TREES: trees})

    @property
    def _n_bins(self) -> np.ndarray:
        return self.mapper.count_bins()

    def _count_rows(self) -> int:
        """Return the bytes of arrays of all rows, which the first device has."""
        rows, settings = self.rows, self.settings
        n_arrays = (3 + self._count_further()) * settings.loss.n_outputs
        given = rows.target.nbytes + rows.weight.nbytes + 4 * (rows.train.size + rows.valid.size)
        scratch = count_draws(settings.sampler, rows.train.size)
        if settings.loss.location is not None:
            scratch = max(scratch, 16 * rows.train.size)  # keys, and the pool to select from
            if self._has_weights:  # as numbers, and as integers
                scratch += 16 * rows.n_rows
            if len(self.devices) > 1:  # leaves of all rows
                scratch += 4 * rows.n_rows
        return 8 * n_arrays * rows.n_rows + given + scratch

    @property
    def _has_weights(self) -> bool:
        sampler = self.settings.sampler
        return self.rows.weight.size > 0 or (sampler is not None and sampler.has_factors)

    def _count_further(self) -> int:
        """Return how many arrays a booster has besides scores, gradients and hessians."""
        booster = self.settings.booster
        if self.n_tables > 1:  # scores of all tables but the first; gradients and hessians of all
            return 3 * self.n_tables - 1
        if isinstance(booster, Dart):
            return 2
        if isinstance(booster, Forest):
            return 6
        return 3 if isinstance(booster, Plain) and booster.trees_per_round > 1 else 0
