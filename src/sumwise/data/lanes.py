"""Which features share a byte of the tiles, and how many bytes a tile has."""

import numpy as np

from sumwise.kernels.layout import Lanes
from sumwise.kernels.threads import Team
from sumwise.kernels.tiles import mark_pairs, number_pairs

_TILE = 16
_CODES = 256
# Narrower tiles are not worth a pass over the rows of their own.
_NARROWEST = 4
# Features with more bins than this would rarely find another to share a byte with.
_FEW_BINS = 16


class _SharedByte:
    """Codes for the combinations of bins that occur in some features."""

    def __init__(self, n_rows: int, lane: int) -> None:
        self.lane = lane
        self.members: list[int] = []
        self.codes = np.zeros(n_rows, dtype=np.uint8)
        self.bins = np.zeros((1, 0), dtype=np.uint8)  # of each code and member

    def try_to_join(self, feature: int, column: np.ndarray, team: Team) -> bool:
        """Take a feature in, unless there would be too many combinations."""
        n_codes = max(1, self.bins.shape[0])
        seen = np.zeros((team.n_threads, n_codes, _CODES), dtype=np.uint8)
        team.run(mark_pairs, self.codes, column, seen)
        code, own_bin = np.nonzero(seen.any(axis=0))
        if code.size > _CODES:
            return False
        number = np.zeros((n_codes, _CODES), dtype=np.uint8)
        number[code, own_bin] = np.arange(code.size)
        team.run(number_pairs, self.codes, column, number)
        self.bins = np.column_stack([self.bins[code], own_bin.astype(np.uint8)])
        self.members.append(feature)
        return True


def plan_lanes(
    columns: np.ndarray, n_value_bins: np.ndarray, team: Team, is_wide: np.ndarray | None = None
) -> tuple[Lanes, np.ndarray, list[np.ndarray]]:
    """Put features with few bins together, in their order, as many as a byte can tell apart.

    Wide features are in no lane. Returns the lanes and where their codes are: the number of a
    column, or -1 - the number of an array of the list.
    """
    lanes: list[list[int]] = []
    shared: list[_SharedByte] = []
    for f in range(n_value_bins.size):
        if is_wide is not None and is_wide[f]:
            continue
        if n_value_bins[f] > _FEW_BINS:
            lanes.append([f])
        elif not shared or not shared[-1].try_to_join(f, columns[f], team):
            shared.append(_SharedByte(columns.shape[1], len(lanes)))
            shared[-1].try_to_join(f, columns[f], team)
            lanes.append(shared[-1].members)
    first = np.cumsum([0, *(len(lane) for lane in lanes)])
    members = np.array([f for lane in lanes for f in lane], dtype=np.int64)
    source = members[first[:-1]]
    n_codes = n_value_bins[source] + 1
    usual_bin, first_entry = np.zeros(members.size, np.uint8), np.zeros(members.size + 1, np.int64)
    entries: list[np.ndarray] = []
    crowded = [byte for byte in shared if len(byte.members) > 1]
    for number, byte in enumerate(crowded):
        n_codes[byte.lane], source[byte.lane] = byte.bins.shape[0], -1 - number
        for m, bins in enumerate(byte.bins.T, start=int(first[byte.lane])):
            usual_bin[m] = np.bincount(bins, minlength=1).argmax()
            codes = np.flatnonzero(bins != usual_bin[m])
            first_entry[m + 1] = codes.size
            entries.append(np.stack([codes, bins[codes]]).astype(np.uint8))
    joined = np.concatenate([np.empty((2, 0), np.uint8), *entries], axis=1)
    plan = Lanes(first, members, n_codes, usual_bin, first_entry.cumsum(), *joined.copy())
    return plan, source, [byte.codes for byte in crowded]


def plan_tiles(n_lanes: int, n_threads: int) -> np.ndarray:
    """Return the first lane of each tile, and the end: as many tiles for each thread if the lanes
    suffice for that, all about equally wide.
    """
    n_tiles = -(-n_lanes // _TILE)
    even = -(-n_tiles // n_threads) * n_threads
    if n_lanes >= _NARROWEST * even:
        n_tiles = even
    return np.arange(n_tiles + 1) * n_lanes // max(1, n_tiles)
