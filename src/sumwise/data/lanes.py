"""Which features share a byte of the tiles, and how many bytes a tile has."""

import numpy as np

from sumwise.kernels.layout import Lanes

_TILE = 16
_CODES = 256
# Narrower tiles are not worth a pass over the rows of their own.
_NARROWEST = 4
# Features with more bins than this would share a byte with one other at most.
_FEW_BINS = 16


def plan_lanes(n_value_bins: np.ndarray, has_missing: np.ndarray) -> Lanes:
    """Put features with few bins together, in their order, as many as a byte can tell apart."""
    low = np.where(has_missing, 0, 1)
    radix = n_value_bins + 1 - low
    lanes: list[list[int]] = []
    shared: list[int] = []
    n_codes = 1
    for f in range(n_value_bins.size):
        if radix[f] > _FEW_BINS:
            lanes.append([f])
            continue
        if n_codes * radix[f] > _CODES:
            shared, n_codes = [], 1
        if not shared:
            lanes.append(shared)
        shared.append(f)
        n_codes *= int(radix[f])
    for lane in lanes:
        if len(lane) == 1:  # the code is the bin itself
            low[lane[0]], radix[lane[0]] = 0, n_value_bins[lane[0]] + 1
    first = np.cumsum([0, *(len(lane) for lane in lanes)])
    members = np.array([f for lane in lanes for f in lane], dtype=np.int64)
    return Lanes(first, members, low.astype(np.int64), radix.astype(np.int64))


def plan_tiles(n_lanes: int, n_threads: int) -> np.ndarray:
    """Return the first lane of each tile, and the end: as many tiles for each thread if the lanes
    suffice for that, all about equally wide.
    """
    n_tiles = -(-n_lanes // _TILE)
    even = -(-n_tiles // n_threads) * n_threads
    if n_lanes >= _NARROWEST * even:
        n_tiles = even
    return np.arange(n_tiles + 1) * n_lanes // max(1, n_tiles)
