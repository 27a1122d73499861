"""PagedGrower: grows trees on a table in pages, to the same bytes as TreeGrower on all its rows."""

from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.paged import Page, PagedData
from sumwise.kernels.grow import layout, plan
from sumwise.kernels.grow.linking import bind_jobs
from sumwise.kernels.grow.messages import copy_sums, lay_out_sums
from sumwise.kernels.grow.page_jobs import bind_page_jobs
from sumwise.kernels.grow.pages import (
    LOCK_STEP,
    Pages,
    find_page_maxima,
    keep_exact_values,
    pack_pages,
    plan_best_first_round,
    plan_first_round,
    plan_symmetric_round,
    set_page_values,
    sum_page_leaves,
    sum_pages,
)
from sumwise.kernels.leaves.symmetric import find_symmetric_leaves
from sumwise.kernels.predict.table_walk import add_table_predictions
from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import CATEGORICAL, DENSE
from sumwise.peers import Alone, Peers
from sumwise.sampling.columns import Columns
from sumwise.tree.grower import TreeGrower, choose_run, prepare_walk, refuse_gradients
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.tree import Tree

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Nodes of a level that are split in one pass, and of other trees.
_LEVEL_FAMILIES, _MOST_FAMILIES = 1024, 64
# Columns of the threads' sums: what is known after packing, and after exact values were kept.
_SUMS_OF_RECORDS, _SUM_OF_EXACT_VALUES = slice(0, 4), slice(4, 5)
# Histograms of small nodes of a level take at most this much memory.
_SCRATCH_BYTES = 1 << 27


def count_reads() -> int:
    """Return how often this process has read from a disk, as far as the system tells."""
    return 0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_inblock


class PagedGrower(TreeGrower):
    """Grows trees on a binned table in pages, one pass over the pages per round.

    Leaf-wise growth splits several nodes per round: a tree of 31 leaves takes about ten passes.
    Level-wise and symmetric growth take one per level. With column sampling by node, or with extra
    trees, leaf-wise and level-wise growth take one per split.

    Parameters
    ----------
    data : PagedData
    mapper, settings, columns, team, exact_rows
        As for :class:`TreeGrower`.
    n_rows : int
        The most rows of this process that a tree is grown on.
    peers : Peers
        The processes that have the other rows. Each makes the same calls.
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
    ) -> None:
        self._paged = data
        self._peers = Alone() if peers is None else peers
        all_rows = self._add_up(n_rows)
        super().__init__(data.head, mapper, settings, columns, all_rows, team, exact_rows)
        self._exact_gradient = np.empty(data.n_rows, dtype=np.int64)
        self._exact_hessian = np.empty_like(self._exact_gradient)
        self._work = self._work._replace(
            records=np.empty((2, n_rows), dtype=np.uint64),
            leaf=np.empty(data.n_rows, dtype=np.uint32),
        )
        self._enlarge_buffers()
        n_threads, n_families = self._shape
        self._locks = np.zeros(2 * LOCK_STEP * n_families, dtype=np.int64)
        self._counts = np.empty_like(self._work.sums)
        stack_size = self._work.plan.guess_heap.size
        self._stacks = np.empty((n_threads, stack_size), dtype=np.int32)
        self._goes_back = False  # every other pass, since the last pages may still be in memory
        self._n_reads = -1
        # By table, as the jobs of the threads: the jobs of its pages, and where their rows are;
        # and the tuples that these jobs refer to.
        self._page_jobs: dict[int, tuple[TupleMemory, Pages]] = {}
        self._kept: dict[int, list[dict[str, Any]]] = {}

    def grow_on_gradients(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rows: np.ndarray,
        key: np.uint64,
        scores: np.ndarray,
    ) -> Tree:
        """Grow a tree on gradients and add its values to the scores of ``rows``, which ascend."""
        jobs, page_jobs, pages = self._prepare_pages(gradient, hessian)
        self._place_rows(rows, pages)
        work, team = self._work, self._team
        reads_ahead = self._paged.is_mapped and self._has_read_from_disk()
        self._plant_tree(jobs, pages, gradient, hessian, rows, key)
        is_symmetric = self._options.growth == layout.SYMMETRIC
        plan_round = plan_symmetric_round if is_symmetric else plan_best_first_round
        while work.control[layout.STATUS] == layout.GROWING:
            team.run(sum_pages, jobs, page_jobs, pages, self._goes_back, reads_ahead)
            self._goes_back = not self._goes_back
            planners = self._exchange_histograms(jobs)
            team.run(plan_round, planners, pages)
        team.run(sum_page_leaves, jobs, page_jobs, pages, rows)
        n_nodes = int(work.control[layout.N_NODES])
        self._peers.add(work.sums[0, :n_nodes])
        team.run(set_page_values, jobs, rows, scores)
        return self._finish_tree(n_nodes, rows)

    def _plant_tree(
        self,
        jobs: TupleMemory,
        pages: Pages,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rows: np.ndarray,
        key: np.uint64,
    ) -> None:
        """Make records of the rows and plan the first round."""
        team, n_rows = self._team, self._add_up(rows.size)
        team.run(find_page_maxima, jobs, gradient, hessian, rows, key, n_rows)
        max_g, max_h = self._find_maxima()
        team.run(pack_pages, jobs, pages, rows, max_g, max_h, n_rows)
        self._add_sums(_SUMS_OF_RECORDS)
        exact = self._needs_exact_values(max_g, max_h, n_rows)
        if exact:
            team.run(keep_exact_values, jobs, rows)
            self._add_sums(_SUM_OF_EXACT_VALUES)
            self._units[:2] = self._units[2:]
        team.run(plan_first_round, jobs, n_rows, exact)

    def _add_up(self, n: int) -> int:
        """Return the sum of a number of each process."""
        total = np.array([n], dtype=np.int64)
        self._peers.add(total)
        return int(total[0])

    def _find_maxima(self) -> tuple[float, float]:
        """Return the largest gradient and hessian of all processes; raise if they are too large."""
        found = self._ranges[:, :3].max(axis=0)
        if found[2] > 0.0:
            found[:2] = 0.0
        max_g, max_h, failed = self._peers.largest(found).tolist()
        if failed > 0.0 or max(max_g, max_h) > layout.LARGEST_GRADIENT:
            refuse_gradients()
        return max_g, max_h

    def _add_sums(self, which: slice) -> None:
        """Add up some sums of all threads and processes; the first thread has them then."""
        total = self._sums[:, which].sum(axis=0)
        self._peers.add(total)
        self._sums[:, which] = 0
        self._sums[0, which] = total

    def _needs_exact_values(self, max_g: float, max_h: float, n_rows: int) -> bool:
        """Whether histograms sum exact values: of few rows, and of heavy tails."""
        size_g, sum_h = self._sums[0, :2].tolist()
        heavy_g = max_g * (1.0 / self._units[2]) * n_rows > layout.HEAVY_TAIL * size_g
        heavy_h = max_h * (1.0 / self._units[3]) * n_rows > layout.HEAVY_TAIL * sum_h
        return bool(n_rows <= self._exact_rows or heavy_g or heavy_h)

    def _exchange_histograms(self, jobs: TupleMemory) -> TupleMemory:
        """Add the other processes' histograms to those of the round, for the tree's features.

        Return the jobs that know the sums of all processes, and so can score the round.
        """
        if self._peers.size == 1:
            return jobs
        own, team = self._work.plan, self._team
        families = own.families[: own.sizes[plan.N_FAMILIES]]
        small, mode = families[:, plan.F_SMALL], families[:, plan.F_MODE]
        large = 2 * families[:, plan.LEFT] + 1 - small
        built = [small[mode != layout.NO_HISTOGRAMS], large[mode == layout.BUILD_BOTH]]
        nodes = np.concatenate(built).astype(np.int64)
        start = np.empty(nodes.size + 1, dtype=np.int64)
        lay_out_sums(jobs, nodes, start)
        message = np.empty(start[-1], dtype=np.int64)
        team.run(copy_sums, jobs, nodes, start, message, False)
        self._peers.add(message)
        team.run(copy_sums, jobs, nodes, start, message, True)
        return jobs

    # --- pages ---

    def _has_read_from_disk(self) -> bool:
        """Whether this process has read from disk since the last tree; it had before the first.

        If all pages stay in memory, it is a waste of time to ask for them.
        """
        before, self._n_reads = self._n_reads, count_reads()
        return self._n_reads != before

    def _place_rows(self, rows: np.ndarray, pages: Pages) -> None:
        """Say which records each page has."""
        pages.start[:-1] = np.searchsorted(rows, pages.first_row.astype(rows.dtype))
        pages.start[-1] = rows.size
        pages.first[:] = 0
        pages.last[:] = 0
        pages.first[:, 0], pages.last[:, 0] = pages.start[:-1], pages.start[1:]

    def _prepare_pages(
        self, gradient: np.ndarray, hessian: np.ndarray
    ) -> tuple[TupleMemory, TupleMemory, Pages]:
        """Return the jobs of threads and of pages, and where rows are; all trees share them."""
        number = id(self._data)
        if number not in self._jobs:
            self._payload = self._make_payload(gradient, hessian)
            kinds = set(np.unique(self._paged.storage).tolist()) | {DENSE}
            storages = [kind for kind in (DENSE, CATEGORICAL) if kind in kinds]
            fixed = (self._constraints, self._options, self._work, self._nodes)
            jobs = self._jobs[number] = bind_jobs(
                np.array(storages, dtype=np.int64),
                self._data.table,
                self._payload,
                *fixed,
                self._team.n_threads,
            )
            pages = self._describe_pages()
            own = [self._make_job(*each) for each in enumerate(self._paged.pages)]
            for values, first, last in zip(own, pages.first, pages.last, strict=True):
                values["work"] = values["work"]._replace(first=first, last=last)
            self._page_jobs[number] = bind_page_jobs(jobs, own), pages
            self._kept[number] = own
        return self._jobs[number], *self._page_jobs[number]

    def _describe_pages(self) -> Pages:
        n_pages, n_nodes = len(self._paged.pages), self._nodes.size
        return Pages(
            first_row=np.array([page.first for page in self._paged.pages], dtype=np.int64),
            start=np.zeros(n_pages + 1, dtype=np.int64),
            first=np.zeros((n_pages, n_nodes), dtype=np.int64),
            last=np.zeros((n_pages, n_nodes), dtype=np.int64),
            locks=self._locks,
            counts=self._counts,
            stacks=self._stacks,
        )

    def _make_job(self, number: int, page: Page) -> dict[str, Any]:
        """Return what the job of a page has of its own, all but the places of its records."""
        assert self._payload is not None
        rows = slice(page.first, page.end)
        work = self._work
        items = np.zeros((1, plan.ITEM_LENGTH), dtype=np.int64)
        return {
            "table": page.data.table,
            "payload": self._payload._replace(
                exact_gradient=self._exact_gradient[rows], exact_hessian=self._exact_hessian[rows]
            ),
            "work": work._replace(
                leaf=work.leaf[rows], sums=self._counts, plan=work.plan._replace(items=items)
            ),
        }

    def _enlarge_buffers(self) -> None:
        """Give each thread room for the sums of a page, and a level for those of small nodes.

        A level may have many children that are too small to be split, but are summed to be
        subtracted. With histograms for few of them, it would take several passes.
        """
        work, n_sums = self._work, self._work.histograms.shape[1]
        if work.partial.shape != (self._team.n_threads, n_sums):
            partial = np.empty((self._team.n_threads, n_sums), dtype=np.int64)
            work = work._replace(partial=partial)
        if self._options.growth == layout.SYMMETRIC:
            fitting = _SCRATCH_BYTES // max(1, 8 * n_sums)
            # Rounds must not depend on threads, of which each process may have another number.
            n_scratch = max(min(self._shape[1], fitting), 2)
            work.plan.rules[plan.N_SCRATCH] = n_scratch
            n_histograms = work.free_slots.size + n_scratch
            if work.histograms.shape[0] < n_histograms:
                histograms = np.empty((n_histograms, n_sums), dtype=np.int64)
                work = work._replace(histograms=histograms)
        self._work = work

    def _count_families(self, data: Any) -> int:
        options = self._options
        if options.growth == layout.SYMMETRIC:
            return min(_LEVEL_FAMILIES, options.max_leaves)
        # What is drawn for a node depends on when its turn comes.
        is_drawn = options.columns_by_node < 1.0 or options.random_splits
        return 1 if is_drawn else min(_MOST_FAMILIES, options.max_leaves)

    # --- rows that are not in the tree, and other tables ---

    def add_to_scores(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add a tree's values to the scores of rows it was not grown on, in any order."""
        walk = prepare_walk(tree, self._data.table)
        rows = np.sort(rows)  # left-out rows may be followed by validation rows between them
        for page in self._paged.pages:
            ends = np.array([page.first, page.end], dtype=rows.dtype)
            begin, end = np.searchsorted(rows, ends)
            if begin < end:
                own = rows[begin:end] - ends[0]
                kernel = add_table_predictions, page.data.table, walk, own, tree.value
                choose_run(self._team, own.size)(*kernel, scores[page.first : page.end])

    def find_leaves(self, tree: Tree, rows: np.ndarray) -> np.ndarray:
        """Return the leaf of each of ``rows``, among all rows of the table."""
        leaf = self._work.leaf
        if self._options.growth != layout.SYMMETRIC:
            found = np.zeros(self._paged.n_rows)
            numbers = np.arange(tree.n_nodes, dtype=np.float64)[:, None]
            self.add_to_scores(replace(tree, value=numbers), rows, found)
            leaf[:] = found
            return leaf
        walk, n_levels = prepare_walk(tree, self._data.table), (tree.n_nodes + 1).bit_length() - 2
        for page in self._paged.pages:
            run = choose_run(self._team, page.n_rows)
            own = leaf[page.first : page.end]
            run(find_symmetric_leaves, page.data.table, walk, n_levels, own)
        return leaf

    def turn_to(self, data: PagedData) -> None:  # type: ignore[override]
        """From now on use another table, with the same rows in pages of its own."""
        self._paged = data
        super().turn_to(data.head)
        self._enlarge_buffers()
