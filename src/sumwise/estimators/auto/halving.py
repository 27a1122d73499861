"""Successive halving: random variants of boosting, of which the better half sees further folds.

All variants are trained on one fold. The better half is trained on a second one, the better half of
these on two more, and so on; a few are trained on all folds and become members.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.auto.search import TIME, Candidate, Search, Task

WEAK = "left out: others were better on the first folds"

# Variants that compete, and the share of them that become members.
BRACKET = 12
_SHARE = 6
# With less time than for so many variants, it is not worth beginning.
_FEWEST = 3
# A variant that takes this many times as long as other members is stopped.
_PATIENCE = 5.0


class Rung(NamedTuple):
    """Candidates are trained on the first ``n_folds`` folds; the best ``n_kept`` go on."""

    n_folds: int
    n_kept: int


def plan_rungs(n_variants: int, n_folds: int) -> list[Rung]:
    """Return the rungs before the last one, on which the rest sees all folds.

    >>> from sumwise.estimators.auto.halving import plan_rungs
    >>> plan_rungs(12, 8)
    [Rung(n_folds=1, n_kept=6), Rung(n_folds=2, n_kept=3), Rung(n_folds=4, n_kept=2)]
    """
    n_last = max(1, n_variants // _SHARE)
    rungs, n_alive, n_seen = [], n_variants, 1
    while n_alive > n_last and n_seen < n_folds:
        n_alive = max(n_last, n_alive // 2)
        rungs.append(Rung(n_seen, n_alive))
        n_seen *= 2
    return rungs


def count_fits(n_variants: int, n_folds: int) -> int:
    """Return the number of fits of all rungs.

    >>> from sumwise.estimators.auto.halving import count_fits
    >>> count_fits(12, 8)
    32
    """
    n_fits, n_alive, n_seen = 0, n_variants, 0
    for rung in plan_rungs(n_variants, n_folds):
        n_fits += n_alive * (rung.n_folds - n_seen)
        n_alive, n_seen = rung.n_kept, rung.n_folds
    return n_fits + n_alive * (n_folds - n_seen)


def halve_all(search: Search, recipes: Sequence[Recipe]) -> None:
    """Let all variants compete, some at a time."""
    for first in range(0, len(recipes), BRACKET):
        own = recipes[first : first + BRACKET]
        n_own = _count_affordable(search, len(own))
        if n_own < min(_FEWEST, len(own)):
            break
        _halve(search, own[:n_own])


def _count_affordable(search: Search, n_variants: int) -> int:
    """Return how many variants can compete in the time that is left."""
    if not search.budget.is_limited:
        return n_variants
    seconds, n_folds = _find_typical(search), len(search.folds.test)
    for n in range(n_variants, 0, -1):
        n_waves = -(-count_fits(n, n_folds) // search.n_threads)
        if n_waves * seconds <= search.budget.remaining:
            return n
    return 0


def _find_typical(search: Search) -> float:
    """Return the mean time of a fit of boosting."""
    own = [each for each in search.complete if each.recipe.family == portfolio.BOOSTING]
    seconds = [each.seconds / each.n_done for each in own]
    return float(np.mean(seconds)) if seconds else 0.0


def _halve(search: Search, recipes: Sequence[Recipe]) -> None:
    alive = [candidate for candidate in map(search.start, recipes) if not candidate.reason]
    for rung in plan_rungs(len(alive), len(search.folds.test)):
        folds = search.fold_order[: rung.n_folds]
        _train(search, alive, folds)
        alive = [candidate for candidate in alive if not candidate.reason]
        scores = np.array([search.score(candidate) for candidate in alive])
        ranked = np.argsort(-scores, kind="stable")
        for place in ranked[rung.n_kept :]:
            alive[place].drop(WEAK)
        alive = [alive[place] for place in sorted(ranked[: rung.n_kept])]
    for candidate in alive:
        search.finish(candidate)


def _train(search: Search, alive: Sequence[Candidate], folds: Sequence[int]) -> None:
    """Train candidates on folds that they have not seen; leave out those that take too long."""
    typical = _find_typical(search)
    tasks = [Task(each, fold) for each in alive for fold in folds if fold not in each.fits]
    for wave in search.make_waves(tasks):
        own = [task for task in wave if not task.candidate.reason]
        if search.budget.remaining <= 0.0:
            for task in own:
                task.candidate.drop(TIME)
            continue
        seconds = search.budget.remaining
        if typical > 0.0 and search.budget.is_limited:
            seconds = min(seconds, _PATIENCE * typical)
        search.run(own, seconds)
        for task in own:
            fit = task.candidate.fits.get(task.fold_idx)
            if fit is not None and fit.was_cut:
                task.candidate.drop(TIME)
