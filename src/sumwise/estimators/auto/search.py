"""The search: candidates are trained on the folds, side by side, as long as the budget allows."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sumwise.combine.stack import gather_folds
from sumwise.estimators.auto.budget import Budget
from sumwise.estimators.auto.checkpoint import Checkpoint
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.fold_fits import FitTerms, FoldFit, TooSlowError, fit_fold
from sumwise.estimators.auto.memory import estimate_memory
from sumwise.estimators.auto.metrics import Metric
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.auto.progress import MemberState, Report
from sumwise.estimators.combined.out_of_fold import Folds
from sumwise.estimators.input.jobs import STEPS_PER_THREAD, count_threads

TIME, MEMORY = "left out: time", "left out: memory"

# Enough work for any number of threads.
_PLENTY = STEPS_PER_THREAD << 20


@dataclass(eq=False)
class Candidate:
    """A member of the search.

    Attributes
    ----------
    recipe : Recipe
    fits : dict of int to FoldFit
        Finished fits by fold; none if it was left out.
    reason : str
        Why it was left out; empty if it was not.
    error : Exception or None
        What it failed with.
    n_done, seconds
        Number of finished fits, and their time.
    """

    recipe: Recipe
    fits: dict[int, FoldFit] = field(default_factory=dict)
    reason: str = ""
    error: Exception | None = None
    n_done: int = 0
    seconds: float = 0.0

    def add(self, fold_idx: int, fit: FoldFit) -> None:
        """Keep a finished fit."""
        self.fits[fold_idx] = fit
        self.n_done += 1
        self.seconds += fit.seconds

    def drop(self, reason: str, error: Exception | None = None) -> None:
        """Leave it out, and free its models."""
        self.reason, self.error = reason, error
        self.fits.clear()

    @property
    def n_rounds(self) -> float:
        """Mean number of rounds or trees."""
        return float(np.mean([fit.n_rounds for fit in self.fits.values()])) if self.fits else 0.0

    def gather(self, folds: Folds) -> np.ndarray:
        """Return out-of-fold predictions of all rows, NaN for rows that no fit has predicted."""
        places = sorted(self.fits)
        outputs = [self.fits[fold_idx].output for fold_idx in places]
        columns = [output.reshape(len(output), -1) for output in outputs]
        rows = [folds.test[fold_idx] for fold_idx in places]
        gathered = gather_folds(columns, rows, folds.n_rows)
        return gathered[:, 0] if outputs[0].ndim == 1 else gathered


class Task(NamedTuple):
    """A fit to do."""

    candidate: Candidate
    fold_idx: int


class Wave(NamedTuple):
    """What has come of fits that ran side by side: how long they took, and whether one was cut.

    ``seconds`` is None if all of them were known from the checkpoint.
    """

    seconds: float | None
    was_cut: bool


@dataclass(eq=False)
class Search:
    """Trains candidates, and knows which of them have predicted all folds.

    Attributes
    ----------
    data : TrainingData
    folds : Folds
    metric : Metric
    budget : Budget
    checkpoint : Checkpoint
    report : callable
        Shows a finished candidate.
    loss : str
        The loss of boosting.
    seed : int
    n_jobs : int or None
    memory : int
        Bytes that may be used.
    refits : bool
        Whether members will be fitted once more, on all rows.
    candidates : list of Candidate
        All that were tried, in their order.
    """

    data: TrainingData
    folds: Folds
    metric: Metric
    budget: Budget
    checkpoint: Checkpoint
    report: Report
    loss: str
    seed: int
    n_jobs: int | None
    memory: int
    refits: bool = False
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_threads = count_threads(self.n_jobs, _PLENTY)
        # The folds with the most training rows first: they take longest.
        sizes = [-rows.size for rows in self.folds.train]
        self.fold_order: list[int] = np.argsort(sizes, kind="stable").tolist()
        self.rows = self.folds.predicted
        self._stop = threading.Event()
        self._best = -np.inf
        self._kept_bytes = 0
        _ = self.data.table.numbers  # computed here, not by several threads at once

    @property
    def complete(self) -> list[Candidate]:
        """The candidates that have predicted all folds."""
        return [each for each in self.candidates if len(each.fits) == len(self.folds.test)]

    def try_all(self, recipes: Sequence[Recipe]) -> None:
        """Train members one after another; the first is trained whatever the time."""
        for recipe in recipes:
            candidate = self.start(recipe)
            if not candidate.reason:
                self.finish(candidate, is_first=not self.complete)

    def start(self, recipe: Recipe) -> Candidate:
        """Return a new candidate; it is left out at once if it needs too much memory."""
        candidate = Candidate(recipe)
        need = estimate_memory(recipe, self.data, self.folds, self.n_threads)
        if self.complete and self._kept_bytes + need.kept + need.training > self.memory:
            candidate.drop(MEMORY)
            self._show(candidate)
        self.candidates.append(candidate)
        return candidate

    def finish(self, candidate: Candidate, is_first: bool = False) -> None:
        """Train a candidate on all folds that it has not seen, or leave it out."""
        folds = [fold_idx for fold_idx in self.fold_order if fold_idx not in candidate.fits]
        waves = list(self.make_waves([Task(candidate, fold_idx) for fold_idx in folds]))
        family, measured = candidate.recipe.family, None
        for place, tasks in enumerate(waves):
            n_left = len(waves) - place + self.refits  # each is fitted once more on all rows
            # The first two times decide; then it is finished, if need be with fewer rounds.
            if not is_first and place < 2 and not self.budget.allows(family, n_left, measured):
                candidate.drop(TIME)
                break
            wave = self.run(tasks, self.budget.share_out(n_left, is_first), is_first)
            measured = wave.seconds
            if wave.was_cut and place == 0 and len(waves) > 1 and not is_first:
                candidate.drop(TIME)
            if candidate.reason:
                break
        if not candidate.reason:
            own = estimate_memory(candidate.recipe, self.data, self.folds, self.n_threads)
            self._kept_bytes += own.kept
            if self.refits:
                self.budget.reserved += max(fit.seconds for fit in candidate.fits.values())
        self._show(candidate)

    def make_waves(self, tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
        """Yield fits that run side by side."""
        for first in range(0, len(tasks), self.n_threads):
            yield tasks[first : first + self.n_threads]

    def score(self, candidate: Candidate) -> float:
        """Return the score of a candidate on the rows that its fits have predicted so far."""
        predicted = candidate.gather(self.folds)
        known = ~np.isnan(predicted.reshape(len(predicted), -1)[:, 0])
        y, weight = self.data.y[known], self.data.weight
        return self.metric.measure(predicted[known], y, None if weight is None else weight[known])

    def run(self, tasks: Sequence[Task], seconds: float, must: bool = False) -> Wave:
        """Do some fits side by side, each within some seconds.

        Where it ``must``, also fits that cannot be stopped are done, however long they take.
        """
        missing = [task for task in tasks if not self._restore(task)]
        if not missing:
            return Wave(None, False)
        terms = FitTerms(
            self.data,
            self.folds,
            self.loss,
            self.seed,
            self.budget.clock,
            max(1, self.n_threads // len(missing)),
            self._stop.is_set,
        )
        begin = self.budget.clock()
        results = self._fit(terms, missing, seconds, must)
        own = Wave(
            self.budget.clock() - begin, any(fit.was_cut for fit in results if fit is not None)
        )
        for family in {task.candidate.recipe.family for task in missing}:
            self.budget.learn(family, own.seconds or 0.0)
        return own

    def _restore(self, task: Task) -> bool:
        """Take a fit from the checkpoint; return whether it is there."""
        known = self.checkpoint.load(task.candidate.recipe, task.fold_idx)
        if known is not None:
            task.candidate.add(task.fold_idx, known)
        return known is not None

    def _fit(
        self, terms: FitTerms, tasks: Sequence[Task], seconds: float, must: bool
    ) -> list[FoldFit | None]:
        """Return the results of fits, None for those that failed."""

        def do(task: Task) -> FoldFit:
            fit = fit_fold(terms, task.candidate.recipe, task.fold_idx, seconds, must)
            self.checkpoint.store(task.candidate.recipe, task.fold_idx, fit)
            return fit

        if len(tasks) == 1:
            return [self._settle(tasks[0], lambda: do(tasks[0]))]
        with ThreadPoolExecutor(len(tasks)) as pool:
            futures: list[Future[FoldFit]] = [pool.submit(do, task) for task in tasks]
            try:
                return [
                    self._settle(task, future.result)
                    for task, future in zip(tasks, futures, strict=True)
                ]
            except BaseException:  # an interrupt: running fits stop at their next round
                self._stop.set()
                raise

    def _settle(self, task: Task, get: Callable[[], FoldFit]) -> FoldFit | None:
        """Add a fit to its candidate; leave the candidate out if the fit has failed."""
        try:
            fit = get()
        except TooSlowError:
            task.candidate.drop(TIME)
        except Exception as error:  # whatever it is, the other members go on
            task.candidate.drop(f"failed: {type(error).__name__}: {error}", error)
        else:
            if not task.candidate.reason:
                task.candidate.add(task.fold_idx, fit)
            return fit
        return None

    def _show(self, candidate: Candidate) -> None:
        result = candidate.reason
        if not result:
            score = self.score(candidate)
            self._best = max(self._best, score)
            result = f"{self.metric.name} {self.metric.show(score):.6g}"
        best = f"{self.metric.show(self._best):.6g}"
        self.report(
            MemberState(candidate.recipe.name, result, best, self.budget.elapsed, self.budget.limit)
        )
