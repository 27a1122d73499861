"""Continuing: the fitted model that a fit starts from."""

import os
from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from sumwise.data.matrix import Matrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.input.parameters import check_choice, check_integer
from sumwise.estimators.persistence import SavedModelMixin, load
from sumwise.losses import Loss
from sumwise.training.rounds import Past
from sumwise.tree import Ensemble, TreeEnsemble


def find_start(estimator: Any, init_model: Any) -> Any:
    """Return the fitted model to start from, or None to start anew.

    It is a copy: what it is now, it stays while the estimator is fitted.
    """
    if init_model is not None:
        return _read_init_model(estimator, init_model)
    if not check_choice(estimator, "warm_start", (True, False)) or not hasattr(
        estimator, "ensemble_"
    ):
        return None
    check_integer(estimator, "n_estimators", 1)
    if estimator.n_estimators < estimator.best_iteration_:
        raise ParameterError(
            f"n_estimators={estimator.n_estimators}: with warm_start it is the total number of "
            f"rounds, and there are {estimator.best_iteration_} already"
        )
    return copy(estimator)


def find_seed(estimator: Any, start: Any) -> int:
    """Return the seed of a fit.

    Without a number as ``random_state``, a fit keeps the seed of the model that it starts from:
    with another seed it would hold out rows that this model was trained on.
    """
    state = estimator.random_state
    if start is not None and not isinstance(state, Integral):
        known = getattr(start, "_seed", None)
        if known is not None:
            return known
        if isinstance(start.random_state, Integral):
            state = start.random_state
    return int(check_random_state(state).randint(np.iinfo(np.int32).max))


def _read_init_model(estimator: Any, init_model: Any) -> Any:
    model = load(init_model) if isinstance(init_model, (str, os.PathLike)) else init_model
    if not isinstance(model, SavedModelMixin) or is_classifier(model) != is_classifier(estimator):
        raise DataError(
            f"init_model is a {type(model).__name__}; a {type(estimator).__name__} continues from "
            "a model of its own kind, or from the path of its file"
        )
    if not hasattr(model, "ensemble_"):
        raise DataError("init_model is not fitted; fit it first, or leave init_model out")
    check_integer(estimator, "n_estimators", 1)
    if estimator.n_estimators <= model.ensemble_.n_rounds:
        raise ParameterError(
            f"n_estimators={estimator.n_estimators}: it is the total number of rounds of the "
            f"finished model, and init_model has {model.ensemble_.n_rounds} already; give a "
            "larger number"
        )
    return copy(model)


def check_start(estimator: Any, start: Any, loss: Loss, init_score: np.ndarray | None) -> None:
    """Refuse a model to start from, if there is one, that does not fit the data and the loss."""
    if start is None:
        return
    old = start.ensemble_
    _check_rounds(estimator, old)
    if start.n_features_in_ != estimator.n_features_in_:
        raise DataError(
            f"X has {estimator.n_features_in_} features, and the model to continue from "
            f"{start.n_features_in_}"
        )
    names, old_names = (getattr(e, "feature_names_in_", None) for e in (estimator, start))
    if names is not None and old_names is not None and not np.array_equal(names, old_names):
        (k, *_) = np.flatnonzero(names != old_names)
        raise DataError(
            f"feature {k} of X is named {names[k]!r}, and in the model to continue from "
            f"{old_names[k]!r}"
        )
    if not is_classifier(estimator) and old.n_outputs != loss.n_outputs:
        raise DataError(
            f"y has {loss.n_outputs} targets, and the model to continue from {old.n_outputs}"
        )
    if (old.link, old.n_outputs) != (loss.link, loss.n_outputs):
        raise DataError(
            f"the model to continue from has scores of the kind {old.link!r}, and the loss of this "
            f"fit {loss.link!r}: their trees cannot be added"
        )
    shifts = type(loss.at_output(0)).initial_shift is not Loss.initial_shift
    if init_score is not None and old.base_score.any() and not shifts:
        raise DataError(
            "init_score takes the place of a constant to start from, and the model to continue "
            "from has one: it was fitted without init_score"
        )


def _check_rounds(estimator: Any, old: Ensemble) -> None:
    """Refuse rounds that those of this fit cannot follow."""
    booster = resolve_booster(estimator)
    if booster.stands_alone:
        raise ParameterError(
            f"{type(estimator).__name__}: booster={booster!r} cannot go on from a model, for "
            f"{booster.stands_alone}; fit all rounds at once"
        )
    if isinstance(old, TreeEnsemble) is not booster.grows_trees:
        kinds = "trees", "a linear model"
        has, makes = kinds if booster.grows_trees else kinds[::-1], booster
        raise DataError(
            f"booster={makes!r} goes on from {has[0]}, and the model to continue from is {has[1]}"
        )
    if not isinstance(old, TreeEnsemble):
        return
    if old.stages != "sum":
        raise DataError(
            "the model to continue from was trained with booster='dart' or 'forest': its trees are "
            "scaled to their number, so that none can follow"
        )
    if old.trees_per_round != getattr(booster, "trees_per_round", 1):
        raise DataError(
            f"the model to continue from has {old.trees_per_round} trees a round, and "
            f"booster={booster!r} grows another number"
        )


def make_past(start: Any, matrices: Sequence[Matrix]) -> Past | None:
    """What training needs to know of the model to start from, if there is one."""
    if start is None:
        return None
    return Past(start.ensemble_, start.history_, matrices)
