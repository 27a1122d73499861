"""BinnedData: the table every tree method shares, one byte a value."""

from dataclasses import dataclass

import numpy as np

from sumwise.kernels.binning import fill_tiles
from sumwise.kernels.layout import Table
from sumwise.kernels.threads import Team

_TILE = 16
_WORD = 8


@dataclass(frozen=True)
class BinnedData:
    """Bins of every value, by column and in tiles (see ``kernels.layout``).

    Attributes
    ----------
    table : Table
        The arrays as kernels take them.
    usable : ndarray of uint8
        Features whose rows do not all lie in one bin.
    """

    table: Table
    usable: np.ndarray

    @property
    def n_features(self) -> int:
        return int(self.table.columns.shape[0])

    @property
    def n_rows(self) -> int:
        return int(self.table.columns.shape[1])

    @classmethod
    def from_columns(
        cls, columns: np.ndarray, n_value_bins: np.ndarray, team: Team
    ) -> "BinnedData":
        """Build from bins by column: uint8 of shape (n_features, n_rows), 0 for missing."""
        n_features, n_rows = columns.shape
        tile_first = np.append(np.arange(0, n_features, _TILE), n_features).astype(np.int64)
        widths = np.diff(tile_first)
        tile_words = np.where(widths > _WORD, 2, 1).astype(np.int64)
        ends = np.cumsum(tile_words * n_rows)
        tile_start = (ends - tile_words * n_rows).astype(np.int64)
        tiles = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.uint64)
        team.run(fill_tiles, columns, tile_start, tile_words, tile_first, tiles)
        bin_start = np.zeros(n_features + 1, dtype=np.int64)
        np.cumsum(n_value_bins + 1, out=bin_start[1:])
        table = Table(columns, tiles, tile_start, tile_words, tile_first, n_value_bins, bin_start)
        usable = columns.min(axis=1, initial=255) < columns.max(axis=1, initial=0)
        return cls(table, usable.astype(np.uint8))
