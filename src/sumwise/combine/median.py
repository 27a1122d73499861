"""The weighted median of predictions."""

import numpy as np


def weighted_median(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the smallest prediction of each row at which half of the weight is reached.

    Weights, one per member, must not be negative.
    """
    order = np.argsort(predictions, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0)
    chosen = (reached >= 0.5 * reached[-1]).argmax(axis=0)
    rows = np.arange(predictions.shape[1])
    return predictions[order[chosen, rows], rows]
