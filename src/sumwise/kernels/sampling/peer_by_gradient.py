"""Choose rows by their gradients among peers: those that one process with all rows chooses.

The steps and the keys are those of :mod:`.by_gradient`. To find the k-th lowest key of all peers,
they add up how many keys there are by their next digit. When few keys have the digits found so far,
their remaining digits are gathered, which saves the exchanges for the others. Of equal keys, those
of the first rows in the whole data are chosen; their places are only exchanged if not all are.

A sum takes 32 kB, and gathered keys at most as much. A draw takes two or three exchanges to find
the rows with the largest gradients, and two for the others; if very many gradients are equal, as in
the first round of a classifier, it takes up to seven for the former.
"""

from typing import NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.random import extend_key
from sumwise.kernels.runtime.threads import Team, share
from sumwise.kernels.sampling.by_gradient import (
    _FEWER_BITS,
    _ONE,
    _TAKEN,
    _key_of_size,
    _partition_rows,
)
from sumwise.kernels.sampling.peer_runs import Runs, find_run
from sumwise.peers import Peers, Shards

# The largest counters that are still sent to all peers at once.
_DIGIT = 12
# Keys of gradients have no sign, and random keys lack bits, too. ``_TAKEN`` has more.
_SIZE_BITS, _RANDOM_BITS = 63, 58
# Keys of all peers that are gathered instead of counted.
_FEW = 4096


class KthKey(NamedTuple):
    """The k-th lowest key, how many of the k keys are equal to it, and how many keys are at all."""

    key: np.uint64
    n_chosen: int
    n_equal: int


@kernel
def measure_gradients(thread, n_threads, sync, gradient, rows, keys):
    """Make the keys of rows: the larger the gradient, the lower."""
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        keys[i] = _key_of_size(gradient, rows[i])


@kernel
def count_digits(thread, n_threads, sync, keys, known, shift, width, counters):
    """Count keys by a digit of ``width`` bits, of those whose higher digits are ``known``."""
    first, last = share(keys.size, thread, n_threads)
    own, mask = counters[thread], (_ONE << width) - _ONE
    for digit in range(own.size):
        own[digit] = 0
    for i in range(first, last):
        head = keys[i] >> shift
        if head >> width == known:
            own[head & mask] += 1


@kernel
def take_top(thread, n_threads, sync, keys, bound, cut, key, runs):
    """Keys lower than the bound become ``_TAKEN``, and equal ones before ``cut``; others random."""
    first, last = share(keys.size, thread, n_threads)
    run = find_run(runs.end, first)
    while first < last:
        begin = runs.end[run - 1] if run > 0 else np.int64(0)
        end, offset = min(last, runs.end[run]), runs.first[run] - begin
        for i in range(first, end):
            is_taken = keys[i] < bound or (keys[i] == bound and i < cut)
            keys[i] = _TAKEN if is_taken else extend_key(key, i + offset) >> _FEWER_BITS
        first = end
        run += 1


@kernel
def count_chosen(thread, n_threads, sync, keys, bound, cut, counts):
    """Count the keys that are taken, lower than the bound, or equal to it and before ``cut``."""
    first, last = share(keys.size, thread, n_threads)
    n_chosen = np.int64(0)
    for i in range(first, last):
        n_chosen += keys[i] + _ONE <= bound  # _TAKEN + 1 is 0
        n_chosen += keys[i] == bound and i < cut
    counts[thread] = n_chosen


@kernel
def split_by_keys(thread, n_threads, sync, keys, rows, bound, cut, amplify, counts, out):
    """Separate the rows of these keys from the others.

    ``counts`` are those of :func:`count_chosen`; ``out`` is (chosen rows, their factors, others).
    """
    first, last = share(keys.size, thread, n_threads)
    place = np.int64(0)
    for t in range(thread):
        place += counts[t]
    end, other_place = place + counts[thread], first - place
    ends = np.uint64(end), np.uint64(last - end)
    places = np.uint64(place), ends[0], np.uint64(other_place), ends[1]
    cut = min(max(cut, first), last)
    places = _partition_rows(keys, rows, first, cut, bound + _ONE, amplify, out, places)
    _partition_rows(keys, rows, cut, last, bound, amplify, out, places)


def find_kth_key(keys: np.ndarray, n_bits: int, k: int, peers: Peers, team: Team) -> KthKey:
    """Return the k-th lowest of all peers' keys that have no more than ``n_bits`` bits."""
    known, shift = 0, n_bits
    counters = np.empty((team.n_threads, 1 << _DIGIT), dtype=np.int64)
    while shift > 0:
        width = min(_DIGIT, shift)
        shift -= width
        digits = (np.uint64(known), np.uint64(shift), np.uint64(width))
        team.run(count_digits, keys, *digits, counters)
        counts = counters.sum(axis=0)
        peers.add(counts)
        up_to = counts.cumsum()
        digit = int(np.searchsorted(up_to, k))
        n_equal = int(counts[digit])
        k -= int(up_to[digit]) - n_equal
        known = known << width | digit
        if shift > 0 and n_equal <= _FEW:
            own = keys[keys >> np.uint64(shift) == np.uint64(known)]
            pool = np.sort(np.concatenate(peers.gather(own)))
            key = pool[k - 1]
            n_lower, n_up_to = (int(np.searchsorted(pool, key, side)) for side in ("left", "right"))
            return KthKey(key, k - n_lower, n_up_to - n_lower)
    return KthKey(np.uint64(known), k, n_equal)


def _find_cut(keys: np.ndarray, rows: np.ndarray, kth: KthKey, shards: Shards) -> int:
    """Return the place before which keys equal to the k-th lowest are chosen."""
    if kth.n_chosen == kth.n_equal:
        return keys.size
    equal = np.flatnonzero(keys == kth.key)
    n_own = 0
    for where, number in shards.place(rows[equal]):
        n_own += min(max(kth.n_chosen - number, 0), where.stop - where.start)
    return int(equal[n_own - 1]) + 1 if n_own else 0


def choose_by_gradient_among(
    gradient: np.ndarray,
    rows: np.ndarray,
    n_top: int,
    n_other: int,
    amplify: float,
    key: np.uint64,
    runs: Runs,
    keys: np.ndarray,
    shards: Shards,
    team: Team,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient-based one-side sampling among peers.

    Chooses the ``n_top`` of all peers' rows with the largest |gradient|, summed over the outputs,
    with a factor of 1, and ``n_other`` of the others at random, with the factor ``amplify``.

    Parameters
    ----------
    gradient : ndarray of shape (n_outputs, n_table_rows)
    rows : ndarray of uint32
        The rows of this process to choose from, ascending.
    n_top, n_other : int
    amplify : float
    key : uint64
    runs : Runs
        The numbers of ``rows`` among those of all peers.
    keys : ndarray of uint64
        Scratch, as long as ``rows``.
    shards : Shards
    team : Team

    Returns
    -------
    chosen, factor, others : ndarray
        The rows of this process that are chosen, their factors, and its other rows.
    """
    bound, cut = np.uint64(0), 0
    if n_top > 0:
        team.run(measure_gradients, gradient, rows, keys)
        kth = find_kth_key(keys, _SIZE_BITS, n_top, shards.peers, team)
        bound, cut = kth.key, _find_cut(keys, rows, kth, shards)
    else:
        keys[:] = _TAKEN >> _ONE
    team.run(take_top, keys, bound, cut, key, runs)
    kth = find_kth_key(keys, _RANDOM_BITS, n_other, shards.peers, team)
    bound, cut = kth.key, _find_cut(keys, rows, kth, shards)
    counts = np.empty(team.n_threads, dtype=np.int64)
    team.run(count_chosen, keys, bound, cut, counts)
    n_chosen = int(counts.sum())
    out = (
        np.empty(n_chosen, dtype=np.uint32),
        np.empty(n_chosen),
        np.empty(rows.size - n_chosen, dtype=np.uint32),
    )
    team.run(split_by_keys, keys, rows, bound, cut, amplify, counts, out)
    return out
