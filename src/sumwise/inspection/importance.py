"""Importances of features from the splits of an ensemble."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.tree import TreeEnsemble


def importance(ensemble: TreeEnsemble, kind: str = "gain", normalize: bool = True) -> np.ndarray:
    """Sum the splits' gains (``kind="gain"``) or count them (``"count"``) for each feature.

    Normalized importances sum to one, or are all zero if there is no split.
    """
    if kind not in ("gain", "count"):
        raise ParameterError(f"kind={kind!r}: must be 'gain' or 'count'")
    is_split = ensemble.feature >= 0
    weights = ensemble.gain[is_split] if kind == "gain" else None
    with np.errstate(over="ignore"):
        sums = _sum_by_feature(ensemble, is_split, weights)
        total = sums.sum()
    if normalize and weights is not None and np.isinf(total):  # targets near the float limits
        finite = np.minimum(weights, np.finfo(np.float64).max)
        sums = _sum_by_feature(ensemble, is_split, finite / finite.max())
        total = sums.sum()
    return sums / total if normalize and total > 0 else sums


def _sum_by_feature(
    ensemble: TreeEnsemble, is_split: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    sums = np.bincount(ensemble.feature[is_split], weights, minlength=ensemble.n_features)
    return sums.astype(np.float64)
