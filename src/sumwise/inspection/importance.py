"""Importances of features from the splits of boosting."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.tree import Trees


def importance(trees: Trees, kind: str = "gain", normalize: bool = True) -> np.ndarray:
    """Return the total gain (``kind="gain"``) or number (``"count"``) of each feature's splits.

    Normalized importances sum to one, or are all zero if there is no split.
    """
    if kind not in ("gain", "count"):
        raise ParameterError(f"kind={kind!r}: must be 'gain' or 'count'")
    is_split = trees.feature >= 0
    feature, gain = trees.feature[is_split], trees.gain[is_split]
    weights = gain if kind == "gain" else np.ones(gain.size)
    with np.errstate(over="ignore"):
        sums = np.bincount(feature, weights, minlength=trees.n_features)
        total = sums.sum()
    if normalize and np.isinf(total):  # targets near the limits of float64
        finite = np.minimum(weights, np.finfo(np.float64).max)
        sums = np.bincount(feature, finite / finite.max(), minlength=trees.n_features)
        total = sums.sum()
    return sums / total if normalize and total > 0 else sums
