"""Pool: rows, target and what belongs to them in one object, as in CatBoost."""

from typing import Any

from sumwise.errors import DataError


class Pool:
    """Rows with their target.

    Parameters
    ----------
    data : frame or array-like of shape (n_rows, n_features)
    label : array-like of shape (n_rows,), default=None
    cat_features : list of int or str, default=None
        Features whose values are categories.
    weight : array-like of shape (n_rows,), default=None
    baseline : array-like, default=None
        Raw scores to start from.
    feature_names : list of str, default=None
        Names of the features of an array.
    **others
        Refused, unless they are None: groups, pairs, texts and embeddings.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.compat.catboost import CatBoostRegressor, Pool
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> pool = Pool(X, X[:, 0], weight=np.ones(200))
    >>> CatBoostRegressor(iterations=10).fit(pool).tree_count_
    10
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        cat_features: Any = None,
        *,
        weight: Any = None,
        baseline: Any = None,
        feature_names: Any = None,
        **others: Any,
    ) -> None:
        for name, value in others.items():
            if value is not None and name != "thread_count":
                raise DataError(f"Pool({name}=...) is not supported")
        self.data, self.label, self.cat_features = data, label, cat_features
        self.weight, self.baseline, self.feature_names = weight, baseline, feature_names

    def get_label(self) -> Any:
        """Return the target."""
        return self.label

    def get_weight(self) -> Any:
        """Return the weights."""
        return self.weight

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        n_rows, n_features = self.data.shape
        return int(n_rows), int(n_features)

    def num_row(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def num_col(self) -> int:
        """Return the number of features."""
        return self.shape[1]
