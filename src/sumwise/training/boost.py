"""Gradient boosting: the training loop of all boosters.

A :class:`Booster` defines a round. It starts a :class:`BoosterRun`, which adds each round to its
``rounds`` and to ``session.raw``. The :class:`Session` holds what boosters share: gradients at any
scores, samples of rows, and trees grown on both.
"""

import time
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sumwise.errors import PeersError, TrainingError
from sumwise.kernels.runtime.threads import Team
from sumwise.training.boosters import BoosterRun, Plain
from sumwise.training.callbacks import RoundState
from sumwise.training.rounds import BoostingResult, Record
from sumwise.training.session import (
    BoostingSettings,
    EvaluatedRows,
    Session,
    TrainingRows,
    TrainingTable,
    ValidationScorer,
)
from sumwise.training.sessions import open_session
from sumwise.training.stopping import OOB

__all__ = [
    "BoostingSettings",
    "EvaluatedRows",
    "TrainingRows",
    "TrainingTable",
    "ValidationScorer",
    "boost",
]


def boost(
    table: TrainingTable,
    rows: TrainingRows,
    settings: BoostingSettings,
    team: Team,
    past: BoostingResult | None = None,
) -> BoostingResult:
    """Fit an ensemble round by round, up to the number of rounds or until early stopping.

    Rounds of the ``past``, if there are any, come first. If a peer is lost, the error's attribute
    ``fitted`` is the model of the rounds so far, from which a fit on the other peers continues; it
    is None if there are none, or if no fit can continue them.
    """
    booster = settings.booster or Plain()
    settings = booster.adapt(settings)
    session = open_session(table, rows, settings, team, past)
    run = booster.start(session)
    try:
        return _add_rounds(run, past)
    except PeersError as error:
        is_continued = not booster.stands_alone
        error.fitted = _keep_rounds(run, past) if is_continued else None  # type: ignore[attr-defined]
        raise


def _add_rounds(run: BoosterRun, past: BoostingResult | None) -> BoostingResult:
    session, rounds = run.session, run.rounds
    settings, stopping = session.settings, session.settings.stopping
    begin = time.perf_counter()
    done = past is not None and _replay(past, rounds, session)
    first, last = rounds.n_rounds, settings.n_rounds
    for round_idx in range(first, first if done else last):
        session.begin_round(round_idx)
        run.add_round(round_idx)
        scores = _measure_scores(session, rounds, round_idx + 1)
        rounds.record(scores)
        done = _tell_callbacks(session, rounds, scores, time.perf_counter() - begin)
        if stopping:
            done |= stopping.should_stop(round_idx + 1, scores[stopping.watched])
        if done:
            break
    if not session.has_finite_scores():
        raise TrainingError("scores have grown without bound; lower learning_rate or raise l2")
    n_kept = stopping.best_round if stopping else rounds.n_rounds
    return BoostingResult(rounds.make_ensemble(n_kept), rounds.make_history())


def _keep_rounds(run: BoosterRun, past: BoostingResult | None) -> Any:
    """Return the model of the rounds that were completed before a peer was lost."""
    settings, rounds = run.session.settings, run.rounds
    # A fit that continues it has at least one round to add.
    n_rounds = min(rounds.n_recorded, settings.n_rounds - 1)
    n_past = 0 if past is None else past.ensemble.n_rounds
    if n_rounds <= n_past:
        return None
    history, stopping = rounds.make_history(n_rounds), settings.stopping
    if stopping is not None:
        # Rounds of the past that were measured on other rows must be left out again.
        history[stopping.watched][: stopping.first] = np.nan
    return settings.make_model(BoostingResult(rounds.make_ensemble(n_rounds), history))


def _replay(past: BoostingResult, rounds: Record, session: Session) -> bool:
    """Add the rounds of the past to the scores, and measure them on the rows of this fit.

    Return whether early stopping ends the fit with them.
    """
    stopping = session.settings.stopping
    _begin_round(session, 0)
    for round_number in session.replay(past.ensemble):
        rounds.record(_measure_scores(session, rounds, round_number))
        _begin_round(session, round_number)
    if stopping is None:
        return False
    return stopping.resume(rounds.scores(stopping.watched), past.history.get(stopping.watched, []))


def _begin_round(session: Session, round_idx: int) -> None:
    """Measure the rows that a past round left out, before it is added."""
    if session.measures_left_out:
        session.begin_left_out(session.draw_rows(round_idx), session.raw)


def _tell_callbacks(
    session: Session, rounds: Record, scores: dict[str, float], seconds: float
) -> bool:
    """Call all callbacks with the last round; return whether one of them asks to stop."""
    settings, n_rounds = session.settings, rounds.n_rounds
    if not settings.callbacks:
        return False

    def make_model() -> Any:
        result = BoostingResult(rounds.make_ensemble(n_rounds), rounds.make_history(n_rounds))
        return settings.make_model(result)

    own = (n_rounds, settings.n_rounds, MappingProxyType(scores), seconds, make_model)
    return session.tell_callbacks(RoundState(*own))


def _measure_scores(session: Session, rounds: Record, n_rounds: int) -> dict[str, float]:
    """Return losses and validation scores after ``n_rounds`` rounds."""
    settings = session.settings
    stopping, scores = settings.stopping, {}
    if settings.track_training_loss and settings.loss.has_value:
        scores["training_loss"] = session.measure_loss(session.rows.train)
    if session.measures_left_out:
        scores[OOB] = session.find_improvement(session.raw)
    for evaluated in _list_evaluated(session):
        name = f"{evaluated.name}_loss"
        if settings.loss.has_value or (stopping is not None and stopping.watched == name):
            scores[name] = session.measure_loss(evaluated.rows)
        for metric, scorer in evaluated.scorers.items():
            own_raw = session.take_scores(evaluated.rows)
            score = scorer(own_raw, lambda: rounds.make_ensemble(n_rounds))
            scores[f"{evaluated.name}_{metric}"] = score
    return scores


def _list_evaluated(session: Session) -> Sequence[EvaluatedRows]:
    evaluated, rows = session.settings.evaluated, session.rows
    if evaluated is not None:
        return evaluated
    return [EvaluatedRows("validation", rows.valid)] if rows.n_valid else []
