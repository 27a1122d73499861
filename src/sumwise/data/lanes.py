"""Lanes and tiles: which features share a byte, and how many bytes a tile has."""

from collections.abc import Sequence

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import Lanes
from sumwise.kernels.table.tiles import mark_pairs, number_pairs

_TILE = 16
_CODES = 256
# Narrower tiles are not worth their own pass over the rows.
_NARROWEST = 4
# Columns with more codes can rarely share a byte with another column.
_FEW_CODES = 17
_SAME = np.arange(_CODES)
_SAME.flags.writeable = False


# The features of a column, and the bin of the feature for each code: see BundledColumns.
Contents = Sequence[tuple[int, np.ndarray]]


class _Lane:
    """Columns that share a byte: one code for each combination of codes that occurs."""

    def __init__(self, column: int) -> None:
        self.columns = [column]
        self.codes: np.ndarray | None = None  # None while there is one column
        self.combined = _SAME[:, None]  # the code of each column, by shared code

    def try_to_join(self, column: int, columns: np.ndarray, team: Team) -> bool:
        """Add a column, unless there would be too many combinations."""
        codes = columns[self.columns[0]] if self.codes is None else self.codes
        n_codes = self.combined.shape[0]
        seen = np.zeros((team.n_threads, n_codes, _CODES), dtype=np.uint8)
        team.run(mark_pairs, codes, columns[column], seen)
        code, own_code = np.nonzero(seen.any(axis=0))
        if code.size > _CODES:
            return False
        number = np.zeros((n_codes, _CODES), dtype=np.uint8)
        number[code, own_code] = np.arange(code.size)
        if self.codes is None:
            self.codes = codes.copy()
        team.run(number_pairs, self.codes, columns[column], number)
        self.combined = np.column_stack([self.combined[code], own_code])
        self.columns.append(column)
        return True


def plan_lanes(
    columns: np.ndarray,
    n_codes: np.ndarray,
    team: Team,
    left_out: np.ndarray | None = None,
    contents: Sequence[Contents] | None = None,
    alone: np.ndarray | None = None,
) -> tuple[Lanes, np.ndarray, list[np.ndarray]]:
    """Let neighboring columns with few codes share a lane, as long as one byte holds their codes.

    Columns marked in ``left_out`` get no lane; columns listed in ``alone`` share none. Without
    ``contents`` each column holds the bins of one feature. Returns the lanes, the source of each,
    and arrays of shared codes. A source is the index of a column, or -1 - the index of an array.
    """
    lanes: list[_Lane] = []
    last: _Lane | None = None
    apart = set() if alone is None else set(alone.tolist())
    for c in range(n_codes.size):
        if left_out is not None and left_out[c]:
            continue
        if n_codes[c] > _FEW_CODES or c in apart:
            lanes.append(_Lane(c))
        elif last is None or not last.try_to_join(c, columns, team):
            last = _Lane(c)
            lanes.append(last)
    source = np.array([lane.columns[0] for lane in lanes], dtype=np.int64)
    sizes = n_codes[source]
    members: list[int] = []
    first, default_bin, n_entries = [0], [], [0]
    entries: list[np.ndarray] = [np.empty((2, 0), dtype=np.uint8)]
    shared: list[np.ndarray] = []
    for number, lane in enumerate(lanes):
        if lane.codes is not None:
            source[number], sizes[number] = -1 - len(shared), lane.combined.shape[0]
            shared.append(lane.codes)
        features, default, counts, own = _describe_lane(lane, int(sizes[number]), contents)
        members += features
        default_bin += default
        n_entries += counts
        if own is not None:
            entries.append(own)
        first.append(len(members))
    plan = Lanes(
        np.array(first, dtype=np.int64),
        np.array(members, dtype=np.int64),
        sizes,
        np.array(default_bin, dtype=np.uint8),
        np.cumsum(n_entries, dtype=np.int64),
        *np.concatenate(entries, axis=1).copy(),
    )
    return plan, source, shared


def _describe_lane(
    lane: _Lane, n_codes: int, contents: Sequence[Contents] | None
) -> tuple[list[int], list[int], list[int], np.ndarray | None]:
    """Return the features of a lane, their default bins and numbers of entries, and the entries."""
    inside: list[tuple[int, np.ndarray]] = []
    for own, column in zip(lane.combined[:n_codes].T, lane.columns, strict=True):
        if contents is not None:
            inside += [(feature, bins[own]) for feature, bins in contents[column]]
        elif len(lane.columns) > 1:
            inside.append((column, own))
        else:
            return [column], [0], [0], None
    features = [feature for feature, _ in inside]
    if len(features) == 1:
        return features, [0], [0], None
    by_code = np.stack([bins for _, bins in inside])
    place = _CODES * np.arange(len(features))[:, None] + by_code
    counts = np.bincount(place.ravel(), minlength=_CODES * len(features)).reshape(-1, _CODES)
    default = counts.argmax(axis=1)
    feature, code = np.nonzero(by_code != default[:, None])
    entries = np.stack([code, by_code[feature, code]]).astype(np.uint8)
    n_entries = np.bincount(feature, minlength=len(features))
    return features, default.tolist(), n_entries.tolist(), entries


def plan_tiles(n_lanes: int, n_threads: int) -> np.ndarray:
    """Return the first lane of each tile, and the end.

    Tiles have about equal widths. Each thread gets the same number of tiles if there are enough
    lanes.
    """
    n_tiles = -(-n_lanes // _TILE)
    even = -(-n_tiles // n_threads) * n_threads
    if n_lanes >= _NARROWEST * even:
        n_tiles = even
    return np.arange(n_tiles + 1) * n_lanes // max(1, n_tiles)
