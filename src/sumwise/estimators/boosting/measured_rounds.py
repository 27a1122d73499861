"""The number of rounds by rule: noisy data need few rounds, clean data need many.

A short fit grows each tree on a sample of the rows and measures by how much it decreases the loss
of the others. The sum of these decreases has its maximum long before the best number of rounds: the
left-out rows have taken part in most of the earlier rounds, so what is left of their loss is harder
to learn than that of new rows. The number of rounds is therefore a multiple of the maximum's. No
row is lost to validation, and the fit itself uses all rows in every round.
"""

from dataclasses import replace

from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Subsample
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable, boost
from sumwise.training.boosters import Plain
from sumwise.training.stopping import OOB, EarlyStopping

# The rounds of the fit per round of the maximum: ``docs/guide/defaults.md`` compares factors.
_FACTOR = 4
_FEWEST = 100
_PATIENCE = 50
# Fewer rows say nothing.
_MIN_ROWS = 20


def can_measure(rows: TrainingRows, settings: BoostingSettings) -> bool:
    """Whether the rounds of a fit can be found by rows that a short fit leaves out."""
    booster = settings.booster
    is_plain = isinstance(booster, Plain) and booster.measures_left_out
    return is_plain and settings.stopping is None and rows.n_train >= _MIN_ROWS


def measure_rounds(
    table: TrainingTable, rows: TrainingRows, settings: BoostingSettings, team: Team
) -> int:
    """Return the number of rounds of a fit, at most twice that of ``settings``."""
    most, stopping = 2 * settings.n_rounds, EarlyStopping(_PATIENCE, watched=OOB)
    short = replace(
        settings,
        n_rounds=most // _FACTOR,
        sampler=Subsample(),
        stopping=stopping,
        track_training_loss=False,
        evaluated=(),
        callbacks=(),
    )
    boost(table, rows, short, team)
    return min(most, max(_FEWEST, _FACTOR * stopping.best_round))
