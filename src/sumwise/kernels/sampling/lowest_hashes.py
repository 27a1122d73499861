"""Draw k of n rows: those whose hashes are the k lowest.

The rule, for every device, page and worker: the rows to draw from are numbered 0, 1, 2, ... in the
order of the whole data. They have positive weights, and rows held out for validation are not among
those that rounds draw from. ``key`` is ``make_key(seed, purpose, number of the draw)``, and the
hash of row number i is ``extend_key(key, i)``, an unsigned 64-bit integer. The rows with the k
lowest hashes are drawn. For one key, ``extend_key`` maps 64-bit integers one to one, so no two rows
have the same hash and there are no ties. All sets of k rows are equally likely.

With strata (classes), the rows with the lowest hashes of each stratum are drawn. Groups are drawn
by the hashes of their own numbers.

The draw does not depend on how the rows are divided. Parts of the data (threads, pages, workers)
draw together in three steps. A part only needs to know the number of its first row:

1. In each part, :func:`survey` counts the hashes below a window and collects those inside it.
   :func:`expect_window` places the window where the k-th lowest of n random numbers should be; it
   contains about ``10 * sqrt(k * (1 - k / n))`` of them.
2. The counts are added and the collected hashes are concatenated. :func:`find_bound` returns the
   k-th lowest. Once in a million draws it lies outside the window; ``EVERYTHING`` is then surveyed
   instead.
3. In each part, :func:`split` separates the rows whose hash is at most that bound from the others.

:func:`draw_lowest` and :func:`draw_strata` do this for rows in memory.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import extend_key
from sumwise.kernels.runtime.threads import Team, share, wait_for_all

# Of rows held out for validation; the other purposes are in ``runtime.random``.
HELD_OUT = np.int64(7)
# Rows hashed at a time, by a loop that vectorizes, into a part of the cache that is near.
_BLOCK = np.int64(64)
_ONE = np.uint64(1)
_LARGEST = (1 << 64) - 1
# Half the width of the window in standard deviations of the number of hashes below its middle.
_DEVIATIONS = 5.0
# Windows: of all hashes, and of a single one, for strata that nothing is drawn from.
EVERYTHING = np.uint64(0), np.uint64(_LARGEST)
_LOWEST_HASH = np.uint64(0), np.uint64(0)


@routine
def _hash_numbers(key, first_number, hashes):
    for i in range(hashes.size):
        hashes[i] = extend_key(key, first_number + np.uint64(i))


@kernel
def survey_hashes(thread, n_threads, sync, key, first_number, window, hashes, counts):
    """Count the hashes of some rows below a window, and collect those inside it.

    Parameters
    ----------
    key, first_number : uint64
        The number of the first row; those of the others follow.
    window : (low, width), both uint64
        A hash is inside if it is at least ``low`` and at most ``low + width``.
    hashes : uint64 array, as long as there are rows, out
        Each thread's hashes inside the window begin where its share of the rows begins.
    counts : int64 array of shape (n_threads, 2), out
        Each thread's numbers of hashes below the window and inside it.
    """
    low, width = window
    first, last = share(hashes.size, thread, n_threads)
    n_below, end = np.int64(0), first
    for begin in range(first, last, _BLOCK):
        n = min(_BLOCK, last - begin)
        block = hashes[end : end + n]
        _hash_numbers(key, first_number + np.uint64(begin), block)
        n_inside = np.int64(0)
        for i in range(n):
            n_below += block[i] < low
            n_inside += block[i] - low <= width
        if n_inside > 0:
            for i in range(n):
                value = block[i]
                hashes[end] = value
                end += value - low <= width
    counts[thread, 0] = n_below
    counts[thread, 1] = end - first


@kernel
def survey_strata(
    thread, n_threads, sync, key, first_number, strata, low, width, hashes, places, counts, n_inside
):
    """Do the same for rows of several strata, each with its own window.

    Parameters
    ----------
    key, first_number : uint64
    strata : uint32 array
        The stratum of each row.
    low, width : uint64 arrays
        The window of each stratum.
    hashes, places : uint64 and uint32 arrays, as long as there are rows, out
        Each thread's hashes inside the windows, and the places of their rows.
    counts : int64 array of shape (n_threads, n_strata), out
        Each thread's numbers of hashes below the windows.
    n_inside : int64 array of shape (n_threads,), out
    """
    first, last = share(hashes.size, thread, n_threads)
    own, end = counts[thread], first
    for stratum in range(own.size):
        own[stratum] = 0
    for i in range(first, last):
        stratum = strata[i]
        value = extend_key(key, first_number + np.uint64(i))
        own[stratum] += value < low[stratum]
        if value - low[stratum] <= width[stratum]:
            hashes[end] = value
            places[end] = i
            end += 1
    n_inside[thread] = end - first


@routine
def _mark_block(key, first_number, strata, is_empty, bounds, begin, block):
    """Fill ``block`` with numbers that are at most the returned one if a row is drawn."""
    _hash_numbers(key, first_number + np.uint64(begin), block)
    if strata.size == 0:
        return bounds[0]
    for i in range(block.size):
        stratum = strata[begin + i]
        block[i] = (block[i] > bounds[stratum]) | is_empty[stratum]
    return np.uint64(0)


@routine
def _count_drawn(key, first_number, strata, is_empty, bounds, first, last, scratch):
    n_drawn = np.int64(0)
    for begin in range(first, last, _BLOCK):
        block = scratch[: min(_BLOCK, last - begin)]
        bound = _mark_block(key, first_number, strata, is_empty, bounds, begin, block)
        for i in range(block.size):
            n_drawn += block[i] <= bound
    return n_drawn


@kernel
def split_by_hash(
    thread, n_threads, sync, key, first_number, rows, strata, is_empty, bounds, scratch, counts, out
):
    """Separate the rows whose hash is at most the bound of their stratum from the others.

    Parameters
    ----------
    key, first_number : uint64
    rows : uint32 array
    strata : uint32 array
        The stratum of each row; empty if there is only one.
    is_empty : bool array
        The strata that no rows are drawn from, whatever their bounds.
    bounds : uint64 array
        The bound of each stratum.
    scratch : uint64 array of shape (n_threads, BLOCK)
    counts : int64 array of shape (n_threads,), scratch
    out : (drawn, others), both uint32 arrays
        Rows in the order of ``rows``. They are as long as there are such rows.
    """
    drawn, others = out
    own_scratch = scratch[thread]
    first, last = share(rows.size, thread, n_threads)
    n_before, n_own = np.int64(0), np.int64(drawn.size)
    if n_threads > 1:
        n_own = _count_drawn(key, first_number, strata, is_empty, bounds, first, last, own_scratch)
        counts[thread] = n_own
        wait_for_all(sync, n_threads)
        for t in range(thread):
            n_before += counts[t]
    place, other_place = np.uint64(n_before), np.uint64(first - n_before)
    # The last places from which a block fits into what belongs to this thread.
    last_place = n_before + n_own - _BLOCK
    last_other_place = last - n_before - n_own - _BLOCK
    for begin in range(first, last, _BLOCK):
        n = min(_BLOCK, last - begin)
        block, own = own_scratch[:n], rows[begin : begin + n]
        bound = _mark_block(key, first_number, strata, is_empty, bounds, begin, block)
        if (np.int64(place) <= last_place) & (np.int64(other_place) <= last_other_place):
            # Branch-free: the row is written to both, and stays in one of them.
            for i in range(n):
                drawn[place] = own[i]
                others[other_place] = own[i]
                step = np.uint64(block[i] <= bound)
                place += step
                other_place += _ONE - step
        else:
            for i in range(n):
                if block[i] <= bound:
                    drawn[place] = own[i]
                    place += _ONE
                else:
                    others[other_place] = own[i]
                    other_place += _ONE


def expect_window(n_drawn: int, n_rows: int) -> tuple[np.uint64, np.uint64]:
    """Return the window (low, width) that should contain the ``n_drawn``-th lowest hash."""
    share_drawn = n_drawn / n_rows
    deviation = math.sqrt(n_drawn * (1.0 - share_drawn))
    reach = _DEVIATIONS * (deviation + 1.0) / n_rows
    low = int(max(share_drawn - reach, 0.0) * 2.0**64)
    high = min(int((share_drawn + reach) * 2.0**64), _LARGEST)
    return np.uint64(low), np.uint64(high - low)


def survey(
    key: np.uint64,
    n_rows: int,
    window: tuple[np.uint64, np.uint64],
    team: Team,
    first_number: int = 0,
) -> tuple[int, np.ndarray]:
    """Return how many hashes are below a window, and those inside it, in the order of the rows.

    Parameters
    ----------
    key : uint64
    n_rows : int
    window : (low, width), both uint64
        A hash is inside if it is at least ``low`` and at most ``low + width``.
    team : Team
    first_number : int
        Number of the first row among all rows to draw from; those of the others follow.
    """
    hashes = np.empty(n_rows, dtype=np.uint64)
    counts = np.empty((team.n_threads, 2), dtype=np.int64)
    team.run(survey_hashes, key, np.uint64(first_number), window, hashes, counts)
    n_below, n_inside = zip(*counts.tolist(), strict=True)
    return sum(n_below), _join(hashes, n_inside)


def _join(found: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return what threads have found, each from the first place of its share."""
    if len(sizes) == 1:
        return found[: sizes[0]]
    first = [found.size * thread // len(sizes) for thread in range(len(sizes))]
    return np.concatenate([found[f : f + n] for f, n in zip(first, sizes, strict=True)])


def find_bound(n_drawn: int, n_below: int, inside: np.ndarray) -> np.uint64 | None:
    """Return the ``n_drawn``-th lowest hash, given those inside a window and how many are below.

    None if it is not inside.
    """
    place = n_drawn - n_below - 1
    return np.partition(inside, place)[place] if 0 <= place < inside.size else None


class Drawn(NamedTuple):
    """Rows that are drawn, and the others, both in their order."""

    rows: np.ndarray
    others: np.ndarray


class Strata(NamedTuple):
    """The stratum of each row, empty if there is only one; and which strata give no row."""

    of_row: np.ndarray
    is_empty: np.ndarray


_ONE_STRATUM = Strata(np.empty(0, dtype=np.uint32), np.zeros(1, dtype=np.bool_))


def split(
    key: np.uint64,
    rows: np.ndarray,
    bounds: np.ndarray,
    n_drawn: int,
    team: Team,
    first_number: int = 0,
    strata: Strata = _ONE_STRATUM,
) -> Drawn:
    """Separate the rows that are drawn from the others.

    Parameters
    ----------
    key : uint64
    rows : ndarray of uint32
    bounds : ndarray of uint64
        The hash of the last row that is drawn, one per stratum.
    n_drawn : int
        How many of ``rows`` are drawn.
    team : Team
    first_number : int
        Number of the first of ``rows`` among all rows to draw from; those of the others follow.
    strata : Strata
    """
    out = (np.empty(n_drawn, dtype=np.uint32), np.empty(rows.size - n_drawn, dtype=np.uint32))
    scratch = np.empty((team.n_threads, int(_BLOCK)), dtype=np.uint64)
    counts = np.empty(team.n_threads, dtype=np.int64)
    rule = (key, np.uint64(first_number), rows, *strata, bounds)
    team.run(split_by_hash, *rule, scratch, counts, out)
    return Drawn(*out)


def draw_lowest(key: np.uint64, rows: np.ndarray, n_drawn: int, team: Team | None = None) -> Drawn:
    """Return the ``n_drawn`` of ``rows`` (uint32) that have the lowest hashes, and the others."""
    if n_drawn == 0:
        return Drawn(rows[:0], rows)
    team = Team(1) if team is None else team
    bound = find_bound(n_drawn, *survey(key, rows.size, expect_window(n_drawn, rows.size), team))
    if bound is None:
        bound = find_bound(n_drawn, *survey(key, rows.size, EVERYTHING, team))
    return split(key, rows, np.array([bound], dtype=np.uint64), n_drawn, team)


def draw_strata(
    key: np.uint64,
    rows: np.ndarray,
    stratum_idx: np.ndarray,
    n_drawn: np.ndarray,
    team: Team | None = None,
) -> Drawn:
    """Return the rows that have the lowest hashes in their stratum, and the others.

    ``stratum_idx`` has the stratum of each row, and ``n_drawn`` how many to draw from each stratum.
    """
    team = Team(1) if team is None else team
    strata = stratum_idx.astype(np.uint32)
    n_rows = np.bincount(strata, minlength=n_drawn.size)
    windows = [
        expect_window(int(k), int(n)) if k else _LOWEST_HASH
        for k, n in zip(n_drawn, n_rows, strict=True)
    ]
    bounds = _find_bounds(key, strata, n_drawn, windows, team)
    if bounds is None:
        bounds = _find_bounds(key, strata, n_drawn, [EVERYTHING] * n_drawn.size, team)
    assert bounds is not None
    parts = Strata(strata, n_drawn == 0)
    return split(key, rows, bounds, int(n_drawn.sum()), team, strata=parts)


def _find_bounds(
    key: np.uint64,
    strata: np.ndarray,
    n_drawn: np.ndarray,
    windows: Sequence[tuple[np.uint64, np.uint64]],
    team: Team,
) -> np.ndarray | None:
    """Return the bound of each stratum; None if one is not inside its window."""
    low, width = np.array(windows, dtype=np.uint64).T.copy()
    hashes, places = (np.empty(strata.size, dtype=kind) for kind in (np.uint64, np.uint32))
    counts = np.empty((team.n_threads, n_drawn.size), dtype=np.int64)
    n_inside = np.empty(team.n_threads, dtype=np.int64)
    found = (hashes, places, counts, n_inside)
    team.run(survey_strata, key, np.uint64(0), strata, low, width, *found)
    sizes, n_below = n_inside.tolist(), counts.sum(axis=0)
    inside, stratum_idx = _join(hashes, sizes), strata[_join(places, sizes)]
    order = np.argsort(stratum_idx, kind="stable")
    ends = np.searchsorted(stratum_idx[order], np.arange(n_drawn.size + 1))
    bounds = np.zeros(n_drawn.size, dtype=np.uint64)
    for stratum in np.flatnonzero(n_drawn):
        own = inside[order[ends[stratum] : ends[stratum + 1]]]
        bound = find_bound(int(n_drawn[stratum]), int(n_below[stratum]), own)
        if bound is None:
            return None
        bounds[stratum] = bound
    return bounds


def hash_numbers(key: np.uint64, n: int) -> np.ndarray:
    """Return the hashes of 0, ..., n - 1."""
    # One thread collects them in their order.
    return survey(key, n, EVERYTHING, Team(1))[1]
