"""Labels and probabilities of classes as arrays."""

import numpy as np


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return labels as probabilities of 0 and 1, with the classes as a new last axis."""
    return np.eye(n_classes)[labels]


def place_classes(values: np.ndarray, places: np.ndarray, n_classes: int) -> np.ndarray:
    """Return class probabilities as columns of all classes, 0 for classes that are not given."""
    full = np.zeros((values.shape[0], n_classes))
    full[:, places] = values
    return full


def normalize_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Return probabilities that sum to 1 over the last axis; equal ones if all are zero."""
    totals = probabilities.sum(axis=-1, keepdims=True)
    n_classes = probabilities.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals > 0.0, probabilities / totals, 1.0 / n_classes)


def log_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Return logarithms of probabilities, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
