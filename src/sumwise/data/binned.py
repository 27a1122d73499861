"""BinnedData: the table every tree method shares, one byte a value."""

from dataclasses import dataclass

import numpy as np

from sumwise.kernels.binning import count_crowds, fill_tiles
from sumwise.kernels.layout import BLOCK_BITS, Table
from sumwise.kernels.threads import Team

_TILE = 16
_WORD = 8
# Narrower tiles are not worth a pass over the rows of their own.
_NARROWEST = 4


def plan_tiles(n_features: int, n_threads: int) -> np.ndarray:
    """Return the first feature of each tile, and the end: as many tiles for each thread if the
    features suffice for that, all about equally wide.
    """
    n_tiles = -(-n_features // _TILE)
    even = -(-n_tiles // n_threads) * n_threads
    if n_features >= _NARROWEST * even:
        n_tiles = even
    return np.arange(n_tiles + 1) * n_features // max(1, n_tiles)


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
        tile_first = plan_tiles(n_features, team.n_threads)
        widths = np.diff(tile_first)
        tile_words = np.where(widths > _WORD, 2, 1).astype(np.int64)
        ends = np.cumsum(tile_words * n_rows)
        tile_start = (ends - tile_words * n_rows).astype(np.int64)
        tiles = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.uint64)
        team.run(fill_tiles, columns, tile_start, tile_words, tile_first, tiles)
        n_blocks = -(-n_rows >> BLOCK_BITS)
        crowds = np.empty((widths.size, n_blocks), dtype=np.int64)
        counts = np.empty((team.n_threads, 256), dtype=np.int64)
        team.run(count_crowds, columns, tile_first, counts, crowds)
        bin_start = np.zeros(n_features + 1, dtype=np.int64)
        np.cumsum(n_value_bins + 1, out=bin_start[1:])
        table = Table(
            columns, tiles, tile_start, tile_words, tile_first, crowds, n_value_bins, bin_start
        )
        usable = columns.min(axis=1, initial=255) < columns.max(axis=1, initial=0)
        return cls(table, usable.astype(np.uint8))
