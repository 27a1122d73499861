"""The steps of a fit: check parameters, choose rows, make the settings of training."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.automatic import with_plain_values
from sumwise.estimators.boosting.base_score import find_base_score
from sumwise.estimators.boosting.boosters import resolve_booster, resolve_sampler, stops_by_oob
from sumwise.estimators.boosting.categories import find_native
from sumwise.estimators.boosting.constraints import read_constraints
from sumwise.estimators.boosting.devices import check_device
from sumwise.estimators.boosting.encoding import encode_constraints
from sumwise.estimators.boosting.evaluation import (
    VALIDATION,
    make_evaluations,
    name_watched,
    resolve_metrics,
)
from sumwise.estimators.boosting.learning_rates import check_learning_rate, find_rates
from sumwise.estimators.boosting.leaves import check_linear_leaves, resolve_leaves
from sumwise.estimators.boosting.multi_target import refuse_native_categories
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData, LabeledRows, join_rows
from sumwise.estimators.boosting.splits import check_splits, resolve_bundling
from sumwise.estimators.boosting.tasks import Task
from sumwise.estimators.boosting.validation import number_groups, split_rows
from sumwise.estimators.calibrated.unseen import CV, HELD_OUT, check_unseen
from sumwise.estimators.input.by_feature import check_max_bins, read_weights
from sumwise.estimators.input.features import check_feature_parameters
from sumwise.estimators.input.parameters import (
    check_callbacks,
    check_choice,
    check_integer,
    check_number,
    resolve_part,
)
from sumwise.losses import Loss
from sumwise.sampling import Columns
from sumwise.training.boost import BoostingSettings
from sumwise.training.boosters import Booster
from sumwise.training.callbacks import Snapshot
from sumwise.training.stopping import OOB, EarlyStopping
from sumwise.tree import GrowthSettings
from sumwise.tree.growth import GROWTH

if TYPE_CHECKING:
    from sumwise.estimators.boosting.base import BaseGradientBoosting


# --- parameters ---


def check_parameters(params: BoostingParameters) -> GrowthSettings:
    """Check all shared parameters before any data is read; return those of growth."""
    params = with_plain_values(params)
    find_native(params)
    resolve_booster(params)
    resolve_sampler(params)
    _resolve_columns(params)
    check_max_bins(params, params.max_bins)
    check_splits(params)
    check_stopping(params)
    check_number(params, "validation_fraction", 0.0, 0.99, open_low=True)
    check_choice(params, "validation_rows", ("random", "last"))
    check_choice(params, "track_training_loss", (True, False))
    check_unseen(params, ("isotonic", "logistic", "temperature"), (CV, HELD_OUT))
    check_callbacks(params)
    check_feature_parameters(params)
    check_choice(params, "sparse_zeros", ("value", "missing"))
    resolve_bundling(params)
    resolve_leaves(params)
    check_device(params)
    return GrowthSettings(
        growth=check_choice(params, "growth", tuple(GROWTH)),
        max_leaves=check_integer(params, "max_leaves", 2, optional=True),
        max_depth=check_integer(params, "max_depth", 1, optional=True),
        min_samples_leaf=check_integer(params, "min_samples_leaf", 1) or 1,
        min_child_weight=check_number(params, "min_child_weight", 0.0),
        min_gain=check_number(params, "min_gain", 0.0),
        l1=check_number(params, "l1", 0.0),
        l2=check_number(params, "l2", 0.0),
        max_delta_step=check_number(params, "max_delta_step", 0.0),
        learning_rate=check_learning_rate(params),
        path_smooth=check_number(params, "path_smooth", 0.0),
        extra_trees=bool(check_choice(params, "extra_trees", (True, False))),
    )


def check_stopping(params: BoostingParameters) -> None:
    """Check the parameters that decide the number of rounds."""
    check_integer(params, "n_estimators", 1)
    check_choice(params, "early_stopping", ("auto", "oob", True, False))
    resolve_metrics(params)
    check_integer(params, "n_iter_no_change", 1)
    check_number(params, "tol", 0.0)


def _resolve_columns(params: BoostingParameters) -> Columns | None:
    part: Columns | None = resolve_part(params, "columns", [Columns], names=False)
    return part


# --- rows ---


def collect_rows(
    model: "BaseGradientBoosting",
    train: LabeledRows,
    sets: Sequence[LabeledRows],
    task: Task,
    groups: Any,
    seed: int,
) -> FitData:
    """Choose training and validation rows; rows of weight zero are in neither."""
    if sets:
        rows = join_rows(train, sets)
    elif train.measured:
        rows = train.number(
            train.find_rows(), np.unique(np.concatenate([*train.measured.values()]))
        )
    elif holds_out(model, sets):
        rows = split_rows(model, train, task.classes is not None, groups, seed)
    else:
        numbers = train.find_rows()
        rows = train.number(numbers, numbers[:0])
    sampler = resolve_sampler(model)
    if sampler is not None and sampler.needs_groups:
        if groups is None:
            raise ParameterError(
                f"{type(model).__name__}: sampler={model.sampler!r} draws whole groups; pass "
                "groups=... to fit, one entry per row"
            )
        rows = replace(rows, groups=number_groups(groups, train.n_rows, rows.peers))
    rows = replace(rows, classes=task.classes)
    return FitData(train, sets, rows, model.schema_.n_categories)


def stops_early(params: BoostingParameters, sets: Sequence[LabeledRows]) -> bool:
    """Whether early stopping is on. "auto": X_val turns it on, an eval_set does not."""
    if params.early_stopping == "auto":
        return bool(sets) and sets[-1].name == VALIDATION
    return bool(params.early_stopping)


def holds_out(params: BoostingParameters, sets: Sequence[LabeledRows]) -> bool:
    """Whether some training rows are held out for early stopping."""
    return not sets and stops_early(params, sets) and not stops_by_oob(params)


def draws_held_out(params: BoostingParameters, sets: Sequence[LabeledRows]) -> bool:
    """Whether held-out rows depend on a seed that ``random_state`` does not determine."""
    is_random = params.validation_rows == "random" and holds_out(params, sets)
    return is_random and not isinstance(params.random_state, Integral)


def find_watched(params: BoostingParameters, sets: Sequence[LabeledRows]) -> tuple[str, bool]:
    """Return the last metric of the last set, and whether lower is better."""
    return name_watched(resolve_metrics(params), sets[-1].name if sets else VALIDATION)


# --- settings ---


def check_support(params: BoostingParameters, data: FitData, loss: Loss, booster: Booster) -> None:
    """Refuse losses and data that the kind of trees does not support."""
    if resolve_leaves(params) is not None:
        check_linear_leaves(params, data.train.matrix, loss)
    if booster.shares_splits:
        refuse_native_categories(params, data.n_categories)


def make_settings(
    model: "BaseGradientBoosting",
    data: FitData,
    loss: Loss,
    growth: GrowthSettings,
    booster: Booster,
    seed: int,
) -> BoostingSettings:
    """Return the settings of training, except for callbacks."""
    rows = data.rows
    loss = loss.adapt(rows.target, rows.weight, rows.train, rows.init_score, rows.peers)
    constraints = read_constraints(model, model.schema_.n_categories > 0)
    constraints = encode_constraints(constraints, data.encoder)
    # The training loss takes time; it is measured for progress and callbacks to show.
    is_shown = model.verbose or any(not isinstance(c, Snapshot) for c in model.callbacks or ())
    stopping = None
    if stops_early(model, data.sets):
        watched = (OOB, False) if stops_by_oob(model) else find_watched(model, data.sets)
        stopping = EarlyStopping(model.n_iter_no_change, model.tol, *watched)
    return BoostingSettings(
        loss=loss,
        growth=replace(growth, constraints=constraints),
        n_rounds=int(model.n_estimators),
        rates=find_rates(model),
        booster=booster,
        sampler=resolve_sampler(model),
        columns=read_weights(model, _resolve_columns(model), data.encoder),
        leaves=resolve_leaves(model),
        stopping=stopping,
        seed=seed,
        track_training_loss=bool(model.track_training_loss or is_shown),
        base_score=find_base_score(model, loss),
        evaluated=make_evaluations(model, resolve_metrics(model), data, loss.link),
    )
