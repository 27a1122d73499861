"""Find the k-th lowest of many keys, or a weighted quantile, in many groups of keys at once.

Each group of keys (unsigned 64-bit integers, contiguous) has a goal. The key sought is the lowest
one for which the weights of all keys up to it add up to at least the goal. It is found digit by
digit, from the top: weigh the keys that have the digits found so far by their next digit, and find
the digit where the weights reach the goal. After two digits, the keys that have them are collected;
they are few, so the other digits cost little. All sums are integers: no order matters.
"""

from dataclasses import dataclass

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header, pack_struct, structure
from sumwise.cuda.runtime.team import DeviceTeam

_CHUNK_SIZE = 4096
_N_DIGITS, _DIGIT_BITS, _TOP_SHIFT, _POOL_SHIFT = 256, 8, 56, 48

Selection = structure(
    "Selection",
    """
    const uint64* keys;
    const int64* mass;  // weights of keys; null if all are one
    uint64* pool;  // as long as keys
    int64* pool_mass;
    const int64* first;  // [n_groups]: keys of a group are [first, first + size)
    const int64* size;  // 0 for a group without a key to find
    const double* goal;  // above 0
    int64* chunk_first;  // [n_groups + 1]
    uint64* n_pooled;  // [n_groups], and so are the next four
    uint64* found;  // the key sought
    int64* below;  // weight of lower keys
    int64* upto;  // weight of lower and equal keys
    uint64* next;  // the lowest key above; all ones if there is none
    uint64* counters;  // [n_groups][256], zero between selections
    int64 n_groups;
""",
)
SELECT = Program(
    "select", ("runtime/select.cu",), make_header(Selection, constants={"CHUNK_SIZE": _CHUNK_SIZE})
)


@dataclass(frozen=True)
class Groups:
    """Groups of keys, and what is found in each.

    Attributes
    ----------
    first, size : DeviceArray of int64
        Where the keys of a group are; a size of 0 for a group without a key to find.
    goal : DeviceArray of float64
        The weight to reach, above 0 and at most the weight of the group.
    found : DeviceArray of uint64
        The key sought.
    below, upto : DeviceArray of int64
        Weight of lower keys; of lower and equal keys.
    next : DeviceArray of uint64
        The lowest key above the one sought, all ones if there is none.
    """

    first: DeviceArray
    size: DeviceArray
    goal: DeviceArray
    found: DeviceArray
    below: DeviceArray
    upto: DeviceArray
    next: DeviceArray

    @classmethod
    def allocate(cls, team: DeviceTeam, n_groups: int) -> "Groups":
        """Return groups that are not known yet."""
        kinds = (np.int64, np.int64, np.float64, np.uint64, np.int64, np.int64, np.uint64)
        return cls(*(team.device.allocate(n_groups, kind) for kind in kinds))

    @classmethod
    def upload(cls, team: DeviceTeam, size: np.ndarray, goal: np.ndarray) -> "Groups":
        """Return groups of known sizes, which follow one another."""
        groups = cls.allocate(team, size.size)
        first = np.cumsum(size) - size
        for host, array in ((first, groups.first), (size, groups.size)):
            team.device.write(host.astype(np.int64), array)
        team.device.write(goal.astype(np.float64), groups.goal)
        return groups


class Selector:
    """Finds keys of groups, and keeps the scratch memory that it takes.

    Parameters
    ----------
    team : DeviceTeam
    n_keys, n_groups : int
        The most keys that are selected from, and the most groups.
    weighted : bool
        Whether keys may have weights.
    """

    def __init__(
        self, team: DeviceTeam, n_keys: int, n_groups: int = 1, weighted: bool = False
    ) -> None:
        self._team, device = team, team.device
        self._pool = device.allocate(max(1, n_keys), np.uint64)
        self._pool_mass = device.allocate(max(1, n_keys), np.int64) if weighted else None
        self._chunk_first = device.allocate(n_groups + 1, np.int64)
        self._n_pooled = device.allocate(n_groups, np.uint64)
        self._counters = device.zeros((n_groups, _N_DIGITS), np.uint64)

    def select(
        self,
        groups: Groups,
        keys: DeviceArray,
        mass: DeviceArray | None = None,
        find_next: bool = False,
    ) -> None:
        """Queue the search: it fills the last four arrays of the groups, ``next`` if asked for."""
        team, n_groups = self._team, groups.first.size
        selection = Selection(
            keys,
            0 if mass is None else mass,
            self._pool,
            0 if mass is None else self._pool_mass,
            groups.first,
            groups.size,
            groups.goal,
            self._chunk_first,
            self._n_pooled,
            groups.found,
            groups.below,
            groups.upto,
            groups.next,
            self._counters,
            n_groups,
        )
        words = pack_struct(selection)
        # A block works on a chunk.
        n_items = 256 * (-(-keys.size // _CHUNK_SIZE) + n_groups)
        team.launch(SELECT, "begin_selection", 1, words)
        for shift in range(_TOP_SHIFT, -1, -_DIGIT_BITS):
            pooled = shift < _POOL_SHIFT
            team.launch(SELECT, "weigh_digits", n_items, words, shift, pooled)
            team.launch(SELECT, "find_digits", 256 * n_groups, words, shift)
            if shift == _POOL_SHIFT:
                team.launch(SELECT, "pool_keys", n_items, words)
        if find_next:
            team.launch(SELECT, "find_next_keys", n_items, words)
