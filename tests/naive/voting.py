"""Growing one tree where processes elect the features of each node by their own rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grow import Grower, Tree
from .split import Split, SplitOptions, find_level_split

# The gains of a process by feature.
Gains = Mapping[int, float]


def vote(gains: Gains, top_k: int) -> list[int]:
    """Return the features with the highest gains, the best first."""
    return sorted(gains, key=lambda f: (-gains[f], f))[:top_k]


def elect(gains: Sequence[Gains], allowed: Sequence[int], top_k: int) -> list[int]:
    """Return the features that processes elect by their gains, in ascending order."""
    if len(allowed) <= 2 * top_k:
        return sorted(allowed)
    n_votes: dict[int, int] = {}
    highest: dict[int, float] = {}
    for own in gains:
        for f in vote(own, top_k):
            n_votes[f] = n_votes.get(f, 0) + 1
            highest[f] = max(highest.get(f, -np.inf), own[f])
    ranking = sorted(n_votes, key=lambda f: (-n_votes[f], -highest[f], f))
    return sorted(ranking[: 2 * top_k])


class VotingGrower(Grower):
    """A tree under construction; `owners` has the process of each of its rows."""

    def __init__(self, *problem: Any, owners: NDArray[np.int64], top_k: int) -> None:
        super().__init__(*problem)
        self.owners, self.top_k = owners, top_k
        self.level: Sequence[int] = ()

    def find_split_of_level(self, level: Sequence[int]) -> Split | None:
        self.level = level
        return super().find_split_of_level(level)

    def allowed_features(self, node_idx: int) -> Iterable[int]:
        """Return the features that are elected for a node, or for the level."""
        nodes = self.level if self.options.growth == "symmetric" else [node_idx]
        allowed = list(super().allowed_features(node_idx))
        gains = [self.find_gains(rank, nodes, allowed) for rank in range(self.owners.max() + 1)]
        return elect(gains, allowed, self.top_k)

    def find_gains(self, rank: int, nodes: Sequence[int], features: Sequence[int]) -> Gains:
        """Return the gain of each feature among the rows of a process."""
        rows = [self.positions[node_idx] for node_idx in nodes]
        own = [positions[self.owners[positions] == rank] for positions in rows]
        may_split = [len(positions) >= 2 * self.options.min_rows for positions in rows]
        n_own, n_all = (
            sum(len(positions) for positions, may in zip(some, may_split, strict=True) if may)
            for some in (own, rows)
        )
        if n_own == 0:
            return {}
        found = {}
        for f in features:
            split = find_level_split(
                self.codes,
                self.n_value_bins,
                self.quantized,
                own,
                [f],
                self.share_limits(n_own, n_all),
                self.bounds[nodes[0]],
                [self.centers[node_idx] for node_idx in nodes],
                nodes[0],
                may_split,
            )
            if split is not None:
                found[f] = split.gain
        return found

    def share_limits(self, n_own: int, n_all: int) -> SplitOptions:
        """Return what limits the splits of a process that has a part of the rows."""
        options, part = self.options, n_own / n_all
        native = replace(
            options.native,
            smoothing=options.native.smoothing * part,
            min_rows=options.native.min_rows * n_own // n_all,
        )
        return replace(
            options,
            min_samples_leaf=max(1, options.min_rows * n_own // n_all),
            min_child_weight=options.min_child_weight * part,
            min_gain=-np.inf,
            native=native,
        )


def grow_tree(*problem: Any, owners: NDArray[np.int64], top_k: int) -> Tree:
    """Grow a tree as `grow.grow_tree` does; `owners` has the process of each of the rows."""
    return VotingGrower(*problem, owners=owners, top_k=top_k).grow()
