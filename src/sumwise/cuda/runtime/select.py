"""Find the k-th lowest of many keys, or a weighted quantile, in many groups of keys at once.

Each group of keys (unsigned 64-bit integers, contiguous) has a goal. The key sought is the lowest
one for which the weights of all keys up to it add up to at least the goal. It is found digit by
digit, from the top: weigh the keys that have the digits found so far by their next digit, and find
the digit where the weights reach the goal. After two digits, the keys that have them are collected
in a pool; they are few, so the other digits cost little. All sums are integers: no order matters.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header, pack_struct, structure
from sumwise.cuda.runtime.team import DeviceTeam

_CHUNK_SIZE, _THREADS = 4096, 256
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
    const int32* overlaps;  // [n_groups]: at least 0 for groups that share keys; null for none
    double* goal;  // above 0
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
CONSTANTS = {"CHUNK_SIZE": _CHUNK_SIZE}
SELECT = Program("select", ("runtime/select.cu",), make_header(Selection, constants=CONSTANTS))


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
        """Return groups of known sizes, which follow one another.

        Nothing is sought in groups whose goal is 0.
        """
        groups = cls.allocate(team, size.size)
        first, size = np.cumsum(size) - size, np.where(goal > 0, size, 0)
        for host, array in ((first, groups.first), (size, groups.size)):
            team.device.write(host.astype(np.int64), array)
        team.device.write(goal.astype(np.float64), groups.goal)
        return groups

    def take(self, n_groups: int) -> "Groups":
        """Return the first groups."""
        names = [own.name for own in fields(self)]
        return Groups(*(getattr(self, name)[:n_groups] for name in names))


class Selector:
    """Finds keys of groups.

    Parameters
    ----------
    team : DeviceTeam
        Lends the memory for pools, which all selectors share.
    n_groups : int
        The most groups.
    """

    def __init__(self, team: DeviceTeam, n_groups: int = 1) -> None:
        self._team, device = team, team.device
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
        self.search(self.begin(groups, keys, mass), find_next)

    def begin(
        self,
        groups: Groups,
        keys: DeviceArray,
        mass: DeviceArray | None,
        overlaps: DeviceArray | None = None,
    ) -> "Begun":
        """Divide the keys of groups among blocks; goals need not be known yet.

        ``overlaps`` (int32) is at least 0 for groups that share keys with others.
        """
        shared = 0 if overlaps is None else overlaps
        own = groups.first, groups.size, shared, groups.goal, self._chunk_first, self._n_pooled
        found = groups.found, groups.below, groups.upto, groups.next, self._counters
        n_groups, borrow = groups.first.size, self._team.borrow
        pool, weights = borrow("pool", keys.size, np.uint64), None
        if mass is not None:
            weights = borrow("weights of the pool", keys.size, np.int64)
        known = keys, 0 if mass is None else mass, pool, 0 if weights is None else weights
        selection = Selection(*known, *own, *found, n_groups)
        n_blocks = -(-keys.size // _CHUNK_SIZE) + n_groups  # one per chunk, at most
        begun = Begun(pack_struct(selection), n_blocks * _THREADS, n_groups * _THREADS)
        self._team.launch(SELECT, "begin_selection", 1, begun.words)
        return begun

    def search(self, begun: "Begun", find_next: bool) -> None:
        """Queue the search for the keys of the groups."""
        team, words = self._team, begun.words
        for shift in range(_TOP_SHIFT, -1, -_DIGIT_BITS):
            team.launch(SELECT, "weigh_digits", begun.n_threads, words, shift)
            team.launch(SELECT, "find_digits", begun.n_group_threads, words, shift)
            if shift == _POOL_SHIFT:
                team.launch(SELECT, "pool_keys", begun.n_threads, words)
        if find_next:
            team.launch(SELECT, "find_next_keys", begun.n_threads, words)


class Begun(NamedTuple):
    """A selection as kernels take it, and numbers of threads: for all keys, for all groups."""

    words: bytes
    n_threads: int
    n_group_threads: int
