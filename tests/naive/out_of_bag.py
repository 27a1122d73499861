"""Out-of-bag predictions by definition, row by row."""

from __future__ import annotations

import numpy as np


def average_out_of_bag(predictions: np.ndarray, is_in_bag: np.ndarray) -> np.ndarray:
    """Average, for each row, the predictions of members whose bag it is not in."""
    n_members, n_rows = is_in_bag.shape
    result = np.full(predictions.shape[1:], np.nan)
    for row in range(n_rows):
        outside = [predictions[t, row] for t in range(n_members) if not is_in_bag[t, row]]
        if outside:
            result[row] = sum(outside) / len(outside)
    return result


def find_bags(model, n_rows: int) -> np.ndarray:
    """Return the rows that each member of a bagging or a forest has seen, as booleans."""
    bags = np.zeros((len(model.estimators_), n_rows), dtype=bool)
    for bag, rows in zip(bags, model.estimators_samples_, strict=True):
        bag[rows] = True
    return bags
