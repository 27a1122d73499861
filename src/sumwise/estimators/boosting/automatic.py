"""Automatic parameters: ``fit`` chooses growth, leaf size, rounds and learning rate.

They are chosen as a whole. If a user sets one of them, or the size of trees, the others have plain
values: explicit settings mean the same as ever. Where they are chosen, ``fit`` also chooses how
categories are encoded and the seed of what it draws, if these are left to it.
``python -m benchmarks.accuracy --suite`` compares the rules with other libraries.
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
# Statistics need permutations. With a seed of its own, a fit draws the same ones each time.
SEED = 0


class _Rule(NamedTuple):
    """Rounds, and the learning rate ``factor * n_rows ** power``: more rows allow larger steps.

    ``is_measured`` says whether the fit measures how many rounds it needs, if it can. ``encodes``
    says whether statistics encode few categories, too.
    """

    n_rounds: int
    factor: float
    power: float
    is_measured: bool
    encodes: bool


# By the loss. Other losses have plain values.
_RULES = {
    Logistic: _Rule(500, 0.006, 0.25, is_measured=True, encodes=True),
    Multinomial: _Rule(500, 0.1, 0.0, is_measured=False, encodes=False),
    Squared: _Rule(1000, 0.017, 0.16, is_measured=True, encodes=False),
}
_LARGEST_RATE = 0.3
# With early stopping, validation rows decide; so many rounds are enough at these rates.
_MOST_ROUNDS = 2000

Params = TypeVar("Params", bound=BoostingParameters)


def resolve_automatic(
    params: BoostingParameters,
    n_rows: int,
    loss: Loss,
    stops_early: bool,
    encodes: bool | None = None,
    is_fixed: bool = True,
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
    encodes : bool or None, default=None
        Whether statistics of the target encode categories. None: the data are not known yet.
    is_fixed : bool, default=True
        Whether the seed may be that of the rule.
    """
    rule = _find_rule(params, loss)
    if rule is None:
        return _take_plain_values(params)
    chosen = {
        # Symmetric trees overfit less than others, so they can be small steps of many rounds.
        "growth": "symmetric",
        "min_samples_leaf": 1,
        "n_estimators": _MOST_ROUNDS if stops_early else rule.n_rounds,
        "learning_rate": min(_LARGEST_RATE, round(rule.factor * n_rows**rule.power, 4)),
    }
    if is_auto(params.categorical_encoding) and (encodes is not None or rule.encodes):
        chosen["categorical_encoding"] = name_encoding(encodes is not False)
    if params.random_state is None and is_fixed and fixes_seed(params, loss):
        chosen["random_state"] = SEED
    return chosen


def name_encoding(encodes: bool) -> str:
    """Return what ``categorical_encoding="auto"`` means with or without statistics."""
    return "ordered" if encodes else "native"


def encodes_all(params: BoostingParameters, loss: Loss) -> bool:
    """Whether the rule encodes features of few categories, too."""
    rule = _find_rule(params, loss)
    return is_auto(params.categorical_encoding) and rule is not None and rule.encodes


def measures_rounds(params: BoostingParameters, loss: Loss) -> bool:
    """Whether the number of rounds depends on a short fit, unless early stopping decides."""
    rule = _find_rule(params, loss)
    return rule is not None and rule.is_measured


def fixes_seed(params: BoostingParameters, loss: Loss) -> bool:
    """Whether a fit without ``random_state`` is always the same.

    Samples that a user has asked for differ from fit to fit.
    """
    return (
        params.sampler is None and params.columns is None and _find_rule(params, loss) is not None
    )


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


def leaves_all(params: BoostingParameters) -> bool:
    """Whether all that the rule chooses is left to ``fit``, and nothing needs another shape."""
    return len(_take_plain_values(params)) == len(PLAIN_VALUES) and _leaves_shape(params)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to ``fit``."""
    return isinstance(value, str) and value == AUTO


def _find_rule(params: BoostingParameters, loss: Loss) -> _Rule | None:
    return _RULES.get(type(loss.at_output(0))) if leaves_all(params) else None


def _take_plain_values(params: BoostingParameters) -> dict[str, Any]:
    return {name: own for name, own in PLAIN_VALUES.items() if is_auto(getattr(params, name))}


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
