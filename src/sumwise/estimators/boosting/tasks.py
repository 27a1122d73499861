"""What a fit learns, classes or numbers: its loss, and how labels and weights are encoded."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sumwise.errors import DataError
from sumwise.estimators.input.class_weights import find_class_weights
from sumwise.estimators.input.labels import look_up
from sumwise.estimators.input.targets import (
    encode_labels,
    read_target,
    refuse_bad_weights,
    refuse_continuous,
    refuse_no_weight,
)
from sumwise.losses import Loss
from sumwise.peers import ALONE, Peers


class Task(ABC):
    """What a fit learns.

    Attributes
    ----------
    loss : Loss
    classes : ndarray or None
        The class labels, None for numbers.
    n_targets : int
        Number of columns of y.
    """

    loss: Loss
    classes: np.ndarray | None = None
    n_targets: int = 1

    @abstractmethod
    def read(self, y: Any, name: str) -> np.ndarray:
        """Return checked labels; ``name`` is for messages."""

    @abstractmethod
    def encode(self, y: np.ndarray, name: str) -> np.ndarray:
        """Return labels as the loss takes them."""

    def weigh(
        self, target: np.ndarray, weight: np.ndarray | None, peers: Peers = ALONE
    ) -> np.ndarray | None:
        """Return sample weights times class weights, None if all are one.

        ``target`` and ``weight`` have the rows of this process, ``peers`` those of others.
        """
        return weight


class Classification(Task):
    """Learns classes; ``balance`` and ``ratio`` are ``class_weight`` and ``scale_pos_weight``."""

    classes: np.ndarray

    def __init__(self, loss: Loss, classes: np.ndarray, balance: Any, ratio: float) -> None:
        self.loss, self.classes = loss, classes
        self._balance, self._ratio = balance, ratio

    def read(self, y: Any, name: str) -> np.ndarray:
        return read_target(y, is_number=False, name=name)

    def encode(self, y: np.ndarray, name: str) -> np.ndarray:
        refuse_continuous(y)
        return as_target(encode_labels(name, y, self.classes), self.loss.target_type)

    def weigh(
        self, target: np.ndarray, weight: np.ndarray | None, peers: Peers = ALONE
    ) -> np.ndarray | None:
        if self._balance is None and self._ratio == 1:
            return weight
        own = (self._balance, self._ratio, target, weight, peers)
        by_class = find_class_weights(self.classes, *own)
        if by_class is None:
            return weight
        by_row = look_up(by_class, target)
        if weight is not None:
            by_row *= weight
        refuse_bad_weights(by_row)
        refuse_no_weight(peers.largest(by_row.max(initial=0.0, keepdims=True))[0])
        return by_row


class Regression(Task):
    """Learns one or several numbers per row."""

    def __init__(self, loss: Loss, n_targets: int) -> None:
        self.loss, self.n_targets = loss, n_targets

    def read(self, y: Any, name: str) -> np.ndarray:
        return read_target(y, is_number=True, name=name, many=True)

    def encode(self, y: np.ndarray, name: str) -> np.ndarray:
        if count_targets(y) != self.n_targets:
            raise DataError(f"{name} has {count_targets(y)} targets, but y has {self.n_targets}")
        return as_target(y)


def count_targets(y: np.ndarray) -> int:
    """Return the number of columns of y."""
    return 1 if y.ndim == 1 else y.shape[1]


def as_target(y: np.ndarray, kind: npt.DTypeLike = np.float64) -> np.ndarray:
    """Return y as losses take it: of their type, each of several targets contiguous."""
    return np.asarray(y, dtype=kind, order="F")
