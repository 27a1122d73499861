"""Refitting: a fitted model, and rows that give its leaves new values."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.base_score import find_base_score
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.boosting.constraints import read_constraints
from sumwise.estimators.boosting.learning_rates import find_rates
from sumwise.estimators.boosting.validation import LabeledRows, as_target
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.targets import check_init_score, check_sample_weight, read_target
from sumwise.losses import Loss
from sumwise.training.boost import BoostingSettings
from sumwise.training.refitting import refit_ensemble
from sumwise.tree import TreeEnsemble


def refit_leaves(
    estimator: Any, X: Any, y: Any, sample_weight: Any, init_score: Any, decay: Any
) -> Any:
    """Return a copy of a fitted estimator whose leaves have followed other rows."""
    check_is_fitted(estimator)
    _check_decay(decay)
    model = copy(estimator)
    growth = model._check_parameters()
    _check_model(model)
    matrix = model._check_input(X)
    loss, rows = _read_rows(model, X, matrix, y, sample_weight, init_score)
    train = rows.number(rows.find_rows(), np.empty(0, dtype=np.uint32))
    loss = loss.adapt(train.target, train.weight, train.train, train.init_score)
    settings = BoostingSettings(
        loss=loss,
        growth=growth,
        rates=find_rates(model),
        booster=resolve_booster(model),
        base_score=find_base_score(model, loss),
    )
    ensemble = model.ensemble_
    with start_team(model.n_jobs, matrix.shape[0] * ensemble.n_trees) as team:
        model.ensemble_ = refit_ensemble(ensemble, matrix, train, settings, float(decay), team)
    model.history_ = {}  # it was measured with other values
    return model


def _check_decay(decay: Any) -> None:
    is_number = isinstance(decay, (int, float, np.integer, np.floating))
    if isinstance(decay, bool) or not is_number or not 0 <= decay <= 1:
        raise ParameterError(f"decay={decay!r}: must be a number from 0 to 1")


def _check_model(model: Any) -> None:
    """Refuse models whose leaves cannot be refitted."""
    ensemble = model.ensemble_
    if not isinstance(ensemble, TreeEnsemble):
        raise ParameterError("a model with booster='linear' has no leaves to refit")
    if ensemble.models is not None:
        raise ParameterError(
            "linear leaves cannot be refitted: their models belong to the errors they were fitted "
            "to; fit the model anew, or go on from it with init_model"
        )
    if ensemble.stages == "rescaled":
        raise ParameterError(
            "the leaves of booster='dart' cannot be refitted: its rounds have rescaled the trees "
            "of earlier ones, by factors that the model does not keep"
        )
    constraints = read_constraints(model, model.schema_.n_categories > 0)
    if constraints is not None and any(constraints.directions):
        raise ParameterError(
            "the leaves of a model with monotonic_cst cannot be refitted: their new values might "
            "break the order; fit it anew, or go on from it with init_model"
        )


def _read_rows(
    model: Any, X: Any, matrix: Any, y: Any, sample_weight: Any, init_score: Any
) -> tuple[Loss, LabeledRows]:
    """Check what belongs to X, and return it with the loss of the model."""
    n_rows = matrix.shape[0]
    many = getattr(model, "_takes_many_targets", False)
    labels = read_target(y, is_number=not is_classifier(model), many=many)
    if labels is None or len(labels) != n_rows:
        found = "none" if labels is None else len(labels)
        raise DataError(f"X has {n_rows} rows, and y {found}")
    target = as_target(model._encode_target(labels, model))
    loss, ensemble = model._make_loss(), model.ensemble_
    if (loss.link, loss.n_outputs) != (ensemble.link, ensemble.n_outputs):
        raise ParameterError(
            f"loss={model.loss!r}: the model was fitted with another loss, or number of targets: "
            f"it has {ensemble.n_outputs} scores per row, of the kind {ensemble.link!r}; set the "
            "loss it was fitted with"
        )
    weight = model._weigh_classes(target, check_sample_weight(sample_weight, n_rows))
    loss.check_target(target, np.empty(0) if weight is None else weight)
    scores = check_init_score(init_score, n_rows, loss.n_outputs)
    return loss, LabeledRows(X, matrix, labels, target, weight, scores)
