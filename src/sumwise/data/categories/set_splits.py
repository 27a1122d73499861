"""Native: split categorical features by sets of categories, without encoding them."""

from sumwise.parts import Part, check_count, check_number


class Native(Part):
    """Split categorical features by sets of categories, chosen separately in every node.

    The categories of a node are sorted by the ratio of gradient to hessian, and candidate sets are
    taken from both ends. The parameters keep sets from following noise. They are those of LightGBM,
    whose names are given in parentheses.

    Parameters
    ----------
    smoothing : float, default=10.0
        Added to the hessian of a category in that ratio. It is also the minimum number of rows in
        the node for a category to be chosen; rarer categories join the rest (``cat_smooth``).
    l2 : float, default=10.0
        Added to the estimator's ``l2`` in the gain of such splits (``cat_l2``).
    max_categories : int, default=32
        Maximum number of categories in the chosen set, which never has more than half of all
        categories (``max_cat_threshold``).
    min_rows : int, default=100
        Minimum number of rows that each candidate set adds to the previous one, and minimum number
        of rows on the other side (``min_data_per_group``).
    onehot_limit : int, default=4
        A feature with at most this many categories is split by one category against all others;
        the parameters above do not apply to it (``max_cat_to_onehot``).

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
        check_number(self, "smoothing", 0.0)
        check_number(self, "l2", 0.0)
        check_count(self, "max_categories", 1)
        check_count(self, "min_rows", 0)
        check_count(self, "onehot_limit", 0)
