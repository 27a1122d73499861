"""FeatureGrower: grows trees among peers that have all rows, and a share of the features each."""

from typing import Any

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.paged import PagedData
from sumwise.kernels.grow import feature_shares, layout, plan
from sumwise.kernels.grow.feature_shares import Offers
from sumwise.kernels.grow.pages import Pages
from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import Peers
from sumwise.sampling.columns import Columns
from sumwise.tree.feature_share import FeatureShare
from sumwise.tree.grower import TreeGrower, refuse_gradients
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.tree import Tree

# Nodes that are split in one round: the more, the fewer exchanges.
_MOST_FAMILIES = 64


class FeatureGrower(TreeGrower):
    """Grows trees on a table whose features are divided among processes.

    Made for wide tables with few rows. Every process has all rows, with the same gradients, but
    sums and scores only its own features; only the best splits are exchanged. Trees have the same
    bytes as those of :class:`TreeGrower` in one process.

    Parameters
    ----------
    data : BinnedData or PagedData
        All rows and features, the same in all processes. Pages are put together in memory.
    mapper, settings, columns, n_rows, team, exact_rows
        As for :class:`TreeGrower`.
    peers : Peers
        The processes that share the features. Each makes the same calls.
    """

    def __init__(
        self,
        data: BinnedData | PagedData,
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        team: Team,
        exact_rows: int = layout.EXACT_ROWS,
        *,
        peers: Peers,
    ) -> None:
        self._peers = peers
        own = FeatureShare.take(data, peers, team)
        # By the table of all features, which is kept with it.
        self._shares: dict[int, tuple[Any, FeatureShare]] = {id(data): (data, own)}
        super().__init__(own, mapper, settings, columns, n_rows, team, exact_rows)
        self._work.allowed[layout.USABLE] = own.all_usable
        n_places = self._work.candidates.shape[0]
        n_set = self._work.categories.node_set.shape[1] if own.table.categories.n_bins.size else 0
        self._offers = Offers(
            owned=own.usable, own=np.zeros((n_places, feature_shares.SET + n_set), dtype=np.int64)
        )
        self._no_pages = _describe_no_pages(self._nodes.size)

    def grow_on_gradients(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rows: np.ndarray,
        key: np.uint64,
        scores: np.ndarray,
    ) -> Tree:
        """Grow a tree on gradients and add its values to the scores of ``rows``."""
        team, control = self._team, self._work.control
        jobs = self._prepare_jobs(gradient, hessian, rows, key)
        given = (gradient, hessian, rows, key, self._offers)
        team.run(feature_shares.begin_shared_tree, jobs, *given)
        if control[layout.STATUS] == layout.OUT_OF_RANGE:
            refuse_gradients()
        is_symmetric = self._options.growth == layout.SYMMETRIC
        add_round = self._add_level_round if is_symmetric else self._add_round
        while control[layout.STATUS] == layout.GROWING:
            add_round(jobs)
        team.run(feature_shares.finish_shared_tree, jobs, rows, scores)
        return self._finish_tree(int(control[layout.N_NODES]), rows)

    def _add_round(self, jobs: TupleMemory) -> None:
        """Score the nodes that were split last, and split the next ones."""
        team, offers = self._team, self._offers
        n_places = 2 * int(self._work.plan.sizes[plan.N_FAMILIES])
        team.run(feature_shares.score_shared_nodes, jobs, offers)
        every = np.stack(self._peers.gather(offers.own[:n_places]))
        team.run(feature_shares.plan_shared_nodes, jobs, self._no_pages, offers, every)

    def _add_level_round(self, jobs: TupleMemory) -> None:
        """Sum some nodes of a level; if these were the last ones, split the level."""
        team, offers, work = self._team, self._offers, self._work
        is_complete = work.plan.sizes[plan.SCORES_LEVEL] != 0
        team.run(feature_shares.score_shared_level, jobs, offers)
        if not is_complete:
            return
        every = np.stack(self._peers.gather(offers.own[:1]))
        team.run(feature_shares.choose_shared_level, jobs, offers, every)
        if work.control[layout.STATUS] == layout.GROWING:
            first, size = work.control[[layout.LEVEL_FIRST, layout.LEVEL_SIZE]]
            level = slice(first, first + size)
            self._peers.add(work.left_totals[level], work.sums[0, level, 0])
            team.run(feature_shares.split_shared_level, jobs, offers)

    def turn_to(self, data: BinnedData) -> None:
        """From now on use another table, with the same rows and the same bins."""
        if id(data) not in self._shares:
            self._shares[id(data)] = data, FeatureShare.take(data, self._peers, self._team)
        own = self._shares[id(data)][1]
        super().turn_to(own)
        self._work.allowed[layout.USABLE] = own.all_usable
        self._offers = self._offers._replace(owned=own.usable)

    def _count_families(self, data: Any) -> int:
        options = self._options
        if options.growth == layout.SYMMETRIC:
            return super()._count_families(data)
        # What is drawn for a node depends on when its turn comes; entries are summed for one node.
        is_drawn = options.columns_by_node < 1.0 or options.random_splits
        return 1 if is_drawn or data.has_entries else min(_MOST_FAMILIES, options.max_leaves)

    def _count_sums(self) -> int:
        # Which nodes have histograms must be the same in all processes.
        return layout.N_STATS * self._data.most_bins  # type: ignore[attr-defined]


def _describe_no_pages(n_nodes: int) -> Pages:
    """Return the pages of a table that is not cut."""
    none = np.zeros(0, dtype=np.int64)
    return Pages(
        first_row=none,
        start=np.zeros(1, dtype=np.int64),
        first=np.zeros((0, n_nodes), dtype=np.int64),
        last=np.zeros((0, n_nodes), dtype=np.int64),
        locks=none,
        counts=np.zeros((0, n_nodes, layout.N_STATS), dtype=np.int64),
        stacks=np.zeros((0, n_nodes), dtype=np.int32),
    )
