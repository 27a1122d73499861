"""Predictions of rows whose targets are known: what most sections of a report are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.data.frames.reading import open_frame
from sumwise.errors import DataError

_SEED = 0


@dataclass(frozen=True, eq=False)
class Predictions:
    """Targets and predictions of rows.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels, or numbers.
    predicted : ndarray of shape (n_rows,)
        Predicted labels, or numbers.
    classes : ndarray of shape (n_classes,) or None
        Labels in order; None for regression.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Of the classes; None if the model has none.
    """

    y: np.ndarray
    predicted: np.ndarray
    classes: np.ndarray | None = None
    probabilities: np.ndarray | None = None

    @property
    def is_classification(self) -> bool:
        """Whether labels are predicted."""
        return self.classes is not None

    @property
    def codes(self) -> np.ndarray:
        """Index of each row's class."""
        assert self.classes is not None
        return np.searchsorted(self.classes, self.y)


def predict_rows(model: Any, X: Any, y: Any) -> Predictions:
    """Let a fitted model predict rows; refuse targets that it cannot predict."""
    truth = np.asarray(y)
    if truth.ndim != 1:
        raise DataError(
            f"y has shape {truth.shape}; a report describes one target: expected one value per row"
        )
    predicted = np.asarray(model.predict(X))
    if predicted.ndim != 1:
        raise DataError(
            f"{type(model).__name__} predicts {predicted.shape[1]} targets at once, and a report "
            "describes one: fit a model per target"
        )
    if predicted.shape != truth.shape:
        raise DataError(f"X has {predicted.size} rows and y has {truth.size}")
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Predictions(_read_target(truth), predicted.astype(np.float64))
    classes = np.asarray(classes)
    unknown = sorted(set(truth.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise DataError(
            f"y has labels that {type(model).__name__} has not seen in training: "
            f"{', '.join(map(repr, unknown[:5]))}; leave these rows out"
        )
    return Predictions(truth, predicted, classes, find_probabilities(model, X))


def find_probabilities(model: Any, X: Any) -> np.ndarray | None:
    """Return the probabilities of classes; None if a model has none."""
    if not hasattr(model, "predict_proba"):
        return None
    return np.asarray(model.predict_proba(X), dtype=np.float64)


def read_known(task: str, y: Any, out_of_fold: Any) -> Predictions:
    """Return predictions that are known already, as a comparison has them.

    Rows that were in no fold have missing predictions, and are left out.
    """
    truth, known = np.asarray(y), np.asarray(out_of_fold)
    if task == "regression":
        kept = np.isfinite(known.astype(np.float64))
        return Predictions(_read_target(truth)[kept], known.astype(np.float64)[kept])
    classes = np.unique(truth)
    if known.ndim == 1:
        kept = np.isin(known, classes)
        labels = np.asarray(known[kept].tolist(), dtype=classes.dtype)
        return Predictions(truth[kept], labels, classes)
    if known.shape[1] != classes.size:
        raise DataError(
            f"out_of_fold has {known.shape[1]} columns, and y has {classes.size} classes"
        )
    kept = np.isfinite(known).all(axis=1)
    shares = known[kept].astype(np.float64)
    return Predictions(truth[kept], classes[shares.argmax(axis=1)], classes, shares)


def _read_target(y: np.ndarray) -> np.ndarray:
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"y must hold numbers for regression, got {y.dtype}") from None
    is_bad = ~np.isfinite(numbers)
    if is_bad.any():
        first = int(is_bad.argmax())
        raise DataError(f"y has {numbers[first]} at row {first}; leave such rows out")
    return numbers


def draw_rows(n_rows: int, most: int) -> np.ndarray:
    """Return indices of at most so many rows, in order, always the same."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(_SEED).choice(n_rows, most, replace=False))


def say_sample(n_drawn: int, n_rows: int) -> str:
    """Return a remark on a sample, empty if it is all rows."""
    if n_drawn >= n_rows:
        return ""
    return f" From a fixed random sample of {n_drawn:,} of {n_rows:,} rows."


def name_features(model: Any, X: Any, given: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return names of the columns of X: those given, of the frame, of the model, or x0, x1, ..."""
    if given is not None:
        return tuple(map(str, given))
    frame = None if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else open_frame(X)
    if frame is not None:
        return tuple(map(str, frame.columns))
    names = getattr(model, "feature_names_in_", None)
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return tuple(f"x{k}" for k in range(shape[1])) if names is None else tuple(map(str, names))
