"""Native: split on sets of categories, without encoding them as numbers first."""

from numbers import Integral, Real
from typing import Any

from sumwise.errors import ParameterError
from sumwise.parts import Part


class Native(Part):
    """Split categorical features by sets of categories, chosen anew in every node.

    The categories of a node are ordered by the ratio of their gradient to their hessian, and sets
    are taken from both ends of that order. The parameters keep sets from following noise; they are
    LightGBM's, whose names are in parentheses.

    Parameters
    ----------
    smoothing : float, default=10.0
        Added to the hessian of a category in that ratio; and the fewest rows of a node with which
        a category may be chosen. All others go with the rest (``cat_smooth``).
    l2 : float, default=10.0
        Added to the estimator's ``l2`` in the gains of such splits (``cat_l2``).
    max_categories : int, default=32
        Most categories of the chosen set, which is never more than half of them
        (``max_cat_threshold``).
    min_rows : int, default=100
        Rows by which one candidate must exceed the one before, and the fewest rows of the other
        side (``min_data_per_group``).
    onehot_limit : int, default=4
        A feature with at most as many categories is split by one category against all others,
        without any of the above (``max_cat_to_onehot``).

    Examples
    --------
    >>> from sumwise import GradientBoostingClassifier, Native
    >>> model = GradientBoostingClassifier(categorical_encoding=Native(min_rows=50))
    >>> model.get_params()["categorical_encoding__min_rows"]
    50
    """

    def __init__(
        self,
        smoothing: float = 10.0,
        l2: float = 10.0,
        max_categories: int = 32,
        min_rows: int = 100,
        onehot_limit: int = 4,
    ) -> None:
        self.smoothing = smoothing
        self.l2 = l2
        self.max_categories = max_categories
        self.min_rows = min_rows
        self.onehot_limit = onehot_limit

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""
        value: Any
        for name in ("smoothing", "l2"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, Real)
                or not 0 <= float(value) < 1e300
            ):
                raise ParameterError(f"Native({name}={value!r}): must be a number of at least 0")
        for name, low in (("max_categories", 1), ("min_rows", 0), ("onehot_limit", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
                raise ParameterError(
                    f"Native({name}={value!r}): must be an integer of at least {low}"
                )
