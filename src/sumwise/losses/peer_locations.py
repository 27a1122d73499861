"""Quantiles and robust locations of all peers' values: the bits that one process would find.

A quantile is a matter of counting: the counters of all processes are added, digit by digit of the
keys of values, until each group of values has few candidates left. These are sent to all. So all
groups together, such as the leaves of a tree, take these messages:

=====================  ==================================================  =======================
what                   bytes per group                                     how often
=====================  ==================================================  =======================
numbers, weights       16                                                  once
counters of a digit    16 Ki; 32 Ki with weights                           0 for a few values,
                                                                           mostly 2; at most 6
candidates             24, and 8 for each candidate (16 with weights), of  once
                       at most 2,048; a single group has up to 65,536
sums of a robust step  8                                                   once, for Huber, fair
                                                                           and log-cosh
=====================  ==================================================  =======================

Groups with few candidates have no more counters. Those of a tree of 31 leaves take half a megabyte
per digit; more than 512 groups are counted in several messages. Candidates are gathered: each
process sends its own to all others.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.leaves import peer_location as kernels
from sumwise.kernels.leaves.peer_location import (
    DIGIT_BITS,
    KEY_BITS,
    N_DIGIT_VALUES,
    Candidates,
    Groups,
)
from sumwise.kernels.losses.peer_sums import find_scale
from sumwise.kernels.runtime.sort import MISSING
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Location
from sumwise.peers import Peers

# Counters of a digit take as many bytes as this many candidates: with fewer, it does not pay.
_FEW_KEYS = N_DIGIT_VALUES
# But so many candidates of all groups together are one small message.
_MOST_KEYS = 1 << 16
# Groups that are counted in one message.
_MOST_GROUPS = 512


class Units(NamedTuple):
    """Weights of rows as integers under a scale that all peers have agreed on."""

    n_rows: int  # of all peers
    is_weighted: bool  # whether any peer has weights
    own: np.ndarray  # int64 (n_own_rows,); empty if all weights of all peers are one


class SharedGroups(NamedTuple):
    """Groups of values, each of which may have values in any process."""

    own: Groups  # the values of this process
    is_weighted: bool
    n_values: np.ndarray  # int64 (n_groups,): how many there are in all processes
    totals: np.ndarray  # int64 (n_groups,): their weight


def weigh_in_units(weight: np.ndarray, n_rows: int, peers: Peers) -> Units:
    """Return the weights of this process's rows as one process would, which has all rows.

    ``weight`` may be empty: all are one. One message.
    """
    largest = weight.max(initial=0.0) if weight.size else float(n_rows > 0)
    own = np.array([n_rows, weight.size > 0, largest], dtype=np.float64)
    known = np.stack(peers.gather(own))
    n_all, is_weighted = int(known[:, 0].sum()), bool(known[:, 1].any())
    if not is_weighted:
        return Units(n_all, False, np.empty(0, dtype=np.int64))
    units = np.empty(n_rows, dtype=np.int64)
    given = np.ascontiguousarray(weight) if weight.size else np.ones(n_rows)
    kernels.write_units(given, find_scale(float(known[:, 2].max()), n_all), units)
    return Units(n_all, True, units)


def find_location(
    values: np.ndarray, weight: np.ndarray, location: Location, peers: Peers
) -> float:
    """Return the location of all peers' values, as ``robust.find_location`` of one process."""
    units = weigh_in_units(weight, values.size, peers)
    size = np.array([values.size], dtype=np.int64)
    own = Groups(np.ascontiguousarray(values), units.own, np.zeros_like(size), size)
    n_values = totals = np.array([units.n_rows], dtype=np.int64)
    if units.is_weighted:
        totals = np.array([units.own.sum()], dtype=np.int64)
        peers.add(totals)
    groups = SharedGroups(own, units.is_weighted, n_values, totals)
    return float(find_locations(groups, location, peers, Team(1))[0])


def find_locations(
    groups: SharedGroups, location: Location, peers: Peers, team: Team
) -> np.ndarray:
    """Return the location of each group; nan for a group that has no values anywhere."""
    if not groups.n_values.size:
        return np.empty(0)
    search = _Search(groups, location.level, peers, team)
    search.narrow()
    center, largest = search.finish()
    if location.delta < np.inf:
        own, steps = groups.own, np.zeros_like(groups.n_values)
        rule = float(location.delta), int(location.influence)
        known = groups.n_values, largest, center
        team.run(kernels.sum_influences, own, *known, *rule, steps)
        peers.add(steps)
        kernels.move_centers(groups.n_values, groups.totals, largest, steps, rule[0], center)
    return center


class _Search:
    """The search for the quantiles of groups: what is known about the keys sought.

    All peers know the same; only ``own`` values differ.
    """

    def __init__(self, groups: SharedGroups, level: float, peers: Peers, team: Team) -> None:
        self._groups, self._own, self._peers, self._team = groups, groups.own, peers, team
        self._goal = level * groups.totals.astype(np.float64)
        n_groups = groups.n_values.size
        self._candidates = Candidates(
            np.zeros(n_groups, dtype=np.uint64), np.full(n_groups, KEY_BITS, dtype=np.int64)
        )
        # Of all peers: the number of candidates, their weight, and that of all lower keys.
        self._n_candidates, self._inside = groups.n_values.copy(), groups.totals.copy()
        self._below = np.zeros(n_groups, dtype=np.int64)

    def narrow(self) -> None:
        """Find digits of the keys until few candidates are left, or all of them are equal."""
        most, shift = max(_FEW_KEYS, _MOST_KEYS // self._goal.size), self._candidates.shift
        while (is_open := (self._n_candidates > most) & (shift > 0)).any():
            which = np.flatnonzero(is_open)
            for begin in range(0, which.size, _MOST_GROUPS):
                self._find_digit(which[begin : begin + _MOST_GROUPS])

    def _find_digit(self, which: np.ndarray) -> None:
        """Find the next digit of the keys of some groups, which know equally many so far."""
        prefix, shift = self._candidates
        n_bits = min(DIGIT_BITS, int(shift[which[0]]))
        masses = np.zeros((which.size, N_DIGIT_VALUES), dtype=np.int64)
        is_weighted = self._groups.is_weighted
        counts = np.zeros_like(masses) if is_weighted else masses[:0]
        own = self._own, self._candidates, which
        self._team.run(kernels.count_digits, *own, n_bits, masses, counts)
        self._peers.add(*((masses, counts) if is_weighted else (masses,)))
        up_to = masses.cumsum(axis=1) + self._below[which, None]
        digit = np.count_nonzero(up_to.astype(np.float64) < self._goal[which, None], axis=1)
        found = np.arange(which.size), digit
        self._inside[which] = masses[found]
        self._below[which] = up_to[found] - masses[found]
        self._n_candidates[which] = (counts if is_weighted else masses)[found]
        prefix[which] = (prefix[which] << np.uint64(n_bits)) | digit.astype(np.uint64)
        shift[which] -= n_bits

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Gather the candidates; return the quantiles, and the largest weight of each group."""
        n_groups = self._goal.size
        numbers, above, largest, keys, mass = self._gather()
        # Of keys that are known there is but one candidate.
        is_known = self._candidates.shift == 0
        numbers.append(np.flatnonzero(is_known))
        keys.append(self._candidates.prefix[is_known])
        mass.append(self._inside[is_known])
        group, all_keys, all_mass = map(np.concatenate, (numbers, keys, mass))
        order = np.lexsort((all_keys, group))
        ends = _find_ends(np.bincount(group, minlength=n_groups))
        center = np.empty(n_groups)
        sorted_keys = all_keys[order], all_mass[order]
        known = self._below, above, self._goal
        kernels.find_quantiles(ends, *sorted_keys, *known, center)
        return center, largest

    def _gather(self) -> tuple[list[Any], np.ndarray, np.ndarray, list[Any], list[Any]]:
        """Exchange candidates.

        Return the lowest key above those of each group, and the largest weight; and from each peer
        the groups of its candidates, their keys and their weights.
        """
        n_groups = self._goal.size
        above = np.full(n_groups, MISSING, dtype=np.uint64)
        n_keys, largest = np.ones((2, n_groups), dtype=np.int64)
        own = self._own, self._candidates
        self._team.run(kernels.survey_groups, *own, n_keys, above, largest)
        n_keys[self._candidates.shift == 0] = 0
        ends = _find_ends(n_keys)
        keys = np.empty(ends[-1], dtype=np.uint64)
        mass = np.empty(ends[-1], dtype=np.int64)
        self._team.run(kernels.take_candidates, *own, ends, keys, mass)
        sent = [n_keys, above.view(np.int64), largest, keys.view(np.int64)]
        if self._groups.is_weighted:
            sent.append(mass)
        found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for message in self._peers.gather(np.concatenate(sent)):
            n_keys, their_above, their_largest = message[: 3 * n_groups].reshape(3, -1)
            np.minimum(above, their_above.view(np.uint64), out=above)
            np.maximum(largest, their_largest, out=largest)
            rest = message[3 * n_groups :]
            n_all = int(n_keys.sum())
            found[0].append(np.repeat(np.arange(n_groups), n_keys))
            found[1].append(rest[:n_all].view(np.uint64))
            found[2].append(rest[n_all:] if rest.size > n_all else np.ones(n_all, dtype=np.int64))
        return found[0], above, largest, found[1], found[2]


def add_totals(groups: Groups, is_weighted: bool, peers: Peers, team: Team) -> SharedGroups:
    """Return the groups with what all peers have of them. One message."""
    n_values = groups.size.copy()
    totals = np.zeros_like(n_values)
    if is_weighted:
        team.run(kernels.sum_units, groups, totals)
        peers.add(n_values, totals)
    else:
        peers.add(n_values)
        totals = n_values
    return SharedGroups(groups, is_weighted, n_values, totals)


def _find_ends(sizes: np.ndarray) -> np.ndarray:
    """Return where groups of these sizes end, one after the other, after a zero."""
    return np.concatenate([[0], sizes.cumsum()])
