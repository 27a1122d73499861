"""LGBMClassifier and LGBMRegressor."""

from typing import Any

import numpy as np

from sumwise.compat.base import CompatClassifier, CompatRegressor, make_init
from sumwise.compat.lightgbm.base import BaseLightGBM
from sumwise.compat.lightgbm.parameters import SIGNATURE, TABLE


class LGBMClassifier(CompatClassifier, BaseLightGBM):
    """A classifier with LightGBM's parameters, fitted by sumwise.

    Parameters are those of ``lightgbm.LGBMClassifier`` with its defaults, under any of LightGBM's
    names. See ``docs/migration/from_lightgbm.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise.compat.lightgbm import LGBMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LGBMClassifier(n_estimators=20, num_leaves=8).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    __init__ = make_init("LGBMClassifier", TABLE, SIGNATURE)

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """Return the most probable class of each row, or what an option asks for.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        raw_score : bool, default=False
            Raw scores.
        start_iteration, num_iteration : int, default=0 and None
            The rounds to use; all from the first one for None.
        pred_leaf : bool, default=False
            The node that each row reaches in each tree.
        pred_contrib : bool, default=False
            Shapley values, and the base value in the last column.
        validate_features : bool, default=False
            Has no effect: names of features are always checked.
        **kwargs
            Refused.

        Returns
        -------
        ndarray
        """
        asked = (X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, kwargs)
        rounds, found = self._predict_as(*asked)
        return self._labels(X, rounds) if found is None else found

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """Return probabilities, one column per class, or what an option asks for.

        Parameters
        ----------
        X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, validate_features
            As in :meth:`predict`.
        **kwargs
            Refused.

        Returns
        -------
        ndarray
        """
        asked = (X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, kwargs)
        rounds, found = self._predict_as(*asked)
        return self._mean(X, rounds) if found is None else found

    def decision_function(self, X: Any) -> np.ndarray:
        """Return raw scores."""
        return self._raw(X)


class LGBMRegressor(CompatRegressor, BaseLightGBM):
    """A regressor with LightGBM's parameters, fitted by sumwise.

    Parameters are those of ``lightgbm.LGBMRegressor`` with its defaults, under any of LightGBM's
    names. See ``docs/migration/from_lightgbm.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.lightgbm import LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LGBMRegressor(n_estimators=20, objective="regression_l1").fit(X, y)
    >>> model.predict(X).shape
    (442,)
    """

    __init__ = make_init("LGBMRegressor", TABLE, SIGNATURE)

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """Return predictions, or what an option asks for.

        Parameters
        ----------
        X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, validate_features
            As in :meth:`LGBMClassifier.predict`.
        **kwargs
            Refused.

        Returns
        -------
        ndarray
        """
        asked = (X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, kwargs)
        rounds, found = self._predict_as(*asked)
        return self._mean(X, rounds) if found is None else found
