"""XGBClassifier, XGBRegressor and their random forests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from sumwise.compat.base import CompatClassifier, CompatRegressor, make_init
from sumwise.compat.xgboost.base import BaseXGBoost
from sumwise.compat.xgboost.parameters import SIGNATURE, TABLE

_CLASSIFIER = MappingProxyType({**SIGNATURE, "objective": "binary:logistic"})
_REGRESSOR = MappingProxyType({**SIGNATURE, "objective": "reg:squarederror"})
# What random forests of XGBoost change.
_FOREST: Mapping[str, Any] = MappingProxyType(
    {"learning_rate": 1.0, "subsample": 0.8, "colsample_bynode": 0.8, "reg_lambda": 1e-5}
)


class XGBClassifier(CompatClassifier, BaseXGBoost):
    """A classifier with XGBoost's parameters, fitted by sumwise.

    Parameters are those of ``xgboost.XGBClassifier`` with its defaults, and the names of XGBoost's
    native interface, such as ``eta``. See ``docs/migration/from_xgboost.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise.compat.xgboost import XGBClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = XGBClassifier(n_estimators=20, max_depth=3).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    _signature: ClassVar[Mapping[str, Any]] = _CLASSIFIER
    __init__ = make_init("XGBClassifier", TABLE, _CLASSIFIER)

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        output_margin : bool, default=False
            Raw scores instead.
        validate_features : bool, default=True
            Has no effect: names of features are always checked.
        base_margin : array-like, default=None
            Raw scores that the model started from.
        iteration_range : pair of int, default=None
            The first round, and the one after the last; None for all up to the best.

        Returns
        -------
        ndarray
        """
        raw = self._predict_raw(X, base_margin, iteration_range)
        return raw if output_margin else self.model_._labels(raw if raw.ndim == 2 else raw[:, None])

    def predict_proba(
        self,
        X: Any,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> np.ndarray:
        """Return probabilities, one column per class.

        Parameters
        ----------
        X, validate_features, base_margin, iteration_range
            As in :meth:`predict`.

        Returns
        -------
        ndarray
        """
        return self._to_mean(self._predict_raw(X, base_margin, iteration_range))


class XGBRegressor(CompatRegressor, BaseXGBoost):
    """A regressor with XGBoost's parameters, fitted by sumwise.

    Parameters are those of ``xgboost.XGBRegressor`` with its defaults, and the names of XGBoost's
    native interface, such as ``eta``. See ``docs/migration/from_xgboost.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.xgboost import XGBRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = XGBRegressor(n_estimators=20, eta=0.1).fit(X, y)
    >>> model.predict(X).shape
    (442,)
    """

    _signature: ClassVar[Mapping[str, Any]] = _REGRESSOR
    __init__ = make_init("XGBRegressor", TABLE, _REGRESSOR)

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> np.ndarray:
        """Return predictions.

        Parameters
        ----------
        X, output_margin, validate_features, base_margin, iteration_range
            As in :meth:`XGBClassifier.predict`.

        Returns
        -------
        ndarray
        """
        raw = self._predict_raw(X, base_margin, iteration_range)
        return raw if output_margin else self._to_mean(raw)


class XGBRFClassifier(XGBClassifier):
    """A random forest with XGBoost's parameters: ``n_estimators`` trees in a single round.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise.compat.xgboost import XGBRFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(XGBRFClassifier(n_estimators=20).fit(X, y).score(X, y) > 0.9)
    True
    """

    _is_forest: ClassVar[bool] = True
    _signature: ClassVar[Mapping[str, Any]] = MappingProxyType({**_CLASSIFIER, **_FOREST})
    __init__ = make_init("XGBRFClassifier", TABLE, _signature)


class XGBRFRegressor(XGBRegressor):
    """A random forest with XGBoost's parameters: ``n_estimators`` trees in a single round.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise.compat.xgboost import XGBRFRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(XGBRFRegressor(n_estimators=20).fit(X, y).score(X, y) > 0.5)
    True
    """

    _is_forest: ClassVar[bool] = True
    _signature: ClassVar[Mapping[str, Any]] = MappingProxyType({**_REGRESSOR, **_FOREST})
    __init__ = make_init("XGBRFRegressor", TABLE, _signature)
