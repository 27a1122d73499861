"""Draw the rows with the k lowest hashes among peers: those that one process with all rows draws.

Rows have the numbers that :meth:`sumwise.peers.Shards.place` gives them; :mod:`.lowest_hashes` has
the rule. Each peer returns its own rows of the draw. A draw takes three exchanges: the numbers and
sizes of all shards (16 bytes each), the number of rows (8 bytes, or 8 per stratum), and the hashes
inside the window, about ``80 * sqrt(k * (1 - k / n))`` bytes of all peers together: 80 kB for a
million of ten million rows. With strata, a hash takes twice as much, and each peer adds 8 bytes per
stratum. If the bound is not inside the window, a wider one is surveyed: never all hashes at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.lowest_hashes import (
    EVERYTHING,
    Drawn,
    Strata,
    _join,
    expect_window,
    find_bound,
    split,
    survey,
    survey_strata,
)
from sumwise.peers import Shards

Window = tuple[np.uint64, np.uint64]

# Of strata that nothing is drawn from: a single hash.
_LOWEST_HASH: Window = np.uint64(0), np.uint64(0)


class _Run(NamedTuple):
    """Rows of this process that are neighbors among those of all peers, and the first's number."""

    where: slice
    first: int

    @property
    def size(self) -> int:
        return int(self.where.stop - self.where.start)


def draw_lowest_among(
    key: np.uint64, rows: np.ndarray, n_drawn: int, shards: Shards, team: Team
) -> Drawn:
    """Draw the rows with the lowest hashes of all peers' rows.

    Parameters
    ----------
    key : uint64
    rows : ndarray of uint32
        The rows of this process to draw from, ascending.
    n_drawn : int
        How many to draw of all peers' rows.
    shards : Shards
    team : Team

    Returns
    -------
    drawn : Drawn
        The rows of this process that are drawn, and its others.
    """
    if n_drawn == 0:
        return Drawn(rows[:0], rows)
    runs = _list_runs(rows, shards)
    window, bound = _expect_window(n_drawn, shards.count(rows)), None
    while bound is None:
        found = [survey(key, run.size, window, team, run.first) for run in runs]
        n_below, inside = _gather_survey(found, shards)
        bound = find_bound(n_drawn, n_below, inside)
        window = _widen(window)
    bounds = np.array([bound], dtype=np.uint64)
    parts = []
    for run, (n_lower, own) in zip(runs, found, strict=True):
        n_own = n_lower + int(np.count_nonzero(own <= bound))
        parts.append(split(key, rows[run.where], bounds, n_own, team, run.first))
    return _concatenate(parts, rows)


def draw_strata_among(
    key: np.uint64,
    rows: np.ndarray,
    strata: np.ndarray,
    n_drawn: np.ndarray,
    shards: Shards,
    team: Team,
) -> Drawn:
    """Draw the rows with the lowest hashes of each stratum of all peers' rows.

    Parameters
    ----------
    key : uint64
    rows : ndarray of uint32
        The rows of this process to draw from, ascending.
    strata : ndarray of integers
        The stratum of each of these rows.
    n_drawn : ndarray of integers
        How many of all peers' rows to draw from each stratum.
    shards : Shards
    team : Team

    Returns
    -------
    drawn : Drawn
        The rows of this process that are drawn, and its others.
    """
    if not n_drawn.any():
        return Drawn(rows[:0], rows)
    strata = strata.astype(np.uint32)
    runs = _list_runs(rows, shards)
    n_rows = np.bincount(strata, minlength=n_drawn.size).astype(np.int64)
    shards.peers.add(n_rows)
    windows = [
        _expect_window(int(k), int(n)) if k else _LOWEST_HASH
        for k, n in zip(n_drawn, n_rows, strict=True)
    ]
    bounds: list[np.uint64 | None] = [None]
    while None in bounds:
        found = [_survey_strata(key, strata[run.where], windows, run.first, team) for run in runs]
        bounds = _find_bounds(found, n_drawn, shards)
        pairs = zip(windows, bounds, strict=True)
        windows = [_widen(window) if bound is None else window for window, bound in pairs]
    limits = np.array(bounds, dtype=np.uint64)
    parts = []
    for run, own in zip(runs, found, strict=True):
        of_row = Strata(strata[run.where], n_drawn == 0)
        n_own = own.count_drawn(limits, of_row.is_empty)
        parts.append(split(key, rows[run.where], limits, n_own, team, run.first, of_row))
    return _concatenate(parts, rows)


def _list_runs(rows: np.ndarray, shards: Shards) -> list[_Run]:
    """Return the rows of this process; shards that follow each other make one run."""
    runs: list[_Run] = []
    for where, first in shards.place(rows):
        if runs and runs[-1].first + runs[-1].size == first:
            runs[-1] = _Run(slice(runs[-1].where.start, where.stop), runs[-1].first)
        elif where.stop > where.start:
            runs.append(_Run(where, first))
    return runs


def _expect_window(n_drawn: int, n_rows: int) -> Window:
    if n_drawn > n_rows:  # no window would contain the bound
        raise ValueError(f"cannot draw {n_drawn} of {n_rows} rows")
    return expect_window(n_drawn, n_rows)


def _widen(window: Window) -> Window:
    """Return a window with room on both sides of this one."""
    low, width = int(window[0]), int(window[1])
    largest = int(EVERYTHING[1])
    start = max(low - 2 * width - 1, 0)
    return np.uint64(start), np.uint64(min(low + 3 * width + 1, largest) - start)


def _gather_survey(
    found: Sequence[tuple[int, np.ndarray]], shards: Shards
) -> tuple[int, np.ndarray]:
    """Return how many of all peers' hashes are below the window, and those inside it."""
    n_below = np.array([sum(n for n, _ in found)], dtype=np.uint64)
    every = shards.peers.gather(np.concatenate([n_below, *(inside for _, inside in found)]))
    return sum(int(own[0]) for own in every), np.concatenate([own[1:] for own in every])


class _StrataFound(NamedTuple):
    """For each stratum, how many hashes are below its window; those inside, and their strata."""

    n_below: np.ndarray
    inside: np.ndarray
    strata: np.ndarray

    @classmethod
    def unite(cls, parts: Sequence["_StrataFound"], n_strata: int) -> "_StrataFound":
        """Return what parts have found together."""
        none = np.empty(0, dtype=np.uint64)
        return cls(
            sum((own.n_below for own in parts), start=np.zeros(n_strata, dtype=np.int64)),
            np.concatenate([none, *(own.inside for own in parts)]),
            np.concatenate([none, *(own.strata for own in parts)]),
        )

    def gather(self, shards: Shards) -> "_StrataFound":
        """Return what all peers have found, in one message."""
        n = self.n_below.size
        own = np.concatenate([self.n_below.astype(np.uint64), self.inside, self.strata])
        parts = []
        for given in shards.peers.gather(own):
            inside, strata = given[n:].reshape(2, -1)
            parts.append(_StrataFound(given[:n].astype(np.int64), inside, strata))
        return self.unite(parts, n)

    def count_drawn(self, bounds: np.ndarray, is_empty: np.ndarray) -> int:
        """Return how many of these rows are at most the bound of their stratum."""
        is_drawn = (self.inside <= bounds[self.strata]) & ~is_empty[self.strata]
        return int(self.n_below.sum() + np.count_nonzero(is_drawn))


def _survey_strata(
    key: np.uint64, strata: np.ndarray, windows: Sequence[Window], first: int, team: Team
) -> _StrataFound:
    """Survey rows of several strata; nothing is below the window of a stratum that gives none."""
    low, width = np.array(windows, dtype=np.uint64).T.copy()
    hashes, places = (np.empty(strata.size, dtype=kind) for kind in (np.uint64, np.uint32))
    counts = np.empty((team.n_threads, low.size), dtype=np.int64)
    n_inside = np.empty(team.n_threads, dtype=np.int64)
    out = (hashes, places, counts, n_inside)
    team.run(survey_strata, key, np.uint64(first), strata, low, width, *out)
    sizes = n_inside.tolist()
    of_hash = strata[_join(places, sizes)].astype(np.uint64)
    return _StrataFound(counts.sum(axis=0), _join(hashes, sizes), of_hash)


def _find_bounds(
    found: Sequence[_StrataFound], n_drawn: np.ndarray, shards: Shards
) -> list[np.uint64 | None]:
    """Return the bound of each stratum; None where it is not inside the window."""
    every = _StrataFound.unite(found, n_drawn.size).gather(shards)
    order = np.argsort(every.strata, kind="stable")
    ends = np.searchsorted(every.strata[order], np.arange(n_drawn.size + 1, dtype=np.uint64))
    bounds: list[np.uint64 | None] = [np.uint64(0)] * n_drawn.size
    for stratum in np.flatnonzero(n_drawn).tolist():
        own = every.inside[order[ends[stratum] : ends[stratum + 1]]]
        bounds[stratum] = find_bound(int(n_drawn[stratum]), int(every.n_below[stratum]), own)
    return bounds


def _concatenate(parts: Sequence[Drawn], rows: np.ndarray) -> Drawn:
    """Return the rows of all runs."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*parts, strict=True) if parts else ((), ())
    return Drawn(*(np.concatenate([rows[:0], *own]) for own in columns))
