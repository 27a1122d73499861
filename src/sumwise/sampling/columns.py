"""Column sampling per tree, level and node."""

from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.parts import Part, check_rate


class Columns(Part):
    """Search splits among a random share of the features.

    The shares multiply: a level draws from the features of its tree, a node from those of its
    level. At least one feature is always drawn. In symmetric growth a level has one split, so
    ``by_node`` draws once per level.

    Parameters
    ----------
    by_tree, by_level, by_node : float, default=1.0
        Share of the features drawn for each tree, level and node, in (0, 1].
    weights : array-like of float, dict or None, default=None
        Features are drawn one after the other, with probabilities proportional to the weights of
        the remaining features. A feature of weight 0 is never drawn. A dict gives weights by
        feature name, and all others have weight 1. None: all features are equally likely.

    Examples
    --------
    >>> from sumwise import Columns, GradientBoostingClassifier
    >>> GradientBoostingClassifier(columns=Columns(by_tree=0.8, by_node=0.5)).columns
    Columns(by_tree=0.8, by_node=0.5)
    >>> Columns(by_node=0.3, weights={"age": 5.0, "customer": 0.0})
    Columns(by_node=0.3, weights={'age': 5.0, 'customer': 0.0})
    """

    def __init__(
        self,
        by_tree: float = 1.0,
        by_level: float = 1.0,
        by_node: float = 1.0,
        weights: Any = None,
    ) -> None:
        self.by_tree = by_tree
        self.by_level = by_level
        self.by_node = by_node
        self.weights = weights

    def check(self) -> None:
        for name in ("by_tree", "by_level", "by_node"):
            check_rate(self, name)

    def weigh_features(self, n_features: int) -> np.ndarray:
        """Return the weights (n_features,), scaled to a maximum of one; empty if all are equal.

        Dicts must have been converted to arrays before.
        """
        if self.weights is None:
            return np.empty(0)
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (n_features,):
            raise ParameterError(
                f"Columns(weights=...): has shape {weights.shape}; give one weight for each of "
                f"{n_features} features"
            )
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise ParameterError(
                f"Columns(weights=...): the weight of feature {bad[0]} is {weights[bad[0]]:g}; "
                "weights must be finite and not negative"
            )
        if not weights.any():
            raise ParameterError(
                "Columns(weights=...): all weights are 0, which leaves no feature to split on"
            )
        weights /= weights.max()
        return np.empty(0) if (weights == 1.0).all() else weights
