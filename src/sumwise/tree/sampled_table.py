"""A table of the features that one tree has drawn, so that the tree costs no more than these.

A tile is summed as a whole. If a tenth of the features is drawn, four tiles of five contain one of
them, and sampling would save next to nothing. So the lanes of the drawn features are copied into
their own tiles: copying these bytes takes less time than summing those of the other features.

Features are drawn before the tree is grown, by the function and with the key that growth would use,
and they keep their numbers, so models have the same bytes. Their histograms lie next to each other,
so that the pool holds more of them. Whether all this pays is estimated once per fit.
"""

import numpy as np

from sumwise.data.binned import BinnedData, lay_out_tiles, place_bins
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.gather import BLOCK, gather_entries, gather_lanes
from sumwise.kernels.table.layout import BLOCK_BITS, Bundles, Lanes

# Costs in nanoseconds. To sum a byte in all nodes of a tree, and an entry:
_SUM_BYTE, _SUM_ENTRY = 2.0, 4.0
# To copy a byte, to look at an entry, and to prepare any table:
_COPY_BYTE, _LOOK_AT_ENTRY, _PREPARE = 0.5, 1.0, 200_000.0
_N_CODES = 256


def sampling_pays(data: BinnedData, by_tree: float, n_rows: int) -> bool:
    """Whether trees of ``n_rows`` rows and a share of the features should have their own table."""
    if by_tree >= 1.0:
        return False
    table = data.table
    first = table.lanes.first
    # The share of lanes, and of tiles, that have a feature of the tree.
    lanes = 1.0 - (1.0 - by_tree) ** np.diff(first)
    tiles = 1.0 - (1.0 - by_tree) ** np.diff(first[table.tile_first])
    needed, summed = float(lanes.sum()), float((tiles * np.diff(table.tile_first)).sum())
    gain = (summed - needed) * n_rows * _SUM_BYTE - needed * data.n_rows * _COPY_BYTE
    n_entries = table.bundles.entries.size
    gain += n_entries * ((1.0 - by_tree) * _SUM_ENTRY - _LOOK_AT_ENTRY)
    return gain > _PREPARE


class SampledTable:
    """Makes tables of some features from the table of all. Each overwrites the one before.

    Parameters
    ----------
    data : BinnedData
    team : Team
    """

    def __init__(self, data: BinnedData, team: Team) -> None:
        self._data, self._team = data, team
        lanes = data.table.lanes
        self._lane = np.repeat(np.arange(lanes.first.size - 1), np.diff(lanes.first))
        self._n_entries = np.diff(lanes.first_entry)
        self._place = _find_lanes(data)
        self._blank = np.zeros(BLOCK, dtype=np.uint8)
        self._tiles = np.empty(0, dtype=np.uint64)
        self._entries: tuple[np.ndarray, np.ndarray] | None = None

    def take(self, chosen: np.ndarray, first: int, last: int) -> BinnedData:
        """Return the table of the ``chosen`` features, which are marked; rows [first, last) train.

        Features keep their numbers. All others have neither lanes nor histograms.
        """
        data, table = self._data, self._data.table
        lanes, source, old_place, meaning, crowds = self._choose_lanes(chosen)
        tiles_at = lay_out_tiles(source.size, data.n_rows, self._team.n_threads)
        tile_start, tile_words, tile_first, n_words = tiles_at
        if n_words > self._tiles.size:
            self._tiles = np.empty(n_words, dtype=np.uint64)
        places = (tile_start, tile_words, tile_first)
        old = (table.columns, table.tiles, source, old_place, meaning, self._blank)
        self._team.run(gather_lanes, *old, first, last, self._tiles, *places)
        new = table._replace(
            tiles=self._tiles,
            tile_start=tile_start,
            tile_words=tile_words,
            tile_first=tile_first,
            lanes=lanes,
            crowds=crowds,
            bin_start=place_bins(table.n_value_bins + 1, chosen),
            bundles=self._choose_entries(chosen, first, last),
        )
        return BinnedData(new, data.usable)

    def _choose_lanes(
        self, chosen: np.ndarray
    ) -> tuple[Lanes, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the lanes of the features, and how to fill them: see gather_lanes."""
        table = self._data.table
        old = table.lanes
        keep = chosen[old.members] != 0
        n_members = np.bincount(self._lane[keep], minlength=old.n_codes.size)
        kept = np.flatnonzero(n_members)
        first = np.append(0, n_members[kept].cumsum())
        members = old.members[keep]
        n_entries = self._n_entries[keep]
        of_kept = np.repeat(keep, self._n_entries)
        n_codes, crowds = old.n_codes[kept], table.crowds[kept]
        # A feature that shared its lane and is alone now has its bins as codes again.
        was_shared = np.diff(old.first)[kept] > 1
        is_alone = n_members[kept] == 1
        source = np.full(kept.size, -1, dtype=np.int64)
        alone = members[first[:-1][is_alone]]
        if table.bundles.coding.size:
            source[is_alone] = np.where(was_shared[is_alone], -1, table.bundles.coding[alone, 0])
        else:
            source[is_alone] = alone
        is_freed = was_shared & is_alone
        n_codes[is_freed] = table.n_value_bins[members[first[:-1][is_freed]]] + 1
        crowds[is_freed] = 1 << BLOCK_BITS  # an upper bound: all rows of a block
        from_tiles = np.flatnonzero(source < 0)
        source[from_tiles] = -1 - np.arange(from_tiles.size)
        meaning = np.tile(np.arange(_N_CODES, dtype=np.uint8), (from_tiles.size, 1))
        recoded = np.flatnonzero(is_freed[from_tiles])
        own = np.flatnonzero(keep)[first[:-1][from_tiles[recoded]]]
        meaning[recoded] = old.default_bin[own, None]
        which, entry = _expand(old.first_entry[own], self._n_entries[own])
        meaning[recoded[which], old.entry_code[entry]] = old.entry_bin[entry]
        lanes = Lanes(
            first,
            members,
            n_codes,
            old.default_bin[keep],
            np.append(0, n_entries.cumsum()),
            old.entry_code[of_kept],
            old.entry_bin[of_kept],
        )
        return lanes, source, self._place[kept[from_tiles]], meaning, crowds

    def _choose_entries(self, chosen: np.ndarray, first: int, last: int) -> Bundles:
        """Return the sparse entries of the features."""
        bundles = self._data.table.bundles
        if bundles.entries.size == 0:
            return bundles
        n_bins = self._data.table.n_value_bins[bundles.members] + 1
        keep = np.repeat((chosen[bundles.members] != 0).astype(np.uint8), n_bins)
        if self._entries is None:
            self._entries = np.empty_like(bundles.row_start), np.empty_like(bundles.entries)
        n_kept = np.empty(self._team.n_threads, dtype=np.int64)
        kept = (keep, first, last, n_kept, *self._entries)
        self._team.run(gather_entries, bundles.row_start, bundles.entries, *kept)
        is_kept = chosen[bundles.members] != 0
        return bundles._replace(
            members=bundles.members[is_kept],
            place=bundles.place[is_kept],
            row_start=self._entries[0],
            entries=self._entries[1],
        )


def _expand(start: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the range that each number belongs to, and all numbers, range after range."""
    which = np.repeat(np.arange(size.size), size)
    return which, start[which] + np.arange(which.size) - (size.cumsum() - size)[which]


def _find_lanes(data: BinnedData) -> np.ndarray:
    """Return the first word of each lane, its words per row, and the shift of its byte."""
    table = data.table
    widths = np.diff(table.tile_first)
    tile = np.repeat(np.arange(widths.size), widths)
    position = np.arange(tile.size) - table.tile_first[tile]
    start = table.tile_start[tile] + (position >> 3)
    return np.stack([start, table.tile_words[tile], 8 * (position & 7)], axis=1)
