"""Rows held out among peers: those that one process with all rows would hold out.

A peer returns its own rows of both kinds. Numbers of rows are added, and the classes and groups of
all peers are brought together; what has to be decided is then decided by each of them alike.
"""

from numbers import Number
from typing import Any

import numpy as np

from sumwise.data.batches.agreement import agree
from sumwise.estimators.boosting.validation import (
    choose_groups,
    count_held_out,
    find_groups,
    mixed_groups,
    share_out,
)
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.lowest_hashes import HELD_OUT
from sumwise.kernels.sampling.peer_lowest import draw_lowest_among, draw_strata_among
from sumwise.peers import Peers, Shards


def hold_out_among(
    rows: np.ndarray,
    fraction: float,
    which: str,
    groups: np.ndarray | None,
    labels: np.ndarray | None,
    seed: int,
    shards: Shards,
) -> tuple[np.ndarray, np.ndarray]:
    """Split this process's rows into those that train and those that validate.

    The parameters are those of :func:`~sumwise.estimators.boosting.validation.hold_out_rows`, with
    the rows, groups and labels of this process.
    """
    n_rows = shards.count(rows)
    n_valid = count_held_out(n_rows, fraction)
    if which == "last" and groups is None:
        n_train = sum(
            min(max(n_rows - n_valid - number, 0), where.stop - where.start)
            for where, number in shards.place(rows)
        )
        return rows[:n_train], rows[n_train:]
    key = random.make_key(seed, HELD_OUT, 0)
    if groups is not None:
        group_idx, counts = _count_values(groups, shards.peers)
        is_valid = np.isin(group_idx, choose_groups(counts, n_valid, key))
        return rows[~is_valid], rows[is_valid]
    own = (shards, Team(1))
    if labels is not None:
        class_idx, counts = _count_values(labels, shards.peers)
        n_drawn = share_out(n_valid, counts)
        if n_drawn is not None:
            valid, train = draw_strata_among(key, rows, class_idx, n_drawn, *own)
            return train, valid
    valid, train = draw_lowest_among(key, rows, n_valid, *own)
    return train, valid


def _count_values(values: np.ndarray, peers: Peers) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of these values among the different ones of all peers, and their counts."""
    own, idx, n_own = np.unique(values, return_inverse=True, return_counts=True)
    united = np.unique(np.concatenate(peers.gather(own)))
    place = np.searchsorted(united, own)
    counts = np.zeros(united.size, dtype=np.int64)
    counts[place] = n_own
    peers.add(counts)
    return place[idx], counts


def number_groups_among(groups: Any, n_rows: int, peers: Peers) -> np.ndarray:
    """Return the groups of this process's rows by their places among the groups of all peers."""
    known: list[tuple[np.ndarray, np.ndarray]] = []

    def find() -> np.ndarray:
        known.append(find_groups(groups, n_rows))
        return known[0][0]

    every = [found for found in agree(peers, find) if found.size]
    own, idx = known[0]
    if len({_name_kind(found) for found in every}) > 1:
        raise mixed_groups()
    if not every:
        return idx
    try:
        united = np.unique(np.concatenate(every))
    except TypeError:
        raise mixed_groups() from None
    return np.searchsorted(united, own.astype(united.dtype))[idx]


def _name_kind(groups: np.ndarray) -> str:
    """Return what is alike for groups that can be compared with each other."""
    kind = groups.dtype.kind
    if kind == "O":
        first = groups[0]
        kind = (
            "U" if isinstance(first, str) else "f" if isinstance(first, (Number, np.bool_)) else "O"
        )
    return {"b": "f", "i": "f", "u": "f", "T": "U"}.get(kind, kind)
