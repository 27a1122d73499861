"""From ``class_weight`` and ``scale_pos_weight`` to the weight of each class."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.parameters import refuse
from sumwise.losses.peer_sums import NO_WEIGHT, add_weights
from sumwise.peers import ALONE, Peers

# Rows of so few classes are counted by comparisons.
_FEW_CLASSES = 4


def find_class_weights(
    classes: np.ndarray,
    balance: Any,
    ratio: float,
    class_idx: np.ndarray,
    weight: np.ndarray | None,
    peers: Peers = ALONE,
) -> Any:
    """Return the weight of each class, or None if all are one.

    ``balance`` is a checked ``class_weight``, ``ratio`` is ``scale_pos_weight``. ``class_idx`` and
    ``weight`` have the rows of this process; the result is that of all peers' rows.
    """
    if ratio != 1 and balance is not None:
        raise ParameterError("give either class_weight or scale_pos_weight, not both")
    if classes.size == 1:
        return None  # weights have no effect on a single class
    if ratio != 1 and classes.size != 2:
        raise DataError(
            f"scale_pos_weight={ratio} is for two classes; y has {classes.size}: use class_weight"
        )
    if ratio != 1:
        return np.array([1.0, float(ratio)])
    return weigh_classes(classes, balance, class_idx, weight, peers)


def weigh_classes(
    classes: np.ndarray,
    balance: Any,
    class_idx: np.ndarray,
    weight: np.ndarray | None,
    peers: Peers = ALONE,
) -> Any:
    """Return the weight of each class by a checked ``class_weight``, or None if all are one."""
    if balance is None:
        return None
    if isinstance(balance, str):
        # Sums of weights, not counts: a weight of two has the effect of two rows.
        totals = _sum_weights(classes.size, class_idx, weight, peers)
        return totals.sum() / (classes.size * np.where(totals > 0, totals, np.inf))
    return _read_class_weights(classes, balance)


def _sum_weights(
    n_classes: int, class_idx: np.ndarray, weight: np.ndarray | None, peers: Peers
) -> np.ndarray:
    """Return the sum of the weights of each class, independent of the order of the rows."""
    if weight is not None or peers.size > 1:
        return add_weights(n_classes, class_idx, NO_WEIGHT if weight is None else weight, peers)[0]
    if n_classes <= _FEW_CLASSES:
        return np.array([np.count_nonzero(class_idx == k) for k in range(n_classes)])
    return np.bincount(class_idx.astype(np.intp, copy=False), minlength=n_classes)


def balance_classes(classes: np.ndarray, class_idx: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return row weights scaled so that all classes have the same total weight."""
    return weight * weigh_classes(classes, "balanced", class_idx, weight)[class_idx]


def check_class_weight(owner: object) -> None:
    """Refuse a ``class_weight`` that is neither "balanced", a dict of weights nor None."""
    balance = getattr(owner, "class_weight", None)
    if balance is None or isinstance(balance, Mapping):
        return
    if not isinstance(balance, str) or balance != "balanced":
        rule = "must be 'balanced', a dict from classes to weights, or None"
        refuse(owner, "class_weight", rule)


def _read_class_weights(classes: np.ndarray, balance: Mapping[Any, Any]) -> np.ndarray:
    """Return the weights of a dict; classes that it lacks have weight one."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    weights = np.ones(classes.size)
    for label, value in balance.items():
        if label not in places:
            raise DataError(
                f"class_weight has {label!r}, which is not a class of y; "
                f"its classes are {', '.join(map(repr, classes.tolist()[:20]))}"
            )
        is_number = isinstance(value, (int, float, np.integer, np.floating))
        if not is_number or not 0 <= value < np.inf:
            raise ParameterError(
                f"class_weight[{label!r}] is {value!r}; weights must be finite and not negative"
            )
        weights[places[label]] = value
    return weights
