"""Selection and pruning of members by their predictions for held-out rows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sumwise.diversity import pairwise_matrix

# The score of an average of members, greater is better.
Score = Callable[[np.ndarray], float]

# Passes of backfitting in reduced-error pruning, as in Margineantu and Dietterich.
_MOST_PASSES = 100


class Step(NamedTuple):
    """One step of a selection: the member that was added, and the score with it."""

    member: int
    score: float


def select_greedily(
    predictions: np.ndarray,
    score: Score,
    n_steps: int,
    n_start: int = 0,
    candidates: np.ndarray | None = None,
    replace: bool = True,
) -> list[Step]:
    """Repeatedly add the member that improves the average most (Caruana et al., 2004).

    With replacement, a member may be added several times, which gives it more weight. The returned
    steps end at the highest score.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_rows, ...)
    score : callable
        Score of an average, greater is better.
    n_steps : int
        Number of members to add in total.
    n_start : int
        Number of best single members to start with; fewer if adding one of them lowers the score.
    candidates : ndarray of int or None
        Members to choose from; None for all.
    replace : bool
        Whether a member may be added twice.
    """
    pool = list(range(len(predictions))) if candidates is None else sorted(map(int, candidates))
    total = np.zeros(predictions.shape[1:])
    steps: list[Step] = []
    singles = {m: score(predictions[m]) for m in pool}
    for member in sorted(pool, key=lambda m: -singles[m])[:n_start]:
        reached = score((total + predictions[member]) / (len(steps) + 1))
        if steps and reached < steps[-1].score:
            break
        total = total + predictions[member]
        steps.append(Step(member, reached))
    while len(steps) < n_steps:
        chosen = {step.member for step in steps}
        allowed = pool if replace else [m for m in pool if m not in chosen]
        if not allowed:
            break
        n_then = len(steps) + 1
        scores = [score((total + predictions[m]) / n_then) for m in allowed]
        best = int(np.argmax(scores))  # the first of equal ones
        total = total + predictions[allowed[best]]
        steps.append(Step(allowed[best], scores[best]))
    return _cut_at_best(steps)


def select_in_bags(
    predictions: np.ndarray,
    score: Score,
    n_steps: int,
    n_start: int,
    n_bags: int,
    bag_fraction: float,
    seed: int,
) -> list[list[Step]]:
    """Select greedily from several random subsets of the members; one list of steps per subset.

    The average over subsets gives less weight to a member that looks best by chance.
    """
    rng = np.random.default_rng(seed)
    n_members = len(predictions)
    n_drawn = max(1, round(bag_fraction * n_members))
    bags = []
    for _ in range(n_bags):
        drawn = rng.permutation(n_members)[:n_drawn]
        bags.append(select_greedily(predictions, score, n_steps, n_start, drawn))
    return bags


def count_selected(bags: list[list[Step]], n_members: int) -> np.ndarray:
    """Return the weight of each member: its share of the selections, averaged over bags."""
    weights = np.zeros(n_members)
    for steps in bags:
        members = np.array([step.member for step in steps])
        weights += np.bincount(members, minlength=n_members) / members.size
    return weights / len(bags)


def prune_by_reduced_error(predictions: np.ndarray, score: Score, n_keep: int) -> list[Step]:
    """Choose members of equal weight, with exchanges (Margineantu and Dietterich, 1997).

    Members are added greedily, none twice. After each addition, members are exchanged for others
    until no exchange improves the score. The steps have the final members; step k has the score
    that the ensemble reached with k members.
    """
    chosen: list[int] = []
    scores: list[float] = []
    while len(chosen) < min(n_keep, len(predictions)):
        total = predictions[chosen].sum(axis=0)
        member, reached = _find_best(predictions, score, total, chosen)
        chosen, reached = _exchange(predictions, score, [*chosen, member], reached)
        scores.append(reached)
    return [Step(member, reached) for member, reached in zip(chosen, scores, strict=True)]


def _exchange(
    predictions: np.ndarray, score: Score, chosen: list[int], reached: float
) -> tuple[list[int], float]:
    """Exchange members one by one for better ones, until no exchange improves the score."""
    if len(chosen) < 2 or len(chosen) == len(predictions):
        return chosen, reached
    for _ in range(_MOST_PASSES):
        improved = False
        for place in range(len(chosen)):
            others = chosen[:place] + chosen[place + 1 :]
            total = predictions[others].sum(axis=0)
            member, value = _find_best(predictions, score, total, others)
            if value > reached:
                chosen = [*others[:place], member, *others[place:]]
                reached, improved = value, True
        if not improved:
            break
    return chosen, reached


def _find_best(
    predictions: np.ndarray, score: Score, total: np.ndarray, taken: list[int]
) -> tuple[int, float]:
    free = [m for m in range(len(predictions)) if m not in taken]
    scores = [score((total + predictions[m]) / (len(taken) + 1)) for m in free]
    best = int(np.argmax(scores))
    return free[best], scores[best]


def order_by_orientation(is_right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order classifiers by how much they correct the errors of the vote.

    Each member is a vector with +1 for rows that it classifies correctly and -1 for others. The
    ensemble is their mean. The reference is the component of (1, ..., 1) that is perpendicular to
    the ensemble: the direction in which it errs. Members at a small angle to the reference correct
    the ensemble (Martínez-Muñoz and Suárez, 2006).

    Returns
    -------
    order : ndarray of int
        Members by ascending angle.
    angles : ndarray of float64
        Angle of each member, in the order of the members; above pi / 2 it adds to the errors.
    """
    signatures = np.where(is_right, 1.0, -1.0)
    ensemble = signatures.mean(axis=0)
    ones = np.ones(signatures.shape[1])
    square = ensemble @ ensemble
    reference = ones - (ones @ ensemble / square) * ensemble if square > 0.0 else ones
    length = np.linalg.norm(reference)
    if length <= 1e-9 * np.sqrt(ones.size):  # the mean is parallel to (1, ..., 1)
        reference, length = ones, np.linalg.norm(ones)
    cosines = signatures @ reference / (length * np.sqrt(ones.size))
    angles = np.arccos(np.clip(cosines, -1.0, 1.0))
    return np.argsort(angles, kind="stable"), angles


def select_by_kappa(labels: np.ndarray, n_keep: int) -> list[int]:
    """Choose the members of the pairs that agree least (Margineantu and Dietterich, 1997).

    Pairs are taken by ascending kappa until there are ``n_keep`` members.
    """
    n_members = len(labels)
    if n_members == 1:
        return [0]
    kappas = pairwise_matrix(labels.T, measure="kappa").values
    first, second = np.triu_indices(n_members, k=1)
    chosen: list[int] = []
    for pair in np.argsort(kappas[first, second], kind="stable"):
        for member in (int(first[pair]), int(second[pair])):
            if member not in chosen and len(chosen) < n_keep:
                chosen.append(member)
        if len(chosen) == n_keep:
            break
    return chosen


def _cut_at_best(steps: list[Step]) -> list[Step]:
    best = int(np.argmax([step.score for step in steps]))
    return steps[: best + 1]
