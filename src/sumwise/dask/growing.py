"""Forests on a cluster of Dask: the tasks of a fit, and what is done when a worker is lost.

All rows are brought to one worker, which bins them. The bins, one byte per value, go to all
workers. Each grows some ranges of tree numbers; then one worker joins the trees. When a worker
ends, Dask computes again elsewhere what it had. Dask does not know when a worker was stopped: then
its tasks are submitted again for the others.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import dask
from distributed import CancelledError, Future, KilledWorker
from distributed import TimeoutError as DaskTimeoutError

from sumwise.dask.forest_tasks import (
    Outcome,
    bin_rows,
    give,
    grow_trees,
    join_trees,
    predict_fold,
)
from sumwise.dask.liveness import Workers
from sumwise.dask.placement import PATIENCE, Partitions
from sumwise.errors import PeersError
from sumwise.estimators.forests.base_forest import BaseForest
from sumwise.estimators.forests.ranges import list_folds, list_numbers
from sumwise.training.callbacks import Callback, RoundState
from sumwise.training.forest import divide
from sumwise.training.progress import show_progress

# Ranges of trees per thread of the cluster: fast workers take some of those of slow ones.
_RANGES_PER_THREAD = 4
# How often Dask repeats a task that has failed.
_RETRIES = 2
# Seconds until a result is asked for once more, at first and at most.
_SHORT, _LONG = 5.0, 300.0

# The names of tasks; ranges of trees are named by their numbers, folds by theirs.
_ROWS, _JOINED = "rows", "joined"


class Wanted(NamedTuple):
    """What to fit.

    Attributes
    ----------
    forest : BaseForest
        Unfitted.
    start : BaseForest or None
        The forest to continue from.
    seed : int
        What a fit in this process would draw.
    """

    forest: BaseForest
    start: BaseForest | None
    seed: int


def grow_on_cluster(workers: Workers, partitions: Partitions, wanted: Wanted) -> Outcome:
    """Fit a forest on the training rows of all partitions.

    Raises
    ------
    PeersError
        If the data was lost with a worker, or no worker is left.
    """
    tasks = _Tasks(workers, partitions, wanted)
    try:
        # A forest to continue from may be large, which is nothing that the user should be told.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return tasks.run()
    finally:
        tasks.forget()


class _Task(NamedTuple):
    """A task that was submitted.

    Attributes
    ----------
    future : Future
    inputs : list of str
        The keys of the futures among its arguments.
    places : list of str or None
        The only workers that may run it.
    """

    future: Future
    inputs: list[str]
    places: list[str] | None


class _Tasks:
    """The tasks of a fit, by their names."""

    def __init__(self, workers: Workers, partitions: Partitions, wanted: Wanted) -> None:
        self._workers, self._client, self._partitions = workers, workers.client, partitions
        self._wanted = wanted
        self._numbers = list_numbers(wanted.forest, wanted.start)
        n_threads = sum(about["nthreads"] for about in workers.present.values())
        self._ranges = divide(self._numbers, _RANGES_PER_THREAD * max(1, n_threads))
        self._folds = list_folds(wanted.forest)
        self._tasks: dict[Hashable, _Task] = {}
        self._heard_at = time.monotonic()

    def run(self) -> Outcome:
        """Return the result of the last task."""
        with show_progress(bool(self._wanted.forest.verbose)) as shown:
            progress = _Progress(self._numbers, shown)
            while True:
                self._submit_missing()
                future = self._tasks[_JOINED].future
                self._workers.wait([future])
                progress.show(sum(len(own) for own in self._ranges if self._is_finished(own)))
                if future.done():
                    outcome = self._fetch(future)
                    if outcome is not None:
                        return outcome
                self._refuse_to_wait_for_nobody()
                self._drop_stuck()
                if not self._folds and self._is_finished(_ROWS):
                    # Should the rows be lost, Dask still knows how to make them again.
                    self._partitions.close()

    def forget(self) -> None:
        """Let Dask forget all tasks."""
        while self._tasks:
            self._drop(next(iter(self._tasks)))

    def _drop(self, name: Hashable) -> None:
        self._tasks.pop(name).future.release()

    # --- submitting ---

    def _submit_missing(self) -> None:
        if _ROWS not in self._tasks:
            self._submit(_ROWS, bin_rows, *self._wanted, self._partitions.gather())
        rows, places = self._tasks[_ROWS].future, cycle(self._list_places())
        for numbers in self._ranges:
            if numbers not in self._tasks:
                self._submit(numbers, grow_trees, rows, numbers, place=next(places, None))
        for fold in self._folds:
            if fold not in self._tasks:
                self._submit(fold, predict_fold, rows, self._partitions.gather(), fold)
        if _JOINED not in self._tasks:
            grown, found = (
                [self._tasks[name].future for name in names]
                for names in (self._ranges, self._folds)
            )
            self._submit(_JOINED, join_trees, rows, grown, found)

    def _submit(
        self, name: Hashable, function: Callable[..., Any], *args: Any, place: str | None = None
    ) -> None:
        """Submit a task; ``place`` is the worker that should run it."""
        options: dict[str, Any] = {}
        places = self._workers.alive if self._workers.silent else None
        if places is not None:
            options["workers"] = places
        elif place is not None:
            # Otherwise Dask would leave too many tasks with the worker that has the rows.
            options = {"workers": [place], "allow_other_workers": True}
        future = self._client.submit(function, *args, pure=False, retries=_RETRIES, **options)
        self._tasks[name] = _Task(future, list(_list_keys(args)), places)

    def _list_places(self) -> list[str]:
        """Return the addresses of workers, each as often as it has threads, in turn."""
        n_threads = {a: self._workers.present[a]["nthreads"] for a in self._workers.alive}
        turns = range(max(n_threads.values(), default=0))
        return [address for turn in turns for address, n in n_threads.items() if turn < n]

    # --- waiting ---

    def _is_finished(self, name: Hashable) -> bool:
        return name in self._tasks and self._tasks[name].future.status == "finished"

    def _fetch(self, future: Future) -> Outcome | None:
        """Return the result of the last task; None if its worker was lost meanwhile."""
        timeout = _SHORT
        while True:
            try:
                outcome: Outcome = future.result(timeout=timeout)
                return outcome
            except DaskTimeoutError:
                timeout = min(2 * timeout, _LONG)
            except CancelledError:
                raise PeersError(
                    "the fit was cancelled: the cluster was restarted, or a worker was lost that "
                    "alone had some of the data"
                ) from None
            except KilledWorker as error:
                raise PeersError(f"workers have ended again and again: {error}") from error
            self._workers.look(at_once=True)
            if self._workers.silent or not future.done():
                return None

    def _refuse_to_wait_for_nobody(self) -> None:
        """Raise an error if there has been no worker for long."""
        if self._workers.alive:
            self._heard_at = time.monotonic()
        elif time.monotonic() - self._heard_at > PATIENCE:
            named = "; ".join(map(self._workers.explain, self._workers.silent))
            raise PeersError(
                f"the cluster has had no workers for {PATIENCE:g} seconds"
                + (f", except {named}" if named else "")
            )

    # --- workers without a sign of life ---

    def _drop_stuck(self) -> None:
        """Forget tasks that wait for silent workers, to submit them again for the others.

        Of results that others have as well, those are kept.
        """
        workers = self._workers
        alive, silent = set(workers.alive), set(workers.silent)
        is_restricted = any(task.places is not None for task in self._tasks.values())
        if not alive or not (silent or is_restricted):
            return
        keys = {key for task in self._tasks.values() for key in (task.future.key, *task.inputs)}
        scheduler = self._client.scheduler
        holders = workers.ask(scheduler.who_has, keys=list(keys))
        running = workers.ask(scheduler.processing)
        place = {key: address for address, own in running.items() for key in own}
        stuck: set[str] = set()
        # In the order in which they depend on each other.
        for name in (_ROWS, *self._ranges, *self._folds, _JOINED):
            task = self._tasks[name]
            if not _is_stuck(task, alive, silent, holders, place, stuck):
                continue
            key = task.future.key
            stuck.add(key)
            others = [address for address in holders.get(key) or () if address in alive]
            if others:
                kept = self._client.submit(give, task.future, pure=False, workers=others)
                self._drop(name)
                self._tasks[name] = _Task(kept, [key], others)
                continue
            self._drop(name)
            if name == _ROWS or name in self._folds:
                self._partitions.close()  # silent workers may have some of them, too


def _is_stuck(
    task: _Task,
    alive: set[str],
    silent: set[str],
    holders: Mapping[str, Sequence[str]],
    place: Mapping[str, str],
    stuck: set[str],
) -> bool:
    """Whether a task or its result waits for a silent worker, or would wait for one.

    Parameters
    ----------
    task : _Task
    alive, silent : set of str
        Addresses of workers.
    holders : mapping from str to sequence of str
        The workers that have the result of a key.
    place : mapping from str to str
        The worker that was given the task of a key.
    stuck : set of str
        The keys of tasks that are stuck.
    """
    key = task.future.key
    if holders.get(key):  # finished
        return not alive.issuperset(holders[key])
    own = place.get(key)
    if own in silent or (task.places is not None and alive.isdisjoint(task.places)):
        return True
    for needed in task.inputs:
        if not holders.get(needed):
            if needed in stuck:
                return True
        elif own not in holders[needed] and not alive.issuperset(holders[needed]):
            return True  # Dask may ask a silent worker for it
    return False


def _list_keys(args: Iterable[Any]) -> Iterator[str]:
    """Yield the keys of all futures among arguments."""
    for value in args:
        if isinstance(value, Future):
            yield value.key
        elif isinstance(value, list):
            yield from _list_keys(value)


class _Progress:
    """Shows trees that have grown."""

    def __init__(self, numbers: range, shown: Sequence[Callback]) -> None:
        self._numbers, self._shown = numbers, shown
        self._began, self._n_grown = time.perf_counter(), 0

    def show(self, n_grown: int) -> None:
        """Show those that have grown since."""
        for n_done in range(self._n_grown + 1, n_grown + 1):
            seconds = time.perf_counter() - self._began
            number = self._numbers.start + n_done
            state = RoundState(number, self._numbers.stop, {}, seconds, lambda: None)
            for show in self._shown:
                show(state)
        self._n_grown = max(n_grown, self._n_grown)
