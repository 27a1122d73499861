"""Early stopping of bagged members: epoch by epoch, by the loss on their out-of-bag rows."""

import copy
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.estimators.input.parameters import check_integer, check_number
from sumwise.parts import Part, check_rate

# Lower bound of probabilities: one confident error must not dominate the mean log loss.
_SMALLEST_PROBABILITY = 1e-15


class OobStopping(Part):
    """Train each member epoch by epoch, and keep its state at the lowest out-of-bag loss.

    For base learners with ``partial_fit``, such as neural networks and stochastic gradient descent.
    The loss is the log loss for classifiers with probabilities, the error rate for other
    classifiers, and the squared error for regressors.

    Parameters
    ----------
    patience : int, default=5
        Number of epochs without improvement after which training stops.
    max_epochs : int, default=200
        Maximum number of epochs.
    tol : float, default=1e-4
        Smallest relative decrease of the loss that counts as an improvement.
    share : float, default=1.0
        Share of a member's out-of-bag rows that stop it, in (0, 1]. The out-of-bag score uses the
        other rows. With 1 there are no others: the score then uses the rows that stopped the
        members and is too good, as ``oob_score_is_optimistic_`` says.

    Examples
    --------
    >>> from sumwise import OobStopping
    >>> OobStopping(patience=10)
    OobStopping(patience=10)
    """

    def __init__(
        self, patience: int = 5, max_epochs: int = 200, tol: float = 1e-4, share: float = 1.0
    ) -> None:
        self.patience = patience
        self.max_epochs = max_epochs
        self.tol = tol
        self.share = share

    def check(self) -> None:
        """Raise ParameterError if a parameter is invalid."""
        check_integer(self, "patience", 1)
        check_integer(self, "max_epochs", 1)
        check_number(self, "tol", 0.0)
        check_rate(self, "share")


def fit_until_stopped(
    member: Any,
    stopping: OobStopping,
    training: tuple[Any, np.ndarray, np.ndarray | None],
    watched: tuple[Any, np.ndarray, np.ndarray | None],
    n_classes: int | None,
    fit_params: Mapping[str, Any],
) -> tuple[Any, list[float]]:
    """Return the member at its best epoch, and its loss on the watched rows after each epoch.

    ``training`` and ``watched`` are X, y and weights; ``n_classes`` is None for regressors.
    """
    X, y, weight = training
    params = dict(fit_params)
    if weight is not None:
        params["sample_weight"] = weight
    first = {} if n_classes is None else {"classes": np.arange(n_classes)}
    losses: list[float] = []
    best, best_loss, best_epoch = member, np.inf, -1
    for epoch in range(stopping.max_epochs):
        member.partial_fit(X, y, **params, **(first if epoch == 0 else {}))
        loss = _watch(member, *watched, n_classes)
        losses.append(loss)
        if best_epoch < 0 or loss < best_loss - stopping.tol * abs(best_loss):
            best, best_loss, best_epoch = copy.deepcopy(member), loss, epoch
        elif epoch - best_epoch >= stopping.patience:
            break
    return best, losses


def takes_partial_weights(member: Any) -> bool:
    """Whether ``partial_fit`` accepts ``sample_weight``."""
    return "sample_weight" in inspect.signature(member.partial_fit).parameters


def _watch(
    member: Any, X: Any, y: np.ndarray, weight: np.ndarray | None, n_classes: int | None
) -> float:
    """Return the loss on the watched rows."""
    if n_classes is None:
        errors = (np.asarray(member.predict(X)) - y) ** 2
        return float(np.average(errors.reshape(len(y), -1).mean(axis=1), weights=weight))
    if hasattr(member, "predict_proba"):
        chosen = np.asarray(member.predict_proba(X))[np.arange(len(y)), y]
        return float(np.average(-np.log(np.maximum(chosen, _SMALLEST_PROBABILITY)), weights=weight))
    return float(np.average(np.asarray(member.predict(X)) != y, weights=weight))
