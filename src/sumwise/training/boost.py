"""Gradient boosting: the training loop."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels import random
from sumwise.kernels.threads import Team
from sumwise.losses import Loss
from sumwise.sampling import Columns, RowSampler
from sumwise.training.stopping import EarlyStopping
from sumwise.tree import GrowthSettings, Tree, TreeEnsemble, TreeGrower


@dataclass(frozen=True)
class BoostingSettings:
    """What a fit does, apart from the data."""

    loss: Loss
    growth: GrowthSettings
    n_rounds: int = 100
    sampler: RowSampler | None = None
    columns: Columns = field(default_factory=Columns)
    stopping: EarlyStopping | None = None
    seed: int = 0
    track_training_loss: bool = False


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


@dataclass(frozen=True)
class BoostingResult:
    """The best rounds, and how the losses went over all rounds."""

    ensemble: TreeEnsemble
    history: dict[str, np.ndarray]


RoundWatcher = Callable[[int, dict[str, float]], None]


def boost(
    data: BinnedData,
    mapper: BinMapper,
    rows: TrainingRows,
    settings: BoostingSettings,
    team: Team,
    watch_round: RoundWatcher | None = None,
) -> BoostingResult:
    """Fit an ensemble: each round adds one tree an output, grown on the loss's derivatives."""
    loss, stopping = settings.loss, settings.stopping
    base_score = _find_base_score(loss, rows)
    raw = np.repeat(base_score[:, None], data.n_rows, axis=1)
    if rows.init_score is not None:
        raw += rows.init_score
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    grower = TreeGrower(data, mapper, settings.growth, settings.columns, rows.train.size, team)
    trees: list[Tree] = []
    history: dict[str, list[float]] = {}
    for round_idx in range(settings.n_rounds):
        loss.gradient(team, rows.target, raw, rows.weight, gradient, hessian)
        seen, unseen = _sample_rows(settings, rows, round_idx)
        for output in range(loss.n_outputs):
            key = random.make_key(settings.seed, random.TREES, len(trees))
            tree = grower.grow_on_gradients(
                gradient[output], hessian[output], seen, key, raw[output]
            )
            if unseen.size:
                grower.add_to_scores(tree, unseen, raw[output])
            trees.append(tree)
        losses = _measure_losses(settings, rows, raw)
        for name, value in losses.items():
            history.setdefault(name, []).append(value)
        if watch_round is not None:
            watch_round(round_idx + 1, losses)
        if stopping and stopping.should_stop(round_idx + 1, losses["validation_loss"]):
            break
    if not np.isfinite(raw).all():
        raise TrainingError("scores have grown without bound; lower learning_rate or raise l2")
    outputs = np.arange(len(trees)) % loss.n_outputs
    ensemble = TreeEnsemble.from_trees(
        trees, outputs.tolist(), base_score, loss.link, data.n_features
    )
    if stopping:
        ensemble = ensemble.truncate(stopping.best_round)
    return BoostingResult(ensemble, {name: np.array(v) for name, v in history.items()})


def _find_base_score(loss: Loss, rows: TrainingRows) -> np.ndarray:
    """Scores of the user's own start from zero; otherwise the best constant comes first."""
    if rows.init_score is not None:
        return np.zeros(loss.n_outputs)
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


def _measure_losses(
    settings: BoostingSettings, rows: TrainingRows, raw: np.ndarray
) -> dict[str, float]:
    losses = {}
    if settings.track_training_loss:
        losses["training_loss"] = settings.loss.value(rows.target, raw, rows.weight, rows.train)
    if settings.stopping:
        losses["validation_loss"] = settings.loss.value(rows.target, raw, rows.weight, rows.valid)
    return losses
