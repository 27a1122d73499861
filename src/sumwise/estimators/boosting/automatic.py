"""Automatic parameters: ``fit`` chooses growth, leaf size, rounds and learning rate.

They are chosen as a whole. If a user sets one of them, or the size of trees, the others have plain
values: explicit settings mean the same as ever. ``python -m benchmarks.accuracy --suite`` compares
the rules with other libraries.
"""

from copy import copy
from typing import Any, NamedTuple, TypeVar

from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.boosting.multi_target import MULTI_OUTPUT_TREE
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.losses import Logistic, Loss, Multinomial, Squared
from sumwise.training.boosters import Ordered, Plain

AUTO = "auto"
# What is chosen, and its values where a user has set some of it.
PLAIN_VALUES: dict[str, Any] = {
    "growth": "leaf",
    "min_samples_leaf": 20,
    "n_estimators": 100,
    "learning_rate": 0.1,
}


class _Rule(NamedTuple):
    """Rounds, and the learning rate ``factor * n_rows ** power``: more rows allow larger steps."""

    n_rounds: int
    factor: float
    power: float


# By the loss. Labels are noisier than numbers, so fewer rounds pay. Other losses have plain values.
_RULES = {
    Logistic: _Rule(500, 0.006, 0.25),
    Multinomial: _Rule(500, 0.1, 0.0),
    Squared: _Rule(1000, 0.017, 0.16),
}
_LARGEST_RATE = 0.3
# With early stopping, validation rows decide; so many rounds are enough at these rates.
_MOST_ROUNDS = 2000

Params = TypeVar("Params", bound=BoostingParameters)


def resolve_automatic(
    params: BoostingParameters, n_rows: int, loss: Loss, stops_early: bool
) -> dict[str, Any]:
    """Return the values of the automatic parameters, by name.

    Parameters
    ----------
    params : BoostingParameters
    n_rows : int
        The number of training rows.
    loss : Loss
    stops_early : bool
        Whether early stopping decides the number of rounds.
    """
    rule = _RULES.get(type(loss.at_output(0)))
    automatic = _take_plain_values(params)
    if rule is None or len(automatic) < len(PLAIN_VALUES) or not _leaves_shape(params):
        return automatic
    return {
        # Symmetric trees overfit less than others, so they can be small steps of many rounds.
        "growth": "symmetric",
        "min_samples_leaf": 1,
        "n_estimators": _MOST_ROUNDS if stops_early else rule.n_rounds,
        "learning_rate": min(_LARGEST_RATE, round(rule.factor * n_rows**rule.power, 4)),
    }


def with_values(params: Params, values: dict[str, Any]) -> Params:
    """Return a copy with other values of some parameters; fitted attributes are shared."""
    if not values:
        return params
    changed = copy(params)
    for name, value in values.items():
        setattr(changed, name, value)
    return changed


def with_plain_values(params: Params) -> Params:
    """Return parameters of which none is automatic, to be checked before data is read."""
    return with_values(params, _take_plain_values(params))


def _take_plain_values(params: BoostingParameters) -> dict[str, Any]:
    return {name: own for name, own in PLAIN_VALUES.items() if is_auto(getattr(params, name))}


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to ``fit``."""
    return isinstance(value, str) and value == AUTO


def _leaves_shape(params: BoostingParameters) -> bool:
    """Whether the shape of trees is left to ``fit``, and no other parameter needs a certain one."""
    return (
        params.max_leaves is None
        and params.max_depth is None
        and params.leaves == "constant"
        and params.splits == "histogram"
        and not params.extra_trees
        and isinstance(resolve_booster(params), (Plain, Ordered))
        and getattr(params, "multi_strategy", None) != MULTI_OUTPUT_TREE
    )
