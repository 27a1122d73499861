"""VotingGrower: grows trees among peers that add up the histograms of elected features only."""

from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.paged import PagedData
from sumwise.kernels.grow import layout, plan
from sumwise.kernels.grow.page_jobs import bind_page_jobs
from sumwise.kernels.grow.pages import Pages
from sumwise.kernels.grow.voting import Poll, copy_elected_sums, elect, vote
from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import Peers
from sumwise.sampling.columns import Columns
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.paged_grower import PagedGrower


class VotingGrower(PagedGrower):
    """Grows trees among peers that elect, node by node, the features worth to be exchanged.

    An approximation: see ``kernels/grow/voting.py``. For given rows of each process, trees have the
    same bytes for any number of threads and pages. On other processes they may differ.

    Parameters
    ----------
    data, mapper, settings, columns, n_rows, team, exact_rows, peers
        As for :class:`PagedGrower`.
    top_k : int
        Features that a process votes for; twice as many are elected. With no more features than
        these, trees are those of :class:`PagedGrower`.
    """

    def __init__(
        self,
        data: PagedData,
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        team: Team,
        exact_rows: int = layout.EXACT_ROWS,
        peers: Peers | None = None,
        top_k: int = 20,
    ) -> None:
        super().__init__(data, mapper, settings, columns, n_rows, team, exact_rows, peers)
        self._poll = _open_poll(self._work, team.n_threads, top_k)
        # By table, as the jobs of the threads: voters and scorers, and what they refer to.
        self._helpers: dict[int, tuple[TupleMemory, TupleMemory]] = {}
        self._kept_works: dict[int, list[dict[str, Any]]] = {}

    def _exchange_histograms(self, jobs: TupleMemory) -> TupleMemory:
        sizes, team, poll = self._work.plan.sizes, self._team, self._poll
        n_features = np.count_nonzero(self._work.allowed[layout.TREE])
        if self._peers.size == 1 or n_features <= poll.elected.shape[1]:
            return super()._exchange_histograms(jobs)
        is_level = self._options.growth == layout.SYMMETRIC
        if is_level and not sizes[plan.SCORES_LEVEL]:
            return jobs  # only a whole level is voted on
        voters, scorers = self._helpers[id(self._data)]
        team.run(vote, jobs, voters, scorers, poll)
        n_places = 1 if is_level else 2 * int(sizes[plan.N_FAMILIES])
        ballots = np.stack([poll.features[:n_places], poll.gains[:n_places].view(np.int64)])
        features, gains = np.stack(self._peers.gather(ballots), axis=1)
        team.run(elect, jobs, poll, features, gains.view(np.float64))
        message = np.empty(int(poll.length[0]), dtype=np.int64)
        team.run(copy_elected_sums, jobs, poll, message, False)
        if message.size:
            self._peers.add(message)
        team.run(copy_elected_sums, scorers, poll, message, True)
        return scorers

    def _prepare_pages(
        self, gradient: np.ndarray, hessian: np.ndarray
    ) -> tuple[TupleMemory, TupleMemory, Pages]:
        number = id(self._data)
        is_new = number not in self._jobs
        prepared = super()._prepare_pages(gradient, hessian)
        if is_new:
            work, n_threads = self._work, self._team.n_threads
            voting = {"work": work._replace(totals=self._poll.totals)}
            # Memory that is never touched costs nothing, and few features are elected.
            scoring = {"work": work._replace(histograms=np.empty_like(work.histograms))}
            self._helpers[number] = (
                bind_page_jobs(prepared[0], [voting] * n_threads),
                bind_page_jobs(prepared[0], [scoring] * n_threads),
            )
            self._kept_works[number] = [voting, scoring]
        return prepared


def _open_poll(work: layout.Workspace, n_threads: int, top_k: int) -> Poll:
    """Return the buffers of votes on the nodes of a round."""
    n_places, n_features = work.candidates.shape
    n_nodes, top_k = work.totals.shape[0], min(top_k, max(1, n_features))
    most = 2 * top_k
    return Poll(
        features=np.empty((n_places, top_k), dtype=np.int64),
        gains=np.empty((n_places, top_k)),
        elected=np.empty((n_places, most), dtype=np.int64),
        n_elected=np.zeros(n_places, dtype=np.int64),
        totals=np.zeros((n_nodes, layout.N_STATS), dtype=np.int64),
        start=np.zeros(n_nodes, dtype=np.int64),
        length=np.zeros(1, dtype=np.int64),
        n_votes=np.zeros((n_threads, n_features), dtype=np.int64),
        highest=np.zeros((n_threads, n_features)),
        rank_votes=np.zeros((n_threads, most), dtype=np.int64),
        rank_gains=np.zeros((n_threads, most)),
    )
