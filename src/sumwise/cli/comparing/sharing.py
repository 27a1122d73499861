"""Members that several combinations train on the same rows are trained once.

Stacking, selection and learned weights all need predictions of the same members for rows that these
have not seen. A :class:`SharedMember` remembers its fits and predictions by the rows; the time that
this saves is counted, so that each combination can be given the time that it takes on its own.
"""

from hashlib import blake2b
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags


class Memory:
    """Fits and predictions of shared members, and the seconds that were saved."""

    def __init__(self) -> None:
        self.saved_seconds = 0.0
        self._known: dict[Any, tuple[Any, float]] = {}

    def __deepcopy__(self, memo: Any) -> "Memory":
        """Return the same memory: the clones of a member share it."""
        return self

    def recall(self, key: Any, make: Any) -> Any:
        """Return what was made for a key, or make it now."""
        if key in self._known:
            value, seconds = self._known[key]
            self.saved_seconds += seconds
            return value
        start = perf_counter()
        value = make()
        self._known[key] = value, perf_counter() - start
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
        self.saved_seconds = 0.0


class SharedMember(BaseEstimator):
    """A member whose fits and predictions are remembered.

    Parameters
    ----------
    estimator : estimator
    name : str
        Different for members that differ.
    memory : Memory
    """

    def __init__(self, estimator: Any, name: str, memory: Memory) -> None:
        self.estimator = estimator
        self.name = name
        self.memory = memory

    def fit(self, X: Any, y: Any) -> Self:
        """Fit, or recall the fit on the same rows."""
        self._key = (self.name, _hash(X), _hash(y))
        self.fitted_ = self.memory.recall(self._key, lambda: clone(self.estimator).fit(X, y))
        self.n_features_in_ = X.shape[1]
        if hasattr(self.fitted_, "classes_"):
            self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return what the member predicts."""
        key = (*self._key, "predict", _hash(X))
        found: np.ndarray = self.memory.recall(key, lambda: self.fitted_.predict(X))
        return found

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that the member predicts."""
        key = (*self._key, "predict_proba", _hash(X))
        found: np.ndarray = self.memory.recall(key, lambda: self.fitted_.predict_proba(X))
        return found

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


def _hash(values: np.ndarray) -> bytes:
    """Return a hash of an array: of objects, by their identity, as rows of one table have it."""
    array = np.ascontiguousarray(values)
    return blake2b(array.tobytes() + str(array.shape).encode(), digest_size=16).digest()
