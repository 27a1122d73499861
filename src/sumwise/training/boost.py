"""Gradient boosting: the training loop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels import random
from sumwise.kernels.threads import Team
from sumwise.losses import Loss
from sumwise.sampling import Columns, RowSampler
from sumwise.training.callbacks import Callback, RoundState, call_all
from sumwise.training.permutations import PermutedGrowth
from sumwise.training.rounds import BoostingResult, Past, Rounds
from sumwise.training.stopping import LOSS, SCORE, EarlyStopping
from sumwise.tree import GrowthSettings, LeafRefitter, TreeEnsemble, TreeGrower

# From the raw scores of the validation rows (n_rows, n_outputs), and a function that makes the
# ensemble so far for who needs more than them.
ValidationScorer = Callable[[np.ndarray, Callable[[], TreeEnsemble]], float]


@dataclass(frozen=True)
class BoostingSettings:
    """What a fit does, apart from the data.

    ``scorer`` judges the validation rows after each round. ``make_model`` makes what callbacks get
    to see of the rounds so far.
    """

    loss: Loss
    growth: GrowthSettings
    n_rounds: int = 100
    sampler: RowSampler | None = None
    columns: Columns = field(default_factory=Columns)
    stopping: EarlyStopping | None = None
    seed: int = 0
    track_training_loss: bool = False
    scorer: ValidationScorer | None = None
    callbacks: Sequence[Callback] = ()
    make_model: Callable[[BoostingResult], Any] = lambda result: result


@dataclass(frozen=True)
class TrainingRows:
    """The target and what belongs to it, one entry a row of the table.

    ``weight`` is empty where all weights are one. ``train`` and ``valid`` are row numbers; rows in
    neither take no part. ``init_score`` has shape (n_outputs, n_rows).
    """

    target: np.ndarray
    weight: np.ndarray
    train: np.ndarray
    valid: np.ndarray
    init_score: np.ndarray | None = None


def boost(
    data: BinnedData,
    mapper: BinMapper,
    rows: TrainingRows,
    settings: BoostingSettings,
    team: Team,
    past: Past | None = None,
    variants: Sequence[BinnedData] = (),
) -> BoostingResult:
    """Fit an ensemble: each round adds one tree an output, grown on the loss's derivatives.

    ``variants`` are further tables of the same rows and bins, in which categories are encoded by
    other permutations.
    """
    loss, stopping = settings.loss, settings.stopping
    base_score = _find_base_score(loss, rows) if past is None else past.ensemble.base_score
    raw = np.repeat(base_score[:, None], data.n_rows, axis=1)
    if rows.init_score is not None:
        raw += rows.init_score
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    grower = TreeGrower(data, mapper, settings.growth, settings.columns, rows.train.size, team)
    refitter = None
    if loss.location is not None:
        refitter = LeafRefitter(grower, rows.target, rows.weight, rows.train, team)
    rounds = Rounds(base_score, loss.link, data.n_features, past.ensemble if past else None)
    begin = time.perf_counter()
    done = past is not None and _replay(past, rounds, rows, settings, raw, team)
    first, last = rounds.n_rounds, settings.n_rounds
    permuted = None
    if variants:
        own = (rows.target, rows.weight, rows.train, rows.valid, raw, team)
        permuted = PermutedGrowth((data, *variants), grower, refitter, *own)
    for round_idx in range(first, first if done else last):
        current = loss.at_round(rows.target, raw, rows.weight, rows.train)
        if permuted is None:
            current.gradient(team, rows.target, raw, rows.weight, gradient, hessian)
        else:
            permuted.begin_round(current, round_idx)
        seen, unseen = _sample_rows(settings, rows, round_idx)
        for output in range(loss.n_outputs):
            key = random.make_key(settings.seed, random.TREES, rounds.n_trees)
            location = current.location
            if permuted is not None:
                rounds.add(permuted.grow(output, seen, key, location))
                continue
            added_to = raw[output] if location is None else np.empty(0)
            tree = grower.grow_on_gradients(gradient[output], hessian[output], seen, key, added_to)
            if location is not None and refitter is not None:
                tree = refitter.refit(tree, seen, raw[output], location)
            if unseen.size:
                grower.add_to_scores(tree, unseen, raw[output])
            rounds.add(tree)
        scores = _measure_scores(settings, rows, rounds, raw, round_idx + 1)
        rounds.record(scores)
        done = _tell_callbacks(settings, rounds, scores, time.perf_counter() - begin)
        if stopping:
            done |= stopping.should_stop(round_idx + 1, scores[stopping.watched])
        if done:
            break
    if not np.isfinite(raw).all():
        raise TrainingError("scores have grown without bound; lower learning_rate or raise l2")
    n_kept = stopping.best_round if stopping else rounds.n_rounds
    return BoostingResult(rounds.make_ensemble(n_kept), rounds.make_history())


def _replay(
    past: Past,
    rounds: Rounds,
    rows: TrainingRows,
    settings: BoostingSettings,
    raw: np.ndarray,
    team: Team,
) -> bool:
    """Add the rounds of the past to the scores, and measure them on the rows of this fit.

    Return whether they are enough for early stopping.
    """
    for round_number in past.add_rounds(raw, team):
        rounds.record(_measure_scores(settings, rows, rounds, raw, round_number))
    if settings.stopping is None:
        return False
    watched = settings.stopping.watched
    return settings.stopping.resume(rounds.scores(watched), past.history.get(watched, []))


def _tell_callbacks(
    settings: BoostingSettings, rounds: Rounds, scores: dict[str, float], seconds: float
) -> bool:
    """Show the round to all callbacks; return whether one of them asks to stop."""
    if not settings.callbacks:
        return False
    n_rounds = rounds.n_rounds

    def make_model() -> Any:
        result = BoostingResult(rounds.make_ensemble(n_rounds), rounds.make_history(n_rounds))
        return settings.make_model(result)

    state = RoundState(n_rounds, settings.n_rounds, MappingProxyType(scores), seconds, make_model)
    return call_all(settings.callbacks, state)


def _find_base_score(loss: Loss, rows: TrainingRows) -> np.ndarray:
    """The best constant comes first; scores of the user's own start as the loss says."""
    if rows.init_score is not None:
        score = loss.initial_shift(rows.target, rows.weight, rows.train, rows.init_score)
    else:
        score = loss.initial_score(rows.target, rows.weight, rows.train)
    if not np.isfinite(score).all():
        raise TrainingError(
            "the mean of the targets is not finite: targets or weights are too large in "
            "magnitude; scale them down"
        )
    return score


def _sample_rows(
    settings: BoostingSettings, rows: TrainingRows, round_idx: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows a round's trees grow on, and the others whose scores are needed."""
    if settings.sampler is None:
        return rows.train, rows.valid
    seen = settings.sampler.sample(rows.train, settings.seed, round_idx)
    is_seen = np.zeros(rows.target.size, dtype=np.bool_)
    is_seen[seen] = True
    others = rows.train[~is_seen[rows.train]]
    return seen, np.concatenate([others, rows.valid])


def _measure_scores(
    settings: BoostingSettings,
    rows: TrainingRows,
    rounds: Rounds,
    raw: np.ndarray,
    n_rounds: int,
) -> dict[str, float]:
    """Losses, and the validation score if there is a scorer, after ``n_rounds`` rounds."""
    scores = {}
    if settings.track_training_loss:
        scores["training_loss"] = settings.loss.value(rows.target, raw, rows.weight, rows.train)
    if rows.valid.size:
        scores[LOSS] = settings.loss.value(rows.target, raw, rows.weight, rows.valid)
        if settings.scorer is not None:
            own = np.ascontiguousarray(raw[:, rows.valid].T)
            scores[SCORE] = settings.scorer(own, lambda: rounds.make_ensemble(n_rounds))
    return scores
