"""Continuing: the fitted model that a fit starts from.

A model stores its trees, but no state of training. To continue, a fit predicts the old trees and
adds their values to the scores in the order of the trees, as in training: the scores have the same
bits. The bins come from the same rows, and random numbers from the numbers of rounds and trees, so
continued training gives the same model as one long fit on the same data.

The old rounds are measured again on the validation rows of the new fit. If this reproduces the
recorded history, early stopping resumes from them; otherwise it considers new rounds only.
"""

import os
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.automatic import is_auto
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.input.features import FeatureSchema
from sumwise.estimators.input.parameters import check_choice, check_integer
from sumwise.estimators.persistence import SavedModelMixin, load
from sumwise.losses import Loss
from sumwise.training.boosters import Booster
from sumwise.training.rounds import BoostingResult
from sumwise.tree import Ensemble, TreeEnsemble

if TYPE_CHECKING:
    from sumwise.estimators.boosting.base import BaseGradientBoosting


@dataclass(frozen=True)
class Start:
    """What a fit takes from the model that it continues; nothing if it starts anew."""

    past: BoostingResult | None = None
    schema: FeatureSchema | None = None
    feature_names: np.ndarray | None = None
    encoder: CategoryEncoder | None = None
    classes: np.ndarray | None = None
    random_state: Any = None
    seed: int | None = None

    def find_seed(self, random_state: Any, otherwise: int | None = None) -> int:
        """Return the seed of a fit; ``otherwise`` replaces None.

        If ``random_state`` is not a number, a fit keeps the seed of the model that it continues:
        with another seed it would hold out rows that this model was trained on.
        """
        if not isinstance(random_state, Integral):
            if self.seed is not None:
                return self.seed
            if isinstance(self.random_state, Integral):
                random_state = self.random_state
            elif random_state is None:
                random_state = otherwise
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def find_start(model: "BaseGradientBoosting", init_model: Any) -> "BaseGradientBoosting | None":
    """Return the fitted model to start from, or None to start anew."""
    if init_model is not None:
        return _read_init_model(model, init_model)
    if not check_choice(model, "warm_start", (True, False)) or not hasattr(model, "ensemble_"):
        return None
    if is_auto(model.n_estimators):
        return model
    check_integer(model, "n_estimators", 1)
    if model.n_estimators < model.best_iteration_:
        raise ParameterError(
            f"n_estimators={model.n_estimators}: with warm_start it is the total number of "
            f"rounds, and there are {model.best_iteration_} already"
        )
    return model


def _read_init_model(model: "BaseGradientBoosting", init_model: Any) -> "BaseGradientBoosting":
    start: Any = load(init_model) if isinstance(init_model, (str, os.PathLike)) else init_model
    if not isinstance(start, SavedModelMixin) or is_classifier(start) != is_classifier(model):
        raise DataError(
            f"init_model is a {type(start).__name__}; a {type(model).__name__} continues from "
            "a model of its own kind, or from the path of its file"
        )
    if not hasattr(start, "ensemble_"):
        raise DataError("init_model is not fitted; fit it first, or leave init_model out")
    if is_auto(model.n_estimators):
        return start  # type: ignore[return-value]
    check_integer(model, "n_estimators", 1)
    if model.n_estimators <= start.ensemble_.n_rounds:
        raise ParameterError(
            f"n_estimators={model.n_estimators}: it is the total number of rounds of the finished "
            f"model, and init_model has {start.ensemble_.n_rounds} already; give a larger number"
        )
    return start  # type: ignore[return-value]


def check_chosen_rounds(n_rounds: int, start: Start) -> None:
    """Refuse to continue a model that has as many rounds as a fit would choose."""
    n_past = 0 if start.past is None else start.past.ensemble.n_rounds
    if n_past >= n_rounds:
        raise ParameterError(
            f"n_estimators='auto' means {n_rounds} rounds for these rows, and the model to "
            f"continue has {n_past} already; give n_estimators, the total number of rounds"
        )


def check_start(
    model: "BaseGradientBoosting", start: Start, loss: Loss, has_init_score: bool
) -> None:
    """Refuse a model to start from that does not match the data and the loss."""
    if start.past is None or start.schema is None:
        return
    old = start.past.ensemble
    _check_rounds(type(model).__name__, resolve_booster(model), old)
    if start.schema.n_features != model.n_features_in_:
        raise DataError(
            f"X has {model.n_features_in_} features, but the model to continue from has "
            f"{start.schema.n_features}"
        )
    names, old_names = getattr(model, "feature_names_in_", None), start.feature_names
    if names is not None and old_names is not None and not np.array_equal(names, old_names):
        (k, *_) = np.flatnonzero(names != old_names)
        raise DataError(
            f"feature {k} of X is named {names[k]!r}, but the model to continue from knows it as "
            f"{old_names[k]!r}"
        )
    if not is_classifier(model) and old.n_outputs != loss.n_outputs:
        raise DataError(
            f"y has {loss.n_outputs} targets, but the model to continue from has {old.n_outputs}"
        )
    if (old.link, old.n_outputs) != (loss.link, loss.n_outputs):
        raise DataError(
            f"the model to continue from has scores of the kind {old.link!r}, but the loss of this "
            f"fit has {loss.link!r}: their trees cannot be added"
        )
    shifts = type(loss.at_output(0)).initial_shift is not Loss.initial_shift
    if has_init_score and old.base_score.any() and not shifts:
        raise DataError(
            "init_score takes the place of a constant to start from, and the model to continue "
            "from has one: it was fitted without init_score"
        )


def _check_rounds(name: str, booster: Booster, old: Ensemble) -> None:
    """Refuse a model whose rounds cannot be followed by those of a booster."""
    if booster.stands_alone:
        raise ParameterError(
            f"{name}: booster={booster!r} cannot continue a model, because {booster.stands_alone}; "
            "fit all rounds at once"
        )
    if isinstance(old, TreeEnsemble) is not booster.grows_trees:
        kinds = ("trees", "a linear model")
        wanted, found = kinds if booster.grows_trees else kinds[::-1]
        raise DataError(
            f"booster={booster!r} continues {wanted}, but the model to continue is {found}"
        )
    if not isinstance(old, TreeEnsemble):
        return
    if old.stages != "sum":
        raise DataError(
            "the model to continue from was trained with booster='dart' or 'forest': its trees are "
            "scaled by their number, so no round can follow"
        )
    if old.trees_per_round != getattr(booster, "trees_per_round", 1):
        raise DataError(
            f"the model to continue from has {old.trees_per_round} trees per round, and "
            f"booster={booster!r} grows another number"
        )
