"""From the candidates of a search to what the user sees: members, weights and the leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.combine.average import average
from sumwise.diversity import (
    Ambiguity,
    PairwiseMatrix,
    ambiguity_decomposition,
    log_loss_decomposition,
    pairwise_matrix,
)
from sumwise.estimators.auto.combination import (
    Choice,
    Combined,
    HeldOut,
    choose_combination,
    take_members,
)
from sumwise.estimators.auto.leaderboard import (
    CHOSEN,
    ENSEMBLE,
    NOT_CHOSEN,
    Leaderboard,
    LeaderboardEntry,
)
from sumwise.estimators.auto.pooling import LogPool
from sumwise.estimators.auto.search import Candidate, Search

# The measure of diversity of regressors.
_ERRORS = "correlation of errors"


@dataclass(frozen=True, eq=False)
class Assembly:
    """The result of a search.

    Attributes
    ----------
    kind : str
        How members are combined.
    members : list of Candidate
        Those that the combination needs.
    combined : Average, LinearPool or LogPool
        Of these members.
    weights : ndarray
        Their shares.
    out_of_fold : ndarray
        Predictions of all rows of the data, NaN where there are none.
    leaderboard : Leaderboard
    diversity : PairwiseMatrix
    decomposition : Ambiguity
    """

    kind: str
    members: list[Candidate]
    combined: Combined
    weights: np.ndarray
    out_of_fold: np.ndarray
    leaderboard: Leaderboard
    diversity: PairwiseMatrix
    decomposition: Ambiguity


def assemble(search: Search, kind: str) -> Assembly:
    """Choose how the complete candidates are combined, and describe the result."""
    data, rows, complete = search.data, search.rows, search.complete
    held_out = HeldOut(
        np.stack([candidate.gather(search.folds)[rows] for candidate in complete]),
        data.y[rows],
        data.take_weight(rows),
        search.metric,
        None if data.groups is None else data.groups[rows],
    )
    is_constant = (held_out.y == held_out.y[0]).all()
    if not is_constant and np.isneginf(held_out.score_members()).all():
        search.metric.require_score(held_out.predictions[0], held_out.y, held_out.weight)
    choice = choose_combination(held_out, kind, search.seed, lambda: search.budget.is_over)
    needed = np.flatnonzero(choice.combined.coef).tolist() or [0]
    combined = take_members(choice.combined, needed)
    own = held_out.take_members(np.array(needed))
    members = [complete[k] for k in needed]
    names = [member.recipe.name for member in members]
    out_of_fold = np.full((data.n_rows, *own.predictions.shape[2:]), np.nan)
    out_of_fold[rows] = combined.combine(own.predictions)
    weights = choice.weights[needed]
    return Assembly(
        choice.kind,
        members,
        combined,
        weights,
        out_of_fold,
        _make_leaderboard(search, held_out, choice),
        _measure_diversity(own, names),
        _decompose(own, weights, combined),
    )


def _make_leaderboard(search: Search, held_out: HeldOut, choice: Choice) -> Leaderboard:
    metric, complete = search.metric, search.complete
    entries = []
    for candidate in search.candidates:
        score = error = np.nan
        weight, status = 0.0, candidate.reason
        if candidate in complete:
            place = complete.index(candidate)
            predicted = held_out.predictions[place]
            score = metric.show(held_out.score(predicted))
            error = metric.estimate_error(predicted, held_out.y, held_out.weight)
            weight = float(choice.weights[place])
            status = CHOSEN if choice.combined.coef[place] else NOT_CHOSEN
        known = (candidate.recipe.name, score, error, weight, candidate.seconds)
        entries.append(LeaderboardEntry(*known, candidate.n_done, candidate.n_rounds, status))
    entries.append(
        LeaderboardEntry(
            ENSEMBLE,
            metric.show(choice.score),
            choice.std_error,
            1.0,
            search.budget.elapsed,
            sum(entry.n_folds for entry in entries),
            0.0,
            choice.kind,
        )
    )
    return Leaderboard(entries, metric.name, metric.sign > 0)


def _measure_diversity(held_out: HeldOut, names: Sequence[str]) -> PairwiseMatrix:
    """Return the kappa of each pair of classifiers, or the correlation of regressors' errors."""
    if held_out.is_class and len(names) > 1:
        labels = held_out.predictions.argmax(axis=2).T
        return pairwise_matrix(labels, measure="kappa", labels=names, sample_weight=held_out.weight)
    if len(names) == 1:
        return PairwiseMatrix(
            tuple(names), np.ones((1, 1)), "kappa" if held_out.is_class else _ERRORS
        )
    errors = held_out.predictions - held_out.y
    errors = errors - average(errors.T, held_out.weight)[:, None]
    roots = 1.0 if held_out.weight is None else np.sqrt(held_out.weight)
    errors = errors * roots
    lengths = np.sqrt((errors**2).sum(axis=1))
    unit = errors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    values = unit @ unit.T
    np.fill_diagonal(values, 1.0)
    return PairwiseMatrix(tuple(names), values, _ERRORS)


def _decompose(held_out: HeldOut, weights: np.ndarray, combined: Combined) -> Ambiguity:
    """Return the error of the weighted mean of the members, and what it is made of."""
    if not weights.any():
        weights = np.full(weights.size, 1.0 / weights.size)
    predictions = np.moveaxis(held_out.predictions, 0, 1)
    y, row_weight = held_out.y, held_out.weight
    if not held_out.is_class:
        return ambiguity_decomposition(predictions, y, weights=weights, sample_weight=row_weight)
    pool = "geometric" if isinstance(combined, LogPool) else "arithmetic"
    return log_loss_decomposition(
        predictions, y, weights=weights, pool=pool, sample_weight=row_weight
    )
